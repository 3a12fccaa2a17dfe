// The arithmetic of a network: products of matrices, and 3x3 convolutions by Winograd's method, which needs a quarter
// to a fifth of the multiplications of the plain sum. Plain pointers only: kernels.cpp is compiled for wider vectors
// than the rest where the build is portable, so it shares no inline code with other units.
//
// Every number of a result depends on its own row or board alone, computed in one order: neither the size of a batch
// nor its division among threads changes a bit.
#pragma once

#include <cstddef>

namespace qizero::kernels {

// False if the processor lacks what this unit was compiled for; then nothing else here may be called.
bool supported();

// Channels of every matrix and board are padded with zeros to a multiple of this.
int channel_multiple();

inline constexpr std::size_t alignment = 64;  // of every pointer below, in bytes

// ---- Products of matrices ----

// Packed for `multiply`: depth x columns, columns a multiple of channel_multiple(); at(row, column) = weight.
void pack(const float* weights, int depth, int columns, float* packed);

// result[rows][columns] = rows_in[rows][depth] * packed. Strides between rows are those widths.
void multiply(const float* rows_in, const float* packed, float* result, int rows, int depth, int columns);

// ---- 3x3 convolutions ----

// How a board is divided: tiles of tile_height x tile_width results, each computed from (tile_height + 2) x
// (tile_width + 2) cells.
struct Tiling {
  int height, width;            // of the board
  int tile_height, tile_width;  // 3 to 6
  int tile_rows, tile_columns;  // tiles on a board

  int tiles() const { return tile_rows * tile_columns; }
  int points() const { return (tile_height + 2) * (tile_width + 2); }  // products of matrices per convolution
  int padded_height() const { return tile_rows * tile_height + 2; }
  int padded_width() const { return tile_columns * tile_width + 2; }
  bool operator==(const Tiling&) const = default;
};

// The division that takes the fewest multiplications.
Tiling best_tiling(int height, int width);

// weights [out][in][3][3] of real channels -> `packed`, points() * in_channels * out_channels floats (padded channels),
// all of them written.
void pack_convolution(const Tiling& tiling, const float* weights, int real_in, int real_out, int in_channels,
                      int out_channels, float* packed);

// Floats that `convolve` needs to work in, whatever they hold: for the transformed input, and for products.
std::size_t transformed_size(const Tiling& tiling, int boards, int in_channels);
std::size_t products_size(const Tiling& tiling, int boards);

// Boards are [padded_height][padded_width][channels] with the cell (0, 0) at (1, 1); everything off the board is zero
// and stays so. result = relu(convolution + bias + residual); residual may be null, and may be the result itself. With
// `compact`, result is [height][width][channels] instead. relu may be left out.
struct Convolution {
  const float* packed;
  const float* bias;  // [out_channels]
  int in_channels, out_channels;
  bool relu = true;
};
void convolve(const Tiling& tiling, const Convolution& convolution, const float* input, const float* residual,
              float* result, bool compact, int boards, float* transformed, float* products);

// The two steps of `convolve`, for threads that share one. The input is transformed, channels `first` up to `last` by
// one call; when all of them are, each call computes the channel_multiple() channels of the result from `first` on,
// with products of its own. The products of all points stay in the cache until they are transformed back.
void transform_input(const Tiling& tiling, const float* input, int in_channels, int first, int last, int boards,
                     float* transformed);
void convolve_transformed(const Tiling& tiling, const Convolution& convolution, const float* transformed, int first,
                          const float* residual, float* result, bool compact, int boards, float* products);

// The gradient of the weights, given that of the results of a convolution without relu. First what some boards
// contribute is added to `sums`, points() * in_channels * out_channels floats that begin as zeros; input and gradient
// are boards as above, the other two are to work in (transformed_size of either's channels). Then the sums give
// gradient[out][in][3][3].
void add_weight_gradient(const Tiling& tiling, const float* input, const float* gradient, int in_channels,
                         int out_channels, int boards, float* transformed_input, float* transformed_gradient,
                         float* sums);
void weight_gradient(const Tiling& tiling, const float* sums, int real_in, int real_out, int in_channels,
                     int out_channels, float* gradient);

}  // namespace qizero::kernels
