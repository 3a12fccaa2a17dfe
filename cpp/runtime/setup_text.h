// A Setup as one line of text: "X.../.O.. o phase=MOVEMENT pending=0": rows from the top, X and O for players 0 and 1
// (lower case = marked), the player to move, then the phase and the counters that are given.
#pragma once

#include <string>
#include <string_view>

#include "games/game.h"

namespace qizero {

std::string setup_to_text(const Setup& setup, BoardShape shape);

// Checks the form only (every other check is from_setup's). Throws InvalidInput.
Setup setup_from_text(std::string_view text, BoardShape shape);

// What holds in every game: board and marks have the right size and values, the player is 0 or 1, only known counters
// and none negative, marks only where the game has them. Throws InvalidInput.
void check_setup_form(const Setup& setup, BoardShape shape, std::span<const std::string_view> counter_names,
                      bool has_phases, bool has_marks);

}  // namespace qizero
