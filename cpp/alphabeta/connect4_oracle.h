// What can be proven of a Connect 4 position with few nodes: from about the middle of a game on, all of it.
#pragma once

#include <memory>
#include <optional>

#include "alphabeta/connect4_solver.h"
#include "alphabeta/prover.h"
#include "mcts/oracle.h"

namespace qizero {

class Connect4Oracle {
 public:
  static constexpr std::int64_t leaf_nodes = 500, root_nodes = 300'000;

  // With many nodes the action wins as soon or loses as late as possible, if they suffice for that; few are not worth
  // spending on it, and the distance is then an upper limit.
  std::optional<Verdict> prove(const Connect4& position, std::int64_t nodes) {
    const auto wanted = nodes < few_nodes ? Connect4Solver::Wanted::one_move : Connect4Solver::Wanted::best_move;
    const auto proof = prove(position, nodes, wanted);
    if (!proof) return std::nullopt;
    return Verdict{outcome_of(proof->sign, position.to_move()), distance_of(*proof, position),
                   static_cast<Action>(proof->moves[0])};
  }

  std::optional<Proof<Connect4>> prove_every(const Connect4& position, std::int64_t nodes) {
    const auto found = prove(position, nodes, Connect4Solver::Wanted::every_move);
    if (!found) return std::nullopt;
    Proof<Connect4> proof{outcome_of(found->sign, position.to_move()), distance_of(*found, position), {}};
    for (const int column : found->moves) proof.best.push_back(static_cast<Action>(column));
    return proof;
  }

 private:
  static constexpr std::int64_t few_nodes = 10'000;

  std::optional<Connect4Proof> prove(const Connect4& position, std::int64_t nodes, Connect4Solver::Wanted wanted) {
    if (Connect4::max_cells - position.ply() > most_empty(nodes)) return std::nullopt;
    return solver_.prove(position, static_cast<std::uint64_t>(nodes), wanted);
  }

  // Positions with more empty cells are rarely solved within `nodes`, so they are not tried. One more empty cell needs
  // nearly twice as many.
  static int most_empty(std::int64_t nodes) {
    int empty = 22;
    for (std::int64_t needed = 250; needed <= nodes; needed = needed * 9 / 5) ++empty;
    return empty;
  }

  static int distance_of(const Connect4Proof& proof, const Connect4& position) {
    return connect4_distance(proof.score.value_or(proof.sign), position.ply());
  }

  // Without the table of openings: that would be knowledge from elsewhere.
  Connect4Solver solver_{std::make_shared<const Connect4Book>(), /*table_megabytes=*/0};
};

template <>
struct OracleOf<Connect4> {
  using type = Connect4Oracle;
};
template <>
struct ProverOf<Connect4> {
  using type = Connect4Oracle;
};

}  // namespace qizero
