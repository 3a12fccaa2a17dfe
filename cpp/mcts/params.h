// Every constant of the search, each with its meaning, range and default where it is declared. `fields` lists them once
// more for whoever needs them by name: bindings, validation, configuration files, docs.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "games/game.h"

namespace qizero {

// How a node below the root chooses among its actions.
enum class Selection : std::uint8_t {
  puct,             // mean value + c * prior * sqrt(visits) / (1 + visits of the action), as in AlphaZero
  improved_policy,  // visits follow softmax(log prior + sigma(completed q)), as in Gumbel AlphaZero; nothing random
  uct,              // UCB1 on visits, every action once first; priors only order the first visits. For random playouts
};

struct SearchParams {
  // ---- Selection ----

  Selection selection = Selection::puct;
  // Exploration of PUCT: c(N) = c_init + log((1 + N + c_base) / c_base). AlphaZero: 1.25 and 19652.
  double c_init = 1.25;
  double c_base = 19652;
  // First-play urgency: an unvisited action counts as the node's value minus this * sqrt(prior mass visited so far),
  // scaled by (1 + value) / 2 and never below -1. AlphaZero: a loss (-1) always; KataGo: 0.2, at the root 0.1.
  double fpu_reduction = 0.25;
  double root_fpu_reduction = 0.1;
  // Exploration of UCT: value + uct_c * sqrt(log(N) / n). UCB1 for values in [-1, 1]: 2 * sqrt(2).
  double uct_c = 1.4;
  // Each evaluation under way counts as this many lost visits. AlphaGo: 3; 1 is enough for few leaves.
  double virtual_loss = 1.0;

  // ---- Root noise (PUCT) ----

  // Share of Dirichlet noise in the priors of the root; 0: none. AlphaZero in self-play: 0.25.
  double noise_epsilon = 0.0;
  // Total concentration, divided among the legal actions. AlphaZero: 0.03 * 361 ≈ 10.8 for Go, 0.3 * ~35 ≈ 10.5 for
  // chess.
  double noise_alpha = 10.0;
  // Priors of the root are raised to 1/this and normalised before noise, also in the improved policy: whoever learns
  // from it would else only ever sharpen, on noise too. KataGo in self-play: 1.25 falling to 1.1.
  double root_policy_temperature = 1.0;

  // ---- Gumbel root ----

  // Sequential halving over sampled actions instead of PUCT at the root; for few simulations. Needs `simulations`.
  bool gumbel = false;
  // At most so many actions are sampled without replacement. Paper: 16.
  int gumbel_considered = 16;
  // Scale of the Gumbel noise: 1 samples from the policy, 0 takes the best for play without randomness.
  double gumbel_scale = 1.0;
  // sigma(q) = (c_visit + most visits of an action) * c_scale * q, for q in [-1, 1]. Paper: 50 and 1 on q scaled to [0,
  // 1], mctx: 50 and 0.1.
  double c_visit = 50.0;
  double c_scale = 0.1;

  // ---- Exact knowledge ----

  // Proven wins, draws and losses travel up the tree; a proven root ends the search.
  bool solver = true;

  // ---- Budget ----

  // Simulations per search, those in a reused tree not counted; 0: no limit.
  int simulations = 200;
  // Milliseconds per search; 0: no limit. With both limits, whichever comes first.
  double milliseconds = 0.0;
  // Stop when the leading action can no longer lose its lead within `simulations`, or when there is only one action.
  bool early_stop = false;
  // Bytes that one tree may take; a search that reaches it ends with what it has. At most 2^34, so that 32-bit indices
  // suffice.
  std::int64_t max_tree_bytes = std::int64_t{1} << 30;

  // ---- Choice ----

  // Actions are drawn with probability proportional to visits^(1/temperature); 0: the most visited. AlphaZero: 1 for 30
  // plies, then 0.
  double temperature = 0.0;
  // The policy that a search reports, and that temperatures draw from, is softmax(log prior + sigma(completed q))
  // instead of the share of visits. A Gumbel root always reports it.
  bool improved_policy = false;

  // Calls f(name, member pointer, smallest, largest) for every number above, f(name, member pointer) for every switch.
  template <class F>
  static void fields(F&& f) {
    constexpr double inf = std::numeric_limits<double>::infinity();
    f("c_init", &SearchParams::c_init, 0.0, 100.0);
    f("c_base", &SearchParams::c_base, 1.0, inf);
    f("fpu_reduction", &SearchParams::fpu_reduction, 0.0, 2.0);
    f("root_fpu_reduction", &SearchParams::root_fpu_reduction, 0.0, 2.0);
    f("uct_c", &SearchParams::uct_c, 0.0, 100.0);
    f("virtual_loss", &SearchParams::virtual_loss, 0.0, 100.0);
    f("noise_epsilon", &SearchParams::noise_epsilon, 0.0, 1.0);
    f("noise_alpha", &SearchParams::noise_alpha, 1e-3, 1e6);
    f("root_policy_temperature", &SearchParams::root_policy_temperature, 0.1, 10.0);
    f("gumbel", &SearchParams::gumbel);
    f("gumbel_considered", &SearchParams::gumbel_considered, 1, 1000);
    f("gumbel_scale", &SearchParams::gumbel_scale, 0.0, 100.0);
    f("c_visit", &SearchParams::c_visit, 0.0, 1e6);
    f("c_scale", &SearchParams::c_scale, 0.0, 1e3);
    f("solver", &SearchParams::solver);
    f("simulations", &SearchParams::simulations, 0, 1'000'000'000);
    f("milliseconds", &SearchParams::milliseconds, 0.0, 1e9);
    f("early_stop", &SearchParams::early_stop);
    f("max_tree_bytes", &SearchParams::max_tree_bytes, std::int64_t{1} << 12, std::int64_t{1} << 34);
    f("temperature", &SearchParams::temperature, 0.0, 100.0);
    f("improved_policy", &SearchParams::improved_policy);
  }

  // Throws InvalidInput that names every value out of range, all at once.
  void validate() const;
};

// The fields of `params` that are out of range, in words; empty if none.
template <class Params>
std::string fields_out_of_range(const Params& params) {
  std::string problems;
  Params::fields([&]<class... Range>(std::string_view name, auto member, Range... range) {
    if constexpr (sizeof...(Range) == 2) {
      const auto [low, high] = std::pair(range...);
      const auto value = params.*member;
      if (!(value >= low && value <= high))
        problems += (problems.empty() ? "" : "; ") + std::string(name) + " is " + std::to_string(value) +
                    ", not between " + std::to_string(low) + " and " + std::to_string(high);
    }
  });
  return problems;
}

inline void SearchParams::validate() const {
  std::string problems = fields_out_of_range(*this);
  if (simulations == 0 && milliseconds == 0.0)
    problems += std::string(problems.empty() ? "" : "; ") +
                "simulations and milliseconds are both 0: the search would never end";
  if (gumbel && simulations == 0)
    problems +=
        std::string(problems.empty() ? "" : "; ") + "gumbel divides a number of simulations, but simulations is 0";
  if (!problems.empty()) throw InvalidInput("search: " + problems);
}

}  // namespace qizero
