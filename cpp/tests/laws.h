// The laws of games/game.h, asked of a state through the runtime interface: laws_test.cpp runs them along random games,
// fuzz_test.cpp on whatever its inputs are accepted as.
#pragma once

#include <algorithm>
#include <cctype>
#include <cmath>
#include <memory>
#include <numeric>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "check.h"
#include "games/symmetry.h"
#include "runtime/any_game.h"
#include "runtime/setup_text.h"

namespace qizero {

inline std::string describe(const AnyState& state) {
  return state.game()->spec() + " " + setup_to_text(state.setup(), state.game()->board_shape());
}

inline std::vector<float> planes_of(const AnyState& state) {
  const AnyGame& game = *state.game();
  const std::size_t planes = game.cell_planes().size() + game.scalar_planes().size();
  std::vector<float> values(planes * static_cast<std::size_t>(game.board_shape().cells()), -1.0F);
  state.encode(values.data());
  return values;
}

// 0 .. n-1 if these are at most `limit`, else `limit` random ones of them.
inline std::vector<int> sample_below(int n, int limit, Rng& rng) {
  std::vector<int> numbers(static_cast<std::size_t>(std::min(n, limit)));
  if (n <= limit)
    std::iota(numbers.begin(), numbers.end(), 0);
  else
    for (int& number : numbers) number = static_cast<int>(rng.below(static_cast<std::uint32_t>(n)));
  return numbers;
}

// Default options; each option at its ends (or each of its choices) with the others at their defaults; random mixtures.
inline std::vector<std::shared_ptr<const AnyGame>> option_sets(const CatalogEntry& entry) {
  const auto specs = entry.option_specs;
  OptionValues defaults{};
  for (std::size_t i = 0; i < specs.size(); ++i) defaults[i] = specs[i].default_value;
  std::vector<OptionValues> sets{defaults};
  Rng rng(1);
  for (std::size_t i = 0; i < specs.size(); ++i) {
    OptionValues values = defaults;
    const int step = specs[i].choices.empty() ? specs[i].max - specs[i].min : 1;
    for (values[i] = specs[i].min; values[i] <= specs[i].max; values[i] += std::max(step, 1)) sets.push_back(values);
  }
  for (int mixture = 0; mixture < 4 && !specs.empty(); ++mixture) {
    OptionValues values{};
    for (std::size_t i = 0; i < specs.size(); ++i) {
      // Squared, so that numbers of steps are mostly small enough to be reached.
      const double u = rng.uniform() * (specs[i].choices.empty() ? rng.uniform() : 1.0);
      values[i] = specs[i].min + static_cast<int>(u * (specs[i].max - specs[i].min + 1));
    }
    sets.push_back(values);
  }
  std::sort(sets.begin(), sets.end());
  sets.erase(std::unique(sets.begin(), sets.end()), sets.end());
  std::vector<std::shared_ptr<const AnyGame>> games;
  for (const OptionValues& values : sets) games.push_back(entry.make(values));
  return games;
}

// How much of what grows with the number of actions or symmetries is tried on one state.
struct Thoroughness {
  int actions, symmetries;
};
inline constexpr Thoroughness everything{1 << 30, 1 << 30}, a_few{6, 3};

inline void check_legal_actions(const AnyState& state) {
  const std::vector<int> legal = state.legal_actions();
  CHECK(legal.empty() == (state.outcome() != Outcome::ongoing), describe(state));
  CHECK(std::is_sorted(legal.begin(), legal.end(), std::less_equal<>()), describe(state));
  CHECK(legal.empty() || (legal.front() >= 0 && legal.back() < state.game()->num_actions()), describe(state));
  CHECK(state.to_move() == 0 || state.to_move() == 1, describe(state));
}

// `action` may be any number. A refusal's code is in the tables of the game, and its sentence names exactly its values.
inline void check_refusal(const AnyState& state, int action, bool legal) {
  const std::optional<Refusal> refused = state.refusal(action);
  CHECK(!refused == legal, describe(state) + ", action " + std::to_string(action));
  if (!refused) return;
  std::string_view words;
  for (const RefusalWords& row : state.game()->refusals())
    if (row.code == refused->code) words = row.english;
  for (const RefusalWords& row : common_refusals)
    if (row.code == refused->code) words = row.english;
  CHECK(!words.empty(), std::string(refused->code) + " has no words");
  CHECK(std::count(words.begin(), words.end(), '{') == std::ssize(refused->values), std::string(refused->code));
  for (const auto& [name, value] : refused->values)
    CHECK(words.find("{" + std::string(name) + "}") != std::string_view::npos && !value.empty(),
          std::string(refused->code) + " and its value " + std::string(name));
}

// `action` may be any number. A refusal names a reason and changes nothing; an acceptance does not touch the original.
inline void check_apply(const AnyState& state, int action) {
  const std::vector<int> legal = state.legal_actions();
  const bool expected = std::binary_search(legal.begin(), legal.end(), action);
  const std::string before = state.serialize();
  const auto next = state.clone();
  bool accepted = true;
  try {
    next->apply(action);
  } catch (const IllegalAction& error) {
    accepted = false;
    CHECK(std::string(error.what()).size() > 5, describe(state));
    CHECK(next->same_position(state) && next->serialize() == before, describe(state));
  }
  CHECK(accepted == expected, describe(state) + ", action " + std::to_string(action));
  check_refusal(state, action, expected);
  if (action >= 0 && action < state.game()->num_actions())
    CHECK(state.why_illegal(action).empty() == expected, describe(state) + ", action " + std::to_string(action));
  CHECK(state.serialize() == before, describe(state) + ", action " + std::to_string(action));
  if (accepted) {
    CHECK(next->history().size() == state.history().size() + 1 && next->history().back() == action, describe(state));
    CHECK(!next->same_position(state), describe(state));
  }
}

inline void check_action_text(const AnyState& state, int action) {
  std::string text = state.action_to_string(action);
  CHECK(state.string_to_action(text) == action, describe(state) + ", action " + text);
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  CHECK(state.string_to_action(text) == action, describe(state) + ", action " + text);
}

// What a page is told about an action in range, legal or not.
inline void check_action_cells(const AnyState& state, int action) {
  const std::string what = describe(state) + ", action " + state.action_to_string(action);
  const auto [kind, from, to] = state.action_cells(action);
  const int cells = state.game()->board_shape().cells();
  CHECK((kind == ActionKind::move) == (from != no_cell), what);
  CHECK(kind == ActionKind::other ? to == no_cell : to != no_cell || kind == ActionKind::move, what);
  CHECK(from >= no_cell && from < cells && to >= no_cell && to < cells, what);
  const std::vector<int> legal = state.legal_actions();
  if (kind == ActionKind::other || !std::binary_search(legal.begin(), legal.end(), action)) return;
  CHECK(to != no_cell, what);
  const auto next = state.clone();
  next->apply(action);
  const std::vector<std::int8_t> before = state.setup().board, after = next->setup().board;
  const int own = state.to_move() == 0 ? 1 : -1;
  const auto source = static_cast<std::size_t>(from), target = static_cast<std::size_t>(to);
  if (kind == ActionKind::select) {
    CHECK(before[target] == -own, what);
    return;
  }
  CHECK(before[target] != own && after[target] == own, what);
  if (kind == ActionKind::move)
    CHECK(before[source] == own && after[source] == 0, what);
  else
    CHECK(before[target] == 0, what);
}

inline void check_winning_cells(const AnyState& state) {
  const std::vector<int> cells = state.winning_cells();
  CHECK(std::is_sorted(cells.begin(), cells.end(), std::less_equal<>()), describe(state));
  const Setup setup = state.setup();
  for (const int cell : cells)
    CHECK(setup.board.at(static_cast<std::size_t>(cell)) == value_for_player0(state.outcome()) &&
              value_for_player0(state.outcome()) != 0,
          describe(state));
}

inline void check_same(const AnyState& a, const AnyState& b) {
  CHECK(a.same_position(b) && b.same_position(a), describe(a) + " and " + describe(b));
  CHECK(describe(a) == describe(b), describe(a) + " and " + describe(b));
  CHECK(a.hash() == b.hash(), describe(a));
  CHECK(a.outcome() == b.outcome() && a.to_move() == b.to_move() && a.phase() == b.phase(), describe(a));
  CHECK(a.legal_actions() == b.legal_actions(), describe(a));
  CHECK(a.forbidden_actions() == b.forbidden_actions(), describe(a));
}

inline void check_words(const AnyState& state) {
  const AnyGame& game = *state.game();
  const Setup setup = state.setup();
  CHECK(setup.current_player == state.to_move() && setup.phase == state.phase(), describe(state));
  for (const auto& [name, value] : setup.counters)
    CHECK(std::count(game.counter_names().begin(), game.counter_names().end(), name) == 1 && value >= 0,
          describe(state) + ", counter " + name);
  const auto rebuilt = game.state_from_setup(setup);
  check_same(state, *rebuilt);
  check_same(state,
             *game.state_from_setup(setup_from_text(setup_to_text(setup, game.board_shape()), game.board_shape())));

  for (const AnyState* written : {&state, static_cast<const AnyState*>(rebuilt.get())}) {
    const std::string text = written->serialize();
    const auto read = game.deserialize(text);
    check_same(*written, *read);
    CHECK(read->history() == written->history() && read->serialize() == text, text);
  }
  for (const auto& [action, reason] : state.forbidden_actions()) {
    const std::vector<int> legal = state.legal_actions();
    CHECK(!std::binary_search(legal.begin(), legal.end(), action) && !reason.empty(), describe(state));
    CHECK(!state.action_to_string(action).empty(), describe(state));
  }
}

inline void check_planes(const AnyState& state) {
  const AnyGame& game = *state.game();
  const std::vector<float> values = planes_of(state);
  const auto cells = static_cast<std::ptrdiff_t>(game.board_shape().cells());
  const auto scalars_at = static_cast<std::ptrdiff_t>(game.cell_planes().size()) * cells;
  CHECK(std::all_of(values.begin(), values.begin() + scalars_at, [](float v) { return v == 0.0F || v == 1.0F; }),
        describe(state));
  for (auto plane = values.begin() + scalars_at; plane != values.end(); plane += cells)
    CHECK(*plane >= 0.0F && *plane <= 1.0F && std::count(plane, plane + cells, *plane) == cells, describe(state));
}

// compose_symmetries(a, b) acts like a first, then b.
constexpr int compose_symmetries(int a, int b) {
  // Mirrors of b act on coordinates that a has transposed: push them through, then the transposes add up.
  const int mirrors_of_b = b & 3;
  const int pushed = (a & symmetry_transpose) ? ((mirrors_of_b >> 1) | ((mirrors_of_b & 1) << 1)) : mirrors_of_b;
  return ((a & 3) ^ pushed) | ((a ^ b) & symmetry_transpose);
}

constexpr int inverse_symmetry(int symmetry) {
  for (int candidate = 0; candidate < 8; ++candidate)
    if (compose_symmetries(symmetry, candidate) == 0) return candidate;
  return 0;
}

inline void check_symmetry(const AnyState& state, int symmetry, Thoroughness thoroughness, Rng& rng) {
  const AnyGame& game = *state.game();
  const BoardShape shape = game.board_shape();
  const std::string what = describe(state) + ", symmetry " + std::to_string(symmetry);
  const auto image = state.transformed(symmetry);
  CHECK(image->outcome() == state.outcome() && image->to_move() == state.to_move(), what);
  CHECK(image->phase() == state.phase(), what);
  check_same(*image, *game.state_from_setup(image->setup()));
  check_same(*image, *game.deserialize(image->serialize()));
  check_same(state, *image->transformed(inverse_symmetry(symmetry)));
  if (symmetry == 0) check_same(state, *image);

  const std::vector<float> planes = planes_of(state), image_planes = planes_of(*image);
  const auto cells = static_cast<std::size_t>(shape.cells());
  for (std::size_t i = 0; i < planes.size(); ++i) {
    const int cell = transform_cell(static_cast<int>(i % cells), shape, symmetry);
    CHECK(planes[i] == image_planes[i / cells * cells + static_cast<std::size_t>(cell)], what);
  }

  std::vector<int> legal = state.legal_actions();
  for (int& action : legal) action = state.transform_action(action, symmetry);
  std::sort(legal.begin(), legal.end());
  CHECK(legal == image->legal_actions(), what);

  std::vector<int> winning = state.winning_cells();
  for (int& cell : winning) cell = transform_cell(cell, shape, symmetry);
  std::sort(winning.begin(), winning.end());
  CHECK(winning == image->winning_cells(), what);
  for (const int action : sample_below(game.num_actions(), thoroughness.actions, rng)) {
    ActionCells expected = state.action_cells(action);
    for (int* cell : {&expected.source, &expected.target})
      if (*cell != no_cell) *cell = transform_cell(*cell, shape, symmetry);
    CHECK(image->action_cells(state.transform_action(action, symmetry)) == expected,
          what + ", action " + state.action_to_string(action));
  }

  for (const int second : sample_below(game.num_symmetries(), thoroughness.symmetries, rng)) {
    const int both = compose_symmetries(symmetry, second);
    check_same(*image->transformed(second), *state.transformed(both));
    for (const int action : sample_below(game.num_actions(), thoroughness.actions, rng))
      CHECK(image->transform_action(state.transform_action(action, symmetry), second) ==
                state.transform_action(action, both),
            what + ", action " + std::to_string(action));
  }
  if (state.outcome() != Outcome::ongoing) return;
  const int action = state.random_action(rng);
  const auto next = state.clone();
  next->apply(action);
  image->apply(state.transform_action(action, symmetry));
  check_same(*image, *next->transformed(symmetry));
}

// Of every law that speaks of one state.
inline void check_state(const AnyState& state, Thoroughness thoroughness, Rng& rng) {
  const AnyGame& game = *state.game();
  check_legal_actions(state);
  check_words(state);
  check_planes(state);
  check_winning_cells(state);
  for (const int action : {-32769, -1, game.num_actions(), game.num_actions() + 1, 65536}) check_apply(state, action);
  for (const int action : sample_below(game.num_actions(), thoroughness.actions, rng)) {
    check_apply(state, action);
    check_action_text(state, action);
    check_action_cells(state, action);
  }
  for (const int symmetry : sample_below(game.num_symmetries(), thoroughness.symmetries, rng))
    check_symmetry(state, symmetry, thoroughness, rng);
  if (state.outcome() != Outcome::ongoing) return;
  const int action = state.random_action(rng);
  check_apply(state, action);
  check_action_cells(state, action);
}

// The chi-square statistic of many draws stays within eight standard deviations: seeds are fixed, so a generator that
// passes once passes always, while one that leaves an action out or prefers one is far outside.
inline void check_random_action_is_uniform(const AnyState& state, Rng& rng) {
  const std::vector<int> legal = state.legal_actions();
  constexpr int draws_per_action = 100;
  std::vector<int> counts(legal.size());
  for (std::size_t draw = 0; draw < legal.size() * draws_per_action; ++draw) {
    const auto found = std::lower_bound(legal.begin(), legal.end(), state.random_action(rng));
    ++counts[static_cast<std::size_t>(found - legal.begin())];
  }
  double chi_square = 0;
  for (const int count : counts)
    chi_square += static_cast<double>((count - draws_per_action) * (count - draws_per_action)) / draws_per_action;
  const auto freedom = static_cast<double>(legal.size() - 1);
  CHECK(chi_square <= freedom + 8 * std::sqrt(2 * freedom),
        describe(state) + ", chi-square " + std::to_string(chi_square));
}

// Two games that look the same to a network go on the same: same choices, same planes, same result for the mover.
inline void check_continue_alike(const AnyState& first, const AnyState& second, Rng& rng) {
  for (int game = 0; game < 8; ++game) {
    const auto a = first.clone(), b = second.clone();
    for (;;) {
      const std::string what = "look the same but go on differently: " + describe(first) + " and " + describe(second);
      CHECK(planes_of(*a) == planes_of(*b) && a->legal_actions() == b->legal_actions(), what);
      const auto value_for_mover = [](const AnyState& state) {
        return value_for_player0(state.outcome()) * (state.to_move() == 0 ? 1 : -1);
      };
      CHECK(value_for_mover(*a) == value_for_mover(*b), what);
      if (a->outcome() != Outcome::ongoing) break;
      const int action = a->random_action(rng);
      a->apply(action);
      b->apply(action);
    }
  }
}

// Remembers positions of one game under all its options. Different positions have different planes and hashes; under
// different options the planes may be the same if the rest of the game is.
class SeenPositions {
 public:
  explicit SeenPositions(std::size_t capacity) : capacity_(capacity) {}

