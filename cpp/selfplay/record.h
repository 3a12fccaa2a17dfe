// One training row as bytes: what a network is to learn from one searched position. Rows of a game with given options
// all have one size. Python reads them through the same layout (RecordField), so there is one definition.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "games/game.h"

namespace qizero {

static_assert(std::endian::native == std::endian::little,
              "rows are written in the machine's byte order, which is little-endian");

// 2: rows have their legal actions. 3: they have the surprise and the final board; all come from full searches.
inline constexpr int record_version = 3;

// A field of a row, in numpy's words.
struct RecordField {
  std::string name;
  std::string type;  // "u1", "i1", "<u2", "<f4"
  int count;
  std::size_t offset, bytes;
};

class RecordLayout {
 public:
  template <Game G>
  static RecordLayout of(const G& position) {
    const int cells = position.board_shape().cells();
    RecordLayout layout;
    layout.cell_bits_ = static_cast<int>(G::cell_planes.size()) * cells;
    layout.planes_ =
        layout.add("planes", "u1", (layout.cell_bits_ + 7) / 8, 1);  // cell planes, one bit a cell, lowest bit first
    layout.scalars_ = layout.add("scalars", "<f4", static_cast<int>(G::scalar_planes.size()), 4);
    layout.policy_ = layout.add("policy", "<u2", position.num_actions(), 2);  // target policy in units of 1/65535
    layout.legal_ = layout.add("legal", "u1", (position.num_actions() + 7) / 8, 1);  // one bit an action, lowest first
    layout.outcome_ = layout.add("outcome", "<f4", 3, 4);  // win, draw, loss of the mover: how the game ended
    layout.root_ = layout.add("root", "<f4", 3, 4);        // the same, as the search saw it
    layout.plies_left_ = layout.add("plies_left", "<u2", 1, 2);
    layout.ply_ = layout.add("ply", "<u2", 1, 2);
    layout.surprise_ =
        layout.add("surprise", "<f4", 1, 4);  // KL(target policy || network's), in nats; 0 if proven without it
    layout.final_board_ = layout.add("final_board", "i1", cells, 1);  // when the game ended: 1 the mover's, -1, 0 empty
    return layout;
  }

  const std::vector<RecordField>& fields() const { return fields_; }
  std::size_t bytes() const { return bytes_; }

  struct Values {
    const float* planes;  // as `encode` writes them
    const float* policy;  // [num_actions], sums to 1
    std::span<const Action> legal;
    float outcome[3], root[3];
    int plies_left, ply;
    float surprise;
    std::span<const std::int8_t> final_board;  // as in Setup, for player 0
    int mover;
  };

  void write(std::uint8_t* row, const Values& values, int cells) const {
    std::memset(row, 0, bytes_);
    for (int i = 0; i < cell_bits_; ++i)
      if (values.planes[i] != 0.0f)
        row[offset(planes_) + static_cast<std::size_t>(i / 8)] |= static_cast<std::uint8_t>(1 << (i % 8));
    for (int i = 0; i < field(scalars_).count; ++i) put(row, scalars_, i, values.planes[cell_bits_ + i * cells]);
    for (int i = 0; i < field(policy_).count; ++i)
      put(row, policy_, i, static_cast<std::uint16_t>(std::lround(values.policy[i] * 65535.0f)));
    for (const Action action : values.legal)
      row[offset(legal_) + static_cast<std::size_t>(action / 8)] |= static_cast<std::uint8_t>(1 << (action % 8));
    for (int i = 0; i < 3; ++i) {
      put(row, outcome_, i, values.outcome[i]);
      put(row, root_, i, values.root[i]);
    }
    put(row, plies_left_, 0, static_cast<std::uint16_t>(values.plies_left));
    put(row, ply_, 0, static_cast<std::uint16_t>(values.ply));
    put(row, surprise_, 0, values.surprise);
    for (int i = 0; i < cells; ++i) {
      const int owner = values.final_board[static_cast<std::size_t>(i)];
      const int sign = (owner > 0) - (owner < 0);
      put(row, final_board_, i, static_cast<std::int8_t>(values.mover == 0 ? sign : -sign));
    }
  }

 private:
  std::size_t add(const char* name, const char* type, int count, std::size_t size) {
    fields_.push_back({name, type, count, bytes_, static_cast<std::size_t>(count) * size});
    bytes_ += fields_.back().bytes;
    return fields_.size() - 1;
  }
  const RecordField& field(std::size_t index) const { return fields_[index]; }
  std::size_t offset(std::size_t index) const { return fields_[index].offset; }
  template <class T>
  void put(std::uint8_t* row, std::size_t index, int i, T value) const {
    std::memcpy(row + offset(index) + static_cast<std::size_t>(i) * sizeof value, &value, sizeof value);
  }

  std::vector<RecordField> fields_;
  std::size_t bytes_ = 0;
  int cell_bits_ = 0;
  std::size_t planes_ = 0, scalars_ = 0, policy_ = 0, legal_ = 0, outcome_ = 0, root_ = 0, plies_left_ = 0, ply_ = 0,
              surprise_ = 0, final_board_ = 0;
};

}  // namespace qizero
