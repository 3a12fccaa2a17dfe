// The tree: priors in 16 bits, the order of edges, memory, compaction.
#include "mcts/tree.h"

#include <cmath>
#include <map>

#include "base/rng.h"
#include "check.h"

namespace qizero {
namespace {

void packed_priors_are_exact_to_12_bits() {
  CHECK(pack_prior(0.0f) == 0 && unpack_prior(0) == 0.0f, "zero");
  CHECK(unpack_prior(pack_prior(1.0f)) == 1.0f, "one");
  for (int packed = 0; packed <= pack_prior(1.0f); ++packed) {
    const float prior = unpack_prior(static_cast<PackedPrior>(packed));
    CHECK(pack_prior(prior) == packed, std::to_string(packed));
    CHECK(packed == 0 || prior > unpack_prior(static_cast<PackedPrior>(packed - 1)), std::to_string(packed));
  }
  Rng rng(1);
  for (int i = 0; i < 100'000; ++i) {
    const float prior = static_cast<float>(std::exp2(-30.0 * rng.uniform()));
    const float error = std::abs(unpack_prior(pack_prior(prior)) / prior - 1.0f);
    CHECK(error <= 0x1.0p-12f, std::to_string(prior));
  }
  CHECK(unpack_prior(pack_prior(1e-12f)) == 0.0f, "what is too small is 0, not the smallest");
}

// Counts the draws of a long search, far beyond what a float can count.
void sums_do_not_saturate() {
  Node node;
  for (int i = 0; i < 20'000'000; ++i) node.draw_sum += 1.0;
  CHECK(node.draw_sum == 20'000'000.0, std::to_string(node.draw_sum));
}

std::vector<ScoredAction> falling_priors(int count, Rng& rng) {
  std::vector<ScoredAction> actions;
  float prior = 1.0f;
  for (int i = 0; i < count; ++i) {
    prior *= 0.5f + 0.5f * static_cast<float>(rng.uniform());
    actions.push_back({static_cast<Action>(i), pack_prior(prior)});
  }
  return actions;
}

void activation_keeps_the_rest_in_order() {
  Rng rng(2);
  for (int round = 0; round < 200; ++round) {
    Tree tree;
    tree.add_node(0, Outcome::ongoing);
    const int count = 1 + static_cast<int>(rng.below(40));
    tree.expand(0, falling_priors(count, rng));
    std::vector<Action> activated;
    while (static_cast<int>(activated.size()) < count) {
      const int active = tree.node(0).num_active;
      const int position = active + static_cast<int>(rng.below(static_cast<std::uint32_t>(count - active)));
      activated.push_back(tree.edges(0)[static_cast<std::size_t>(position)].action);
      const std::int32_t child = tree.activate(0, position, 1, Outcome::ongoing);
      CHECK(child == static_cast<std::int32_t>(activated.size()), "children are numbered by activation");
      const auto edges = tree.edges(0);
      for (std::size_t i = 0; i < edges.size(); ++i) {
        if (i < activated.size())
          CHECK(edges[i].action == activated[i] && edges[i].child == static_cast<std::int32_t>(i) + 1,
                "active edges stand in the order of activation");
        else
          CHECK(edges[i].child == no_node && (i == activated.size() || edges[i].prior <= edges[i - 1].prior),
                "inactive edges stand by falling prior");
      }
    }
  }
}

Tree random_tree(Rng& rng, int num_nodes) {
  Tree tree;
  tree.add_node(0, Outcome::ongoing);
  while (static_cast<int>(tree.num_nodes()) < num_nodes) {
    const auto index = static_cast<std::int32_t>(rng.below(static_cast<std::uint32_t>(tree.num_nodes())));
    Node& node = tree.node(index);
    node.visits = static_cast<std::int32_t>(rng.below(1000));
    node.value_sum = rng.uniform();
    if (!node.expanded())
      tree.expand(index, falling_priors(1 + static_cast<int>(rng.below(9)), rng));
    else if (node.num_active < node.num_edges)
      tree.activate(index, node.num_active + static_cast<int>(rng.below(node.num_edges - node.num_active)),
                    static_cast<int>(rng.below(2)), static_cast<Outcome>(rng.below(4)));
  }
  return tree;
}

// Everything below a node in one text, without indices.
std::string describe(const Tree& tree, std::int32_t index, std::size_t& nodes, std::size_t& edges) {
  const Node& node = tree.node(index);
  ++nodes;
  edges += node.num_edges;
  std::string text = "(" + std::to_string(node.visits) + " " + std::to_string(node.value_sum) + " " +
                     std::to_string(node.to_move) + " " + std::to_string(static_cast<int>(node.result)) + " " +
                     std::to_string(node.num_active);
  for (const Edge& edge : tree.edges(index)) {
    text += " " + std::to_string(edge.action) + ":" + std::to_string(edge.prior);
    if (edge.child != no_node) text += describe(tree, edge.child, nodes, edges);
  }
  return text + ")";
}

void compaction_keeps_exactly_the_subtree() {
  Rng rng(3);
  for (int round = 0; round < 100; ++round) {
    Tree tree = random_tree(rng, 1 + static_cast<int>(rng.below(400)));
    while (true) {
      const auto root = static_cast<std::int32_t>(rng.below(static_cast<std::uint32_t>(tree.num_nodes())));
      std::size_t nodes = 0, edges = 0, kept_nodes = 0, kept_edges = 0;
      const std::string before = describe(tree, root, nodes, edges);
      tree.compact(root);
      CHECK(describe(tree, 0, kept_nodes, kept_edges) == before, "the subtree is the same");
      CHECK(tree.num_nodes() == nodes && tree.num_edges() == edges, "and there is nothing else");
      if (nodes == 1) break;
    }
  }
}

void memory_stays_below_its_limit() {
  Rng rng(4);
  for (const std::int64_t limit : {4096, 10'000, 1'000'000}) {
    Tree tree;
    tree.add_node(0, Outcome::ongoing);
    std::int32_t index = 0;
    while (tree.make_room(1, 7, limit)) {
      const auto bytes = tree.bytes();
      CHECK(bytes <= limit, std::to_string(bytes));
      tree.expand(index, falling_priors(7, rng));
      index = tree.activate(index, 0, 0, Outcome::ongoing);
      CHECK(tree.bytes() == bytes, "room that has been made is enough");
    }
    CHECK(tree.bytes() <= limit && tree.bytes() > limit / 4, std::to_string(tree.bytes()));
  }
  Tree tree = random_tree(rng, 100'000);
  tree.compact(static_cast<std::int32_t>(tree.num_nodes()) - 1);
  CHECK(tree.bytes() < 1000, "a large tree gives its memory back when little of it is kept");
}

}  // namespace
}  // namespace qizero

int main() {
  using namespace qizero;
  return run_tests({{"packed priors are exact to 12 bits", packed_priors_are_exact_to_12_bits},
                    {"sums do not saturate", sums_do_not_saturate},
                    {"activation keeps the rest in order", activation_keeps_the_rest_in_order},
                    {"compaction keeps exactly the subtree", compaction_keeps_exactly_the_subtree},
                    {"memory stays below its limit", memory_stays_below_its_limit}});
}
