// Exact knowledge inside the tree search: an optional part of a game that proves positions by a search of its own.
//
// A game gets an oracle by specialising OracleOf<G> in cpp/alphabeta/<game>.h. The tree search asks it once about every
// leaf before the leaf is evaluated, and with more nodes about the root.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "base/idle_pool.h"
#include "games/game.h"

namespace qizero {

// A proven result, and an action that leads to it.
struct Verdict {
  Outcome outcome;
  int distance;  // about how many plies the proof takes to the end, at least 1; a quicker win may exist
  Action action;
};

// clang-format off
template <class O, class G>
concept OracleFor = requires(O oracle, const G& position, std::int64_t nodes) {
  // Budgets that are worth their time, in the oracle's own nodes: of a leaf less than an evaluation by a network, of
  // the root less than a twentieth of a second.
  { O::leaf_nodes } -> std::convertible_to<std::int64_t>;
  { O::root_nodes } -> std::convertible_to<std::int64_t>;
  // The game goes on. Depends on the position and the nodes alone.
  { oracle.prove(position, nodes) } -> std::same_as<std::optional<Verdict>>;
};
// clang-format on

template <Game G>
struct OracleOf {
  using type = void;
};

// The oracles of many searches. May be asked by several threads at once; there are as many as threads that ask.
template <Game G>
class Oracles {
 public:
  using Oracle = typename OracleOf<G>::type;
  static constexpr bool exist = !std::is_void_v<Oracle>;

  // Nothing if the game has no oracle, or if `effort` times its own budget does not suffice for a proof.
  std::optional<Verdict> about_leaf(const G& position, double effort) {
    if constexpr (exist) return prove(position, static_cast<std::int64_t>(effort * Oracle::leaf_nodes));
    return std::nullopt;
  }
  std::optional<Verdict> about_root(const G& position, double effort) {
    if constexpr (exist) return prove(position, static_cast<std::int64_t>(effort * Oracle::root_nodes));
    return std::nullopt;
  }

 private:
  using Idle = std::conditional_t<exist, Oracle, char>;

  std::optional<Verdict> prove(const G& position, std::int64_t nodes) {
    static_assert(OracleFor<Oracle, G>);
    if (nodes <= 0) return std::nullopt;
    return idle_.borrow([&](Idle& oracle) { return oracle.prove(position, nodes); });
  }

  IdlePool<Idle> idle_;
};

}  // namespace qizero
