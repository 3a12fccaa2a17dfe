#include "alphabeta/connect4_solver.h"

#include <algorithm>
#include <bit>

#include "base/bits.h"

namespace qizero {
namespace {

constexpr int cells = Connect4::max_cells;
constexpr int vertical = 1, horizontal = Connect4::bits_per_column;
constexpr std::array<int, 7> columns_from_centre{3, 2, 4, 1, 5, 0, 6};

// The score of winning with the next stone.
constexpr int score_of_win_now(int ply) { return (cells + 1 - ply) / 2; }
// The score when the opponent wins with the stone after the next.
constexpr int score_of_loss_next(int ply) { return -(cells - ply) / 2; }

constexpr std::size_t column_of(int bit) { return static_cast<std::size_t>(bit / Connect4::bits_per_column); }

std::uint64_t landing_cells(std::uint64_t occupied) { return (occupied + Connect4::bottom_row) & Connect4::playable; }

bool has_four(std::uint64_t stones) {
  std::uint64_t found = 0;
  for (const int step : {vertical, horizontal - 1, horizontal, horizontal + 1}) {
    const std::uint64_t pairs = stones & stones >> step;
    found |= pairs & pairs >> 2 * step;
  }
  return found != 0;
}

// Mirrors the columns of a key, in which a column uses all of its 7 bits.
std::uint64_t mirrored_key(std::uint64_t key) {
  constexpr std::uint64_t column = 0x7f;
  return (key & column) << 42 | (key >> 42 & column) | (key & column << 7) << 28 | (key >> 28 & column << 7) |
         (key & column << 14) << 14 | (key >> 14 & column << 14) | (key & column << 21);
}

struct OrderedMoves {
  void insert(std::uint64_t move, int threats) {
    int i = size++;
    for (; i > 0 && threats_of[i - 1] > threats; --i) {
      moves[i] = moves[i - 1];
      threats_of[i] = threats_of[i - 1];
    }
    moves[i] = move;
    threats_of[i] = threats;
  }
  std::uint64_t pop() { return moves[--size]; }

