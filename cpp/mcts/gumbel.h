// The Gumbel root: actions sampled without replacement by Gumbel-top-k, simulations divided among them by sequential
// halving.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/rng.h"
#include "mcts/improved_policy.h"

namespace qizero {

// For each simulation, the number of visits that the next action to visit has so far. Sequential halving in this form
// spends exactly `simulations`, whatever they divide into.
inline std::vector<int> sequential_halving(int considered, int simulations) {
  std::vector<int> sequence;
  sequence.reserve(static_cast<std::size_t>(simulations));
  if (considered <= 1) {
    for (int i = 0; i < simulations; ++i) sequence.push_back(i);
    return sequence;
  }
  const int phases = std::bit_width(static_cast<unsigned>(considered - 1));  // ceil(log2)
  std::vector<int> visits(static_cast<std::size_t>(considered), 0);
  int left = considered;
  while (static_cast<int>(sequence.size()) < simulations) {
    const int rounds = std::max(1, simulations / (phases * left));
    for (int round = 0; round < rounds; ++round)
      for (int i = 0; i < left && static_cast<int>(sequence.size()) < simulations; ++i)
        sequence.push_back(visits[static_cast<std::size_t>(i)]++);
    left = std::max(2, left / 2);
  }
  return sequence;
}

class GumbelRoot {
 public:
  // The root has just been expanded, and has no visited child.
  void begin(const Tree& tree, std::int32_t root, const SearchParams& params, int num_actions, Rng& rng) {
    const auto edges = tree.edges(root);
    considered_ = std::min({params.gumbel_considered, static_cast<int>(edges.size()), std::max(params.simulations, 1)});
    if (sequence_considered_ != considered_ || static_cast<int>(sequence_.size()) != params.simulations) {
      sequence_ = sequential_halving(considered_, params.simulations);
      sequence_considered_ = considered_;
    }
    next_ = 0;
    scores_.assign(static_cast<std::size_t>(num_actions), excluded);
    std::vector<std::pair<double, Action>> sampled;
    for (const Edge& edge : edges) {
      const double logit = std::log(std::max(unpack_prior(edge.prior), 1e-9f));
      sampled.emplace_back(logit + params.gumbel_scale * (params.gumbel_scale > 0 ? rng.gumbel() : 0.0), edge.action);
    }
    const auto better = [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first > b.first : a.second < b.second;
    };
    std::partial_sort(sampled.begin(), sampled.begin() + considered_, sampled.end(), better);
    for (int i = 0; i < considered_; ++i)
      scores_[static_cast<std::size_t>(sampled[static_cast<std::size_t>(i)].second)] =
          sampled[static_cast<std::size_t>(i)].first;
  }

  int considered() const { return considered_; }

  // The position of the edge for the next simulation.
  int select(const Tree& tree, std::int32_t root, const PreparedParams& params) {
    const int wanted = next_ < sequence_.size() ? sequence_[next_] : 0;
    ++next_;
    const int position = best_with_visits(tree, root, params.values, wanted);
    return position >= 0 ? position : best(tree, root, params.values);
  }
  void take_back() { --next_; }  // the simulation that was selected last did not happen

  // The action to play: the best of those with the most visits.
  int best(const Tree& tree, std::int32_t root, const SearchParams& params) const {
    int most = 0;
    for_each_considered(tree, root, [&](int, const Edge&, int visits) { most = std::max(most, visits); });
    return std::max(0, best_with_visits(tree, root, params, most));
  }

 private:
  static constexpr double excluded = -1e300;

  template <class F>
  void for_each_considered(const Tree& tree, std::int32_t root, F&& f) const {
    const auto edges = tree.edges(root);
    for (int i = 0; i < static_cast<int>(edges.size()); ++i) {
      const Edge& edge = edges[static_cast<std::size_t>(i)];
      if (scores_[static_cast<std::size_t>(edge.action)] == excluded) continue;
      f(i, edge, edge.child == no_node ? 0 : tree.node(edge.child).visits + tree.node(edge.child).in_flight);
    }
  }

  // -1 if no action has exactly that many visits.
  int best_with_visits(const Tree& tree, std::int32_t root, const SearchParams& params, int wanted) const {
    const auto completed = CompletedQ::of(tree, root, params);
    const int player = tree.node(root).to_move;
    double best_score = excluded;
    int best = -1;
    for_each_considered(tree, root, [&](int position, const Edge& edge, int visits) {
      if (visits != wanted) return;
      const double q = edge.child == no_node
                           ? completed.mixed_value
                           : child_value(tree.node(edge.child), player, params.virtual_loss, completed.mixed_value);
      const double score = scores_[static_cast<std::size_t>(edge.action)] + completed.scale * q;
      if (score > best_score) {
        best_score = score;
        best = position;
      }
    });
    return best;
  }

  std::vector<double> scores_;  // by action: Gumbel noise + logit; `excluded` if not considered
  std::vector<int> sequence_;
  std::size_t next_ = 0;
  int considered_ = 0, sequence_considered_ = 0;
};

}  // namespace qizero
