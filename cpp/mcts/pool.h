// Many searches at once, so that a network sees large batches. The language border is crossed here, in batches, by
// pull:
//
//   while (batch = pool.collect(), batch.rows > 0) pool.submit(policy, wdl of batch.planes);
//
// Results do not depend on the number of threads: the searches share nothing but the cache, which is written only
// between the parallel steps, and an evaluation is a function of the position alone (its symmetry is drawn from the
// position's hash).
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/cancel_token.h"
#include "base/workers.h"
#include "mcts/evaluate.h"
#include "mcts/evaluation_cache.h"
#include "mcts/search.h"

namespace qizero {

// clang-format off
#define QIZERO_POOL_SETTINGS(SETTING)                                                                              \
  SETTING(int, slots, 1, 1, 1'000'000, "Searches at once; in self-play, games at once.")                           \
  SETTING(int, threads, 1, 1, 1024, "Threads that search.")                                                        \
  SETTING(int, leaves_per_tree, 1, 1, 1024,                                                                        \
          "Pending evaluations in one tree; more than 1 needs virtual_loss and changes the search a little.")      \
  SETTING(int, batches_in_flight, 1, 1, 2,                                                                         \
          "2: the slots form two groups; while the batch of one is evaluated, a background thread searches the "   \
          "other.")                                                                                                \
  SETTING(std::int64_t, cache_positions, 1 << 16, 0, std::int64_t{1} << 32,                                        \
          "Evaluations that the cache holds; 0: no cache.")                                                        \
  SETTING(bool, random_symmetry, true, false, true,                                                                \
          "Evaluate each position in one of its symmetries, drawn from its hash and the seed.")                    \
  SETTING(std::uint64_t, seed, 0, 0, ~std::uint64_t{0}, "Of everything random in the pool.")
// clang-format on

struct PoolConfig {
  QIZERO_SETTINGS(PoolConfig, QIZERO_POOL_SETTINGS)

  // Throws InvalidInput that names every invalid value.
  void validate() const {
    std::string problems = settings_out_of_range(*this);
    if (batches_in_flight == 2 && slots < 2)
      add_problem(problems, "two batches in flight need at least 2 slots, not " + std::to_string(slots));
    if (!problems.empty()) throw InvalidInput("pool: " + problems);
  }
};

struct PoolCounters {
  SearchCounters search;
  std::int64_t searches = 0;    // finished
  std::int64_t batches = 0;     // handed out
  std::int64_t rows = 0;        // positions in them: what the evaluator had to do
  std::int64_t capacity = 0;    // rows that they could have held; rows / capacity is the fill
  std::int64_t cache_hits = 0;  // leaves answered by the cache
  std::int64_t duplicates = 0;  // leaves that shared a row with another of the same batch

  PoolCounters& operator+=(const PoolCounters& other) {
    search += other.search;
    searches += other.searches;
    batches += other.batches;
    rows += other.rows;
    capacity += other.capacity;
    cache_hits += other.cache_hits;
    duplicates += other.duplicates;
    return *this;
  }
};

template <Game G>
class Pool {
 public:
  // What happens when a search is done. Called from worker threads, for different slots at the same time.
  class Driver {
   public:
    virtual ~Driver() = default;
    // Returns true if it has begun another search in the slot, false if the slot rests.
    virtual bool search_done(int slot, Search<G>& search) = 0;
    // Between the parallel steps, with the slots [first, last) of a batch that is about to be handed out.
    virtual void batch_ready(int first, int last) = 0;
  };

  struct Batch {
    float* planes;  // [rows][planes][height][width], valid until submit
    int rows;
  };

  Pool(const PoolConfig& config, const G& example, Driver& driver)
      : config_((config.validate(), config)),
        driver_(driver),
        shape_(example.board_shape()),
        num_actions_(example.num_actions()),
        row_floats_(static_cast<std::size_t>(num_planes<G> * shape_.cells())),
        cache_(config.cache_positions, std::min(G::max_legal, num_actions_)),
        workers_(config.threads),
        slots_(static_cast<std::size_t>(config.slots)),
        groups_(static_cast<std::size_t>(config.batches_in_flight)) {
    for (int i = 0; i < config.slots; ++i) {
      slot(i).search.reseed(hash_combine(mix64(config.seed), static_cast<std::uint64_t>(i)));
      slot(i).search.set_oracles(&oracles_);
    }
    for (int h = 0; h < config.batches_in_flight; ++h) {
      group(h).first = config.slots * h / config.batches_in_flight;
      group(h).last = config.slots * (h + 1) / config.batches_in_flight;
      const auto capacity = static_cast<std::size_t>((group(h).last - group(h).first) * config.leaves_per_tree);
      group(h).planes.resize(capacity * row_floats_);
      group(h).rows.reserve(capacity);
    }
    if (config.batches_in_flight == 2)
      background_ = std::jthread([this](std::stop_token stop) { process_in_background(stop); });
  }
  ~Pool() {
    if (background_.joinable()) background_.request_stop();
  }

