// The transposition table of the Connect 4 solver: for each position bounds of its score. Fixed size, two entries a
// bucket: the one that took most work in this generation, and the newest.
//
// A position is 49 bits. They are scrambled by a bijection; some of the scrambled bits choose the bucket and only the
// others are stored, so an entry of 64 bits is exact: two positions are never taken for each other.
#pragma once

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstdint>
#include <vector>

namespace qizero {

class Connect4Table {
 public:
  static constexpr int score_offset = 32;  // scores are stored as 6 bits

  struct Bounds {
    int lower, upper;
  };

  // Holds at most `bytes`, but at least 32 KB: with fewer buckets the stored bits would not tell positions apart.
  explicit Connect4Table(std::uint64_t bytes) { clear(bytes); }

  // Forgets everything and holds at most `bytes` from now on.
  void clear(std::uint64_t bytes) {
    bucket_bits_ = std::clamp(static_cast<int>(std::bit_width(bytes / 16)) - 1, 49 - (64 - rest_shift), 32);
    slots_.assign(std::size_t{2} << bucket_bits_, 0);
  }

  void new_generation() { generation_ = (generation_ + 1) & 0xff; }

  void prefetch(std::uint64_t key) const {
#ifdef __GNUC__
    __builtin_prefetch(slots_.data() + bucket(scrambled(key)));
#endif
  }

  // False when the position is unknown.
  bool find(std::uint64_t key, Bounds& bounds) const {
    const std::uint64_t position = scrambled(key);
    const std::size_t at = bucket(position);
    for (std::size_t i = at; i < at + 2; ++i)
      if (slots_[i] != 0 && slots_[i] >> rest_shift == rest(position)) {
        bounds = {lower_of(slots_[i]), upper_of(slots_[i])};
        return true;
      }
    return false;
  }

  // `nodes`: the size of the subtree that the bounds took.
  void store(std::uint64_t key, Bounds bounds, std::uint64_t nodes) {
    const std::uint64_t position = scrambled(key);
    const std::size_t at = bucket(position);
    const auto work = static_cast<std::uint64_t>(std::bit_width(nodes));
    const std::uint64_t entry = rest(position) << rest_shift | generation_ << 18 | work << 12 |
                                static_cast<std::uint64_t>(bounds.lower + score_offset) << 6 |
                                static_cast<std::uint64_t>(bounds.upper + score_offset);
    assert(lower_of(entry) == bounds.lower && upper_of(entry) == bounds.upper);
    std::uint64_t& worked = slots_[at];
    std::uint64_t& newest = slots_[at + 1];
    if (worked >> rest_shift == rest(position)) {
      worked = entry;
    } else if ((worked >> 18 & 0xff) != generation_ || (worked >> 12 & 0x3f) <= work) {
      newest = worked;
      worked = entry;
    } else {
      newest = entry;
    }
  }

 private:
  // rest (high) | generation 8 | work 6 | lower 6 | upper 6
  static constexpr int rest_shift = 26;
  static constexpr std::uint64_t mask49 = (std::uint64_t{1} << 49) - 1;

  static std::uint64_t scrambled(std::uint64_t key) {
    key = key * 0x9e37'79b9'7f4a'7c15 & mask49;
    key ^= key >> 25;
    return key * 0xbf58'476d'1ce4'e5b9 & mask49;
  }
  std::size_t bucket(std::uint64_t position) const {
    return static_cast<std::size_t>(position >> (49 - bucket_bits_)) * 2;
  }
  std::uint64_t rest(std::uint64_t position) const {
    return position & ((std::uint64_t{1} << (49 - bucket_bits_)) - 1);
  }
  static int lower_of(std::uint64_t entry) { return static_cast<int>(entry >> 6 & 0x3f) - score_offset; }
  static int upper_of(std::uint64_t entry) { return static_cast<int>(entry & 0x3f) - score_offset; }

  int bucket_bits_ = 0;
  std::uint64_t generation_ = 0;
  std::vector<std::uint64_t> slots_;
};

}  // namespace qizero
