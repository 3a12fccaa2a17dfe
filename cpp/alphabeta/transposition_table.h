// What a search of positions remembers: bounds, depths and best actions by hash. Fixed size, buckets of one cache line;
// the least deep entry of an older search goes first.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "games/game.h"

namespace qizero {

enum class Bound : std::uint8_t { lower = 1, upper = 2, exact = 3 };  // the true value is >=, <=, = the score

class TranspositionTable {
 public:
  struct Entry {
    std::uint64_t hash = 0;
    std::int16_t score = 0;
    Action action = -1;  // best or refuting; -1: none
    std::int8_t depth = 0;
    Bound bound = Bound::exact;
    bool complete = false;  // the games below were searched to their ends: the bound holds for any depth
    std::uint8_t generation = 0;

    bool is_lower() const { return (static_cast<int>(bound) & 1) != 0; }
    bool is_upper() const { return (static_cast<int>(bound) & 2) != 0; }
  };
  static_assert(sizeof(Entry) == 16);

  // At most `megabytes`, at least one.
  explicit TranspositionTable(int megabytes) {
    const auto bytes = static_cast<std::size_t>(std::max(megabytes, 1)) << 20;
    buckets_.resize(std::bit_floor(bytes / sizeof(Bucket)));
  }

  // Entries of earlier generations make room first, whatever their depth. When the numbers have run out, they are
  // forgotten: none may pass for a new one.
  void new_generation() {
    if (++generation_ == 0) std::fill(buckets_.begin(), buckets_.end(), Bucket{});
  }

  // nullptr when unknown; valid until the next store.
  const Entry* find(std::uint64_t hash) const {
    for (const Entry& entry : bucket(hash))
      if (entry.hash == hash && entry.depth != 0) return &entry;
    return nullptr;
  }

  // `entry.depth` > 0.
  void store(Entry entry) {
    entry.generation = generation_;
    Bucket& entries = bucket(entry.hash);
    Entry* worst = &entries[0];
    for (Entry& old : entries) {
      if (old.hash == entry.hash) {
        if (entry.action < 0) entry.action = old.action;
        old = entry;
        return;
      }
      if (worth(old) < worth(*worst)) worst = &old;
    }
    *worst = entry;
  }

 private:
  using Bucket = std::array<Entry, 4>;

  const Bucket& bucket(std::uint64_t hash) const { return buckets_[hash & (buckets_.size() - 1)]; }
  Bucket& bucket(std::uint64_t hash) { return buckets_[hash & (buckets_.size() - 1)]; }
  int worth(const Entry& entry) const { return entry.depth + (entry.generation == generation_ ? 256 : 0); }

  std::uint8_t generation_ = 0;
  std::vector<Bucket> buckets_;
};

}  // namespace qizero
