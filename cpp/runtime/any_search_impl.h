// The one implementation of the searches' interfaces, templated on the game. Included by the instantiation units only.
#pragma once

#include <mutex>

#include "mcts/position_search.h"
#include "runtime/any_game_impl.h"
#include "runtime/any_search.h"
#include "selfplay/selfplay.h"

namespace qizero {

// `Driver` is PositionSearch<G> or SelfPlay<G>; `Interface` the interface class that adds to AnyPool what the driver
// adds to a pool.
template <Game G, class Driver, class Interface>
class PoolImpl : public Interface {
 public:
  template <class Params>
  PoolImpl(std::shared_ptr<const AnyGame> game, const PoolConfig& config, const Params& params, const G& initial)
      : game_(std::move(game)), driver_(config, params, initial) {}

  std::shared_ptr<const AnyGame> game() const override { return game_; }
  AnyBatch collect() override {
    const auto lock = enter();
    const auto batch = driver_.pool().collect();
    return {batch.planes, batch.rows};
  }
  void submit(const float* policy, const float* wdl) override {
    const auto lock = enter();
    driver_.pool().submit(policy, wdl);
  }
  int rows_out() const override {
    const auto lock = enter();
    return driver_.pool().rows_out();
  }
  void abandon() override {
    const auto lock = enter();
    driver_.pool().abandon();
  }
  bool run_natively(BuiltInEvaluator evaluator, double slice_ms) override {
    const auto lock = enter();
    return driver_.pool().run_natively(evaluator, slice_ms);
  }
  PoolCounters counters() const override {
    const auto lock = enter();
    return driver_.pool().counters();
  }

 protected:
  [[nodiscard]] std::unique_lock<std::mutex> enter() const {
    std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) throw InvalidInput("another thread is using this pool: one call at a time");
    return lock;
  }

  std::shared_ptr<const AnyGame> game_;
  mutable std::mutex mutex_;
  mutable Driver driver_;
};

template <Game G>
class PositionSearchImpl final : public PoolImpl<G, PositionSearch<G>, AnyPositionSearch> {
 public:
  using PoolImpl<G, PositionSearch<G>, AnyPositionSearch>::PoolImpl;

  void begin(std::span<const AnyState* const> states, bool reuse_trees) override {
    const auto lock = this->enter();
    std::vector<G> positions;
    for (const AnyState* state : states) {
      if (state == nullptr) throw InvalidInput("None is not a state");
      const auto* typed = dynamic_cast<const StateImpl<G>*>(state);
      if (typed == nullptr || typed->position().options() != this->game_->options())
        throw InvalidInput("this searches " + this->game_->spec() + ", but a state is of " + state->game()->spec());
      if (typed->outcome() != Outcome::ongoing) throw InvalidInput("the game is over: there is nothing to search");
      positions.push_back(typed->position());
    }
    this->driver_.begin(positions, reuse_trees);
  }

  SearchResult result(int slot) const override {
    const auto lock = this->enter();
    const Search<G>& search = this->driver_.search(slot);
    const auto actions = static_cast<std::size_t>(search.root_position().num_actions());
    SearchResult result{};
    result.action = search.best_action();
    result.value = search.root_value();
    result.wdl = search.root_wdl();
    result.policy.resize(actions);
    search.write_policy(result.policy.data());
    result.prior.assign(actions, 0.0f);
    result.q.assign(actions, std::numeric_limits<float>::quiet_NaN());
    result.visits.assign(actions, 0);
    for (const ActionStatistics& row : search.statistics()) {
      const auto action = static_cast<std::size_t>(row.action);
      result.prior[action] = row.prior;
      result.q[action] = row.value;
      result.visits[action] = row.visits;
    }
    for (const Action action : search.pv()) result.pv.push_back(action);
    if (const Node& root = search.root_node(); root.known()) {
      result.proven = value_for(root.result, root.to_move);
      result.distance = root.distance;
    }
    result.simulations = search.counters().simulations;
    result.stop_reason = search.stop_reason();
    result.tree_bytes = search.tree_bytes();
    return result;
  }

  void set_cancel_token(std::shared_ptr<const CancelToken> token) override {
    const auto lock = this->enter();
    this->driver_.pool().set_cancel_token(std::move(token));
  }
};

template <Game G>
class SelfPlayImpl final : public PoolImpl<G, SelfPlay<G>, AnySelfPlay> {
 public:
  using PoolImpl<G, SelfPlay<G>, AnySelfPlay>::PoolImpl;
  std::vector<std::uint8_t> take_rows() override {
    const auto lock = this->enter();
    return this->driver_.take_rows();
  }
  std::vector<FinishedGame> take_games() override {
    const auto lock = this->enter();
    return this->driver_.take_games();
  }
  std::vector<std::uint8_t> park() override {
    const auto lock = this->enter();
    return this->driver_.park();
  }
  void restore(std::span<const std::uint8_t> bytes) override {
    const auto lock = this->enter();
    this->driver_.restore(bytes);
  }
  // The games go on: the searches that were given up begin again.
  void abandon() override {
    const auto lock = this->enter();
    this->driver_.restore(this->driver_.park());
  }
  bool run_natively(BuiltInEvaluator evaluator, double slice_ms) override {
    if (slice_ms <= 0) throw InvalidInput("run_natively: self-play never ends by itself; give it a slice of time");
    return PoolImpl<G, SelfPlay<G>, AnySelfPlay>::run_natively(evaluator, slice_ms);
  }
};

template <Game G>
std::unique_ptr<AnyPositionSearch> GameImpl<G>::new_search(const PoolConfig& config, const SearchParams& params) const {
  return std::make_unique<PositionSearchImpl<G>>(self(), config, params, initial_);
}

template <Game G>
std::unique_ptr<AnySelfPlay> GameImpl<G>::new_selfplay(const PoolConfig& config, const SelfPlayParams& params) const {
  return std::make_unique<SelfPlayImpl<G>>(self(), config, params, initial_);
}

template <Game G>
RecordLayout GameImpl<G>::record_layout() const {
  return RecordLayout::of(initial_);
}

}  // namespace qizero
