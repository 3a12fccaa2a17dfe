// Mixing 64-bit words into hashes. Deterministic on every platform: hashes appear in golden files.
#pragma once

#include <cstdint>

namespace qizero {

// A bijection on 64-bit words whose output bits all depend on all input bits (the finaliser of SplitMix64).
constexpr std::uint64_t mix64(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// Order matters: hash_combine(a, b) != hash_combine(b, a).
constexpr std::uint64_t hash_combine(std::uint64_t seed, std::uint64_t word) { return mix64(seed ^ mix64(word)); }

}  // namespace qizero
