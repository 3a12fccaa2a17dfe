// Bit tricks that the standard library lacks.
#pragma once

#include <bit>
#include <cassert>
#include <cstdint>

#ifdef __BMI2__
#include <immintrin.h>
#endif

namespace qizero {

// The index of the k-th set bit of `word`, counted from 0 at the lowest; k < popcount(word).
inline int select_bit(std::uint64_t word, int k) {
  assert(k >= 0 && k < std::popcount(word));
#ifdef __BMI2__
  return std::countr_zero(_pdep_u64(std::uint64_t{1} << k, word));
#else
  for (; k > 0; --k) word &= word - 1;
  return std::countr_zero(word);
#endif
}

// Calls f(index) for every set bit, lowest first.
template <class F>
constexpr void for_each_bit(std::uint64_t word, F&& f) {
  for (; word != 0; word &= word - 1) f(std::countr_zero(word));
}

}  // namespace qizero