  int size = 0;
  std::uint64_t moves[Connect4::columns];
  int threats_of[Connect4::columns];
};

}  // namespace

int connect4_distance(int score, int ply) {
  if (score == 0) return cells - ply;
  const int winner = score > 0 ? ply & 1 : 1 - (ply & 1);
  const int stones_of_winner = cells / 2 + 1 - std::abs(score);
  return 2 * stones_of_winner - 1 + winner - ply;
}

Connect4Solver::Connect4Solver(std::shared_ptr<const Connect4Book> book, int table_megabytes)
    : book_(std::move(book)), table_(std::uint64_t(table_megabytes) << 20) {}

std::uint64_t Connect4Solver::key(const Node& node) const {
  const std::uint64_t key = node.mover + node.occupied;
  return merge_mirrored_ ? std::min(key, mirrored_key(key)) : key;
}

void Connect4Solver::begin(const Connect4& position, const CancelToken* cancel) {
  assert(position.outcome() == Outcome::ongoing);
  const std::uint64_t mover = position.stones_of_mover(), opponent = position.occupied() ^ mover;
  merge_mirrored_ = (Connect4::mirrored(mover) & opponent) == 0;
  cancel_ = cancel;
  look_up_at_ = nodes_;
  last_node_ = no_limit;
  table_.new_generation();
}

// From time to time: whether the search may go on.
void Connect4Solver::look_up() {
  constexpr std::uint64_t nodes_between = 4096;
  if (nodes_ >= last_node_ || (cancel_ != nullptr && cancel_->cancelled())) throw Cancelled();
  look_up_at_ = std::min(nodes_ + nodes_between, last_node_);
}

std::optional<int> Connect4Solver::score(const Connect4& position, const CancelToken* cancel) {
  begin(position, cancel);
  const Node node{position.stones_of_mover(), position.occupied(), position.ply()};
  try {
    return solve(node, -cells, cells);
  } catch (Cancelled) {
    return std::nullopt;
  }
}

Connect4Scores Connect4Solver::scores(const Connect4& position, const CancelToken* cancel) {
  begin(position, cancel);
  const std::uint64_t nodes_before = nodes_;
  Connect4Scores result;
  const Node node{position.stones_of_mover(), position.occupied(), position.ply()};
  const std::uint64_t wins = Connect4::completing_cells(node.mover, node.occupied);
  try {
    const int best = solve(node, -cells, cells);
    for (const int column : columns_from_centre) {
      const std::uint64_t move = landing_cells(node.occupied) & Connect4::column_bits(column);
      if (move == 0) continue;
      auto& score = result.columns[static_cast<std::size_t>(column)];
      if (move & wins)
        score = score_of_win_now(node.ply);
      else if (node.ply == cells - 1)
        score = 0;
      else
        score = -solve({node.occupied ^ node.mover, node.occupied | move, node.ply + 1}, -best, cells);
    }
    result.pv = best_line(node, best);
  } catch (Cancelled) {
    result.complete = false;
  }
  result.nodes = nodes_ - nodes_before;
  return result;
}

std::optional<Connect4Proof> Connect4Solver::prove(const Connect4& position, std::uint64_t nodes, Wanted wanted) {
  begin(position, nullptr);
  last_node_ = nodes_ + nodes;
  constexpr std::uint64_t bytes_per_node = 32, most_bytes = 1 << 24;
  table_.clear(std::min(nodes * bytes_per_node, most_bytes));
  const Node node{position.stones_of_mover(), position.occupied(), position.ply()};
  std::optional<Connect4Proof> proof;
  try {
    const int bound = solve(node, -1, 1);  // beyond these limits the sign alone is right
    const int sign = (bound > 0) - (bound < 0);
    const int kept = sign < 0 ? -cells : sign;  // the least score of a move that keeps the result
    if (wanted != Wanted::every_move) {
      Connect4Proof unscored{sign, {}, {}};
      unscored.moves.push_back(sign < 0 ? move_that_resists(node) : move_that_reaches(node, kept));
      proof = unscored;
    }
    if (wanted == Wanted::one_move) return proof;
    Connect4Proof scored{sign, sign == 0 ? 0 : sign > 0 ? solve(node, 1, cells) : solve(node, -cells, -1), {}};
    if (wanted == Wanted::best_move)
      scored.moves.push_back(move_that_reaches(node, *scored.score));
    else
      for (const int column : columns_from_centre) {
        const std::uint64_t move = landing_cells(node.occupied) & Connect4::column_bits(column);
        if (move != 0 && reaches(node, move, kept)) scored.moves.push_back(column);
      }
    proof = scored;
  } catch (Cancelled) {
  }
  return proof;
}

// Whether the score of a move is at least `score`.
bool Connect4Solver::reaches(const Node& node, std::uint64_t move, int score) {
  if (move & Connect4::completing_cells(node.mover, node.occupied)) return score <= score_of_win_now(node.ply);
  const Node child = after(node, move);
  if (landing_cells(child.occupied) & Connect4::completing_cells(child.mover, child.occupied))
    return score <= score_of_loss_next(node.ply);
  return child.ply >= cells - 1 ? score <= 0 : search(child, -score) <= -score;
}

// A column whose score is at least `score`; there is one. A search that has found one stopped there and left it in the
// table, so that the table is asked first.
int Connect4Solver::move_that_reaches(const Node& node, int score) {
  const std::uint64_t landing = landing_cells(node.occupied);
  if (const std::uint64_t wins = landing & Connect4::completing_cells(node.mover, node.occupied); wins != 0)
    return static_cast<int>(column_of(std::countr_zero(wins)));
  for (const bool searching : {false, true})
    for (const int column : columns_from_centre) {
      const std::uint64_t move = landing & Connect4::column_bits(column);
      if (move == 0) continue;
      if (Connect4Table::Bounds known;
          searching ? reaches(node, move, score) : table_.find(key(after(node, move)), known) && -known.upper >= score)
        return column;
    }
  return -1;
}

// A column after which the opponent cannot win at once, if there is one.
int Connect4Solver::move_that_resists(const Node& node) const {
  int any = -1;
  for (const int column : columns_from_centre) {
    const std::uint64_t move = landing_cells(node.occupied) & Connect4::column_bits(column);
    if (move == 0) continue;
    const Node child = after(node, move);
    if ((landing_cells(child.occupied) & Connect4::completing_cells(child.mover, child.occupied)) == 0) return column;
    if (any < 0) any = column;
  }
  return any;
}

// The exact score of a position that is not over and whose score lies in [lower, upper].
int Connect4Solver::solve(const Node& node, int lower, int upper) {
  if (Connect4::completing_cells(node.mover, node.occupied) & landing_cells(node.occupied))
    return score_of_win_now(node.ply);
  if (node.ply == cells - 1) return 0;
  lower = std::max(lower, score_of_loss_next(node.ply));
  upper = std::min(upper, score_of_win_now(node.ply + 2));
  if (node.ply == Connect4Book::stones)
    if (const auto known = book_->score(node.mover, node.occupied)) return *known;
  while (lower < upper) {
    // Halving the interval, but from the side of 0: whether somebody wins at all is the cheapest question.
    int middle = lower + (upper - lower) / 2;
    if (middle <= 0 && lower / 2 < middle)
      middle = lower / 2;
    else if (middle >= 0 && upper / 2 > middle)
      middle = upper / 2;
    const int found = search(node, middle);
    if (found <= middle)
      upper = found;
    else
      lower = found;
  }
  return lower;
}

// A line of best moves; `score` is the score of the node. Beyond the opening table a line from before it would have to
// be searched for from nothing; later ones have just been searched.
std::vector<int> Connect4Solver::best_line(Node node, int score) {
  std::vector<int> line;
  const int last_ply = node.ply < Connect4Book::stones ? Connect4Book::stones : cells;
  for (; node.ply < last_ply; score = -score) {
    const std::uint64_t landing = landing_cells(node.occupied);
    if (const std::uint64_t wins = landing & Connect4::completing_cells(node.mover, node.occupied); wins != 0) {
      line.push_back(static_cast<int>(column_of(std::countr_zero(wins))));
      return line;
    }
    for (const int column : columns_from_centre) {
      const std::uint64_t move = landing & Connect4::column_bits(column);
      if (move == 0 || !reaches(node, move, score)) continue;
      line.push_back(column);
      node = after(node, move);
      break;
    }
  }
  return line;
}

// A bound of the score: an upper one if it is <= alpha, a lower one if it is > alpha. The mover cannot win at once.
int Connect4Solver::search(const Node& node, int alpha) {
  if (++nodes_ >= look_up_at_) look_up();
  const auto [mover, occupied, ply] = node;
  const std::uint64_t opponent = occupied ^ mover;

  const std::uint64_t dangers = Connect4::completing_cells(opponent, occupied);
  std::uint64_t moves = landing_cells(occupied);
  if (const std::uint64_t forced = moves & dangers; forced != 0) {
    if (forced & (forced - 1)) return score_of_loss_next(ply);
    moves = forced;
  }
  moves &= ~(dangers >> 1);  // never below a cell that the opponent waits for
  if (moves == 0) return score_of_loss_next(ply);
  if (ply >= cells - 2) return 0;

  int lower = score_of_loss_next(ply + 2);
  int upper = score_of_win_now(ply + 2);
  const std::uint64_t empty = Connect4::playable ^ occupied;
  if (upper > 0 && !has_four(mover | empty)) upper = 0;
  if (lower < 0 && !has_four(opponent | empty)) lower = 0;
  if (lower > alpha) return lower;
  if (upper <= alpha) return upper;

  if (ply == Connect4Book::stones)
    if (const auto known = book_->score(mover, occupied)) return *known;

  const std::uint64_t this_key = key(node);
  if (Connect4Table::Bounds bounds; table_.find(this_key, bounds)) {
    lower = std::max(lower, bounds.lower);
    upper = std::min(upper, bounds.upper);
    if (lower > alpha) return lower;
    if (upper <= alpha) return upper;
  }

  const std::uint64_t nodes_before = nodes_;
  // Where a child is known to be good enough, nothing needs to be searched. All are fetched first, memory being slow.
  std::array<std::uint64_t, Connect4::columns> child_keys;
  for_each_bit(moves, [&](int bit) {
    std::uint64_t& child_key = child_keys[column_of(bit)];
    child_key = key({opponent, occupied | std::uint64_t{1} << bit, ply + 1});
    table_.prefetch(child_key);
  });
  OrderedMoves ordered;
  for (int i = Connect4::columns - 1; i >= 0; --i) {
    const std::uint64_t move = moves & Connect4::column_bits(columns_from_centre[static_cast<std::size_t>(i)]);
    if (move != 0) ordered.insert(move, std::popcount(Connect4::completing_cells(mover | move, occupied)));
  }
  for (int i = ordered.size - 1; i >= 0; --i) {
    const std::uint64_t child_key = child_keys[column_of(std::countr_zero(ordered.moves[i]))];
    if (Connect4Table::Bounds bounds; table_.find(child_key, bounds) && -bounds.upper > alpha) return -bounds.upper;
  }

  int best = -cells;
  while (ordered.size > 0) {
    best = std::max(best, -search({opponent, occupied | ordered.pop(), ply + 1}, -alpha - 1));
    if (best > alpha) break;
  }
  // The moves left out lose at once, which is worse than `best`.
  if (best > alpha)
    lower = std::max(lower, best);
  else
    upper = std::min(upper, best);
  table_.store(this_key, {lower, upper}, nodes_ - nodes_before);
  return best;
}

}  // namespace qizero
