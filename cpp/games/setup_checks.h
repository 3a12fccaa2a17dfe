// Checks of a Setup that several games share. Each throws InvalidInput with the reason in words.
#pragma once

#include <string>

#include "games/game.h"

namespace qizero {

// For games in which player 0 begins and every turn adds one stone.
inline void check_alternating_counts(int first, int second, int current_player) {
  const std::string counts =
      "player 0 has " + std::to_string(first) + " and player 1 has " + std::to_string(second) + " stones";
  if (first != second && first != second + 1)
    throw InvalidInput(counts + ": player 0 begins and turns alternate, so player 0 must have as many or one more");
  if (current_player != (first == second ? 0 : 1))
    throw InvalidInput(counts + ", so it is player " + std::to_string(first == second ? 0 : 1) +
                       "'s turn, not player " + std::to_string(current_player) + "'s");
}

}  // namespace qizero
