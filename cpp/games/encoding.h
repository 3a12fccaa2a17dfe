// Writing planes. Every game encodes with these two, so that planes mean the same everywhere.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/bits.h"

namespace qizero {

// One plane of 0 and 1: cell i of the plane is bit i of `bits`. Returns the start of the next plane.
inline float* write_cell_plane(float* plane, std::uint64_t bits, int cells) {
  for (int i = 0; i < cells; ++i) plane[i] = static_cast<float>((bits >> i) & 1);
  return plane + cells;
}

// One plane with the same value everywhere.
inline float* write_scalar_plane(float* plane, float value, int cells) {
  std::fill_n(plane, cells, value);
  return plane + cells;
}

}  // namespace qizero
