// Numbers of action sequences from the initial position, against published ones.
#include "check.h"
#include "runtime/any_game.h"

namespace qizero {
namespace {

struct Published {
  std::string game;
  std::vector<std::int64_t> counts;  // of depth 1, 2, …
};

const std::vector<Published> published{
    {"tictactoe", {9, 72, 504, 3'024, 15'120, 54'720, 148'176, 200'448, 127'872, 0}},
    {"connect4", {7, 49, 343, 2'401, 16'807, 117'649, 823'536, 5'673'234}},
    {"othello", {4, 12, 56, 244, 1'396, 8'200, 55'092, 390'216, 3'005'288}},
    {"gomoku(size=9)", {81, 6'480, 511'920}},
    {"liuzhou", {36, 1'260, 42'840, 1'413'720}},
    {"liuzhou(lose_below=4,max_steps=144,no_capture_limit=36)", {36, 1'260, 42'840, 1'413'720}},
    {"breakthrough", {22, 484, 11'132, 256'036}},
};

void counts_are_the_published_ones() {
  for (const Published& row : published) {
    const auto game = make_game(row.game);
    for (std::size_t i = 0; i < row.counts.size(); ++i) {
      const std::int64_t counted = game->perft(static_cast<int>(i) + 1);
      CHECK(counted == row.counts[i], row.game + " depth " + std::to_string(i + 1) + ": " + std::to_string(counted) +
                                          ", published " + std::to_string(row.counts[i]));
    }
  }
}

void every_game_is_counted() {
  for (const CatalogEntry& entry : catalog()) {
    bool found = false;
    for (const Published& row : published) found |= row.game.substr(0, row.game.find('(')) == entry.info->id;
    CHECK(found, std::string(entry.info->id) + " has no published numbers here");
  }
}

}  // namespace
}  // namespace qizero

int main() {
  using namespace qizero;
  return run_tests({{"counts are the published ones", counts_are_the_published_ones},
                    {"every game is counted", every_game_is_counted}});
}
