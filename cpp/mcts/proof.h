// Solver backup: what is known of children says something about their parent. Beside results, two bounds travel up:
// whether either player has at least a draw. A position is drawn as soon as both have one, and no simulation is spent
// on actions that cannot be better than a draw already in hand (score-bounded search, Cazenave and Saffidine 2010).
#pragma once

#include "mcts/tree.h"

namespace qizero {

// Nothing that matters to `player`, the mover of `node`, can be learnt below this child: it is known, or no better than
// the draw that the player has anyway.
inline bool is_settled(const Node& node, const Node& child, int player) {
  return child.known() || (node.safe_for(player) && child.safe_for(1 - player));
}

// Updates the node's bounds and, if its children decide it, its result. Returns whether anything is new. The distance
// of a result is that of the quickest win, the longest draw or the longest loss among the children known by now.
inline bool learn_from_children(Tree& tree, std::int32_t index) {
  Node& node = tree.node(index);
  if (node.known() || !node.expanded()) return false;
  const int player = node.to_move;
  bool all_lost = node.num_active == node.num_edges, all_safe_for_opponent = all_lost, some_safe = false;
  int quickest_win = -1, longest_draw = 0, longest_loss = 0;
  const auto edges = tree.edges(index);
  for (int i = 0; i < node.num_active; ++i) {
    const Node& child = tree.node(edges[static_cast<std::size_t>(i)].child);
    some_safe |= child.safe_for(player);
    all_safe_for_opponent &= child.safe_for(1 - player);
    if (!child.known()) {
      all_lost = false;
      continue;
    }
    const int value = value_for(child.result, player), distance = child.distance;
    if (value > 0)
      quickest_win = quickest_win < 0 ? distance : std::min(quickest_win, distance);
    else if (value == 0)
      longest_draw = std::max(longest_draw, distance);
    else
      longest_loss = std::max(longest_loss, distance);
    all_lost &= value < 0;
  }
  const int safe_before = node.safe;
  if (quickest_win >= 0)
    node.set_result(win_of(player), quickest_win + 1);
  else if (all_lost)
    node.set_result(win_of(1 - player), longest_loss + 1);
  else if (some_safe && all_safe_for_opponent)
    node.set_result(Outcome::draw, longest_draw + 1);
  else
    node.safe = (safe_before | some_safe << player | all_safe_for_opponent << (1 - player)) & 3;
  return node.known() || node.safe != safe_before;
}

}  // namespace qizero
