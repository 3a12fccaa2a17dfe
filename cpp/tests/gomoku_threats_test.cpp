// The Gomoku board and its threat searches, against slow ones that know nothing but the rules.
#include "classical/gomoku_threats.h"

#include <chrono>
#include <optional>

#include "check.h"
#include "classical/gomoku.h"
#include "search/alphabeta.h"

namespace qizero {
namespace {

using Cells = std::vector<std::int8_t>;

bool needs_exact_five(const Gomoku& position, int player) {
  const int rule = position.options()[1];
  return rule == Gomoku::standard || (rule == Gomoku::renju && player == 0);
}

// Whether a stone of the player on the empty point would win.
bool makes_five(const Gomoku& position, const Cells& cells, int player, int point) {
  const int size = position.board_shape().width, stone = player == 0 ? 1 : -1;
  for (const LineStep step : line_steps) {
    int length = 1;
    for (const int sign : {-1, 1}) {
      int row = point / size, column = point % size;
      for (;; ++length) {
        row += sign * step.rows;
        column += sign * step.columns;
        if (row < 0 || row >= size || column < 0 || column >= size) break;
        if (cells[static_cast<std::size_t>(row * size + column)] != stone) break;
      }
    }
    if (length == 5 || (length > 5 && !needs_exact_five(position, player))) return true;
  }
  return false;
}

std::vector<int> five_points(const Gomoku& position, int player) {
  const Cells cells = position.setup().board;
  std::vector<int> points;
  for (int point = 0; point < position.num_actions(); ++point)
    if (cells[static_cast<std::size_t>(point)] == 0 && makes_five(position, cells, player, point))
      points.push_back(point);
  return points;
}

Gomoku after(const Gomoku& position, int action) {
  Gomoku next = position;
  next.apply(static_cast<Action>(action));
  return next;
}

// Win by fours of the mover within so many plies, by trying every legal action.
bool wins_by_fours(const Gomoku& position, int plies, int& budget) {
  const int mover = position.to_move();
  if (!five_points(position, mover).empty()) return true;
  if (plies < 3 || --budget < 0) return false;
  const std::vector<int> must = five_points(position, 1 - mover);
  if (must.size() > 1) return false;
  for (const Action action : position.legal_actions()) {
    if (!must.empty() && action != must[0]) continue;
    const Gomoku four = after(position, action);
    if (four.outcome() != Outcome::ongoing) continue;
    const std::vector<int> fives = five_points(four, mover);
    if (fives.empty()) continue;
    if (fives.size() > 1 || !four.is_legal(static_cast<Action>(fives[0]))) return true;
    const Gomoku answered = after(four, fives[0]);
    if (answered.outcome() == Outcome::ongoing && wins_by_fours(answered, plies - 2, budget)) return true;
  }
  return false;
}

// Whether the mover can win at once or with an open four: whatever the other side answers.
bool wins_within_three(const Gomoku& position) {
  const int mover = position.to_move();
  if (!five_points(position, mover).empty()) return true;
  for (const Action action : position.legal_actions()) {
    const Gomoku next = after(position, action);
    if (next.outcome() != Outcome::ongoing || !five_points(next, 1 - mover).empty()) continue;
    if (const auto fives = five_points(next, mover);
        fives.size() > 1 || (fives.size() == 1 && !next.is_legal(static_cast<Action>(fives[0]))))
      return true;
  }
  return false;
}

// Random stones around the middle; the game goes on and nobody can win at once.
Gomoku crowded_position(const OptionValues& options, int stones, int spread, Rng& rng) {
  for (;;) {
    Gomoku position = Gomoku::initial(options);
    const int size = options[0];
    int tries = 0;
    for (int placed = 0; placed < stones && tries < 500; ++tries) {
      const auto offset = [&] {
        return static_cast<int>(rng.below(static_cast<std::uint32_t>(2 * spread + 1))) - spread;
      };
      const auto action = static_cast<Action>((size / 2 + offset()) * size + size / 2 + offset());
      if (!position.is_legal(action)) continue;
      const Gomoku next = after(position, action);
      if (next.outcome() != Outcome::ongoing) continue;
      position = next;
      ++placed;
    }
    if (five_points(position, 0).empty() && five_points(position, 1).empty()) return position;
  }
}

const std::array<OptionValues, 4> all_rules{
    {{15, Gomoku::freestyle}, {15, Gomoku::standard}, {15, Gomoku::renju}, {9, Gomoku::renju}}};

void play_and_undo_keep_every_point_right() {
  Rng rng(3);
  for (const OptionValues& options : all_rules)
    for (int game = 0; game < 30; ++game) {
      Gomoku position = Gomoku::initial(options);
      GomokuBoard board, fresh;
      board.set(position);
      std::vector<Gomoku> before;
      const auto check = [&] {
        fresh.set(position);
        CHECK(board.hash() == fresh.hash() && board.outcome() == position.outcome(), position.setup().phase);
        for (int player = 0; player < 2; ++player) {
          CHECK(board.sum_of_potentials(player) == fresh.sum_of_potentials(player), std::to_string(game));
          for (int pattern = 0; pattern < num_point_patterns; ++pattern)
            CHECK(board.points(player, static_cast<PointPattern>(pattern)) ==
                      fresh.points(player, static_cast<PointPattern>(pattern)),
                  std::to_string(pattern));
          std::vector<int> fives;
          board.points(player, PointPattern::five).for_each([&](int point) { fives.push_back(point); });
          if (position.outcome() == Outcome::ongoing)
            CHECK(fives == five_points(position, player), std::to_string(game));
        }
      };
      while (position.outcome() == Outcome::ongoing && before.size() < 80) {
        if (!before.empty() && rng.below(3) == 0) {
          board.undo();
          position = before.back();
          before.pop_back();
        } else {
          before.push_back(position);
          const Action action = position.random_action(rng);
          position.apply(action);
          board.play(action);
        }
        check();
      }
    }
}

void wins_by_fours_are_found() {
  for (const OptionValues& options : all_rules) {
    Rng rng(4);
    GomokuBoard board;
    GomokuThreats threats;
    int found = 0, long_ones = 0;
    double slowest = 0;
    for (int tries = 0; found < 200; ++tries) {
      const Gomoku position = crowded_position(options, 14 + tries % 16, options[0] == 9 ? 4 : 5, rng);
      int budget = 60;
      const bool quick = wins_within_three(position);
      if (quick || !wins_by_fours(position, 15, budget)) continue;
      board.set(position);
      const auto start = std::chrono::steady_clock::now();
      std::vector<Action> line;
      const int plies = threats.win_by_fours(board, 20'000, &line);
      slowest = std::max(slowest, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
      CHECK(plies >= 5 && position.is_legal(line.at(0)), "position " + std::to_string(tries));
      ++found;
      long_ones += plies > 5;
    }
    CHECK(slowest < 1.0, std::to_string(slowest));
    CHECK(long_ones > 20, std::to_string(long_ones));
  }
}

// The mover follows the search; every legal answer is tried, and must lose.
void check_forced_win(Gomoku position, GomokuThreats& threats, const std::string& where, bool by_threats,
                      int most_plies) {
  GomokuBoard board;
  board.set(position);
  std::vector<Action> line;
  const int plies = by_threats ? threats.win_by_threats(board, 20'000, most_plies, &line)
                               : threats.win_by_fours(board, 20'000, &line);
  CHECK(plies > 0, where + ": lost sight of the win");
  const int attacker = position.to_move();
  CHECK(position.is_legal(line.at(0)), where);
  position.apply(line[0]);
  if (position.outcome() != Outcome::ongoing) {
    CHECK(position.outcome() == win_of(attacker), where);
    return;
  }
  for (const Action answer : position.legal_actions()) {
    const Gomoku next = after(position, answer);
    CHECK(next.outcome() != win_of(1 - attacker), where + ": the defender wins");
    if (next.outcome() == Outcome::ongoing && !five_points(next, attacker).empty()) continue;
    CHECK(next.outcome() == Outcome::ongoing, where);
    if (wins_within_three(next)) continue;
    check_forced_win(next, threats, where, by_threats, most_plies - 2);
  }
}

void claimed_wins_hold_against_every_answer() {
  for (const OptionValues& options : all_rules) {
    Rng rng(6);
    GomokuThreats threats;
    GomokuBoard board;
    for (const bool by_threats : {false, true}) {
      int checked = 0;
      for (int tries = 0; checked < (by_threats ? 4 : 20) && tries < 4000; ++tries) {
        const Gomoku position = crowded_position(options, 8 + tries % 16, 4, rng);
        if (wins_within_three(position)) continue;
        board.set(position);
        const int plies = by_threats ? threats.win_by_threats(board, 3000, 9) : threats.win_by_fours(board, 3000);
        if (plies == 0) continue;
        check_forced_win(position, threats, "position " + std::to_string(tries), by_threats, 9);
        ++checked;
      }
      CHECK(checked >= (by_threats ? 3 : 20), std::to_string(checked));
    }
  }
}

// Where the opponent would win within three plies and some action prevents it, the action played does, or wins itself.
void fours_and_open_threes_are_blocked() {
  for (const OptionValues& options : all_rules) {
    Rng rng(8);
    AlphaBeta<Gomoku, GomokuPatterns> search(4);
    GomokuBoard board;
    int tested = 0;
    for (int tries = 0; tested < 250; ++tries) {
      const Gomoku position = crowded_position(options, 9 + tries % 20, options[0] == 9 ? 4 : 5, rng);
      board.set(position);
      const int opponent = 1 - position.to_move();
      if (!board.has(opponent, PointPattern::five) && !board.has(opponent, PointPattern::open_four)) continue;
      if (wins_within_three(position)) continue;
      ++tested;
      search.begin(position, {.depth = 3}, nullptr);
      while (search.deepen()) continue;
      const auto loses = [&position](Action action) {
        const Gomoku next = after(position, action);
        return next.outcome() == Outcome::ongoing && wins_within_three(next);
      };
      if (!loses(search.result().action)) continue;
      for (const Action action : position.legal_actions())
        CHECK(loses(action), "position " + std::to_string(tries) + ": " + position.action_to_string(action) +
                                 " would have stopped it, not " + position.action_to_string(search.result().action));
    }
  }
}

void renju_fouls_are_exploited() {
  // White's four leaves black a single answer, which would be an overline.
  Setup setup;
  setup.board.assign(225, 0);
  const auto put = [&setup](int row, int column, int stone) {
    setup.board[static_cast<std::size_t>(row * 15 + column)] = static_cast<std::int8_t>(stone);
  };
  for (const int column : {3, 4, 5}) put(7, column, -1);  // white: d8 e8 f8, black closes c8
  put(7, 2, 1);
  for (const int row : {4, 5, 6, 8, 9}) put(row, 7, 1);  // black: five around h8 with a gap at h8
  for (const auto& [row, column] : {std::pair{0, 0}, {0, 14}, {14, 14}}) put(row, column, -1);
  setup.current_player = 1;
  for (const bool foul : {true, false}) {
    GomokuBoard board;
    board.set(Gomoku::from_setup({15, foul ? Gomoku::renju : Gomoku::freestyle}, setup));
    GomokuThreats threats;
    std::vector<Action> line;
    const int plies = threats.win_by_fours(board, 1000, &line);
    CHECK((plies == 3) == foul, std::to_string(plies));
    if (foul) CHECK(line[0] == 7 * 15 + 6, "g8 makes a four that only h8, an overline, would stop");
  }
}

}  // namespace
}  // namespace qizero

int main() {
  return qizero::run_tests({{"play and undo keep every point right", qizero::play_and_undo_keep_every_point_right},
                            {"wins by fours are found", qizero::wins_by_fours_are_found},
                            {"claimed wins hold against every answer", qizero::claimed_wins_hold_against_every_answer},
                            {"fours and open threes are blocked", qizero::fours_and_open_threes_are_blocked},
                            {"renju fouls are exploited", qizero::renju_fouls_are_exploited}});
}
