// Numbers that the kernels work on: aligned, with channels padded to what they want.
#pragma once

#include <cstddef>
#include <memory>
#include <new>

#include "network/kernels.h"

namespace qizero {

// Tiles of boards that are computed together: enough for efficient products of matrices, few enough that their
// intermediate results stay near the processor.
inline constexpr int tiles_at_once = 48;

// Zeros at first, aligned for the kernels.
class Floats {
 public:
  Floats() = default;
  explicit Floats(std::size_t size) : data_(new (std::align_val_t{kernels::alignment}) float[size]()), size_(size) {}
  float* data() { return data_.get(); }
  const float* data() const { return data_.get(); }
  std::size_t size() const { return size_; }

 private:
  struct Delete {
    void operator()(float* data) const { operator delete[](data, std::align_val_t{kernels::alignment}); }
  };
  std::unique_ptr<float[], Delete> data_;
  std::size_t size_ = 0;
};

inline int padded(int channels) {
  const int multiple = kernels::channel_multiple();
  return (channels + multiple - 1) / multiple * multiple;
}

}  // namespace qizero
