// Choosing an edge below the root: the three formulas of `Selection` over the same tree.
#pragma once

#include <cmath>
#include <vector>

#include "mcts/params.h"
#include "mcts/proof.h"
#include "mcts/tree.h"

namespace qizero {

// Parameters with what can be worked out from them once.
class PreparedParams {
 public:
  explicit PreparedParams(const SearchParams& params) : values(params) {
    params.validate();
    for (int visits = 0; visits < table_size; ++visits) exploration_.push_back(compute_exploration(visits));
  }

  // c(N) * sqrt(N) for a node with N visits below it.
  float exploration(int visits) const {
    return visits < table_size ? exploration_[static_cast<std::size_t>(visits)] : compute_exploration(visits);
  }

  SearchParams values;

 private:
  static constexpr int table_size = 1024;

  float compute_exploration(int visits) const {
    const double c = values.c_init + std::log((1.0 + visits + values.c_base) / values.c_base);
    return static_cast<float>(c * std::sqrt(static_cast<double>(visits)));
  }

  std::vector<float> exploration_;
};

// The value of a child to `player`, in [-1, 1]: exact if known, else the mean over visits; evaluations under way count
// as losses. `otherwise` for a child of which nothing is known, because its evaluation was given up.
inline double child_value(const Node& child, int player, double virtual_loss, double otherwise) {
  if (child.known()) return value_for(child.result, player);
  const double losses = virtual_loss * child.in_flight;
  const double count = child.visits + losses;
  return count > 0 ? (sign_of(player) * child.value_sum - losses) / count : otherwise;
}

inline bool is_known_loss(const Node& child, int player) {
  return child.known() && value_for(child.result, player) < 0;
}

// The value of an action that has not been visited, to the mover of `node`, whose own value is `value`.
inline double first_play_urgency(double value, double visited_prior, double reduction) {
  return std::max(-1.0, value - reduction * std::sqrt(visited_prior) * (1.0 + value) * 0.5);
}

// With a solver, what is settled is chosen only when there is nothing else.
inline constexpr double settled_score = -1e9;

namespace selection {

// Each returns a position among the node's edges: an active one, or the first inactive one.

inline int puct(const Tree& tree, std::int32_t index, const PreparedParams& params, double fpu_reduction) {
  const Node& node = tree.node(index);
  const auto edges = tree.edges(index);
  const int player = node.to_move;
  const double virtual_loss = params.values.virtual_loss;
  const bool solver = params.values.solver;
  const double exploration = params.exploration(node.visits + node.in_flight);
  const double value = sign_of(player) * node.value_sum / node.visits;
  double best_score = -1e300, visited_prior = 0;
  int best = 0;
  for (int i = 0; i < node.num_active; ++i) {
    const Edge& edge = edges[static_cast<std::size_t>(i)];
    const Node& child = tree.node(edge.child);
    const double prior = unpack_prior(edge.prior);
    visited_prior += prior;
    const double score = solver && is_settled(node, child, player)
                             ? settled_score
                             : child_value(child, player, virtual_loss, value) +
                                   exploration * prior / (1 + child.visits + child.in_flight);
    if (score > best_score) {
      best_score = score;
      best = i;
    }
  }
  if (node.num_active < node.num_edges) {
    const double prior = unpack_prior(edges[node.num_active].prior);
    if (first_play_urgency(value, visited_prior, fpu_reduction) + exploration * prior > best_score)
      best = node.num_active;
  }
  return best;
}

inline int uct(const Tree& tree, std::int32_t index, const PreparedParams& params) {
  const Node& node = tree.node(index);
  if (node.num_active < node.num_edges) return node.num_active;
  const auto edges = tree.edges(index);
  const int player = node.to_move;
  const bool solver = params.values.solver;
  const double log_visits = std::log(static_cast<double>(node.visits + node.in_flight));
  double best_score = -1e300;
  int best = 0;
  for (int i = 0; i < node.num_active; ++i) {
    const Node& child = tree.node(edges[static_cast<std::size_t>(i)].child);
    const double score =
        solver && is_settled(node, child, player)
            ? settled_score
            : child_value(child, player, params.values.virtual_loss, 1.0) +
                  params.values.uct_c * std::sqrt(log_visits / std::max(1, child.visits + child.in_flight));
    if (score > best_score) {
      best_score = score;
      best = i;
    }
  }
  return best;
}

}  // namespace selection
}  // namespace qizero
