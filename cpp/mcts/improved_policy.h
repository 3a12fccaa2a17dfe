// The improved policy of Gumbel AlphaZero (Danihelka et al. 2022): softmax(log prior + sigma(completed q)). Actions
// without a visit take the mixed value v_mix for their q, so that the policy never moves mass on no evidence.
#pragma once

#include <cmath>
#include <span>

#include "mcts/selection.h"

namespace qizero {

// What sigma and completed q need of a node, to its mover.
struct CompletedQ {
  double mixed_value;  // v_mix: the node's own evaluation and the visited actions' values, weighted by prior
  double scale;        // sigma(q) = scale * q

  static CompletedQ of(const Tree& tree, std::int32_t index, const SearchParams& params) {
    const Node& node = tree.node(index);
    const auto edges = tree.edges(index);
    double prior_sum = 0, weighted_q = 0, lowest = 1, highest = -1;
    int most_visits = 0, visits = 0;
    for (int i = 0; i < node.num_active; ++i) {
      const Edge& edge = edges[static_cast<std::size_t>(i)];
      const Node& child = tree.node(edge.child);
      const int child_visits = child.visits + child.in_flight;
      if (child_visits == 0) continue;
      const double prior = std::max(unpack_prior(edge.prior), 1e-9f);
      prior_sum += prior;
      const double q = child_value(child, node.to_move, params.virtual_loss, 0.0);
      weighted_q += prior * q;
      if (!is_known_loss(child, node.to_move)) {  // these get no mass, so nothing has to be told apart from them
        lowest = std::min(lowest, q);
        highest = std::max(highest, q);
      }
      visits += child_visits;
      most_visits = std::max(most_visits, child_visits);
    }
    const double own = sign_of(node.to_move) * node.evaluated_for_player0();
    const double mixed = visits == 0 ? own : (own + visits * weighted_q / prior_sum) / (1 + visits);
    if (node.num_active < node.num_edges) {
      lowest = std::min(lowest, mixed);
      highest = std::max(highest, mixed);
    }
    const double stretch = 2.0 / std::max(highest - lowest, params.q_span);
    return {mixed, (params.c_visit + most_visits) * params.c_scale * stretch};
  }
};

namespace selection {

// Deterministic: the action whose share of visits lags most behind the improved policy.
inline int improved_policy(const Tree& tree, std::int32_t index, const PreparedParams& params) {
  const Node& node = tree.node(index);
  const auto edges = tree.edges(index);
  const auto completed = CompletedQ::of(tree, index, params.values);
  const auto child_of = [&](int i) -> const Node& { return tree.node(edges[static_cast<std::size_t>(i)].child); };
  const auto sigma_of = [&](int i) {  // relative to sigma(v_mix)
    const double q = child_value(child_of(i), node.to_move, params.values.virtual_loss, completed.mixed_value);
    return completed.scale * (q - completed.mixed_value);
  };
  double highest = 0;  // a shift that keeps exp in range
  for (int i = 0; i < node.num_active; ++i) highest = std::max(highest, sigma_of(i));
  const auto weight_of = [&](int i, double sigma) {
    return unpack_prior(edges[static_cast<std::size_t>(i)].prior) * std::exp(sigma - highest);
  };
  double total = 0, active_prior = 0;
  for (int i = 0; i < node.num_active; ++i) {
    active_prior += unpack_prior(edges[static_cast<std::size_t>(i)].prior);
    total += weight_of(i, sigma_of(i));
  }
  total += std::max(0.0, 1.0 - active_prior) * std::exp(-highest);
  total = std::max(total, 1e-300);

  const bool solver = params.values.solver;
  const int visits_below = node.visits + node.in_flight;  // the node's own evaluation counts as the 1 of 1 + sum N
  double best_score = -1e300;
  int best = 0;
  for (int i = 0; i < node.num_active; ++i) {
    const Node& child = child_of(i);
    const double score =
        solver && is_settled(node, child, node.to_move)
            ? settled_score
            : weight_of(i, sigma_of(i)) / total - static_cast<double>(child.visits + child.in_flight) / visits_below;
    if (score > best_score) {
      best_score = score;
      best = i;
    }
  }
  if (node.num_active < node.num_edges && weight_of(node.num_active, 0.0) / total > best_score) best = node.num_active;
  return best;
}

}  // namespace selection
}  // namespace qizero
