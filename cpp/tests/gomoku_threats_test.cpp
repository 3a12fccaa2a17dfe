// The Gomoku board and its threat searches, against slow ones that know nothing but the rules.
#include "alphabeta/gomoku_threats.h"

#include <cstdlib>
#include <map>

#include "alphabeta/alphabeta.h"
#include "alphabeta/gomoku.h"
#include "check.h"

namespace qizero {
namespace {

using Cells = std::vector<std::int8_t>;

int scale = 1;  // how many times as many positions as by default

std::string describe(const Gomoku& position) {
  const Setup setup = position.setup();
  const int size = position.board_shape().width;
  std::string text = std::string(Gomoku::rule_names[static_cast<std::size_t>(position.options()[1])]) + ", " +
                     (position.to_move() == 0 ? "X" : "O") + " to move\n";
  for (int cell = 0; cell < size * size; ++cell)
    text +=
        std::string(1, "O.X"[setup.board[static_cast<std::size_t>(cell)] + 1]) + (cell % size == size - 1 ? "\n" : "");
  return text;
}

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

// Where the player could make five after putting a stone on `stone`, having had no such point before: only on the lines
// of that stone. `cells` hold it.
std::vector<int> five_points_around(const Gomoku& position, const Cells& cells, int player, int stone) {
  const int size = position.board_shape().width;
  std::vector<int> points;
  for (const LineStep step : line_steps)
    for (int distance = -4; distance <= 4; ++distance) {
      const int row = stone / size + distance * step.rows, column = stone % size + distance * step.columns;
      if (row < 0 || row >= size || column < 0 || column >= size) continue;
      if (const int point = row * size + column;
          cells[static_cast<std::size_t>(point)] == 0 && makes_five(position, cells, player, point))
        points.push_back(point);
    }
  return points;
}

Gomoku after(const Gomoku& position, int action) {
  Gomoku next = position;
  next.apply(static_cast<Action>(action));
  return next;
}

// Plies of the shortest win by fours of the mover, who cannot make five at once, by trying every legal action; 0: none
// within `plies`. The opponent can make five on `must` only, or not at all (-1). Looks at `budget` positions.
int win_by_fours(const Gomoku& position, int plies, int must, int& budget) {
  if (plies < 3 || --budget < 0) return 0;
  const int mover = position.to_move();
  Cells cells = position.setup().board;
  int shortest = 0;
  for (int action = 0; action < position.num_actions(); ++action) {
    std::int8_t& cell = cells[static_cast<std::size_t>(action)];
    if (cell != 0 || (must >= 0 && action != must)) continue;
    cell = mover == 0 ? 1 : -1;
    const std::vector<int> fives = five_points_around(position, cells, mover, action);
    cell = 0;
    if (fives.empty() || !position.is_legal(static_cast<Action>(action))) continue;
    const Gomoku four = after(position, action);
    if (four.outcome() != Outcome::ongoing) continue;
    if (fives.size() > 1 || !four.is_legal(static_cast<Action>(fives[0]))) return 3;
    const Gomoku answered = after(four, fives[0]);
    if (answered.outcome() != Outcome::ongoing) continue;
    const std::vector<int> threatened = five_points_around(answered, answered.setup().board, 1 - mover, fives[0]);
    if (threatened.size() > 1) continue;
    const int found = win_by_fours(answered, plies - 2, threatened.empty() ? -1 : threatened[0], budget);
    if (found == 0) continue;
    shortest = found + 2;
    plies = found;  // only a shorter one is of interest
  }
  return shortest;
}
int win_by_fours(const Gomoku& position, int plies, int budget) {
  const std::vector<int> must = five_points(position, 1 - position.to_move());
  return must.size() > 1 ? 0 : win_by_fours(position, plies, must.empty() ? -1 : must[0], budget);
}

// Whether the mover can win at once, or with a stone after which the opponent cannot stop every five.
bool wins_within_three(const Gomoku& position) {
  return !five_points(position, position.to_move()).empty() || win_by_fours(position, 3, 1) > 0;
}

// Random stones around the middle; the game goes on, and if `calm` nobody can win at once.
Gomoku crowded_position(const OptionValues& options, int stones, int spread, Rng& rng, bool calm = true) {
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
    if (!calm) return position;
    if (five_points(position, 0).empty() && five_points(position, 1).empty()) return position;
  }
}

const std::array<OptionValues, 4> all_rules{
    {{15, Gomoku::freestyle}, {15, Gomoku::standard}, {15, Gomoku::renju}, {9, Gomoku::renju}}};

void play_and_undo_keep_every_point_right() {
  Rng rng(3);
  std::vector<OptionValues> all(all_rules.begin(), all_rules.end());
  for (int size = Gomoku::min_size; size <= Gomoku::max_size; ++size) all.push_back({size, size % 3});
  for (const OptionValues& options : all)
    for (int game = 0; game < 10; ++game) {
      Gomoku position = Gomoku::initial(options);
      GomokuBoard board, fresh;
      board.set(position);
      std::vector<Gomoku> before;
      const auto check = [&] {
        fresh.set(position);
        CHECK(board.hash() == fresh.hash() && board.outcome() == position.outcome(), position.setup().phase);
        for (int player = 0; player < 2; ++player) {
          CHECK(board.sum_of_potentials(player) == fresh.sum_of_potentials(player), std::to_string(game));
          CHECK(board.potentials(player) == fresh.potentials(player), std::to_string(game));
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

// With the part of 500,000 nodes that looks for forced wins, which is what a second would allow (AlphaBeta::begin).
void wins_by_fours_are_found() {
  for (const OptionValues& options : all_rules) {
    Rng rng(4);
    AlphaBeta<Gomoku, GomokuPatterns> search(4);
    std::map<int, int> by_plies;
    std::int64_t most_nodes = 0;
    for (int found = 0; found < 25 * scale;) {
      const int stones = 14 + static_cast<int>(rng.below(24));
      const Gomoku position = crowded_position(options, stones, options[0] == 9 ? 4 : 5, rng);
      if (wins_within_three(position)) continue;
      // Short wins are common; half of those of five plies are left out.
      const int plies = win_by_fours(position, 15, 3000);
      if (plies == 0 || (plies == 5 && rng.below(2) == 0)) continue;
      ++found;
      ++by_plies[plies];
      search.begin(position, {.nodes = 500'000}, nullptr);
      while (search.deepen()) continue;
      most_nodes = std::max(most_nodes, search.result().nodes);
      CHECK(search.result().proven == 1, describe(position) + "wins in " + std::to_string(plies));
      CHECK(position.is_legal(search.result().action), describe(position));
    }
    std::string lengths;
    for (const auto& [plies, count] : by_plies)
      lengths += " " + std::to_string(count) + " of " + std::to_string(plies) + " plies,";
    std::printf("        %dx%d %s: wins by fours,%s at most %lld nodes\n", options[0], options[0],
                std::string(Gomoku::rule_names[static_cast<std::size_t>(options[1])]).c_str(), lengths.c_str(),
                static_cast<long long>(most_nodes));
    CHECK(by_plies.size() >= 3, lengths);
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
      const int wanted = (by_threats ? 2 : 10) * scale;
      for (int tries = 0; checked < wanted; ++tries) {
        const Gomoku position = crowded_position(options, 8 + tries % 16, 4, rng);
        if (wins_within_three(position)) continue;
        board.set(position);
        const int plies = by_threats ? threats.win_by_threats(board, 3000, 9) : threats.win_by_fours(board, 3000);
        if (plies == 0) continue;
        check_forced_win(position, threats, "position " + std::to_string(tries), by_threats, 9);
        ++checked;
      }
    }
  }
}

// Whether the opponent of the mover could win within three plies, were it to move.
bool opponent_threatens(const Gomoku& position) {
  Setup setup = position.setup();
  const int opponent = 1 - position.to_move();
  if (!five_points(position, opponent).empty()) return true;
  for (int action = 0; action < position.num_actions(); ++action) {
    std::int8_t& cell = setup.board[static_cast<std::size_t>(action)];
    if (cell != 0) continue;
    cell = opponent == 0 ? 1 : -1;
    const std::size_t fives = five_points_around(position, setup.board, opponent, action).size();
    cell = 0;
    if (fives > 1) return true;
  }
  return false;
}

// Where the opponent would win within three plies and some action prevents it, the action played does, or begins a win
// by force.
void fours_and_open_threes_are_blocked() {
  for (const OptionValues& options : all_rules) {
    Rng rng(8);
    AlphaBeta<Gomoku, GomokuPatterns> search(4);
    for (int tested = 0; tested < 50 * scale;) {
      const int stones = 9 + static_cast<int>(rng.below(20));
      const Gomoku position = crowded_position(options, stones, options[0] == 9 ? 4 : 5, rng, false);
      if (wins_within_three(position) || !opponent_threatens(position)) continue;
      ++tested;
      search.begin(position, {.depth = 3}, nullptr);
      while (search.deepen()) continue;
      const auto loses = [&position](Action action) {
        const Gomoku next = after(position, action);
        return next.outcome() == Outcome::ongoing && wins_within_three(next);
      };
      if (search.result().proven == 1 || !loses(search.result().action)) continue;
      for (const Action action : position.legal_actions())
        CHECK(loses(action), describe(position) + position.action_to_string(action) + " would have stopped it, not " +
                                 position.action_to_string(search.result().action));
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
  for (const auto& [row, column] : {std::pair{0, 0}, {14, 14}}) put(row, column, -1);
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

// The argument, if any, multiplies the number of positions: 8 checks 200 wins by fours of each rule, 20 checks 1,000
// blocks of each.
int main(int count, char** arguments) {
  if (count > 1) qizero::scale = std::max(1, std::atoi(arguments[1]));
  return qizero::run_tests({{"play and undo keep every point right", qizero::play_and_undo_keep_every_point_right},
                            {"wins by fours are found", qizero::wins_by_fours_are_found},
                            {"claimed wins hold against every answer", qizero::claimed_wins_hold_against_every_answer},
                            {"fours and open threes are blocked", qizero::fours_and_open_threes_are_blocked},
                            {"renju fouls are exploited", qizero::renju_fouls_are_exploited}});
}
