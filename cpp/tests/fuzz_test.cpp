// Broken input: fuzz_test [INPUTS] [SEED] gives that many random and mutated texts and setups to every game under
// several options. Each must come out as a state that obeys every law, or as InvalidInput.
#include <cstdlib>

#include "laws.h"
#include "mutation.h"

namespace qizero {
namespace {

// One game with its options, and states of it to start from.
class Target {
 public:
  Target(std::shared_ptr<const AnyGame> game, Rng& rng) : game_(std::move(game)) {
    for (std::size_t i = 0; i < pool_size; ++i) pool_.push_back(random_state(rng));
  }

  const AnyGame& game() const { return *game_; }
  std::span<const std::string> phases() const { return phases_; }

  // Half of the states have been built from a setup, so that their texts have a start line.
  const AnyState& base(Rng& rng) {
    std::unique_ptr<AnyState>& state = pick(rng, pool_);
    if (rng.below(64) == 0) state = random_state(rng);
    return *state;
  }

 private:
  static constexpr std::size_t pool_size = 32;

  std::unique_ptr<AnyState> random_state(Rng& rng) {
    auto state = game_->initial_state();
    const int length = random_below(rng, static_cast<std::size_t>(std::min(game_->max_game_length(), 300)) + 1);
    for (int ply = 0; ply < length && state->outcome() == Outcome::ongoing; ++ply) {
      if (ply == length / 2 && rng.below(2) != 0) state = game_->state_from_setup(state->setup());
      state->apply(state->random_action(rng));
      if (!state->phase().empty() && std::count(phases_.begin(), phases_.end(), state->phase()) == 0)
        phases_.emplace_back(state->phase());
    }
    return state;
  }

  std::shared_ptr<const AnyGame> game_;
  std::vector<std::unique_ptr<AnyState>> pool_;
  std::vector<std::string> phases_;
};

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    char code[8];
    std::snprintf(code, sizeof code, "\\x%02x", static_cast<unsigned char>(c));
    result += c >= ' ' && c <= '~' ? std::string(1, c) : c == '\n' ? "\\n" : code;
  }
  return result;
}

std::string words_of(const Setup& setup) {
  std::string text = "board";
  for (const std::int8_t cell : setup.board) text += " " + std::to_string(cell);
  text += ", player " + std::to_string(setup.current_player) + ", phase '" + escaped(setup.phase) + "', marked";
  for (const std::uint8_t mark : setup.marked) text += " " + std::to_string(mark);
  for (const auto& [name, value] : setup.counters) text += ", " + name + "=" + std::to_string(value);
  return text;
}

void check_accepted(const AnyState& accepted, Rng& rng) {
  check_state(accepted, a_few, rng);
  const auto state = accepted.clone();
  const std::size_t before = state->history().size();
  while (state->outcome() == Outcome::ongoing) {
    check_legal_actions(*state);
    CHECK(static_cast<int>(state->history().size() - before) < state->game()->max_game_length(), describe(accepted));
    state->apply(state->random_action(rng));
  }
  check_state(*state, a_few, rng);
}

struct Counts {
  long accepted = 0, refused = 0;
};

// One input. Throws CheckFailed with the input in words.
void fuzz_once(Target& target, SeenPositions& seen, Counts& counts, Rng& rng) {
  const AnyState& base = target.base(rng);
  const std::uint32_t mutations = rng.below(2) != 0 ? 1 : 1 + rng.below(4);
  std::string input;
  try {
    std::unique_ptr<AnyState> state;
    try {
      if (rng.below(2) != 0) {
        Setup setup = base.setup();
        for (std::uint32_t i = 0; i < mutations; ++i)
          mutate_setup(setup, target.phases(), target.game().counter_names(), rng);
        input = "setup: " + words_of(setup);
        state = target.game().state_from_setup(setup);
      } else {
        std::string text = base.serialize();
        for (std::uint32_t i = 0; i < mutations; ++i) mutate_text(text, rng);
        input = "text: " + escaped(text);
        state = target.game().deserialize(text);
      }
    } catch (const InvalidInput& error) {
      CHECK(std::string(error.what()).size() > 5, std::string("no reason: ") + error.what());
      ++counts.refused;
      return;
    }
    ++counts.accepted;
    seen.add(*state, rng);
    check_accepted(*state, rng);
  } catch (const std::exception& error) {
    throw CheckFailed(target.game().spec() + ", " + input + "\n" + error.what());
  }
}

int fuzz(long inputs, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<std::vector<Target>> targets;
  std::vector<SeenPositions> seen;
  for (const CatalogEntry& entry : catalog()) {
    std::vector<Target>& of_game = targets.emplace_back();
    for (const auto& game : option_sets(entry)) of_game.emplace_back(game, rng);
    seen.emplace_back(100'000);
  }
  std::vector<Counts> counts(targets.size());
  for (long input = 0; input < inputs; ++input) {
    const auto game = static_cast<std::size_t>(random_below(rng, targets.size()));
    try {
      fuzz_once(pick(rng, targets[game]), seen[game], counts[game], rng);
    } catch (const CheckFailed& error) {
      std::printf("FAILED  input %ld of seed %llu\n%s\n", input, static_cast<unsigned long long>(seed), error.what());
      return 1;
    }
  }
  for (std::size_t game = 0; game < targets.size(); ++game) {
    std::printf("%-14s %2zu option sets %9ld accepted %9ld refused\n", std::string(catalog()[game].info->id).c_str(),
                targets[game].size(), counts[game].accepted, counts[game].refused);
    if (inputs >= 10'000 && (counts[game].accepted == 0 || counts[game].refused == 0)) {
      std::printf("FAILED  the inputs were all accepted or all refused\n");
      return 1;
    }
  }
  std::printf("ok      %ld inputs, seed %llu\n", inputs, static_cast<unsigned long long>(seed));
  return 0;
}

}  // namespace
}  // namespace qizero

int main(int argc, char** argv) {
  const long inputs = argc > 1 ? std::atol(argv[1]) : 20'000;
  const std::uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  if (inputs <= 0 || argc > 3) {
    std::fprintf(stderr, "usage: %s [INPUTS] [SEED]\n", argv[0]);
    return 2;
  }
  return qizero::fuzz(inputs, seed);
}
