// Solver backup: what the results of children say about their parent.
#pragma once

#include "search/tree.h"

namespace qizero {

// Sets the node's result and distance if its children decide it: one child won for the mover, or all children known.
// The distance is that of the quickest win, the longest draw or the longest loss among the children known by now.
// Returns whether it is known.
inline bool prove_from_children(Tree& tree, std::int32_t index) {
  Node& node = tree.node(index);
  if (node.known()) return true;
  if (!node.expanded()) return false;
  bool all_known = node.num_active == node.num_edges;
  int quickest_win = -1, longest_draw = -1, longest_loss = -1;
  const auto edges = tree.edges(index);
  for (int i = 0; i < node.num_active; ++i) {
    const Node& child = tree.node(edges[static_cast<std::size_t>(i)].child);
    if (!child.known()) {
      all_known = false;
      continue;
    }
    const int value = value_for(child.result, node.to_move), distance = child.distance;
    if (value > 0)
      quickest_win = quickest_win < 0 ? distance : std::min(quickest_win, distance);
    else if (value == 0)
      longest_draw = std::max(longest_draw, distance);
    else
      longest_loss = std::max(longest_loss, distance);
  }
  if (quickest_win < 0 && !all_known) return false;
  const int distance = quickest_win >= 0 ? quickest_win : longest_draw >= 0 ? longest_draw : longest_loss;
  node.result = quickest_win >= 0 ? win_of(node.to_move) : longest_draw >= 0 ? Outcome::draw : win_of(1 - node.to_move);
  node.distance = static_cast<std::uint16_t>(std::min(distance + 1, 0xffff));
  return true;
}

}  // namespace qizero
