// The settings of a search, each declared once (base/settings.h).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/settings.h"
#include "games/game.h"

namespace qizero {

// How a node below the root chooses among its actions.
enum class Selection : std::uint8_t {
  puct,             // mean value + c * prior * sqrt(visits) / (1 + visits of the action), as in AlphaZero
  improved_policy,  // visits follow softmax(log prior + sigma(completed q)), as in Gumbel AlphaZero; deterministic
  uct,              // UCB1 on visits, every action once first; priors only order the first visits. For random playouts
};

constexpr std::array<std::string_view, 3> choice_names(Selection) { return {"puct", "improved_policy", "uct"}; }

// clang-format off
#define QIZERO_SEARCH_SETTINGS(SETTING)                                                                            \
  /* Selection */                                                                                                  \
  SETTING(Selection, selection, Selection::puct, Selection::puct, Selection::uct,                                  \
          "How a node below the root chooses among its actions. puct: as AlphaZero; improved_policy: as Gumbel "   \
          "AlphaZero; uct: UCB1, for random playouts.")                                                            \
  SETTING(double, c_init, 1.25, 0, 100,                                                                            \
          "Exploration of PUCT: c(N) = c_init + log((1 + N + c_base) / c_base). AlphaZero: 1.25.")                 \
  SETTING(double, c_base, 19652, 1, 1e18, "Visits at which the exploration of PUCT grows. AlphaZero: 19652.")      \
  SETTING(double, fpu_reduction, 0.25, 0, 2,                                                                       \
          "First-play urgency: an unvisited action counts as the node's value minus this * sqrt(prior mass "       \
          "visited so far), scaled by (1 + value) / 2 and at least -1. KataGo: 0.2.")                              \
  SETTING(double, root_fpu_reduction, 0.1, 0, 2, "fpu_reduction at the root. KataGo: 0.1.")                        \
  SETTING(double, uct_c, 1.4, 0, 100,                                                                              \
          "Exploration of UCT: value + uct_c * sqrt(log(N) / n). UCB1 for values in [-1, 1]: 2 * sqrt(2).")        \
  SETTING(double, virtual_loss, 1, 0, 100,                                                                         \
          "Lost visits that each pending evaluation counts as. AlphaGo: 3; 1 is enough for few leaves.")           \
  /* Root noise (PUCT) */                                                                                          \
  SETTING(double, noise_epsilon, 0, 0, 1,                                                                          \
          "Share of Dirichlet noise in the priors of the root; 0: none. AlphaZero in self-play: 0.25.")            \
  SETTING(double, noise_alpha, 10, 1e-3, 1e6,                                                                      \
          "Total concentration of the Dirichlet noise, divided among the legal actions. AlphaZero: about 10.8 "    \
          "for Go, 10.5 for chess.")                                                                               \
  SETTING(double, root_policy_temperature, 1, 0.1, 10,                                                             \
          "The priors of the root are raised to 1/this and normalised before noise, also in the improved policy; " \
          "more than 1 flattens them, so that learning does not only sharpen. KataGo: 1.25 falling to 1.1.")       \
  /* Gumbel root */                                                                                                \
  SETTING(bool, gumbel, false, false, true,                                                                        \
          "Sequential halving over sampled actions instead of PUCT at the root, for few simulations; needs "       \
          "simulations.")                                                                                          \
  SETTING(int, gumbel_considered, 16, 1, 1000,                                                                     \
          "Largest number of actions that the Gumbel root samples without replacement. Paper: 16.")                \
  SETTING(double, gumbel_scale, 1, 0, 100,                                                                         \
          "Scale of the Gumbel noise: 1 samples from the policy, 0 takes the best action.")                        \
  SETTING(double, c_visit, 50, 0, 1e6,                                                                             \
          "sigma(q) = (c_visit + most visits of an action) * c_scale * q, for q in [-1, 1]. Paper, mctx: 50.")     \
  SETTING(double, c_scale, 0.1, 0, 1000,                                                                           \
          "Scale of sigma(q), see c_visit. Paper: 1 on q scaled to [0, 1]; mctx: 0.1.")                            \
  SETTING(double, q_span, 2, 0.001, 2,                                                                             \
          "The completed q of a node are stretched so that they span 2, but not more than spans of this would be: " \
          "then c_scale means the same in every game. 2: as they are; mctx stretches any span.")                   \
  /* Exact knowledge */                                                                                            \
  SETTING(bool, solver, true, false, true,                                                                         \
          "Proven wins, draws and losses travel up the tree; a proven root ends the search.")                      \
  SETTING(double, oracle_effort, 0, 0, 1000,                                                                       \
          "Where the game has an oracle, it is asked about every leaf with this much of its own budget; 0: never. " \
          "Needs solver.")                                                                                         \
  SETTING(double, oracle_root_effort, 0, 0, 1000,                                                                  \
          "The same about the root, whose budget is larger; with a time limit at most a part of it.")              \
  /* Budget */                                                                                                     \
  SETTING(int, simulations, 200, 0, 1'000'000'000,                                                                 \
          "Simulations per search, those in a reused tree not counted; 0: no limit.")                              \
  SETTING(double, milliseconds, 0, 0, 1e9,                                                                         \
          "Milliseconds per search; 0: no limit. With both limits, whichever comes first.")                        \
  SETTING(bool, early_stop, false, false, true,                                                                    \
          "Stop when the leading action can no longer lose its lead within the limits, at the speed so far, or "   \
          "when there is only one action.")                                                                        \
  SETTING(std::int64_t, max_tree_bytes, std::int64_t{1} << 30, std::int64_t{1} << 12, std::int64_t{1} << 34,       \
          "Largest size of one tree; a search that reaches it ends with its result so far. 32-bit indices reach "  \
          "the upper limit.")                                                                                      \
  /* Result */                                                                                                     \
  SETTING(double, lcb, 0, 0, 10,                                                                                   \
          "The recommended action is that of the highest value minus this many standard errors, among those with " \
          "a tenth of the most visits; 0: the most visited. KataGo: 5 on its own scale.")                          \
  SETTING(bool, improved_policy, false, false, true,                                                               \
          "The policy that a search reports, and that temperatures draw from, is softmax(log prior + "             \
          "sigma(completed q)) instead of the share of visits. A Gumbel root always reports it.")
// clang-format on

struct SearchParams {
  QIZERO_SETTINGS(SearchParams, QIZERO_SEARCH_SETTINGS)

  // Throws InvalidInput that names every invalid value.
  void validate() const {
    std::string problems = settings_out_of_range(*this);
    if (simulations == 0 && milliseconds == 0.0)
      add_problem(problems, "simulations and milliseconds are both 0: the search would never end");
    if (gumbel && simulations == 0)
      add_problem(problems, "gumbel divides a number of simulations, but simulations is 0");
    if (!problems.empty()) throw InvalidInput("search: " + problems);
  }
};

}  // namespace qizero
