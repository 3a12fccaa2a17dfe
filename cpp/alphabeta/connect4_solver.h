// Connect 4, solved: the exact score of any position and of every move.
//
// Scores are seen from the mover: 0 a draw, +s the mover wins, -s the opponent wins, where s is 22 minus the number of
// stones that the winner has on the board in the end (1 … 18): a faster win scores more, a slower loss loses less.
//
// Alpha-beta with null windows on bitboards, a transposition table in which mirrored positions are one, moves that lose
// at once left out, the rest ordered by the threats they make, and an opening table at 12 stones.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "alphabeta/connect4_book.h"
#include "alphabeta/connect4_table.h"
#include "base/cancel_token.h"
#include "games/connect4.h"

namespace qizero {

struct Connect4Scores {
  std::array<std::optional<int>, Connect4::columns> columns;  // none: the column is full, or the search was cancelled
  // Best play of both, as columns: to the end of the game, or to 12 stones when there are fewer; empty if cancelled.
  std::vector<int> pv;
  bool complete = true;  // false: cancelled, the scores that are there are exact
  std::uint64_t nodes = 0;
};

// Plies from a position with `ply` stones to the end of the game when both sides play best and `score` is its score.
int connect4_distance(int score, int ply);

class Connect4Solver {
 public:
  explicit Connect4Solver(std::shared_ptr<const Connect4Book> book, int table_megabytes = 32);

  // The score of a position that is not over; none when cancelled.
  std::optional<int> score(const Connect4& position, const CancelToken* cancel = nullptr);

  // The score that each move has for the mover. The game is not over.
  Connect4Scores scores(const Connect4& position, const CancelToken* cancel = nullptr);

  std::uint64_t nodes() const { return nodes_; }  // since the solver was made

 private:
  struct Cancelled {};
  struct Node {
    std::uint64_t mover, occupied;
    int ply;
  };

  int solve(const Node& node, int lower, int upper);
  int search(const Node& node, int alpha);
  std::vector<int> best_line(Node node, int score);
  std::uint64_t key(const Node& node) const;
  void begin(const Connect4& position, const CancelToken* cancel);

  std::shared_ptr<const Connect4Book> book_;
  Connect4Table table_;
  std::uint64_t nodes_ = 0;
  bool merge_mirrored_ = true;  // whether the position in search can lead to two positions that mirror each other
  const CancelToken* cancel_ = nullptr;
};

}  // namespace qizero
