// What Liuzhou chess offers to C++ only; its rules are tested from Python, against a literal reference.
#include "games/liuzhou.h"

#include "check.h"
#include "default_options.h"
#include "runtime/setup_text.h"

namespace qizero {
namespace {

Liuzhou position_of(const std::string& text) {
  return Liuzhou::from_setup(default_options<Liuzhou>(), setup_from_text(text, {6, 6}));
}

void limit_value_is_the_lead_in_stones() {
  const auto check = [](const std::string& text, float wanted) {
    CHECK(std::abs(position_of(text).limit_value() - wanted) < 1e-6F, text);
  };
  check("....../....../....../....../....../...... x", 0.0F);
  check("XXX.../....../....../....../....../O..... x phase=MOVEMENT steps=200", 2.0F / 6);
  check("OOO.../....../....../....../....../X..... o phase=MOVEMENT steps=200", -2.0F / 6);
  check("XX..../XX..../..oO../...O../....../...... o", 2.0F / 6);  // four against three, of which one is marked
  check("XXXXXX/XXXXXX/XXXXXX/....../....../...... x phase=MOVEMENT", 1.0F);
  check("XXXXXX/XXXXXX/OOO.../....../....../...... x phase=MOVEMENT", 1.0F);
}

void shapes_are_found() {
  constexpr std::uint64_t last_row = liuzhou::top_row << 30, last_column = liuzhou::right_column;
  static_assert(liuzhou::cells_in_shapes(liuzhou::full_board) == liuzhou::full_board);
  static_assert(liuzhou::cells_in_shapes(last_row | last_column) == (last_row | last_column));
  static_assert(liuzhou::cells_in_shapes(last_row & ~liuzhou::bit_of(32)) == 0);
  // Four cells in two runs, each from the end of a row to the beginning of the next: no square.
  static_assert(liuzhou::square_corners(0b1'100001'100000) == 0);
  static_assert(liuzhou::cells_in_lines(liuzhou::top_row << 3) == 0);
  for (int cell = 0; cell < liuzhou::num_cells; ++cell) {
    CHECK(liuzhou::reward(liuzhou::full_board, cell) == 2, std::to_string(cell));
    CHECK(liuzhou::reward(liuzhou::bit_of(cell), cell) == 0, std::to_string(cell));
  }
}

}  // namespace
}  // namespace qizero

int main() {
  using namespace qizero;
  return run_tests({{"the limit value is the lead in stones", limit_value_is_the_lead_in_stones},
                    {"shapes are found", shapes_are_found}});
}
