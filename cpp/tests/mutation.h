// Small changes to a Setup or a text, most of them wrong: what people, programs and broken files give.
#pragma once

#include <climits>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "runtime/any_game.h"

namespace qizero {

inline int random_below(Rng& rng, std::size_t n) { return static_cast<int>(rng.below(static_cast<std::uint32_t>(n))); }

template <class Range>
auto& pick(Rng& rng, Range& range) {
  return range[static_cast<std::size_t>(random_below(rng, std::size(range)))];
}

inline int mutated_number(int value, Rng& rng) {
  const int small = random_below(rng, 300), step = random_below(rng, 7) - 3;
  const int near = value > INT_MIN + 3 && value < INT_MAX - 3 ? value + step : 0;
  const int numbers[] = {near, near, near, small, 0, 1, 36, 10'000, 65'536, -1, INT_MAX, INT_MIN};
  // Mostly near the old value: those changes are the ones that may be accepted.
  return rng.below(3) != 0 ? numbers[rng.below(5)] : pick(rng, numbers);
}

// `phases` are names of phases that the game has, if any.
inline void mutate_setup(Setup& setup, std::span<const std::string> phases, std::span<const std::string_view> counters,
                         Rng& rng) {
  if (setup.board.empty()) setup.board.resize(1);
  const auto any_cell = [&]() -> std::int8_t& { return pick(rng, setup.board); };
  // Any stone, or any cell if 20 tries find none.
  const auto any_stone = [&]() -> std::int8_t& {
    std::int8_t* cell = &any_cell();
    for (int tries = 0; *cell == 0 && tries < 20; ++tries) cell = &any_cell();
    return *cell;
  };
  switch (rng.below(12)) {
    case 0:
      any_cell() = static_cast<std::int8_t>(random_below(rng, 3) - 1);
      break;
    case 1:
      std::swap(any_stone(), any_cell());
      break;
    case 2:
    case 3:
    case 4:
      std::swap(any_stone(), any_stone());
      break;
    case 5:
      if (rng.below(2) != 0)
        any_cell() = static_cast<std::int8_t>(rng.next());
      else
        setup.board.resize(static_cast<std::size_t>(random_below(rng, 450)));
      break;
    case 6:
      setup.current_player = rng.below(4) != 0 ? setup.current_player ^ 1 : mutated_number(setup.current_player, rng);
      break;
    case 7:
      if (rng.below(4) == 0) {  // all stones of one player leave
        const int owner = rng.below(2) != 0 ? 1 : -1;
        for (std::int8_t& cell : setup.board) cell = cell == owner ? std::int8_t{0} : cell;
        break;
      }
      for (std::int8_t& cell : setup.board) cell = static_cast<std::int8_t>(-cell);
      if (rng.below(4) != 0) setup.current_player ^= 1;
      break;
    case 8:
      setup.phase = !phases.empty() && rng.below(4) != 0 ? pick(rng, phases) : rng.below(2) != 0 ? "" : "MOVE\xff";
      break;
    case 9:
      if (setup.marked.empty()) setup.marked.resize(setup.board.size());
      if (rng.below(8) == 0) setup.marked.push_back(1);
      pick(rng, setup.marked) ^= 1;
      break;
    default:
      if (!setup.counters.empty() && rng.below(8) != 0) {
        auto& [name, value] = pick(rng, setup.counters);
        value = mutated_number(value, rng);
        if (rng.below(8) == 0) std::swap(setup.counters.front(), setup.counters.back());
        if (rng.below(8) == 0) setup.counters.pop_back();
      } else {
        const std::string name(!counters.empty() && rng.below(4) != 0 ? pick(rng, counters) : "laps");
        setup.counters.emplace_back(name, mutated_number(0, rng));
      }
  }
}

inline std::string random_bytes(std::size_t size, Rng& rng) {
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(rng.next());
  return bytes;
}

// Changes that keep the form more often than not: whole words, and cells of the board.
inline void mutate_words(std::string& text, Rng& rng) {
  std::vector<std::string> words(1);
  for (const char c : text) {
    words.back() += c;
    if (c == ' ') words.emplace_back();
  }
  switch (rng.below(4)) {
    case 0:
      std::swap(pick(rng, words), pick(rng, words));
      break;
    case 1:
      words.erase(words.begin() + random_below(rng, words.size()));
      break;
    case 2:
      words.resize(1 + rng.below(static_cast<std::uint32_t>(words.size())));
      break;
    default: {
      std::string& board = pick(rng, words);
      if (!board.empty()) std::swap(pick(rng, board), pick(rng, board));
    }
  }
  const bool ended = text.ends_with('\n');
  text.clear();
  for (const std::string& word : words) text += word;
  if (ended && !text.ends_with('\n')) {
    if (text.ends_with(' ')) text.pop_back();
    text += '\n';
  }
}

inline void mutate_bytes(std::string& text, Rng& rng) {
  if (text.empty()) text = random_bytes(1 + rng.below(200), rng);
  const auto position = [&] { return static_cast<std::size_t>(random_below(rng, text.size() + 1)); };
  const auto length = [&] { return std::size_t{1} + rng.below(rng.below(4) != 0 ? 4 : 60); };
  const std::size_t at = position();
  switch (rng.below(8)) {
    case 0:
      if (at < text.size()) text[at] = static_cast<char>(text[at] ^ 1 << rng.below(8));
      break;
    case 1:
      text.resize(at);
      break;
    case 2:
      text.insert(position(), text.substr(at, length()));
      break;
    case 3:
      text.erase(at, length());
      break;
    case 4: {
      constexpr std::string_view words[] = {" ",
                                            "\n",
                                            "/",
                                            ".",
                                            "X",
                                            "x",
                                            "start ",
                                            "actions",
                                            "game ",
                                            "phase=",
                                            "steps=",
                                            "pass",
                                            "=",
                                            "a1",
                                            "-1",
                                            "0",
                                            "(",
                                            ")",
                                            "99999999999999999999",
                                            "qizero-state 1\n"};
      text.insert(at, pick(rng, words));
      break;
    }
    case 5: {
      const std::string moved = text.substr(at, length());
      text.erase(at, moved.size());
      text.insert(position(), moved);
      break;
    }
    case 6: {
      constexpr std::string_view cells = ".XOxo/123456789abcdefgh -";
      if (at < text.size()) text[at] = pick(rng, cells);
      break;
    }
    default:
      if (rng.below(4) == 0)
        text = random_bytes(rng.below(300), rng);
      else
        text.insert(at, random_bytes(length(), rng));
  }
}

inline void mutate_text(std::string& text, Rng& rng) {
  if (rng.below(2) != 0)
    mutate_words(text, rng);
  else
    mutate_bytes(text, rng);
}

}  // namespace qizero
