// Solver backup on random trees, in which the side to move follows no pattern.
#include "mcts/proof.h"

#include "base/rng.h"
#include "check.h"

namespace qizero {
namespace {

struct RandomTree {
  Tree tree;
  std::vector<std::int32_t> parent{no_node};
  std::vector<std::int32_t> leaves;
  std::vector<Outcome> leaf_results;  // by node; ongoing for inner nodes

  RandomTree(Rng& rng, int depth) {
    tree.add_node(static_cast<int>(rng.below(2)), Outcome::ongoing);
    grow(rng, 0, depth);
  }

  void grow(Rng& rng, std::int32_t index, int depth) {
    leaf_results.resize(tree.num_nodes(), Outcome::ongoing);
    if (depth == 0 || (index != 0 && rng.below(5) == 0)) {
      leaves.push_back(index);
      leaf_results[static_cast<std::size_t>(index)] = static_cast<Outcome>(1 + rng.below(3));
      return;
    }
    std::vector<ScoredAction> actions(1 + rng.below(4), ScoredAction{0, pack_prior(0.5f)});
    tree.expand(index, actions);
    for (std::size_t i = 0; i < actions.size(); ++i) {
      const std::int32_t child =
          tree.activate(index, tree.node(index).num_active, static_cast<int>(rng.below(2)), Outcome::ongoing);
      parent.push_back(index);
      grow(rng, child, depth - 1);
    }
  }

  Outcome minimax(std::int32_t index) const {
    const Node& node = tree.node(index);
    if (!node.expanded()) return leaf_results[static_cast<std::size_t>(index)];
    Outcome best = win_of(1 - node.to_move);
    for (const Edge& edge : tree.edges(index)) {
      const Outcome result = minimax(edge.child);
      if (value_for(result, node.to_move) > value_for(best, node.to_move)) best = result;
    }
    return best;
  }

  // Every known result is the true one, and its distance leads to a leaf; so are the bounds.
  void check_known() const {
    for (std::int32_t index = 0; index < static_cast<std::int32_t>(tree.num_nodes()); ++index) {
      const Node& node = tree.node(index);
      for (const int player : {0, 1})
        CHECK(!node.safe_for(player) || value_for(minimax(index), player) >= 0, "a bound is wrong");
      if (!node.known()) continue;
      CHECK(node.result == minimax(index), "a proof is wrong");
      if (!node.expanded()) continue;
      bool found = false;
      int longest = 0;
      for (const Edge& edge : tree.edges(index)) {
        const Node& child = tree.node(edge.child);
        if (!child.known() || child.result != node.result) continue;
        found |= child.distance + 1 == node.distance;
        longest = std::max(longest, child.distance + 1);
      }
      CHECK(found, "the distance is not that of a child with the result");
      // Bounds prove a draw before all drawn children are known, so a longer one may turn up later.
      CHECK(value_for(node.result, node.to_move) > 0 || node.distance <= longest, "a draw or loss lasts too long");
      CHECK(value_for(node.result, node.to_move) >= 0 || node.distance == longest, "a loss lasts longest");
    }
  }
};

void proofs_are_sound_and_complete() {
  Rng rng(1);
  for (int round = 0; round < 2000; ++round) {
    RandomTree random(rng, 1 + static_cast<int>(rng.below(4)));
    for (std::size_t i = random.leaves.size(); i > 1; --i)
      std::swap(random.leaves[i - 1], random.leaves[rng.below(static_cast<std::uint32_t>(i))]);
    for (const std::int32_t leaf : random.leaves) {
      random.tree.node(leaf).set_result(random.leaf_results[static_cast<std::size_t>(leaf)], 0);
      for (std::int32_t index = random.parent[static_cast<std::size_t>(leaf)];
           index != no_node && learn_from_children(random.tree, index);
           index = random.parent[static_cast<std::size_t>(index)]) {
      }
      random.check_known();
    }
    CHECK(random.tree.node(0).known(), "all leaves are known, but the root is not");
  }
}

void an_unvisited_action_may_be_anything() {
  Tree tree;
  tree.add_node(0, Outcome::ongoing);
  CHECK(!learn_from_children(tree, 0), "not expanded");
  const std::vector<ScoredAction> actions(2, ScoredAction{0, pack_prior(0.5f)});
  tree.expand(0, actions);
  tree.activate(0, 0, 1, Outcome::player1_wins);
  CHECK(!learn_from_children(tree, 0), "the other action may save player 0");
  tree.activate(0, 1, 1, Outcome::player0_wins);
  CHECK(learn_from_children(tree, 0) && tree.node(0).result == Outcome::player0_wins && tree.node(0).distance == 1,
        "it does");
}

void the_quickest_win_and_the_longest_loss_count() {
  for (const int player : {0, 1}) {
    for (const bool winning : {true, false}) {
      Tree tree;
      tree.add_node(player, Outcome::ongoing);
      const std::vector<ScoredAction> actions(3, ScoredAction{0, pack_prior(0.3f)});
      tree.expand(0, actions);
      for (const int distance : {6, 2, 4})
        tree.node(tree.activate(0, tree.node(0).num_active, 1 - player, win_of(winning ? player : 1 - player)))
            .distance = static_cast<std::uint16_t>(distance);
      CHECK(learn_from_children(tree, 0), "all are known");
      CHECK(tree.node(0).distance == (winning ? 3 : 7), std::to_string(tree.node(0).distance));
    }
  }
}

}  // namespace
}  // namespace qizero

int main() {
  using namespace qizero;
  return run_tests({{"proofs are sound and complete", proofs_are_sound_and_complete},
                    {"an unvisited action may be anything", an_unvisited_action_may_be_anything},
                    {"the quickest win and the longest loss count", the_quickest_win_and_the_longest_loss_count}});
}
