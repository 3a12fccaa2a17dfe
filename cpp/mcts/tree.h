// The search tree: nodes and edges in two contiguous arrays, addressed by 32-bit indices, so that a tree is two
// allocations, can be measured, bounded, and compacted.
//
// Values have an owner: a node's sums are for player 0, always. Whoever chooses turns them by `to_move` of the node
// that chooses; no sign ever depends on depth, because a side may act several times in a row.
#pragma once

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "games/game.h"

namespace qizero {

// A prior in 16 bits: 5 of exponent, 11 of mantissa, so 0 and 2^-31 … 1 with a relative error below 2^-12.
using PackedPrior = std::uint16_t;

inline PackedPrior pack_prior(float prior) {
  constexpr std::uint32_t smallest = (127u - 31u) << 11;
  const std::uint32_t bits = (std::bit_cast<std::uint32_t>(prior) + (1u << 11)) >> 12;
  return bits <= smallest ? PackedPrior{0} : static_cast<PackedPrior>(bits - smallest);
}
inline float unpack_prior(PackedPrior prior) {
  constexpr std::uint32_t smallest = (127u - 31u) << 11;
  return prior == 0 ? 0.0f : std::bit_cast<float>((prior + smallest) << 12);
}

// An action with its prior: what an evaluation says of a position, best first.
struct ScoredAction {
  Action action;
  PackedPrior prior;
};

struct Edge {
  std::int32_t child;  // no_node until its first visit
  Action action;
  PackedPrior prior;
};
static_assert(sizeof(Edge) == 8);

inline constexpr std::int32_t no_node = -1;

struct Node {
  double value_sum = 0;               // for player 0, over visits
  double draw_sum = 0;                // probability of a draw, over visits; a float would stop counting at 2^24
  std::int32_t visits = 0;            // finished simulations that passed or ended here
  std::int32_t first_edge = no_node;  // unexpanded until set
  std::uint16_t num_edges = 0;
  std::uint16_t num_active = 0;  // the first `num_active` edges have children; the others are sorted by falling prior
  union {
    std::uint16_t distance = 0;  // if the result is known: plies to the end
    std::int16_t evaluation;     // if not: what the evaluator said, for player 0, in units of 1/32767
  };
  std::uint16_t in_flight : 11 = 0;  // evaluations under way below here
  std::uint16_t safe : 2 = 0;        // bit p: player p is known to have at least a draw
  std::uint16_t to_move : 1 = 0;
  Outcome result : 2 = Outcome::ongoing;  // known result: the game's end, or proven by the children

  bool expanded() const { return first_edge != no_node; }
  bool known() const { return result != Outcome::ongoing; }
  bool safe_for(int player) const { return safe >> player & 1; }
  void set_result(Outcome known_result, int plies) {
    result = known_result;
    distance = static_cast<std::uint16_t>(std::min(plies, 0xffff));
    safe = known_result == Outcome::draw ? 3 : known_result == Outcome::player0_wins ? 1 : 2;
  }
  void set_evaluation(double value_for_player0) {
    evaluation = static_cast<std::int16_t>(std::lround(32767 * value_for_player0));
  }
  double evaluated_for_player0() const { return evaluation / 32767.0; }
};
static_assert(sizeof(Node) == 32);

constexpr double sign_of(int player) { return player == 0 ? 1.0 : -1.0; }

// What a result means to `player`: +1, 0 or -1.
constexpr int value_for(Outcome result, int player) {
  return player == 0 ? value_for_player0(result) : -value_for_player0(result);
}

class Tree {
 public:
  void clear() {
    if (bytes() > kept_bytes) *this = {};
    nodes_.clear();
    edges_.clear();
  }

  // Reserves memory for this many more nodes and edges. Returns false if the tree would need more than `max_bytes` at
  // any moment, that of growing included.
  bool make_room(std::size_t nodes, std::size_t edges, std::int64_t max_bytes) {
    return grow(nodes_, nodes, max_bytes) && grow(edges_, edges, max_bytes);
  }

