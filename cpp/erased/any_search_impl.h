// The one implementation of the searches' interfaces, templated on the game. Included by the instantiation units only.
#pragma once

#include "erased/any_game_impl.h"
#include "erased/any_search.h"
#include "search/position_search.h"
#include "selfplay/selfplay.h"

namespace qizero {

// `Driver` is PositionSearch<G> or SelfPlay<G>; `Interface` the erased class that adds to AnyPool what the driver adds
// to a pool.
template <Game G, class Driver, class Interface>
class PoolImpl : public Interface {
 public:
  template <class Params>
  PoolImpl(std::shared_ptr<const AnyGame> game, const PoolConfig& config, const Params& params, const G& initial)
      : game_(std::move(game)), driver_(config, params, initial) {}

  std::shared_ptr<const AnyGame> game() const override { return game_; }
  AnyBatch collect() override {
    const auto batch = driver_.pool().collect();
    rows_out_ = batch.rows;
    return {batch.planes, batch.rows};
  }
  void submit(const float* policy, const float* wdl) override {
    driver_.pool().submit(policy, wdl);
    rows_out_ = 0;
  }
  int rows_out() const override { return rows_out_; }
  void abandon() override {
    driver_.pool().abandon();
    rows_out_ = 0;
  }
  bool run_natively(NativeEvaluator evaluator, double slice_ms) override {
    return driver_.pool().run_natively(evaluator, slice_ms);
  }
  void clear_cache() override { driver_.pool().clear_cache(); }
  void set_cancel_token(std::shared_ptr<const CancelToken> token) override {
    driver_.pool().set_cancel_token(std::move(token));
  }
  PoolCounters counters() const override { return driver_.pool().counters(); }

 protected:
  std::shared_ptr<const AnyGame> game_;
  mutable Driver driver_;
  int rows_out_ = 0;
};

template <Game G>
class PositionSearchImpl final : public PoolImpl<G, PositionSearch<G>, AnyPositionSearch> {
 public:
  using PoolImpl<G, PositionSearch<G>, AnyPositionSearch>::PoolImpl;

  void begin(std::span<const AnyState* const> states, bool reuse_trees) override {
    std::vector<G> positions;
    for (const AnyState* state : states) {
      const auto* typed = dynamic_cast<const StateImpl<G>*>(state);
      if (typed == nullptr || typed->position().options() != this->game_->options())
        throw InvalidInput("this searches " + this->game_->spec() + ", but a state is of " + state->game()->spec());
      if (typed->outcome() != Outcome::ongoing) throw InvalidInput("the game is over: there is nothing to search");
      positions.push_back(typed->position());
    }
    this->driver_.begin(positions, reuse_trees);
  }

  SearchResult result(int slot) const override {
    if (slot < 0 || slot >= this->driver_.pool().num_slots())
      throw InvalidInput("there is no slot " + std::to_string(slot));
    const Search<G>& search = this->driver_.pool().search(slot);
    const auto actions = static_cast<std::size_t>(search.root_position().num_actions());
    SearchResult result{};
    result.action = search.best_action();
    result.value = search.root_value();
    const double draw = search.root_draw();
    result.wdl[0] = (1 - draw + result.value) / 2;
    result.wdl[1] = draw;
    result.wdl[2] = (1 - draw - result.value) / 2;
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
    for (const Action action : search.principal_variation()) result.principal_variation.push_back(action);
    if (const Node& root = search.root_node(); root.known()) {
      result.proven = value_for(root.result, root.to_move);
      result.distance = root.distance;
    }
    result.simulations = search.counters().simulations;
    result.stop_reason = search.stop_reason();
    result.tree_bytes = search.tree_bytes();
    return result;
  }
};

template <Game G>
class SelfPlayImpl final : public PoolImpl<G, SelfPlay<G>, AnySelfPlay> {
 public:
  using PoolImpl<G, SelfPlay<G>, AnySelfPlay>::PoolImpl;
  std::vector<std::uint8_t> take_rows() override { return this->driver_.take_rows(); }
  std::vector<FinishedGame> take_games() override { return this->driver_.take_games(); }
  std::vector<std::uint8_t> park() override {
    this->rows_out_ = 0;
    return this->driver_.park();
  }
  void restore(std::span<const std::uint8_t> bytes) override {
    this->rows_out_ = 0;
    this->driver_.restore(bytes);
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