  Search<G>& search(int i) { return slot(i).search; }
  int num_slots() const { return config_.slots; }
  std::uint64_t seed() const { return config_.seed; }
  BoardShape board_shape() const { return shape_; }
  int num_actions() const { return num_actions_; }

  // A search has begun in this slot (Search::begin) from outside; call only while nothing is under way, then start().
  void wake(int i) { slot(i).thinking = true; }
  void start() {
    turn_ = 0;
    for (int h = 0; h < config_.batches_in_flight; ++h) hand_over(h);
  }

  // A token by which searches end with what they have. For drivers that let a slot rest when its search is done.
  void set_cancel_token(std::shared_ptr<const CancelToken> token) {
    wait_for_background();
    cancel_ = std::move(token);
  }

  // The next batch to evaluate. A batch must be submitted before the next is collected. No rows, and nothing to submit:
  // every slot rests; or, where slots never rest, the cache has answered everything for a while.
  Batch collect() {
    if (collected_) throw InvalidInput("collect: the last batch has not been submitted yet");
    for (int tried = 0; tried < config_.batches_in_flight; ++tried, turn_ = (turn_ + 1) % config_.batches_in_flight) {
      SlotGroup& h = group(turn_);
      make_ready(h);
      counters_ += h.counters;
      h.counters = {};
      driver_.batch_ready(h.first, h.last);
      if (h.rows.empty()) {
        if (is_thinking(h)) hand_over(turn_);
        continue;
      }
      ++counters_.batches;
      counters_.rows += static_cast<std::int64_t>(h.rows.size());
      counters_.capacity += static_cast<std::int64_t>(h.planes.size() / row_floats_);
      collected_ = true;
      return {h.planes.data(), static_cast<int>(h.rows.size())};
    }
    return {nullptr, 0};
  }

  // Rows of the batch that has been collected and not submitted.
  int rows_out() const {
    return collected_ ? static_cast<int>(groups_[static_cast<std::size_t>(turn_)].rows.size()) : 0;
  }

  // Policy logits [rows][num_actions] and WDL probabilities [rows][3] of the mover, for the batch collected last.
  // Throws InvalidInput, and nothing has happened, if one is not a number or infinite, or a row's WDL are not
  // probabilities that sum to about 1.
  void submit(const float* policy, const float* wdl) {
    if (!collected_) throw InvalidInput("submit: no batch has been collected");
    SlotGroup& h = group(turn_);
    check_outputs(policy, wdl, static_cast<int>(h.rows.size()));
    h.policy.assign(policy, policy + h.rows.size() * static_cast<std::size_t>(num_actions_));
    h.wdl.assign(wdl, wdl + h.rows.size() * 3);
    collected_ = false;
    hand_over(turn_);
    turn_ = (turn_ + 1) % config_.batches_in_flight;
  }

