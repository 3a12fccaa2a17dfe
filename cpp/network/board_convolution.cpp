#include "network/board_convolution.h"

#include <algorithm>

#include "network/floats.h"
#include "network/kernels.h"

namespace qizero {
namespace {

using kernels::Tiling;

std::size_t size_of(int a, int b, int c) {
  return static_cast<std::size_t>(a) * static_cast<std::size_t>(b) * static_cast<std::size_t>(c);
}

// Memory that the next call of the same thread uses again, as it was left: a fresh one would be cleared, page by page,
// in every layer of every step.
class Scratch {
 public:
  float* of_size(std::size_t size) {
    if (memory_.size() < size) memory_ = Floats(size);
    return memory_.data();
  }

 private:
  Floats memory_;
};

// Some boards with their surroundings of zeros, and channels padded with zeros.
class PaddedBoards {
 public:
  // What lies outside the boards is cleared only if the shape is not that of the last call.
  void reshape(const Tiling& tiling, int channels, int boards) {
    if (tiling == tiling_ && channels == real_channels_ && boards == boards_) return;
    boards_ = 0;  // until there is memory for them
    channels_ = padded(channels);
    data_ =
        Floats(size_of(tiling.padded_height(), tiling.padded_width(), channels_) * static_cast<std::size_t>(boards));
    tiling_ = tiling;
    real_channels_ = channels;
    boards_ = boards;
  }

  const float* fill(const float* from, int boards) {
    const std::size_t row_stride = size_of(tiling_.padded_width(), channels_, 1);
    float* board = data_.data() + row_stride + static_cast<std::size_t>(channels_);
    for (int i = 0; i < boards; ++i, board += size_of(tiling_.padded_height(), 1, 1) * row_stride)
      for (int row = 0; row < tiling_.height; ++row) {
        float* to = board + static_cast<std::size_t>(row) * row_stride;
        for (int column = 0; column < tiling_.width; ++column, to += channels_, from += real_channels_)
          std::copy_n(from, real_channels_, to);
      }
    return data_.data();
  }

 private:
  Tiling tiling_{};
  int real_channels_ = 0, channels_ = 0, boards_ = 0;
  Floats data_;
};

struct Workspace {
  PaddedBoards input, gradient;
  Scratch packed, bias, transformed, transformed_gradient, products, sums, turned;
};
thread_local Workspace workspace;

int boards_at_once(const Tiling& tiling) { return std::max(1, tiles_at_once / tiling.tiles()); }

// weights [out][in][3][3]; `result` has out channels, a multiple of what the kernels want.
void convolve(const Tiling& tiling, const float* input, const float* weights, int in, int out, int boards,
              float* result) {
  const int at_once = std::min(boards, boards_at_once(tiling)), in_channels = padded(in);
  workspace.input.reshape(tiling, in, at_once);
  float* packed = workspace.packed.of_size(size_of(tiling.points(), in_channels, out));
  float* no_bias = workspace.bias.of_size(static_cast<std::size_t>(out));  // never written: zeros
  float* transformed = workspace.transformed.of_size(kernels::transformed_size(tiling, at_once, in_channels));
  float* products = workspace.products.of_size(kernels::products_size(tiling, at_once));
  kernels::pack_convolution(tiling, weights, in, out, in_channels, out, packed);
  const kernels::Convolution convolution{packed, no_bias, in_channels, out, false};
  for (int first = 0; first < boards; first += at_once) {
    const int count = std::min(at_once, boards - first);
    const float* chunk =
        workspace.input.fill(input + size_of(tiling.height, tiling.width, in) * static_cast<std::size_t>(first), count);
    kernels::convolve(tiling, convolution, chunk, nullptr,
                      result + size_of(tiling.height, tiling.width, out) * static_cast<std::size_t>(first), true, count,
                      transformed, products);
  }
}

}  // namespace

void BoardConvolution::apply(const float* input, const float* weights, int boards, float* result) const {
  convolve(kernels::best_tiling(height, width), input, weights, in_channels, out_channels, boards, result);
}

void BoardConvolution::apply_gradient(const float* input, const float* weights, const float* result_gradient,
                                      int boards, float* input_gradient, float* weight_gradient) const {
  const Tiling tiling = kernels::best_tiling(height, width);
  if (input_gradient) {  // a convolution with the weights turned around, from results to inputs
    float* turned = workspace.turned.of_size(9 * size_of(in_channels, out_channels, 1));
    for (int out = 0; out < out_channels; ++out)
      for (int in = 0; in < in_channels; ++in)
        for (int i = 0; i < 9; ++i)
          turned[static_cast<std::size_t>((in * out_channels + out) * 9 + i)] =
              weights[(out * in_channels + in) * 9 + 8 - i];
    convolve(tiling, result_gradient, turned, out_channels, in_channels, boards, input_gradient);
  }
  const int at_once = std::min(boards, boards_at_once(tiling)), in_padded = padded(in_channels);
  workspace.input.reshape(tiling, in_channels, at_once);
  workspace.gradient.reshape(tiling, out_channels, at_once);
  float* transformed = workspace.transformed.of_size(kernels::transformed_size(tiling, at_once, in_padded));
  float* transformed_gradient =
      workspace.transformed_gradient.of_size(kernels::transformed_size(tiling, at_once, out_channels));
  const std::size_t sums_size = size_of(tiling.points(), in_padded, out_channels);
  float* sums = workspace.sums.of_size(sums_size);
  std::fill_n(sums, sums_size, 0.0f);
  for (int first = 0; first < boards; first += at_once) {
    const int count = std::min(at_once, boards - first);
    const auto offset = [&](int channels) {
      return size_of(height, width, channels) * static_cast<std::size_t>(first);
    };
    kernels::add_weight_gradient(tiling, workspace.input.fill(input + offset(in_channels), count),
                                 workspace.gradient.fill(result_gradient + offset(out_channels), count), in_padded,
                                 out_channels, count, transformed, transformed_gradient, sums);
  }
  kernels::weight_gradient(tiling, sums, in_channels, out_channels, in_padded, out_channels, weight_gradient);
}

}  // namespace qizero