  void add(const AnyState& state, Rng& rng) {
    if (by_hash_.size() >= capacity_) return;
    const std::string text = describe(state);
    const std::uint64_t hash = hash_combine(std::hash<std::string>{}(state.game()->spec()), state.hash());
    const auto [same_hash, new_hash] = by_hash_.emplace(hash, text);
    CHECK(new_hash || same_hash->second == text, "same hash: " + same_hash->second + " and " + text);

    std::uint64_t key = static_cast<std::uint64_t>(state.game()->board_shape().width);
    for (const float value : planes_of(state)) key = hash_combine(key, std::bit_cast<std::uint32_t>(value));
    const auto [same_planes, new_planes] = by_planes_.try_emplace(key);
    if (new_planes) {
      same_planes->second = {state.game(), state.setup()};
      return;
    }
    const auto other = same_planes->second.game->state_from_setup(same_planes->second.setup);
    if (describe(*other) == text) return;
    CHECK(other->game() != state.game(), "same planes: " + describe(*other) + " and " + text);
    check_continue_alike(*other, state, rng);
  }
  std::size_t size() const { return by_hash_.size(); }

 private:
  struct Position {
    std::shared_ptr<const AnyGame> game;
    Setup setup;
  };
  std::size_t capacity_;
  std::unordered_map<std::uint64_t, std::string> by_hash_;
  std::unordered_map<std::uint64_t, Position> by_planes_;
};

}  // namespace qizero
