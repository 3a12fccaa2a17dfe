// The opening table of Connect 4: exact distances of every position with 12 stones in which nobody has won and the
// mover cannot win at once. The data is the file book_12ply_distances.dat of the PyPI package bitbully-databases (MIT).
//
// Format of the file: records of 5 bytes, ascending by their key: a big-endian 32-bit key read as a signed number, then
// a signed byte. A key is the position column by column, left to right, each from the bottom up: bits 10 for a stone of
// player 0, 11 for player 1, then 0 at the end of the column; the whole shifted left by one. The byte is 0 for a draw,
// 100 - plies for a win of player 0 (who is to move), plies - 100 for a loss. Of two mirrored positions one is stored.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace qizero {

class Connect4Book {
 public:
  static constexpr int stones = 12;

  Connect4Book() = default;  // empty: knows nothing
  explicit Connect4Book(
      const std::string& path);  // throws InvalidInput when the file cannot be read or is no such table

  std::size_t size() const { return keys_.size(); }

  // The score of the mover (see connect4_solver.h) in a position of 12 stones: `mover` and `occupied` as in Connect4.
  std::optional<int> score(std::uint64_t mover, std::uint64_t occupied) const;

 private:
  std::optional<int> find(std::uint32_t key) const;

  std::vector<std::uint32_t> keys_;   // ascending; the sign bit is flipped so that unsigned order is the file's order
  std::vector<std::int8_t> scores_;   // of the mover, parallel to keys_
  std::vector<std::uint32_t> index_;  // index_[h] .. index_[h+1]: the keys whose highest bits are h
};

}  // namespace qizero
