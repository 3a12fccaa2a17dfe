// Exact results of positions near the end of a game, with every good action: what self-play learns from a proof.
//
// By alpha-beta over the rules alone; a game with something faster specialises ProverOf<G> in cpp/alphabeta/<game>.h.
#pragma once

#include <optional>

#include "alphabeta/alphabeta.h"
#include "base/idle_pool.h"

namespace qizero {

// What is known of a position by proof.
template <Game G>
struct Proof {
  Outcome outcome;
  int distance;  // plies to the end that the proof looked at: those of the quickest win, or an upper limit of a draw
  InlineVector<Action, G::max_legal> best;  // actions that lead to the outcome: of a loss all
};

template <Game G>
class RulesProver {
 public:
  // Of a win, the best actions are the quickest.
  std::optional<Proof<G>> prove_every(const G& position, std::int64_t nodes) {
    search_.begin(position, {.nodes = nodes, .margin = every_action}, nullptr);
    while (search_.deepen()) {
    }
    const AlphaBetaResult& result = search_.result();
    if (!result.proven) return std::nullopt;
    Proof<G> proof{.outcome = outcome_of(*result.proven, position.to_move()),
                   .distance = result.distance.value_or(result.depth),
                   .best = {}};
    for (const auto& [action, score, exact] : result.root)
      if (exact && (*result.proven < 0 || score == result.score)) proof.best.push_back(action);
    return proof;
  }

 private:
  static constexpr int table_megabytes = 1;
  static constexpr int every_action = 2 * win_score;  // no action is so much worse that its score would not be exact

  AlphaBeta<G, PositionBoard<G, OutcomeOnly>> search_{table_megabytes};
};

template <Game G>
struct ProverOf {
  using type = RulesProver<G>;
};

// Proofs with a limit of nodes. May be used from several threads; what is found depends on the position alone.
template <Game G>
class Provers {
 public:
  explicit Provers(std::int64_t nodes) : nodes_(nodes) {}

  // Nothing if `nodes` do not suffice for a proof. The game in the position is not over.
  std::optional<Proof<G>> prove(const G& position) {
    if (nodes_ <= 0) return std::nullopt;
    return idle_.borrow([&](Prover& prover) { return prover.prove_every(position, nodes_); });
  }

 private:
  using Prover = typename ProverOf<G>::type;

  std::int64_t nodes_;
  IdlePool<Prover> idle_;
};

}  // namespace qizero
