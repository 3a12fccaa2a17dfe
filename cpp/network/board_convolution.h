// 3x3 convolutions of batches of boards and their gradients, for learning. Boards are [height][width][channels] one
// after the other; beyond their edges everything is zero. One thread, which keeps some memory to work in until it ends;
// the same numbers give the same bits.
#pragma once

namespace qizero {

struct BoardConvolution {
  int height, width;
  int in_channels;   // any number
  int out_channels;  // a multiple of kernels::channel_multiple()

  // weights [out][in][3][3], input [boards][height][width][in] -> result [boards][height][width][out].
  void apply(const float* input, const float* weights, int boards, float* result) const;

  // From the gradient of the result: those of the input, which may be null (otherwise in_channels is such a multiple
  // too), and of the weights.
  void apply_gradient(const float* input, const float* weights, const float* result_gradient, int boards,
                      float* input_gradient, float* weight_gradient) const;
};

}  // namespace qizero
