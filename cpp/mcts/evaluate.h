// From a position to an Evaluation: network outputs masked to the legal actions, and the two native evaluators.
#pragma once

#include <algorithm>
#include <cmath>

#include "games/game.h"
#include "mcts/search.h"

namespace qizero {

template <Game G>
using ScoredActions = InlineVector<ScoredAction, G::max_legal>;

template <Game G>
void sort_by_prior(ScoredActions<G>& actions) {
  std::sort(actions.begin(), actions.end(), [](const ScoredAction& a, const ScoredAction& b) {
    return a.prior != b.prior ? a.prior > b.prior : a.action < b.action;
  });
}

// Softmax of the logits over the legal actions only. The logits were computed for `position.transformed(symmetry)`.
// Whatever mass the network puts on illegal actions does not matter.
template <Game G>
void score_with_logits(const G& position, const float* logits, int symmetry, ScoredActions<G>& scored) {
  const auto actions = position.legal_actions();
  float values[G::max_legal];
  float highest = -std::numeric_limits<float>::infinity();
  for (int i = 0; i < actions.size(); ++i) {
    values[i] = logits[position.transform_action(actions[i], symmetry)];
    highest = std::max(highest, values[i]);
  }
  float total = 0;
  for (int i = 0; i < actions.size(); ++i) total += values[i] = std::exp(values[i] - highest);
  scored.clear();
  for (int i = 0; i < actions.size(); ++i) scored.push_back({actions[i], pack_prior(values[i] / total)});
  sort_by_prior<G>(scored);
}

// The same prior for every action, in ascending order.
template <Game G>
void score_uniformly(const G& position, ScoredActions<G>& scored) {
  const auto actions = position.legal_actions();
  const PackedPrior prior = pack_prior(1.0f / static_cast<float>(actions.size()));
  scored.clear();
  for (const Action action : actions) scored.push_back({action, prior});
}

// Plays on at random to the end.
template <Game G>
Outcome random_playout(G position, Rng& rng) {
  while (position.outcome() == Outcome::ongoing) position.apply(random_action(position, rng));
  return position.outcome();
}

enum class BuiltInEvaluator : std::uint8_t { uniform, rollout };

// `uniform`: equal priors, a draw. `rollout`: equal priors in random order (no action is favoured by its number), the
// outcome of one random playout.
template <Game G>
Evaluation evaluate_natively(BuiltInEvaluator evaluator, const G& position, Rng& rng, ScoredActions<G>& scored) {
  score_uniformly(position, scored);
  if (evaluator == BuiltInEvaluator::uniform) return {0.0f, 1.0f, 0.0f, {scored.begin(), scored.end()}};
  for (int i = scored.size() - 1; i > 0; --i)
    std::swap(scored[i], scored[static_cast<int>(rng.below(static_cast<std::uint32_t>(i + 1)))]);
  const Outcome outcome = random_playout(position, rng);
  const int value = value_for(outcome, position.to_move());
  return {value > 0 ? 1.0f : 0.0f, value == 0 ? 1.0f : 0.0f, value < 0 ? 1.0f : 0.0f, {scored.begin(), scored.end()}};
}

}  // namespace qizero