  std::int32_t add_node(int to_move, Outcome result) {
    Node node;
    node.to_move = to_move & 1;
    if (result != Outcome::ongoing) node.set_result(result, 0);
    nodes_.push_back(node);
    return static_cast<std::int32_t>(nodes_.size()) - 1;
  }

  // `actions` by falling prior.
  void expand(std::int32_t index, std::span<const ScoredAction> actions) {
    Node& node = nodes_[static_cast<std::size_t>(index)];
    assert(!node.expanded() && !actions.empty());
    node.first_edge = static_cast<std::int32_t>(edges_.size());
    node.num_edges = static_cast<std::uint16_t>(actions.size());
    for (const ScoredAction& scored : actions) edges_.push_back({no_node, scored.action, scored.prior});
  }

  // Makes the edge at `position` of the node the last active one, with a new child. Returns the child.
  std::int32_t activate(std::int32_t index, int position, int to_move, Outcome result) {
    const std::int32_t child = add_node(to_move, result);
    Node& node = nodes_[static_cast<std::size_t>(index)];
    Edge* const first = edges_.data() + node.first_edge;
    assert(position >= node.num_active && position < node.num_edges);
    std::rotate(first + node.num_active, first + position, first + position + 1);
    first[node.num_active].child = child;
    ++node.num_active;
    return child;
  }

  // Keeps what lies below `root`, which becomes node 0; everything else is freed. Indices change.
  void compact(std::int32_t root);

  Node& node(std::int32_t index) { return nodes_[static_cast<std::size_t>(index)]; }
  const Node& node(std::int32_t index) const { return nodes_[static_cast<std::size_t>(index)]; }
  std::span<Edge> edges(std::int32_t index) {
    if (!node(index).expanded()) return {};
    return {edges_.data() + node(index).first_edge, node(index).num_edges};
  }
  std::span<const Edge> edges(std::int32_t index) const { return const_cast<Tree*>(this)->edges(index); }

  std::size_t num_nodes() const { return nodes_.size(); }
  std::size_t num_edges() const { return edges_.size(); }

  // Memory taken, whether it is used yet or not.
  std::int64_t bytes() const {
    return static_cast<std::int64_t>(nodes_.capacity() * sizeof(Node) + edges_.capacity() * sizeof(Edge));
  }

 private:
  static constexpr std::int64_t kept_bytes = 1 << 20;  // a tree up to this size keeps its memory when it is cleared

  template <class T>
  bool grow(std::vector<T>& items, std::size_t more, std::int64_t max_bytes) const {
    if (items.capacity() - items.size() >= more) return true;
    const std::size_t wanted = std::max(items.size() + more, items.capacity() + items.capacity() / 2);
    if (bytes() + static_cast<std::int64_t>(wanted * sizeof(T)) > max_bytes) return false;
    items.reserve(wanted);
    return true;
  }

  std::vector<Node> nodes_;
  std::vector<Edge> edges_;
};

inline void Tree::compact(std::int32_t root) {
  Tree kept;
  if (bytes() <= kept_bytes) {  // it will grow to about its old size again
    kept.nodes_.reserve(nodes_.capacity());
    kept.edges_.reserve(edges_.capacity());
  }
  kept.nodes_.push_back(node(root));
  // Breadth first: the children of a node that has been copied are appended behind all that is there.
  for (std::size_t next = 0; next < kept.nodes_.size(); ++next) {
    const std::int32_t old_first = kept.nodes_[next].first_edge;
    if (old_first == no_node) continue;
    const std::size_t first = kept.edges_.size();
    const int count = kept.nodes_[next].num_edges, active = kept.nodes_[next].num_active;
    kept.edges_.insert(kept.edges_.end(), edges_.begin() + old_first, edges_.begin() + old_first + count);
    kept.nodes_[next].first_edge = static_cast<std::int32_t>(first);
    for (int i = 0; i < active; ++i) {
      Edge& edge = kept.edges_[first + static_cast<std::size_t>(i)];
      kept.nodes_.push_back(node(edge.child));
      edge.child = static_cast<std::int32_t>(kept.nodes_.size()) - 1;
    }
  }
  *this = std::move(kept);
}

}  // namespace qizero