  // Returns when no thread of the pool is at work, so that searches may be looked at.
  void wait_for_background() {
    if (config_.batches_in_flight == 1) return;
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return queue_.empty(); });
  }

  // Gives up everything under way: searches end with what they have, a collected batch needs no submit.
  void abandon() {
    wait_for_background();
    for (int i = 0; i < config_.slots; ++i) {
      Slot& s = slot(i);
      if (!s.thinking) continue;
      s.search.abandon_pending();
      s.search.cancel();
      s.waiting.clear();
      s.thinking = false;
      counters_.search += s.search.counters();
      ++counters_.searches;
    }
    for (SlotGroup& h : groups_) {
      h.rows.clear();
      h.policy.clear();
    }
    collected_ = false;
  }

  // Searches until every slot rests, with an evaluator in C++, no batches and no cache. With `slice_ms` > 0 it returns
  // after about so long, to be called again. Returns whether every slot rests. Needs batches_in_flight = 1.
  bool run_natively(BuiltInEvaluator evaluator, double slice_ms) {
    if (config_.batches_in_flight != 1 || collected_)
      throw InvalidInput("run_natively: needs batches_in_flight = 1 and no batch under way");
    const auto start = std::chrono::steady_clock::now();
    const auto slice_is_over = [&] {
      const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
      return slice_ms > 0 && elapsed.count() >= slice_ms;
    };
    std::atomic<bool> all_rest{true};
    workers_.for_each(config_.slots, [&](int i) {
      Slot& s = slot(i);
      ScoredActions<G> scored;
      for (std::uint32_t step = 0; s.thinking; ++step) {
        if (step % 16 == 0) {
          if (cancelled()) s.search.cancel();
          if (slice_is_over()) {
            all_rest = false;
            return;
          }
        }
        switch (s.search.next(1)) {
          case Search<G>::Step::leaf:
            s.search.finish(s.search.pending_number(),
                            evaluate_natively(evaluator, s.search.pending_leaf().position, s.search.rng(), scored));
            break;
          case Search<G>::Step::done:
            end_search(i);
            break;
          case Search<G>::Step::wait:
          case Search<G>::Step::again:
            break;
        }
      }
    });
    gather_counters(group(0));
    counters_ += group(0).counters;
    group(0).counters = {};
    driver_.batch_ready(0, config_.slots);
    return all_rest;
  }

  // New weights: what the cache holds is no longer true.
  void clear_cache() {
    wait_for_background();
    cache_.clear();
  }

  // All that has happened so far, searches under way included.
  PoolCounters counters() {
    wait_for_background();
    PoolCounters total = counters_;
    for (const SlotGroup& h : groups_) total += h.counters;
    for (const Slot& s : slots_) {
      total += s.counters;
      if (s.thinking) total.search += s.search.counters();
    }
    return total;
  }

 private:
  struct Waiting {
    int number;  // of the leaf in its search
    int row;     // in the batch
    std::uint64_t hash;
  };
  struct Slot {
    Search<G> search;
    std::vector<Waiting> waiting;
    bool thinking = false;
    PoolCounters counters;  // since they were last gathered
  };
  struct Row {
    int slot, number;  // the first leaf that asked for it
    std::uint64_t hash;
    ScoredActions<G> scored;
    Evaluation evaluation;
  };
  struct SlotGroup {
    int first = 0, last = 0;  // slots
    std::vector<Row> rows;
    std::vector<float> planes, policy, wdl;
    std::unordered_map<std::uint64_t, int> row_of_hash;
    PoolCounters counters;  // since it was last collected
    bool ready = true;      // nothing to process; with two groups guarded by mutex_
  };

  Slot& slot(int i) { return slots_[static_cast<std::size_t>(i)]; }
  SlotGroup& group(int h) { return groups_[static_cast<std::size_t>(h)]; }
  bool cancelled() const { return cancel_ && cancel_->cancelled(); }
  int symmetry_of(std::uint64_t hash) const {
    if (!config_.random_symmetry) return 0;
    return static_cast<int>(hash_combine(config_.seed, hash) % static_cast<std::uint64_t>(G::num_symmetries));
  }

  void check_outputs(const float* policy, const float* wdl, int rows) const {
    const auto count_bad = [](const float* values, std::size_t count) {
      std::size_t bad = 0;
      for (std::size_t i = 0; i < count; ++i) bad += !std::isfinite(values[i]);
      return bad;
    };
    const std::size_t bad_policy =
        count_bad(policy, static_cast<std::size_t>(rows) * static_cast<std::size_t>(num_actions_));
    const std::size_t bad_wdl = count_bad(wdl, static_cast<std::size_t>(rows) * 3);
    if (bad_policy + bad_wdl > 0)
      throw InvalidInput("submit: the evaluator gave " + std::to_string(bad_policy) + " policy and " +
                         std::to_string(bad_wdl) + " wdl values that are infinite or not numbers, in a batch of " +
                         std::to_string(rows));
    for (int row = 0; row < rows; ++row) {
      const float* p = wdl + row * 3;
      constexpr float tolerance = 0.05f;  // low precision rounds
      if (std::min({p[0], p[1], p[2]}) < 0 || std::abs(p[0] + p[1] + p[2] - 1) > tolerance)
        throw InvalidInput("submit: wdl of row " + std::to_string(row) + " is (" + std::to_string(p[0]) + ", " +
                           std::to_string(p[1]) + ", " + std::to_string(p[2]) +
                           "), not three probabilities that sum to 1");
    }
  }

  void hand_over(int index) {
    if (config_.batches_in_flight == 1) {
      group(0).ready = false;
      return;
    }
    const std::lock_guard lock(mutex_);
    group(index).ready = false;
    queue_.push_back(index);
    changed_.notify_all();
  }

  void make_ready(SlotGroup& h) {
    if (config_.batches_in_flight == 1) {
      if (!h.ready) process(h);
      h.ready = true;
      return;
    }
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return h.ready; });
    if (background_error_) std::rethrow_exception(std::exchange(background_error_, nullptr));
  }

  void process_in_background(std::stop_token stop) {
    for (;;) {
      int index;
      {
        std::unique_lock lock(mutex_);
        if (!changed_.wait(lock, stop, [this] { return !queue_.empty(); })) return;
        index = queue_.front();
      }
      std::exception_ptr error;
      try {
        process(group(index));
      } catch (...) {
        error = std::current_exception();
      }
      const std::lock_guard lock(mutex_);
      if (error) background_error_ = error;
      queue_.pop_front();
      group(index).ready = true;
      changed_.notify_all();
    }
  }

  // Brings the results of a batch to its searches, lets them go on, and gathers the next batch.
  void process(SlotGroup& h) {
    const int num_rows = static_cast<int>(h.rows.size());
    if (!h.policy.empty()) {
      workers_.for_each(num_rows, [&](int r) {
        Row& row = h.rows[static_cast<std::size_t>(r)];
        const float* wdl = h.wdl.data() + r * 3;
        const float total = wdl[0] + wdl[1] + wdl[2];
        score_with_logits(slot(row.slot).search.pending_leaf(row.number).position,
                          h.policy.data() + static_cast<std::ptrdiff_t>(r) * num_actions_, symmetry_of(row.hash),
                          row.scored);
        row.evaluation = {wdl[0] / total, wdl[1] / total, wdl[2] / total, {row.scored.begin(), row.scored.end()}};
      });
      for (const Row& row : h.rows) cache_.insert(row.hash, row.evaluation);
    }

    workers_.for_each(h.last - h.first, [&](int offset) {
      Slot& s = slot(h.first + offset);
      for (const Waiting& waiting : s.waiting)
        s.search.finish(waiting.number, h.rows[static_cast<std::size_t>(waiting.row)].evaluation);
      s.waiting.clear();
      go_on(h.first + offset);
    });

    h.rows.clear();
    h.policy.clear();
    h.row_of_hash.clear();
    for (int i = h.first; i < h.last; ++i) {
      Slot& s = slot(i);
      for (Waiting& waiting : s.waiting) {
        const auto [found, added] = h.row_of_hash.emplace(waiting.hash, static_cast<int>(h.rows.size()));
        waiting.row = found->second;
        if (added)
          h.rows.push_back({i, waiting.number, waiting.hash, {}, {}});
        else
          ++h.counters.duplicates;
      }
    }
    gather_counters(h);
    workers_.for_each(static_cast<int>(h.rows.size()), [&](int r) {
      const Row& row = h.rows[static_cast<std::size_t>(r)];
      const G& position = slot(row.slot).search.pending_leaf(row.number).position;
      float* planes = h.planes.data() + static_cast<std::size_t>(r) * row_floats_;
      if (const int symmetry = symmetry_of(row.hash); symmetry != 0)
        position.transformed(symmetry).encode(planes);
      else
        position.encode(planes);
    });
  }

  bool is_thinking(const SlotGroup& h) {
    for (int i = h.first; i < h.last; ++i)
      if (slot(i).thinking) return true;
    return false;
  }

  // Searches in one slot until its leaves wait for the network, or it rests, or it has done so many searches without
  // the network that the caller should see them.
  void go_on(int i) {
    constexpr int most_searches = 64;
    Slot& s = slot(i);
    Evaluation evaluation;
    for (int searches = 0; s.thinking && searches < most_searches;) {
      if (cancelled()) s.search.cancel();
      switch (s.search.next(config_.leaves_per_tree)) {
        case Search<G>::Step::leaf: {
          const std::uint64_t hash = s.search.pending_leaf().position.hash();
          if (cache_.find(hash, evaluation)) {
            ++s.counters.cache_hits;
            s.search.finish(s.search.pending_number(), evaluation);
          } else {
            s.waiting.push_back({s.search.pending_number(), -1, hash});
          }
          break;
        }
        case Search<G>::Step::wait:
          return;
        case Search<G>::Step::again:
          break;
        case Search<G>::Step::done:
          end_search(i);
          ++searches;
          break;
      }
    }
  }

  void end_search(int i) {
    Slot& s = slot(i);
    s.counters.search += s.search.counters();
    ++s.counters.searches;
    s.thinking = driver_.search_done(i, s.search);
  }

  void gather_counters(SlotGroup& h) {
    for (int i = h.first; i < h.last; ++i) {
      h.counters += slot(i).counters;
      slot(i).counters = {};
    }
  }

  PoolConfig config_;
  Driver& driver_;
  BoardShape shape_;
  int num_actions_;
  std::size_t row_floats_;
  EvaluationCache cache_;
  Workers workers_;
  Oracles<G> oracles_;
  std::vector<Slot> slots_;
  std::vector<SlotGroup> groups_;
  PoolCounters counters_;
  std::shared_ptr<const CancelToken> cancel_;
  int turn_ = 0;
  bool collected_ = false;

  std::mutex mutex_;  // guards queue_, background_error_, SlotGroup::ready
  std::condition_variable_any changed_;
  std::deque<int> queue_;  // groups to process, the one being processed included
  std::exception_ptr background_error_;
  std::jthread background_;  // last: joins before the rest is gone
};

}  // namespace qizero
