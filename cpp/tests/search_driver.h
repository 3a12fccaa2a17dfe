// Running a search in a test: evaluations made from hashes, so that they are fixed, different everywhere, and wrong.
#pragma once

#include "check.h"
#include "default_options.h"
#include "mcts/evaluate.h"
#include "mcts/search.h"

namespace qizero {

// Priors and value drawn from the position's hash.
template <Game G>
Evaluation evaluate_by_hash(const G& position, ScoredActions<G>& scored) {
  float logits[G::max_actions];
  for (int action = 0; action < position.num_actions(); ++action)
    logits[action] =
        static_cast<float>(hash_combine(position.hash(), static_cast<std::uint64_t>(action)) % 4096) / 1024;
  score_with_logits(position, logits, 0, scored);
  Rng rng(position.hash());
  const double win = rng.uniform(), draw = (1 - win) * rng.uniform();
  return {static_cast<float>(win),
          static_cast<float>(draw),
          static_cast<float>(1 - win - draw),
          {scored.begin(), scored.end()}};
}

// Runs a search that has begun to its end, up to `max_pending` evaluations at a time. `evaluate(position, scored)`
// gives an Evaluation. Returns how many it made.
template <Game G, class Evaluate>
int run_search(Search<G>& search, int max_pending, Evaluate&& evaluate) {
  int evaluations = 0;
  std::vector<int> waiting;
  for (;;) {
    const auto step = search.next(max_pending);
    if (step == Search<G>::Step::leaf) {
      CHECK(search.pending_leaf().position.outcome() == Outcome::ongoing, "a finished game is never evaluated");
      for (const int number : waiting)
        CHECK(search.pending_leaf(number).path.back() != search.pending_leaf().path.back(), "a leaf is asked for once");
      waiting.push_back(search.pending_number());
      continue;
    }
    if (step == Search<G>::Step::done) break;
    if (step == Search<G>::Step::again) continue;
    CHECK(!waiting.empty(), "it waits for nothing");
    for (const int number : waiting) {
      ScoredActions<G> scored;
      search.finish(number, evaluate(search.pending_leaf(number).position, scored));
      ++evaluations;
    }
    waiting.clear();
  }
  CHECK(waiting.empty(), "it is done, but evaluations are under way");
  return evaluations;
}

template <Game G>
int run_search(Search<G>& search, int max_pending = 1) {
  return run_search(search, max_pending, evaluate_by_hash<G>);
}

template <Game G>
G position_after(std::initializer_list<int> actions) {
  G position = G::initial(default_options<G>());
  for (const int action : actions) position.apply(static_cast<Action>(action));
  return position;
}

}  // namespace qizero
