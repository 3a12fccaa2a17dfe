// Evaluations by position, in a fixed amount of memory. Not synchronised: the pool writes only while nobody reads.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <span>

#include "mcts/search.h"

namespace qizero {

// Keyed by the 64-bit hash of a position: with 2^20 entries, two positions are taken for one once in about 10^13
// look-ups.
class EvaluationCache {
 public:
  // Room for about `positions` evaluations of at most `max_actions` actions; 0 switches the cache off.
  EvaluationCache(std::int64_t positions, int max_actions)
      : num_buckets_(static_cast<std::size_t>(positions + ways - 1) / ways),
        stride_((sizeof(Header) + static_cast<std::size_t>(max_actions) * sizeof(ScoredAction) + 7) / 8 * 8),
        bytes_(num_buckets_ * ways * stride_),
        data_(static_cast<std::byte*>(bytes_ > 0 ? std::calloc(bytes_, 1) : nullptr)) {
    if (bytes_ > 0 && !data_) throw std::bad_alloc();
  }

  bool find(std::uint64_t key, Evaluation& evaluation) const {
    for (std::size_t way = 0; num_buckets_ > 0 && way < ways; ++way) {
      const std::byte* entry = entry_at(key, way);
      const Header header = read(entry);
      if (header.key != key || header.generation != generation_) continue;
      evaluation = {header.win,
                    header.draw,
                    header.loss,
                    {reinterpret_cast<const ScoredAction*>(entry + sizeof(Header)), header.num_actions}};
      return true;
    }
    return false;
  }

  // Replaces the oldest entry of its bucket.
  void insert(std::uint64_t key, const Evaluation& evaluation) {
    if (num_buckets_ == 0) return;
    std::size_t oldest = 0;
    std::uint32_t oldest_age = 0;
    for (std::size_t way = 0; way < ways; ++way) {
      const Header header = read(entry_at(key, way));
      if (header.generation == generation_ && header.key == key) return;
      const std::uint32_t age = header.generation == generation_ ? clock_ - header.inserted : ~0u;
      if (age >= oldest_age) {
        oldest_age = age;
        oldest = way;
      }
    }
    std::byte* entry = entry_at(key, oldest);
    const Header header{key,
                        generation_,
                        clock_++,
                        evaluation.win,
                        evaluation.draw,
                        evaluation.loss,
                        static_cast<std::uint32_t>(evaluation.actions.size())};
    std::memcpy(entry, &header, sizeof header);
    std::memcpy(entry + sizeof header, evaluation.actions.data(), evaluation.actions.size_bytes());
  }

  void clear() { ++generation_; }
  std::size_t bytes() const { return bytes_; }

 private:
  struct Header {
    std::uint64_t key;
    std::uint32_t generation;  // 0 in fresh memory: never current
    std::uint32_t inserted;
    float win, draw, loss;
    std::uint32_t num_actions;
  };
  static constexpr std::size_t ways = 4;

  const std::byte* entry_at(std::uint64_t key, std::size_t way) const {
    // The high bits choose the bucket: multiply-shift maps them evenly to any number of buckets.
    const std::size_t bucket = ((key >> 32) * num_buckets_) >> 32;
    return data_.get() + (bucket * ways + way) * stride_;
  }
  std::byte* entry_at(std::uint64_t key, std::size_t way) {
    return const_cast<std::byte*>(static_cast<const EvaluationCache*>(this)->entry_at(key, way));
  }
  static Header read(const std::byte* entry) {
    Header header;
    std::memcpy(&header, entry, sizeof header);
    return header;
  }

  std::size_t num_buckets_, stride_, bytes_;
  struct Free {
    void operator()(std::byte* data) const { std::free(data); }
  };
  std::unique_ptr<std::byte[], Free> data_;  // from calloc: pages that are never written take no memory
  std::uint32_t generation_ = 1, clock_ = 0;
};

}  // namespace qizero
