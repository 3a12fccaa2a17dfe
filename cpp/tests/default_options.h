// The options of a game that nobody has set.
#pragma once

#include "games/game.h"

namespace qizero {

template <Game G>
constexpr OptionValues default_options() {
  OptionValues values{};
  int i = 0;
  for (const OptionSpec& spec : G::option_specs) values[static_cast<std::size_t>(i++)] = spec.default_value;
  return values;
}

}  // namespace qizero
