// Liuzhou chess (六洲棋) on bitboards; the rules are in docs/games/liuzhou.md. Player 0 is BLACK. Actions: place on
// cell 0-35; step 36 + cell*4 + direction; select a stone 180 + cell.
#pragma once

#include <algorithm>
#include <bit>

#include "base/bits.h"
#include "base/hash.h"
#include "games/encoding.h"
#include "games/game.h"
#include "games/liuzhou_board.h"
#include "games/notation.h"
#include "games/symmetry.h"

namespace qizero {

class Liuzhou {
 public:
  static constexpr GameInfo info{.id = "liuzhou",
                                 .title = "Liuzhou chess",
                                 .title_zh = "六洲棋",
                                 .rules_version = 1,
                                 .opening_plies = 4,
                                 .rows_from_top = false,
                                 .board_kind = BoardKind::intersections,
                                 .counts_pieces = true};
  static constexpr std::array<OptionSpec, 3> option_specs{{
      {.name = "lose_below", .default_value = 1, .min = 1, .max = 18},
      {.name = "max_steps", .default_value = 200, .min = 1, .max = 10'000},
      {.name = "no_capture_limit", .default_value = 0, .min = 0, .max = 10'000},
  }};
  static constexpr std::array<std::string_view, 3> counter_names{"pending", "steps", "steps_since_capture"};
  // clang-format off
  static constexpr std::array<std::string_view, 7> cell_planes{
      "stones of the mover", "stones of the opponent", "marked stones of the mover", "marked stones of the opponent",
      "stones of the mover in a shape", "stones of the opponent in a shape",
      "cells to choose from: to place on, of stones that can step, of stones to select"};
  static constexpr std::array<std::string_view, 13> scalar_planes{
      "phase PLACEMENT", "phase MARK_SELECTION", "phase FORCED_REMOVAL", "phase MOVEMENT", "phase CAPTURE_SELECTION",
      "phase COUNTER_REMOVAL", "one selection pending", "two selections pending", "the mover is BLACK",
      "urgency of max_steps", "urgency of no_capture_limit", "urgency of no_capture_limit after a capture",
      "lose_below / 18"};
  // clang-format on
  static constexpr std::array<RefusalWords, 10> refusals{{
      cell_taken,
      {"must_place", "{mover} has to place a stone on an empty cell, written like 'c4'"},
      {"must_step", "{mover} has to move a stone to an empty cell next to it, written like 'c4-c5'"},
      {"must_mark", "{mover} has to mark a stone of {opponent}, written like 'xc4'"},
      {"must_remove", "{mover} has to remove a stone of {opponent}, written like 'xc4'"},
      {"stuck_must_remove", "{mover} cannot move and has to remove a stone of {opponent}, written like 'xc4'"},
      {"no_stone", "there is no stone of {player} on {cell}"},
      {"leaves_board", "{step} leaves the board"},
      {"marked_already", "the stone on {cell} is marked already"},
      {"in_shape", "the stone on {cell} is in a square or line, and {opponent} has stones that are not"},
  }};
  static constexpr bool has_marks = true;
  static constexpr int num_symmetries = 8;
  static constexpr int max_cells = liuzhou::num_cells;
  static constexpr int first_step = max_cells, first_select = first_step + max_cells * liuzhou::num_directions;
  static constexpr int max_actions = first_select + max_cells;
  static constexpr int max_legal = 60;  // the board has 60 pairs of neighbours, and a pair allows at most one step
  static constexpr int stones_per_side = 18;

  static Liuzhou initial(const OptionValues& options) {
    Liuzhou position;
    position.lose_below_ = static_cast<std::uint8_t>(options[0]);
    position.max_steps_ = static_cast<std::uint16_t>(options[1]);
    position.no_capture_limit_ = static_cast<std::uint16_t>(options[2]);
    return position;
  }
  OptionValues options() const { return {lose_below_, max_steps_, no_capture_limit_}; }
  BoardShape board_shape() const { return liuzhou::shape; }
  int num_actions() const { return max_actions; }
  int max_game_length() const { return max_steps_; }
  int to_move() const { return to_move_; }
  Outcome outcome() const { return outcome_; }
  std::string_view phase() const { return phase_names[static_cast<std::size_t>(phase_)]; }

  // For searches that know this game.
  std::uint64_t unmarked_stones(int player) const { return unmarked(player); }
  std::uint64_t empty_cells() const { return empty(); }
  bool is_placing() const { return !placing_is_over(); }
  int pending_selections() const { return pending_; }

  // Material: all games that no side wins end at a limit. The lead in stones, marked ones being as good as gone; six
  // are as good as a win.
  float limit_value() const {
    const int lead = std::popcount(unmarked(black)) - std::popcount(unmarked(white));
    return std::clamp(static_cast<float>(lead) / 6.0f, -1.0f, 1.0f);
  }

  InlineVector<Action, max_legal> legal_actions() const {
    InlineVector<Action, max_legal> actions;
    if (outcome_ != Outcome::ongoing) return actions;
    if (phase_ == Phase::movement) {
      const auto steps = own_steps();
      for_each_bit(steps[0] | steps[1] | steps[2] | steps[3], [&](int cell) {
        for (int direction = 0; direction < liuzhou::num_directions; ++direction)
          if (steps[static_cast<std::size_t>(direction)] >> cell & 1) actions.push_back(step_action(cell, direction));
      });
      if (!actions.empty()) return actions;
    }
    const int first = phase_ == Phase::placement ? 0 : first_select;
    for_each_bit(phase_ == Phase::placement ? empty() : targets(),
                 [&](int cell) { actions.push_back(static_cast<Action>(first + cell)); });
    return actions;
  }

  bool is_legal(Action action) const {
    if (outcome_ != Outcome::ongoing || action < 0 || action >= max_actions) return false;
    if (action < first_step) return phase_ == Phase::placement && (empty() >> action & 1);
    if (action < first_select)
      return phase_ == Phase::movement &&
             (own_steps()[static_cast<std::size_t>(step_direction(action))] >> step_cell(action) & 1);
    return phase_ != Phase::placement && !can_step() && (targets() >> (action - first_select) & 1);
  }

  Action random_action(Rng& rng) const {
    const auto pick = [&rng](std::uint64_t cells) {
      return select_bit(cells, static_cast<int>(rng.below(static_cast<std::uint32_t>(std::popcount(cells)))));
    };
    if (phase_ == Phase::placement) return static_cast<Action>(pick(empty()));
    if (phase_ == Phase::movement) {
      const auto steps = own_steps();
      const int up = std::popcount(steps[0]), vertical = up + std::popcount(steps[1]);
      const int all_but_right = vertical + std::popcount(steps[2]), total = all_but_right + std::popcount(steps[3]);
      if (total > 0) {
        const int k = static_cast<int>(rng.below(static_cast<std::uint32_t>(total)));
        // No branch on the direction: it would be mispredicted more often than not.
        const int direction = (k >= up) + (k >= vertical) + (k >= all_but_right);
        const int before[] = {0, up, vertical, all_but_right};
        return step_action(select_bit(steps[static_cast<std::size_t>(direction)], k - before[direction]), direction);
      }
    }
    return static_cast<Action>(first_select + pick(targets()));
  }

  void apply(Action action) {
    ++steps_;
    if (no_capture_limit_ > 0 && placing_is_over()) ++steps_since_capture_;
    if (action < first_step)
      place(action);
    else if (action < first_select)
      step(step_cell(action), step_direction(action));
    else
      select(action - first_select);
    outcome_ = judged();
  }

  // The three words hold every field without overlap: counters and limits are below 2^14.
  std::uint64_t hash() const {
    const std::uint64_t rest = std::uint64_t{lose_below_} << 36 | static_cast<std::uint64_t>(phase_) << 41 |
                               std::uint64_t{to_move_} << 44 | std::uint64_t{pending_} << 45;
    std::uint64_t result = stones_[0] | std::uint64_t{steps_} << 36 | std::uint64_t{steps_since_capture_} << 50;
    result =
        hash_combine(result, stones_[1] | std::uint64_t{max_steps_} << 36 | std::uint64_t{no_capture_limit_} << 50);
    return hash_combine(result, marked_ | rest);
  }

  void encode(float* planes) const {
    const auto write_cells = [&planes](std::uint64_t cells) { planes = write_cell_plane(planes, cells, max_cells); };
    const auto write = [&planes](float value) { planes = write_scalar_plane(planes, value, max_cells); };
    const int mover = to_move_, opponent = 1 - to_move_;
    write_cells(stones_[mover]);
    write_cells(stones_[opponent]);
    write_cells(stones_[mover] & marked_);
    write_cells(stones_[opponent] & marked_);
    write_cells(liuzhou::cells_in_shapes(unmarked(mover)));
    write_cells(liuzhou::cells_in_shapes(unmarked(opponent)));
    write_cells(cells_to_choose());
    for (const Phase phase : {Phase::placement, Phase::mark_selection, Phase::forced_removal, Phase::movement,
                              Phase::capture_selection, Phase::counter_removal})
      write(phase_ == phase ? 1.0F : 0.0F);
    write(pending_ == 1 ? 1.0F : 0.0F);
    write(pending_ == 2 ? 1.0F : 0.0F);
    write(mover == black ? 1.0F : 0.0F);
    write(urgency(max_steps_ - steps_));
    write(no_capture_limit_ > 0 ? urgency(no_capture_limit_ - steps_since_capture_) : 0.0F);
    write(no_capture_limit_ > 0 ? urgency(no_capture_limit_) : 0.0F);  // what the one above falls to after a capture
    write(static_cast<float>(lose_below_) / static_cast<float>(stones_per_side));
  }

  Liuzhou transformed(int symmetry) const {
    Liuzhou result = *this;
    for (std::uint64_t* cells : {&result.stones_[0], &result.stones_[1], &result.marked_}) {
      std::uint64_t moved = 0;
      for_each_bit(*cells, [&](int cell) { moved |= liuzhou::bit_of(transformed_cell(cell, symmetry)); });
      *cells = moved;
    }
    return result;
  }
  Action transform_action(Action action, int symmetry) const {
    if (action < first_step) return static_cast<Action>(transformed_cell(action, symmetry));
    if (action >= first_select)
      return static_cast<Action>(first_select + transformed_cell(action - first_select, symmetry));
    int direction = step_direction(action);
    const bool across = (direction & 2) != 0;
    if (symmetry & (across ? symmetry_mirror_columns : symmetry_mirror_rows)) direction ^= 1;
    if (symmetry & symmetry_transpose) direction ^= 2;
    return step_action(transformed_cell(step_cell(action), symmetry), direction);
  }

  Setup setup() const;
  static Liuzhou from_setup(const OptionValues& options, const Setup& setup);
  std::string action_to_string(Action action) const;
  int string_to_action(std::string_view text) const;
  Refusal why_illegal(Action action) const;
  ActionCells action_cells(Action action) const {
    if (action < first_step) return {ActionKind::place, no_cell, action};
    if (action >= first_select) return {ActionKind::select, no_cell, action - first_select};
    const int cell = step_cell(action), direction = step_direction(action);
    return {ActionKind::move, cell,
            liuzhou::leaves_board(cell, direction) ? no_cell : cell + liuzhou::offset_of(direction)};
  }

  friend bool operator==(const Liuzhou&, const Liuzhou&) = default;

 private:
  enum class Phase : std::uint8_t {
    placement,
    mark_selection,
    removal,  // only of a game drawn by max_steps before the automatic removal; else that happens inside apply
    forced_removal,
    movement,
    capture_selection,
    counter_removal
  };
  static constexpr std::array<std::string_view, 7> phase_names{
      "PLACEMENT", "MARK_SELECTION", "REMOVAL", "FORCED_REMOVAL", "MOVEMENT", "CAPTURE_SELECTION", "COUNTER_REMOVAL"};
  static constexpr int black = 0, white = 1;
  static constexpr auto cell_maps = make_cell_maps<liuzhou::side, liuzhou::side, num_symmetries>();

  static int transformed_cell(int cell, int symmetry) {
    return cell_maps[static_cast<std::size_t>(symmetry)][static_cast<std::size_t>(cell)];
  }
  static Action step_action(int cell, int direction) {
    return static_cast<Action>(first_step + cell * liuzhou::num_directions + direction);
  }
  static int step_cell(Action action) { return (action - first_step) / liuzhou::num_directions; }
  static int step_direction(Action action) { return (action - first_step) % liuzhou::num_directions; }
  static std::string_view color_name(int player) { return player == black ? "BLACK" : "WHITE"; }

  // 1 when nothing remains, towards 0 when much does; different for different numbers.
  static float urgency(int remaining) { return 32.0F / static_cast<float>(32 + remaining); }

  bool placing_is_over() const { return phase_ >= Phase::forced_removal; }
  std::uint64_t empty() const { return liuzhou::full_board & ~(stones_[0] | stones_[1]); }
  std::uint64_t unmarked(int player) const { return stones_[player] & ~marked_; }
  std::array<std::uint64_t, 4> own_steps() const { return liuzhou::steps(stones_[to_move_], empty()); }
  bool can_step() const { return phase_ == Phase::movement && (liuzhou::neighbours(stones_[to_move_]) & empty()) != 0; }

  // The opponent's stones that the mover may select, if it has to select one. In a forced removal all are loose: it
  // comes only when no shape was made.
  std::uint64_t targets() const {
    const std::uint64_t candidates = unmarked(1 - to_move_);
    const std::uint64_t loose = candidates & ~liuzhou::cells_in_shapes(candidates);
    return loose != 0 ? loose : candidates;
  }
  std::uint64_t cells_to_choose() const {
    if (outcome_ != Outcome::ongoing) return 0;
    if (phase_ == Phase::placement) return empty();
    return can_step() ? stones_[to_move_] & liuzhou::neighbours(empty()) : targets();
  }

  void place(int cell) {
    stones_[to_move_] |= liuzhou::bit_of(cell);
    pending_ = static_cast<std::uint8_t>(liuzhou::reward(unmarked(to_move_), cell));
    if (pending_ > 0)
      phase_ = Phase::mark_selection;
    else
      finish_placing_turn();
  }
  void finish_placing_turn() {
    to_move_ ^= 1;
    phase_ = Phase::placement;
    if (empty() != 0) return;
    to_move_ = white;
    phase_ = Phase::removal;
    if (steps_ < max_steps_) remove_marked();
  }
  void remove_marked() {
    ++steps_;
    if (marked_ != 0) {
      stones_[0] &= ~marked_;
      stones_[1] &= ~marked_;
      marked_ = 0;
      phase_ = Phase::movement;
    } else {
      phase_ = Phase::forced_removal;
      steps_since_capture_ = no_capture_limit_ > 0;  // a step after placing in which no stone left
    }
  }
  void step(int cell, int direction) {
    const int destination = cell + liuzhou::offset_of(direction);
    stones_[to_move_] ^= liuzhou::bit_of(cell) | liuzhou::bit_of(destination);
    pending_ = static_cast<std::uint8_t>(liuzhou::reward(stones_[to_move_], destination));
    if (pending_ > 0)
      phase_ = Phase::capture_selection;
    else
      to_move_ ^= 1;
  }
  void select(int cell) {
    if (phase_ == Phase::mark_selection) {
      marked_ |= liuzhou::bit_of(cell);
      if (--pending_ == 0) finish_placing_turn();
      return;
    }
    stones_[1 - to_move_] ^= liuzhou::bit_of(cell);
    steps_since_capture_ = 0;
    if (phase_ == Phase::capture_selection && --pending_ > 0) return;
    if (phase_ == Phase::movement)
      phase_ = Phase::counter_removal;
    else if (phase_ != Phase::forced_removal || to_move_ == black)
      phase_ = Phase::movement;
    to_move_ ^= 1;
  }

  // The outcome of the position, which follows from its other fields.
  Outcome judged() const {
    if (placing_is_over())
      for (const int player : {black, white})
        if (std::popcount(stones_[player]) < lose_below_) return win_of(1 - player);
    if (steps_ >= max_steps_) return Outcome::draw;
    const bool selection_pending = phase_ == Phase::capture_selection || phase_ == Phase::counter_removal;
    if (no_capture_limit_ > 0 && steps_since_capture_ >= no_capture_limit_ && !selection_pending) return Outcome::draw;
    // In other phases the mover has an action: there is a cell to place on, a step, or an opponent stone to remove.
    if (phase_ == Phase::mark_selection && unmarked(1 - to_move_) == 0) return win_of(1 - to_move_);
    return Outcome::ongoing;
  }

  static constexpr int not_given = -1;  // of a counter in a Setup
  static Phase phase_from_name(std::string_view name);
  static std::string cell_name(int cell);
  std::string who_acts() const;
  void check_stones() const;
  void check_placing() const;
  void check_after_placing() const;
  void take_pending(int given);
  void take_steps(int steps, int steps_since_capture);
  int fewest_steps() const;

  std::uint64_t stones_[2] = {0, 0};  // of both players, marked ones too
  std::uint64_t marked_ = 0;
  std::uint16_t steps_ = 0;                // the automatic removal counts as one
  std::uint16_t steps_since_capture_ = 0;  // after placing; stays 0 when there is no limit on it
  std::uint16_t max_steps_ = 0, no_capture_limit_ = 0;
  std::uint8_t lose_below_ = 0;
  std::uint8_t to_move_ = black;
  std::uint8_t pending_ = 0;  // marks or captures that the mover still has to choose
  Phase phase_ = Phase::placement;
  Outcome outcome_ = Outcome::ongoing;
};

static_assert(Game<Liuzhou> && HasRandomAction<Liuzhou> && HasPhases<Liuzhou> && HasMarks<Liuzhou> &&
              HasLimitValue<Liuzhou>);

}  // namespace qizero

#include "games/liuzhou_words.h"
