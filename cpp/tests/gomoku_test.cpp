// What Gomoku is built on: line words, the filter before renju's judgement, the random action. Its rules are tested
// from Python, against two foreign implementations.
#include "games/gomoku.h"

#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "check.h"
#include "runtime/setup_text.h"

namespace qizero {
namespace {

using Place = std::tuple<int, int, int>;  // direction, line, bit

std::vector<Place> places_of(int row, int column, int size) {
  std::vector<Place> places;
  for_each_line(row, column, size,
                [&](int direction, int line, int bit) { places.emplace_back(direction, line, bit); });
  return places;
}

void words_hold_every_cell_once_and_neighbours_side_by_side() {
  for (int size = Gomoku::min_size; size <= Gomoku::max_size; ++size) {
    const auto on_board = [size](int x) { return x >= 0 && x < size; };
    std::set<Place> seen;
    for (int row = 0; row < size; ++row)
      for (int column = 0; column < size; ++column)
        for (const auto& [direction, line, bit] : places_of(row, column, size)) {
          const std::string where = std::to_string(size) + " " + std::to_string(row) + " " + std::to_string(column) +
                                    " " + std::to_string(direction);
          const std::uint32_t cells = cells_of_line(direction, line, size);
          CHECK(line >= 0 && line < size && bit >= 0 && bit <= size, where);
          CHECK(cells >> bit & 1, where);
          CHECK(seen.emplace(direction, line, bit).second, where);
          const auto [rows, columns] = line_steps[static_cast<std::size_t>(direction)];
          if (on_board(row + rows) && on_board(column + columns)) {
            const auto next = places_of(row + rows, column + columns, size)[static_cast<std::size_t>(direction)];
            CHECK(next == Place(direction, line, bit + 1), where);
          } else {
            CHECK(!(cells >> (bit + 1) & 1), where);
          }
        }
    CHECK(seen.size() == static_cast<std::size_t>(4 * size * size), std::to_string(size));
  }
}

void suspects_contain_every_foul() {
  Rng rng(1);
  std::map<RenjuVerdict, int> verdicts;
  int suspected = 0, points = 0;
  for (int board = 0; board < 600; ++board) {
    const int size = Gomoku::min_size + board % (Gomoku::max_size - Gomoku::min_size + 1);
    const double black_share = 0.1 + 0.3 * rng.uniform(), white_share = 0.2 * rng.uniform();
    LineStones black, white;
    for (int row = 0; row < size; ++row)
      for (int column = 0; column < size; ++column) {
        const double u = rng.uniform();
        if (u < black_share)
          black.add(row, column, size);
        else if (u < black_share + white_share)
          white.add(row, column, size);
      }
    const RenjuSuspects suspects(black, white, size);
    for (int row = 0; row < size; ++row) {
      const std::uint32_t empty = ~(black.row(row) | white.row(row)) & ((1U << size) - 1);
      CHECK((suspects.in_row(row) & ~empty) == 0, std::to_string(board));
      for_each_bit(empty, [&](int column) {
        const RenjuVerdict verdict = judge_black_stone(black, white, size, row, column);
        const bool suspect = suspects.in_row(row) >> column & 1;
        CHECK(suspect || !is_foul(verdict), "board " + std::to_string(board) + " of size " + std::to_string(size) +
                                                ", row " + std::to_string(row) + ", column " + std::to_string(column));
        ++verdicts[verdict];
        suspected += suspect;
        ++points;
      });
    }
  }
  for (const RenjuVerdict verdict : {RenjuVerdict::five, RenjuVerdict::overline, RenjuVerdict::double_four,
                                     RenjuVerdict::double_three, RenjuVerdict::harmless})
    CHECK(verdicts[verdict] > 500, std::to_string(static_cast<int>(verdict)));
  const int fouls = points - verdicts[RenjuVerdict::harmless] - verdicts[RenjuVerdict::five];
  CHECK(suspected < 2 * fouls, std::to_string(suspected) + " suspects, " + std::to_string(fouls) + " fouls");
}

void random_actions_are_uniform() {
  const auto check = [](const std::string& text, int size, int rule, int num_legal) {
    const Gomoku position = Gomoku::from_setup({size, rule}, setup_from_text(text, {size, size}));
    const auto legal = position.legal_actions();
    CHECK(legal.size() == num_legal, text + ": " + std::to_string(legal.size()));
    std::vector<int> counts(static_cast<std::size_t>(position.num_actions()), 0);
    constexpr int draws = 40'000;
    Rng rng(2);
    for (int i = 0; i < draws; ++i) ++counts[static_cast<std::size_t>(position.random_action(rng))];
    const double expected = static_cast<double>(draws) / num_legal;
    double chi_squared = 0;
    for (const Action action : legal) {
      const double difference = counts[static_cast<std::size_t>(action)] - expected;
      chi_squared += difference * difference / expected;
      counts[static_cast<std::size_t>(action)] = 0;
    }
    for (const int count : counts) CHECK(count == 0, text);
    // The mean of chi squared is its degrees of freedom, its variance twice that.
    CHECK(chi_squared < num_legal - 1 + 6 * std::sqrt(2.0 * num_legal), text + ": " + std::to_string(chi_squared));
  };
  check("....../....../....../....../....../...... x", 6, Gomoku::freestyle, 36);
  check("XXOOXX/OOXXOO/XXO.XX/OOXXOO/XX.O../OOXXOO x", 6, Gomoku::freestyle, 4);  // few are left
  check("XXOOXX/OOXXOO/XXOOXX/OOXXOO/XXOOXX/OOXXO. o", 6, Gomoku::standard, 1);
  check("O.....O/....X../....X../..XX.../......./......./O.....O x", 7, Gomoku::renju, 40);  // of 41 empty points
  check("...XOO/OOXOOO/XX.XXX/OXOXOO/XXX.XX/OXOOO. x", 6, Gomoku::renju, 4);                 // of six
}

}  // namespace
}  // namespace qizero

int main() {
  using namespace qizero;
  return run_tests({{"words hold every cell once and neighbours side by side",
                     words_hold_every_cell_once_and_neighbours_side_by_side},
                    {"suspects contain every foul", suspects_contain_every_foul},
                    {"random actions are uniform", random_actions_are_uniform}});
}
