// Searches of given positions: what players, the arena and the page use.
#pragma once

#include <span>
#include <vector>

#include "mcts/pool.h"

namespace qizero {

template <Game G>
class PositionSearch final : public Pool<G>::Driver {
 public:
  PositionSearch(const PoolConfig& config, const SearchParams& params, const G& example)
      : params_(params), pool_(config, example, *this) {}

  Pool<G>& pool() { return pool_; }

  // Begins to search the first positions.size() slots; what is under way is given up. With `reuse_trees`, a slot that
  // holds its position or one from one or two actions before keeps what it knows; without, the result depends on the
  // position and the seed only. Positions go on (no game over) and have the options of the example.
  void begin(std::span<const G> positions, bool reuse_trees) {
    if (static_cast<int>(positions.size()) > pool_.num_slots())
      throw InvalidInput("begin: " + std::to_string(positions.size()) + " positions, but the pool has " +
                         std::to_string(pool_.num_slots()) + " slots");
    pool_.abandon();
    began_.resize(static_cast<std::size_t>(pool_.num_slots()), false);
    for (int i = 0; i < static_cast<int>(positions.size()); ++i) {
      Search<G>& search = pool_.search(i);
      const G& position = positions[static_cast<std::size_t>(i)];
      if (!reuse_trees) search.reseed(hash_combine(pool_.seed(), position.hash()));
      if (!reuse_trees || !began_[static_cast<std::size_t>(i)] || !walk_to(search, position)) search.reset(position);
      began_[static_cast<std::size_t>(i)] = true;
      search.begin(params_);
      pool_.wake(i);
    }
    pool_.start();
  }

  // The search in a slot, which no thread touches while it is looked at. Throws InvalidInput if there is none.
  const Search<G>& search(int slot) {
    if (slot < 0 || slot >= static_cast<int>(began_.size()) || !began_[static_cast<std::size_t>(slot)])
      throw InvalidInput("no position has been searched in slot " + std::to_string(slot));
    pool_.wait_for_background();
    return pool_.search(slot);
  }

  bool search_done(int, Search<G>&) override { return false; }
  void batch_ready(int, int) override {}

 private:
  // Moves the search's root to `position` if it is the root, a child or a grandchild that has been visited.
  static bool walk_to(Search<G>& search, const G& position) {
    if (search.root_position() == position) return true;
    for (const Action first : search.visited_actions()) {
      G child = search.root_position();
      child.apply(first);
      if (child == position) {
        search.advance(first);
        return true;
      }
      if (child.outcome() != Outcome::ongoing) continue;
      for (const Action second : child.legal_actions()) {
        G grandchild = child;
        grandchild.apply(second);
        if (!(grandchild == position)) continue;
        search.advance(first);
        search.advance(second);
        return true;
      }
    }
    return false;
  }

  PreparedParams params_;
  std::vector<char> began_;
  Pool<G> pool_;
};

}  // namespace qizero
