// What alpha-beta knows of Liuzhou chess: material, shapes that stand, shapes one action away, mobility.
#pragma once

#include <bit>

#include "alphabeta/search_board.h"
#include "base/bits.h"
#include "games/liuzhou.h"

namespace qizero {

struct LiuzhouMaterial {
  static constexpr std::string_view name = "material";
  static constexpr int score_scale = 400;

  static int evaluate(const Liuzhou& position) {
    const int mover = position.to_move();
    return side(position, mover) - side(position, 1 - mover) + stone * position.pending_selections();
  }

  // Actions that make a shape first; among selections, stones that stand next to many of their own.
  static int priority(const Liuzhou& position, Action action) {
    const int mover = position.to_move();
    if (action >= Liuzhou::first_select) {
      const std::uint64_t around = liuzhou::neighbours(liuzhou::bit_of(action - Liuzhou::first_select));
      return 100 * std::popcount(around & position.unmarked_stones(1 - mover));
    }
    std::uint64_t stones = position.unmarked_stones(mover);
    int cell = action;
    if (action >= Liuzhou::first_step) {
      const int from = (action - Liuzhou::first_step) / liuzhou::num_directions;
      cell = from + liuzhou::offset_of((action - Liuzhou::first_step) % liuzhou::num_directions);
      stones ^= liuzhou::bit_of(from);
    }
    return 10'000 * liuzhou::reward(stones | liuzhou::bit_of(cell), cell);
  }

 private:
  static constexpr int stone = 100, protected_stone = 12, threat = 35, step = 3;

  static int side(const Liuzhou& position, int player) {
    const std::uint64_t stones = position.unmarked_stones(player), empty = position.empty_cells();
    const int score = stone * std::popcount(stones) + protected_stone * std::popcount(liuzhou::cells_in_shapes(stones));
    return score + (position.is_placing() ? placing_threats(stones, empty) : moving_threats(stones, empty));
  }
  static int placing_threats(std::uint64_t stones, std::uint64_t empty) {
    int rewards = 0;
    for_each_bit(empty & liuzhou::neighbours(stones),
                 [&](int cell) { rewards += liuzhou::reward(stones | liuzhou::bit_of(cell), cell); });
    return threat * rewards;
  }
  static int moving_threats(std::uint64_t stones, std::uint64_t empty) {
    int rewards = 0, moves = 0;
    const auto steps = liuzhou::steps(stones, empty);
    for (int direction = 0; direction < liuzhou::num_directions; ++direction)
      for_each_bit(steps[static_cast<std::size_t>(direction)], [&](int from) {
        const int to = from + liuzhou::offset_of(direction);
        rewards += liuzhou::reward((stones ^ liuzhou::bit_of(from)) | liuzhou::bit_of(to), to);
        ++moves;
      });
    return threat * rewards + step * moves;
  }
};

template <>
struct Boards<Liuzhou> {
  using type = std::tuple<PositionBoard<Liuzhou, LiuzhouMaterial>>;
};

}  // namespace qizero
