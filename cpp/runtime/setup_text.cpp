#include "runtime/setup_text.h"

#include <charconv>

#include "base/quoted.h"

namespace qizero {
namespace {

int parse_counter(std::string_view text, std::string_view name) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    throw InvalidInput(std::string(name) + " must be a whole number, not " + quoted(text));
  return value;
}

}  // namespace

std::string setup_to_text(const Setup& setup, BoardShape shape) {
  std::string text;
  for (int row = 0; row < shape.height; ++row) {
    if (row > 0) text += '/';
    for (int column = 0; column < shape.width; ++column) {
      const auto cell = static_cast<std::size_t>(row * shape.width + column);
      const bool marked = !setup.marked.empty() && setup.marked[cell];
      text += setup.board[cell] == 0 ? '.' : setup.board[cell] > 0 ? (marked ? 'x' : 'X') : (marked ? 'o' : 'O');
    }
  }
  text += setup.current_player == 0 ? " x" : " o";
  if (!setup.phase.empty()) text += " phase=" + setup.phase;
  for (const auto& [name, value] : setup.counters) text += " " + name + "=" + std::to_string(value);
  return text;
}

Setup setup_from_text(std::string_view text, BoardShape shape) {
  Setup setup;
  const auto next_word = [&text] {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return word;
  };

  const std::string_view rows = next_word();
  bool any_mark = false;
  std::vector<std::uint8_t> marked;
  int row = 0, column = 0;
  for (const char c : rows) {
    if (c == '/') {
      if (column != shape.width)
        throw InvalidInput("row " + std::to_string(row + 1) + " of the board has " + std::to_string(column) +
                           " cells, not " + std::to_string(shape.width));
      ++row;
      column = 0;
      continue;
    }
    if (c != '.' && c != 'X' && c != 'O' && c != 'x' && c != 'o')
      throw InvalidInput("a cell of the board is " + quoted(std::string_view(&c, 1)) + "; allowed are . X O x o");
    if (row >= shape.height || column >= shape.width)
      throw InvalidInput("the board is larger than " + std::to_string(shape.height) + "x" +
                         std::to_string(shape.width));
    ++column;
    setup.board.push_back(static_cast<std::int8_t>(c == '.' ? 0 : (c == 'X' || c == 'x') ? 1 : -1));
    marked.push_back(c == 'x' || c == 'o');
    any_mark |= marked.back() != 0;
  }
  if (row != shape.height - 1 || column != shape.width)
    throw InvalidInput("the board must have " + std::to_string(shape.height) + " rows of " +
                       std::to_string(shape.width) + " cells, separated by /");
  if (any_mark) setup.marked = std::move(marked);

  const std::string_view player = next_word();
  if (player != "x" && player != "o") throw InvalidInput("the player to move must be x or o, not " + quoted(player));
  setup.current_player = player == "x" ? 0 : 1;

  while (!text.empty()) {
    const std::string_view word = next_word();
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos) throw InvalidInput(quoted(word) + " is not name=value");
    const std::string_view name = word.substr(0, equals), value = word.substr(equals + 1);
    if (name == "phase") {
      if (!setup.phase.empty()) throw InvalidInput("phase is given twice");
      setup.phase = value;
      continue;
    }
    for (const auto& counter : setup.counters)
      if (counter.first == name) throw InvalidInput(quoted(name) + " is given twice");
    setup.counters.emplace_back(name, parse_counter(value, name));
  }
  return setup;
}

void check_setup_form(const Setup& setup, BoardShape shape, std::span<const std::string_view> counter_names,
                      bool has_phases, bool has_marks) {
  const auto cells = static_cast<std::size_t>(shape.cells());
  if (setup.board.size() != cells)
    throw InvalidInput("the board has " + std::to_string(setup.board.size()) + " cells, not " + std::to_string(cells));
  for (const std::int8_t cell : setup.board)
    if (cell < -1 || cell > 1)
      throw InvalidInput("a cell of the board is " + std::to_string(cell) +
                         "; allowed are 1 (player 0), -1 (player 1), 0 (empty)");
  if (setup.current_player != 0 && setup.current_player != 1)
    throw InvalidInput("current_player is " + std::to_string(setup.current_player) + ", not 0 or 1");
  if (!has_phases && !setup.phase.empty())
    throw InvalidInput("the game has no phases, but phase is " + quoted(setup.phase));
  if (!setup.marked.empty()) {
    if (!has_marks) throw InvalidInput("the game has no marked stones, but some are given");
    if (setup.marked.size() != cells)
      throw InvalidInput("marked has " + std::to_string(setup.marked.size()) + " cells, not " + std::to_string(cells));
    for (std::size_t cell = 0; cell < cells; ++cell)
      if (setup.marked[cell] && setup.board[cell] == 0) throw InvalidInput("an empty cell is marked");
  }
  for (const auto& [name, value] : setup.counters) {
    bool known = false;
    std::string names;
    for (const std::string_view candidate : counter_names) {
      known |= candidate == name;
      names += (names.empty() ? "" : ", ") + std::string(candidate);
    }
    if (!known)
      throw InvalidInput(quoted(name) + " is not part of a position of this game; known: " +
                         (names.empty() ? "nothing besides the board" : names));
    if (value < 0) throw InvalidInput(name + " is " + std::to_string(value) + ", but cannot be negative");
  }
}

}  // namespace qizero
