// The end of an Othello game, solved: first who wins, then by how many stones.
//
// Alpha-beta on bitboards over the difference in stones: moves that leave the opponent few answers first, results of
// larger subtrees in a table. What is found depends on the position and the number of nodes alone.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/bits.h"
#include "base/hash.h"
#include "games/othello.h"
#include "mcts/oracle.h"

namespace qizero {

class OthelloEndgame {
 public:
  static constexpr std::int64_t leaf_nodes = 1'000, root_nodes = 500'000;

  // The result, and a move that wins most or loses least; if the nodes only suffice for who wins, a move to that end.
  std::optional<Verdict> prove(const Othello& position, std::int64_t nodes) {
    const std::uint64_t own = position.stones_of_mover(), other = position.stones_of_opponent();
    if (64 - std::popcount(own | other) > most_empty(nodes)) return std::nullopt;
    nodes_left_ = nodes;
    ++search_;
    std::optional<Verdict> verdict;
    try {
      const int who = solve(position, -1, 1, verdict);
      if (who != 0) solve(position, who > 0 ? 0 : -64, who > 0 ? 64 : 0, verdict);
    } catch (OutOfNodes) {
    }
    return verdict;
  }

 private:
  struct OutOfNodes {};

  // Positions with more empty cells are rarely solved within `nodes`, so they are not tried. One more empty cell needs
  // about two and a half times as many.
  static int most_empty(std::int64_t nodes) {
    int empty = 5;
    for (std::int64_t needed = 60; needed <= nodes; needed = needed * 5 / 2) ++empty;
    return empty;
  }

  // The difference in stones, or a bound outside (alpha, beta). A finished search sets the verdict.
  int solve(const Othello& position, int alpha, int beta, std::optional<Verdict>& verdict) {
    const std::uint64_t own = position.stones_of_mover(), other = position.stones_of_opponent();
    int best = -65, lower = alpha;
    Action best_action = Othello::pass;
    if (position.moves_of_mover() == 0) {
      best = -search(other, own, -beta, -alpha);
    } else {
      Moves moves(own, other, position.moves_of_mover());
      for (int i = 0; i < moves.size; ++i) {
        const Move move = moves.take(i);
        const std::uint64_t stone = std::uint64_t{1} << move.cell;
        const int score = -search(other ^ move.turned, own | stone | move.turned, -beta, -lower);
        if (score > best) {
          best = score;
          best_action = static_cast<Action>(move.cell);
        }
        lower = std::max(lower, score);
        if (lower >= beta) break;
      }
    }
    const int plies = 64 - std::popcount(own | other);  // about: passes come on top, cells that stay empty come off
    verdict = Verdict{outcome_of(best, position.to_move()), plies, best_action};
    return best;
  }

  struct Move {
    std::uint64_t turned;
    int cell, priority;
  };
  struct Moves {
    std::array<Move, Othello::max_legal> list;
    int size = 0;

    Moves(std::uint64_t own, std::uint64_t other, std::uint64_t cells) {
      for_each_bit(cells, [&](int cell) {
        const std::uint64_t stone = std::uint64_t{1} << cell;
        const std::uint64_t turned = Othello::turned_stones(stone, own, other);
        const std::uint64_t answers = Othello::legal_cells(other ^ turned, own | stone | turned);
        const int corner_answers = std::popcount(answers & corners);
        list[static_cast<std::size_t>(size++)] = {
            turned, cell, (stone & corners ? 8 : 0) - 2 * std::popcount(answers) - 4 * corner_answers};
      });
    }
    Move take(int i) {
      const auto begin = list.begin() + i;
      std::iter_swap(begin, std::max_element(begin, list.begin() + size,
                                             [](const Move& a, const Move& b) { return a.priority < b.priority; }));
      return *begin;
    }
  };
  static constexpr std::uint64_t corners = 0x8100'0000'0000'0081;

  // The difference in stones for the side of `own`, which is to move; a bound outside (alpha, beta).
  int search(std::uint64_t own, std::uint64_t other, int alpha, int beta) {
    if (--nodes_left_ < 0) throw OutOfNodes();
    const std::uint64_t cells = Othello::legal_cells(own, other);
    if (cells == 0) {
      if (Othello::legal_cells(other, own) == 0) return std::popcount(own) - std::popcount(other);
      return -search(other, own, -beta, -alpha);
    }
    const int empty = 64 - std::popcount(own | other);
    if (empty <= 4) return search_last(own, other, cells, alpha, beta);

    Entry& entry = table_[hash_combine(own, other) % table_size];
    if (entry.search == search_ && entry.own == own && entry.other == other) {
      if (entry.lower >= beta) return entry.lower;
      if (entry.upper <= alpha) return entry.upper;
      if (entry.lower == entry.upper) return entry.lower;
    }
    Moves moves(own, other, cells);
    int best = -65, lower = alpha;
    for (int i = 0; i < moves.size; ++i) {
      const Move move = moves.take(i);
      const std::uint64_t stone = std::uint64_t{1} << move.cell;
      best = std::max(best, -search(other ^ move.turned, own | stone | move.turned, -beta, -lower));
      lower = std::max(lower, best);
      if (lower >= beta) break;
    }
    Entry& stored = table_[hash_combine(own, other) % table_size];
    stored = {own, other, search_, static_cast<std::int8_t>(best > alpha ? best : -64),
              static_cast<std::int8_t>(best < beta ? best : 64)};
    return best;
  }

  // Few empty cells: their order is not worth its time.
  int search_last(std::uint64_t own, std::uint64_t other, std::uint64_t cells, int alpha, int beta) {
    int best = -65;
    for (; cells != 0; cells &= cells - 1) {
      const std::uint64_t stone = cells & (~cells + 1);
      const std::uint64_t turned = Othello::turned_stones(stone, own, other);
      best = std::max(best, -search(other ^ turned, own | stone | turned, -beta, -alpha));
      alpha = std::max(alpha, best);
      if (alpha >= beta) break;
    }
    return best;
  }

  struct Entry {
    std::uint64_t own = 0, other = 0;
    std::uint32_t search = 0;  // entries of earlier searches count as empty
    std::int8_t lower = -64, upper = 64;
  };
  static constexpr std::size_t table_size = 1 << 14;

  std::int64_t nodes_left_ = 0;
  std::uint32_t search_ = 0;
  std::vector<Entry> table_ = std::vector<Entry>(table_size);
};

template <>
struct OracleOf<Othello> {
  using type = OthelloEndgame;
};

}  // namespace qizero
