// Liuzhou chess in words: setups, notation, reasons. The end of liuzhou.h, which includes it.
#pragma once

#include "base/quoted.h"
#include "games/liuzhou.h"

namespace qizero {

// ---- Setups ----

inline Setup Liuzhou::setup() const {
  Setup setup;
  for (int cell = 0; cell < max_cells; ++cell) {
    setup.board.push_back(static_cast<std::int8_t>((stones_[black] >> cell & 1) - (stones_[white] >> cell & 1)));
    setup.marked.push_back(marked_ >> cell & 1);
  }
  setup.current_player = to_move_;
  setup.phase = phase();
  setup.counters = {{"pending", pending_}, {"steps", steps_}, {"steps_since_capture", steps_since_capture_}};
  return setup;
}

// Refuses a setup that breaks a rule which one sentence can state. After placing, sparse boards are accepted whether or
// not a game reaches them. Every position that can follow from an accepted one is accepted too.
inline Liuzhou Liuzhou::from_setup(const OptionValues& options, const Setup& setup) {
  Liuzhou position = initial(options);
  position.phase_ = phase_from_name(setup.phase);
  position.to_move_ = static_cast<std::uint8_t>(setup.current_player);
  for (std::size_t cell = 0; cell < setup.board.size(); ++cell) {
    const std::uint64_t bit = liuzhou::bit_of(static_cast<int>(cell));
    if (setup.board[cell] != 0) position.stones_[setup.board[cell] > 0 ? black : white] |= bit;
    if (!setup.marked.empty() && setup.marked[cell] != 0) position.marked_ |= bit;
  }
  position.check_stones();
  position.take_pending(setup.counter("pending", not_given));
  if (position.placing_is_over())
    position.check_after_placing();
  else
    position.check_placing();
  position.take_steps(setup.counter("steps", not_given), setup.counter("steps_since_capture", not_given));
  position.outcome_ = position.judged();
  return position;
}

inline Liuzhou::Phase Liuzhou::phase_from_name(std::string_view name) {
  if (name.empty()) return Phase::placement;
  std::string known;
  for (std::size_t i = 0; i < phase_names.size(); ++i) {
    if (phase_names[i] == name) return static_cast<Phase>(i);
    known += (known.empty() ? "" : ", ") + std::string(phase_names[i]);
  }
  throw InvalidInput("there is no phase " + quoted(name) + "; there are " + known);
}

inline std::string Liuzhou::who_acts() const {
  return std::string(phase()) + " by " + std::string(color_name(to_move_));
}

inline void Liuzhou::check_stones() const {
  for (const int player : {black, white})
    if (const int count = std::popcount(stones_[player]); count > stones_per_side)
      throw InvalidInput(std::string(color_name(player)) + " has " + std::to_string(count) + " stones; a side has " +
                         std::to_string(stones_per_side));
  if (placing_is_over() && marked_ != 0)
    throw InvalidInput("stones are marked in " + std::string(phase()) + ", but marked stones leave when placing ends");
}

// Sets pending_, having checked that the mover has earned it.
inline void Liuzhou::take_pending(int given) {
  const bool marks = phase_ == Phase::mark_selection, captures = phase_ == Phase::capture_selection;
  if (!marks && !captures) {
    const bool one_removal = phase_ == Phase::forced_removal || phase_ == Phase::counter_removal;
    if (given != not_given && given > (one_removal ? 1 : 0))
      throw InvalidInput("pending is " + std::to_string(given) + ", but in " + std::string(phase()) +
                         (one_removal ? " exactly one stone is removed" : " no mark or capture is pending"));
    return;
  }
  const int pending = given == not_given ? 1 : given;
  if (pending < 1 || pending > 2)
    throw InvalidInput("pending is " + std::to_string(pending) + ", but in " + std::string(phase()) + " it is 1 or 2");
  const std::uint64_t own = unmarked(to_move_);
  const std::uint64_t earning = pending == 2 ? liuzhou::cells_in_lines(own) : liuzhou::cells_in_shapes(own);
  if (earning == 0)
    throw InvalidInput("pending is " + std::to_string(pending) + " in " + who_acts() + ", who has no " +
                       (pending == 2 ? "full row or column" : "2x2 square and no full row or column"));
  if (captures && (earning & liuzhou::neighbours(empty())) == 0)
    throw InvalidInput(who_acts() + ": no stone that earns it stands next to an empty cell that it can have come from");
  pending_ = static_cast<std::uint8_t>(pending);
}

inline void Liuzhou::check_placing() const {
  if (phase_ != Phase::mark_selection && (phase_ == Phase::removal) != (empty() == 0))
    throw InvalidInput("placing goes on until the board is full, then comes the removal; the phase is " +
                       std::string(phase()) + " and " + std::to_string(std::popcount(empty())) + " cells are empty");
  const int next_to_place = phase_ == Phase::mark_selection ? 1 - to_move_ : phase_ == Phase::removal ? 0 : to_move_;
  const int first = std::popcount(stones_[black]), second = std::popcount(stones_[white]);
  if (first != second + next_to_place)
    throw InvalidInput(who_acts() + ": BLACK must have " +
                       (next_to_place == black ? "as many stones as WHITE" : "one stone more than WHITE") + ", not " +
                       std::to_string(first) + " against " + std::to_string(second));
  if (phase_ == Phase::removal && to_move_ != white) throw InvalidInput("after the removal WHITE acts, not BLACK");

  for (const int player : {black, white}) {
    const int opponent = 1 - player;
    const bool was_marked = (stones_[player] & marked_) != 0;
    if (was_marked && liuzhou::cells_in_shapes(stones_[opponent]) == 0)
      throw InvalidInput(std::string(color_name(player)) + " has a marked stone, but " +
                         std::string(color_name(opponent)) + " has made no square or line to mark it for");
    const bool yet_to_mark = phase_ == Phase::mark_selection && to_move_ == opponent;
    if (!was_marked && !yet_to_mark && liuzhou::cells_in_shapes(unmarked(opponent)) != 0)
      throw InvalidInput(std::string(color_name(opponent)) + " has made a square or line, but no stone of " +
                         std::string(color_name(player)) + " is marked");
  }
}

inline void Liuzhou::check_after_placing() const {
  const int removed = std::popcount(empty());
  if (phase_ == Phase::forced_removal) {
    if (std::popcount(stones_[black]) != stones_per_side - (to_move_ == black ? 1 : 0) ||
        std::popcount(stones_[white]) != stones_per_side)
      throw InvalidInput(who_acts() + ": WHITE removes a stone from the full board, then BLACK does, but " +
                         std::to_string(removed) + " cells are empty");
    if ((liuzhou::cells_in_shapes(stones_[black]) | liuzhou::cells_in_shapes(stones_[white])) != 0)
      throw InvalidInput("there is a square or line in FORCED_REMOVAL, but that phase comes only if placing made none");
    return;
  }
  if (removed == 0)
    throw InvalidInput("the board is full in " + std::string(phase()) + ", but stones leave it when placing ends");
  if (phase_ == Phase::counter_removal) {
    const std::uint64_t stuck = stones_[1 - to_move_];
    if (stuck == 0 || removed < 2 || std::popcount(liuzhou::neighbours(stuck) & empty()) > 1)
      throw InvalidInput(who_acts() + " answers a removal by a stuck side, but " +
                         std::string(color_name(1 - to_move_)) + " was not stuck before any one stone was removed");
  }
}

// The steps that the position takes at least: 36 stones placed, the automatic removal, and for each stone that is
// marked or gone the step that marked or removed it.
inline int Liuzhou::fewest_steps() const {
  const int marked = std::popcount(marked_), removed = std::popcount(empty());
  if (!placing_is_over()) return max_cells - removed + marked;
  return max_cells + 1 + removed;
}

inline void Liuzhou::take_steps(int steps, int steps_since_capture) {
  // The phase determines the count: it is 0 while placing, 1 after a removal without marks, 0 after other removals.
  const bool exact = !placing_is_over() || phase_ == Phase::forced_removal || phase_ == Phase::counter_removal;
  const int least_since = phase_ == Phase::forced_removal && to_move_ == white ? 1 : 0;
  if (no_capture_limit_ == 0)
    steps_since_capture = 0;
  else if (steps_since_capture == not_given)
    steps_since_capture = least_since;
  else if (exact && steps_since_capture != least_since)
    throw InvalidInput("steps_since_capture is " + std::to_string(steps_since_capture) + ", but " +
                       std::to_string(least_since) + " in " + who_acts());
  if (steps_since_capture > no_capture_limit_)
    throw InvalidInput("steps_since_capture is " + std::to_string(steps_since_capture) + ", over no_capture_limit " +
                       std::to_string(no_capture_limit_));
  steps_since_capture_ = static_cast<std::uint16_t>(steps_since_capture);

  const int fewest = fewest_steps() + (exact ? 0 : steps_since_capture);
  if (steps == not_given) steps = fewest;
  if (steps < fewest)
    throw InvalidInput("steps is " + std::to_string(steps) + ", but the position takes at least " +
                       std::to_string(fewest));
  if (steps > max_steps_)
    throw InvalidInput("the position has or needs " + std::to_string(steps) + " steps, but max_steps is " +
                       std::to_string(max_steps_));
  if (phase_ == Phase::removal && steps != max_steps_)
    throw InvalidInput(
        "REMOVAL is automatic and seen only in a game that max_steps ended right before it, but steps is " +
        std::to_string(steps) + " of " + std::to_string(max_steps_));
  steps_ = static_cast<std::uint16_t>(steps);
}

// ---- Notation ----

inline std::string Liuzhou::cell_name(int cell) { return cell_to_string(cell, liuzhou::shape, info.rows_from_top); }

// A step off the board, which is never legal, is written with its direction: "a6-up".
inline std::string Liuzhou::action_to_string(Action action) const {
  if (action < first_step) return cell_name(action);
  if (action >= first_select) return "x" + cell_name(action - first_select);
  const int cell = step_cell(action), direction = step_direction(action);
  return cell_name(cell) + "-" +
         (liuzhou::leaves_board(cell, direction)
              ? std::string(liuzhou::direction_names[static_cast<std::size_t>(direction)])
              : cell_name(cell + liuzhou::offset_of(direction)));
}

inline int Liuzhou::string_to_action(std::string_view text) const {
  const auto cell_of = [](std::string_view name) { return string_to_cell(name, liuzhou::shape, info.rows_from_top); };
  if (!text.empty() && (text[0] == 'x' || text[0] == 'X')) {
    const int cell = cell_of(text.substr(1));
    return cell < 0 ? -1 : first_select + cell;
  }
  const std::size_t dash = text.find('-');
  if (dash == std::string_view::npos) return cell_of(text);
  const int cell = cell_of(text.substr(0, dash));
  if (cell < 0) return -1;
  std::string ending(text.substr(dash + 1));
  for (char& c : ending)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  for (int direction = 0; direction < liuzhou::num_directions; ++direction) {
    const Action action = step_action(cell, direction);
    if (action_to_string(action).substr(dash + 1) == ending) return action;
  }
  return -1;
}

inline Refusal Liuzhou::why_illegal(Action action) const {
  const std::string mover(color_name(to_move_)), opponent(color_name(1 - to_move_));
  if (phase_ == Phase::placement) {
    if (action < first_step) return {"taken", {{"cell", cell_name(action)}}};
    return {"must_place", {{"mover", mover}}};
  }
  if (can_step()) {
    if (action < first_step || action >= first_select) return {"must_step", {{"mover", mover}}};
    const int cell = step_cell(action), direction = step_direction(action);
    if (!(stones_[to_move_] >> cell & 1)) return {"no_stone", {{"player", mover}, {"cell", cell_name(cell)}}};
    if (liuzhou::leaves_board(cell, direction)) return {"leaves_board", {{"step", action_to_string(action)}}};
    return {"taken", {{"cell", cell_name(cell + liuzhou::offset_of(direction))}}};
  }
  if (action < first_select)
    return {phase_ == Phase::mark_selection ? "must_mark"
            : phase_ == Phase::movement     ? "stuck_must_remove"
                                            : "must_remove",
            {{"mover", mover}, {"opponent", opponent}}};
  const std::string cell = cell_name(action - first_select);
  if (!(stones_[1 - to_move_] >> (action - first_select) & 1))
    return {"no_stone", {{"player", opponent}, {"cell", cell}}};
  if (marked_ >> (action - first_select) & 1) return {"marked_already", {{"cell", cell}}};
  return {"in_shape", {{"cell", cell}, {"opponent", opponent}}};
}

}  // namespace qizero
