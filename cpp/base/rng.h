// The one random generator of the core: xoshiro256++, seeded through SplitMix64, the same sequence on every platform.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "base/hash.h"

namespace qizero {

class Rng {
 public:
  explicit Rng(std::uint64_t seed) {
    for (int i = 0; i < 4; ++i) words_[i] = mix64(seed + 0x9e3779b97f4a7c15ULL * static_cast<std::uint64_t>(i));
  }

  // An independent stream, e.g. one per game of a batch: the same (seed, stream) is always the same sequence.
  Rng(std::uint64_t seed, std::uint64_t stream) : Rng(hash_combine(mix64(seed), stream)) {}

  std::uint64_t next() {
    const std::uint64_t result = std::rotl(words_[0] + words_[3], 23) + words_[0];
    const std::uint64_t t = words_[1] << 17;
    words_[2] ^= words_[0];
    words_[3] ^= words_[1];
    words_[1] ^= words_[2];
    words_[0] ^= words_[3];
    words_[2] ^= t;
    words_[3] = std::rotl(words_[3], 45);
    return result;
  }

  // Uniform in [0, n), n > 0. Multiply-shift on 32 bits: the bias is below n / 2^32, far under what any test or game
  // sees.
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(((next() >> 32) * n) >> 32); }

  // Uniform in [0, 1) with 53 random bits.
  double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

  // Standard normal (Box-Muller, one of the pair is dropped to keep the generator free of hidden state).
  double normal() {
    const double radius = std::sqrt(-2.0 * std::log1p(-uniform()));
    return radius * std::cos(2.0 * std::numbers::pi * uniform());
  }

  // Standard Gumbel.
  double gumbel() { return -std::log(-std::log1p(-(uniform() + 0x1.0p-54))); }

  // Gamma(shape, 1) by Marsaglia and Tsang; shape > 0.
  double gamma(double shape) {
    if (shape < 1.0) return gamma(shape + 1.0) * std::pow(1.0 - uniform(), 1.0 / shape);
    const double d = shape - 1.0 / 3.0;
    const double c = 1.0 / std::sqrt(9.0 * d);
    for (;;) {
      const double x = normal();
      const double v = (1.0 + c * x) * (1.0 + c * x) * (1.0 + c * x);
      if (v > 0.0 && std::log(1.0 - uniform()) < 0.5 * x * x + d - d * v + d * std::log(v)) return d * v;
    }
  }

  friend bool operator==(const Rng&, const Rng&) = default;

 private:
  std::uint64_t words_[4];
};

}  // namespace qizero
