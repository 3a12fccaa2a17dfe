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
#include "base/inline_vector.h"
#include "games/connect4.h"

namespace qizero {

struct Connect4Scores {
  std::array<std::optional<int>, Connect4::columns> columns;  // none: the column is full, or the search was cancelled
  // Best play of both, as columns: to the end of the game, or to 12 stones when there are fewer; empty if cancelled.
  std::vector<int> pv;
  bool complete = true;  // false: cancelled, the scores that are there are exact
  std::uint64_t nodes = 0;
};

// What a limited number of nodes can prove of a position.
struct Connect4Proof {
  int sign;                                    // of the score: 1 the mover wins, 0 a draw, -1 the opponent wins
  std::optional<int> score;                    // where it was asked for and the nodes sufficed
  InlineVector<int, Connect4::columns> moves;  // columns that lead there
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

  // Any move that keeps the result, one that wins soonest or loses latest, or every move that keeps the result.
  enum class Wanted { one_move, best_move, every_move };
  // Who wins, and the moves that are wanted; none if `nodes` do not suffice. If they suffice for who wins but not for
  // the best move, the score is missing and the move keeps the result. It begins with an empty table, so that the
  // answer depends on the position and the nodes alone. The game is not over.
  std::optional<Connect4Proof> prove(const Connect4& position, std::uint64_t nodes, Wanted wanted);

  std::uint64_t nodes() const { return nodes_; }  // since the solver was made

 private:
  struct Cancelled {};  // or out of nodes
  static constexpr std::uint64_t no_limit = ~std::uint64_t{0};
  struct Node {
    std::uint64_t mover, occupied;
    int ply;
  };
  static Node after(const Node& node, std::uint64_t move) {
    return {node.occupied ^ node.mover, node.occupied | move, node.ply + 1};
  }

  int solve(const Node& node, int lower, int upper);
  int search(const Node& node, int alpha);
  bool reaches(const Node& node, std::uint64_t move, int score);
  int move_that_reaches(const Node& node, int score);
  int move_that_resists(const Node& node) const;
  std::vector<int> best_line(Node node, int score);
  void look_up();
  std::uint64_t key(const Node& node) const;
  void begin(const Connect4& position, const CancelToken* cancel);

  std::shared_ptr<const Connect4Book> book_;
  Connect4Table table_;
  std::uint64_t nodes_ = 0;
  std::uint64_t look_up_at_ = 0;  // nodes
  std::uint64_t last_node_ = no_limit;
  bool merge_mirrored_ = true;  // whether the position in search can lead to two positions that mirror each other
  const CancelToken* cancel_ = nullptr;
};

}  // namespace qizero
