#include "network/kernels.h"

// Vectors are the compiler's own, as wide as the processor's registers. Sums of products are fused in this unit (see
// CMakeLists.txt).
namespace qizero::kernels {
namespace {

#if defined(__AVX512F__)
constexpr int lanes = 16, block_rows = 12;
#elif defined(__AVX__)
constexpr int lanes = 8, block_rows = 6;
#else
constexpr int lanes = 4, block_rows = 6;
#endif
constexpr int panel = 2 * lanes;  // columns of a packed matrix that lie together

using Vector [[gnu::vector_size(lanes * sizeof(float))]] = float;
using UnalignedVector [[gnu::vector_size(lanes * sizeof(float)), gnu::aligned(alignof(float)), gnu::may_alias]] = float;

inline Vector load(const float* from) { return *reinterpret_cast<const UnalignedVector*>(from); }
inline void store(float* to, Vector values) { *reinterpret_cast<UnalignedVector*>(to) = values; }

// ---- Products of matrices ----

// `Rows` rows by one panel of columns, held in registers over the whole depth.
template <int Rows>
inline void multiply_block(const float* in, const float* packed, float* out, int depth, int columns) {
  Vector left[Rows] = {}, right[Rows] = {};
  for (int i = 0; i < depth; ++i, packed += panel) {
    const Vector weights_left = load(packed), weights_right = load(packed + lanes);
#pragma GCC unroll 12
    for (int row = 0; row < Rows; ++row) {
      const float value = in[row * depth + i];
      left[row] += value * weights_left;
      right[row] += value * weights_right;
    }
  }
  for (int row = 0; row < Rows; ++row) {
    store(out + row * columns, left[row]);
    store(out + row * columns + lanes, right[row]);
  }
}

// sums[Rows][panel] += the transposed rows_in[depth][Rows] * rows_out[depth][panel].
template <int Rows>
inline void add_transposed_block(const float* in, int in_stride, const float* out, int out_stride, float* sums,
                                 int depth) {
  Vector left[Rows], right[Rows];
  for (int row = 0; row < Rows; ++row) {
    left[row] = load(sums + row * out_stride);
    right[row] = load(sums + row * out_stride + lanes);
  }
  for (int i = 0; i < depth; ++i, in += in_stride, out += out_stride) {
    const Vector out_left = load(out), out_right = load(out + lanes);
#pragma GCC unroll 12
    for (int row = 0; row < Rows; ++row) {
      left[row] += in[row] * out_left;
      right[row] += in[row] * out_right;
    }
  }
  for (int row = 0; row < Rows; ++row) {
    store(sums + row * out_stride, left[row]);
    store(sums + row * out_stride + lanes, right[row]);
  }
}

// sums[in_channels][out_channels] += the transposed in[depth][in_channels] * out[depth][out_channels].
void add_transposed_product(const float* in, int in_channels, const float* out, int out_channels, float* sums,
                            int depth) {
  constexpr int rows = lanes == 16 ? 8 : 4;  // divides channel_multiple()
  for (int column = 0; column < out_channels; column += panel)
    for (int row = 0; row < in_channels; row += rows)
      add_transposed_block<rows>(in + row, in_channels, out + column, out_channels, sums + row * out_channels + column,
                                 depth);
}

// The last rows, fewer than a block.
template <int Rows>
inline void multiply_rest(int rows, const float* in, const float* packed, float* out, int depth, int columns) {
  if constexpr (Rows > 0) {
    if (rows == Rows)
      multiply_block<Rows>(in, packed, out, depth, columns);
    else
      multiply_rest<Rows - 1>(rows, in, packed, out, depth, columns);
  }
}

// ---- Winograd's transforms ----

// F(m, 3) computes m results of a correlation with 3 weights by m + 2 products, from values of polynomials at these
// points and at infinity: result = At ((G weights) * (Bt data)). Two dimensions apply it to columns, then to rows.

constexpr double evaluated_at[] = {0, 1, -1, 2, -2, 0.5, -0.5};

// F(5, 3) takes the points but the last, F(4, 3) but the last two, and so on.
constexpr int finite_points(int m) { return m + 1; }

template <int M>
inline void transform_data(const Vector* d, Vector* o) {
  static_assert(M >= 3 && M <= 6);
  if constexpr (M == 3) {
    const Vector difference = d[3] - d[1];
    o[0] = 2 * (d[0] - d[2]) + difference;
    o[1] = d[3] - d[2] - 2 * d[1];
    o[2] = d[3] - 3 * d[2] + 2 * d[1];
    o[3] = difference;
    o[4] = d[4] - d[2] - 2 * difference;
  } else if constexpr (M == 4) {
    const Vector even1 = d[4] - 4 * d[2], odd1 = d[3] - 4 * d[1];
    const Vector even2 = d[4] - d[2], odd2 = 2 * (d[3] - d[1]);
    o[0] = 4 * d[0] - 5 * d[2] + d[4];
    o[1] = even1 + odd1;
    o[2] = even1 - odd1;
    o[3] = even2 + odd2;
    o[4] = even2 - odd2;
    o[5] = 4 * d[1] - 5 * d[3] + d[5];
  } else if constexpr (M == 5) {  // F(4, 3) of the data without their part at 1/2
    Vector e[6], rest[6];
    for (int i = 0; i < 6; ++i) e[i] = d[i + 1] - 0.5f * d[i];
    transform_data<4>(e, rest);
    for (int i = 0; i < 5; ++i) o[i] = rest[i];
    o[5] = 4 * d[1] - 5 * d[3] + d[5];
    o[6] = rest[5];
  } else {
    const Vector even1 = d[2] - 4.25f * d[4] + d[6], odd1 = d[1] - 4.25f * d[3] + d[5];
    const Vector even2 = 0.25f * d[2] - 1.25f * d[4] + d[6], odd2 = 0.5f * d[1] - 2.5f * d[3] + 2 * d[5];
    const Vector even3 = 4 * d[2] - 5 * d[4] + d[6], odd3 = 2 * d[1] - 2.5f * d[3] + 0.5f * d[5];
    o[0] = d[6] - d[0] + 5.25f * (d[2] - d[4]);
    o[1] = even1 + odd1;
    o[2] = even1 - odd1;
    o[3] = even2 + odd2;
    o[4] = even2 - odd2;
    o[5] = even3 + odd3;
    o[6] = even3 - odd3;
    o[7] = d[7] - d[1] + 5.25f * (d[3] - d[5]);
  }
}

template <int M>
inline void transform_products(const Vector* p, Vector* o) {
  const Vector sum1 = p[1] + p[2], difference1 = p[1] - p[2];
  if constexpr (M == 3) {
    o[0] = p[0] + sum1 + p[3];
    o[1] = difference1 + 2 * p[3];
    o[2] = sum1 + 4 * p[3] + p[4];
    return;
  }
  const Vector sum2 = p[3] + p[4], difference2 = p[3] - p[4];
  if constexpr (M == 4) {
    o[0] = p[0] + sum1 + sum2;
    o[1] = difference1 + 2 * difference2;
    o[2] = sum1 + 4 * sum2;
    o[3] = difference1 + 8 * difference2 + p[5];
    return;
  }
  const Vector sum3 = M == 6 ? p[5] + p[6] : p[5], difference3 = M == 6 ? p[5] - p[6] : p[5];
  o[0] = p[0] + sum1 + sum2 + sum3;
  o[1] = difference1 + 2 * difference2 + 0.5f * difference3;
  o[2] = sum1 + 4 * sum2 + 0.25f * sum3;
  o[3] = difference1 + 8 * difference2 + 0.125f * difference3;
  o[4] = sum1 + 16 * sum2 + 0.0625f * sum3;
  if constexpr (M == 5)
    o[4] += p[6];
  else
    o[5] = difference1 + 32 * difference2 + 0.03125f * difference3 + p[7];
}

// The transposed transform_products: what each product contributes to m results, from the gradients of those.
template <int M>
inline void transform_gradients(const Vector* d, Vector* o) {
  o[0] = d[0];
  o[M + 1] = d[M - 1];
  if constexpr (M == 3) {
    o[1] = d[0] + d[1] + d[2];
    o[2] = d[0] - d[1] + d[2];
    o[3] = d[0] + 2 * d[1] + 4 * d[2];
    return;
  }
  Vector even1 = d[0] + d[2], odd1 = d[1] + d[3];
  Vector even2 = d[0] + 4 * d[2], odd2 = 2 * d[1] + 8 * d[3];
  Vector even3 = d[0] + 0.25f * d[2], odd3 = 0.5f * d[1] + 0.125f * d[3];
  if constexpr (M >= 5) {
    even1 += d[4];
    even2 += 16 * d[4];
    even3 += 0.0625f * d[4];
  }
  if constexpr (M == 6) {
    odd1 += d[5];
    odd2 += 32 * d[5];
    odd3 += 0.03125f * d[5];
    o[6] = even3 - odd3;
  }
  o[1] = even1 + odd1;
  o[2] = even1 - odd1;
  o[3] = even2 + odd2;
  o[4] = even2 - odd2;
  if constexpr (M >= 5) o[5] = even3 + odd3;
}

// G of F(m, 3): row i times three weights is (w0 + x w1 + x^2 w2) / divisor, the last row w2.
struct WeightTransform {
  int count;
  double divisors[7];

  explicit WeightTransform(int m) : count(finite_points(m)) {
    for (int i = 0; i < count; ++i) {
      divisors[i] = 1;
      for (int j = 0; j < count; ++j)
        if (j != i) divisors[i] *= evaluated_at[i] - evaluated_at[j];
    }
  }
  // Three weights -> m + 2 values, `stride` apart, for `panel` kernels side by side.
  void apply(const double (*weights)[panel], int weight_stride, double (*out)[panel], int stride) const {
    const double *w0 = weights[0], *w1 = weights[weight_stride], *w2 = weights[2 * weight_stride];
    for (int i = 0; i < count; ++i) {
      const double x = evaluated_at[i], divisor = divisors[i];
      double* values = out[i * stride];
      for (int lane = 0; lane < panel; ++lane) values[lane] = (w0[lane] + x * (w1[lane] + x * w2[lane])) / divisor;
    }
    for (int lane = 0; lane < panel; ++lane) out[count * stride][lane] = w2[lane];
  }
  // Gradients of m + 2 values, `stride` apart -> gradients of the three weights.
  void apply_transposed(const double* values, int stride, double* weights, int weight_stride) const {
    double sums[3] = {0, 0, values[count * stride]};
    for (int i = 0; i < count; ++i) {
      const double x = evaluated_at[i], value = values[i * stride] / divisors[i];
      sums[0] += value;
      sums[1] += x * value;
      sums[2] += x * x * value;
    }
    for (int i = 0; i < 3; ++i) weights[i * weight_stride] = sums[i];
  }
};

// Floats from one point's matrix to the next. The odd end keeps the points out of each other's places in the caches.
std::size_t point_stride(const Tiling& tiling, int boards, int channels) {
  return static_cast<std::size_t>(boards) * static_cast<std::size_t>(tiling.tiles()) *
             static_cast<std::size_t>(channels) +
         alignment / sizeof(float);
}

// The two transforms of a tile's cells: those that its results are computed from, with a margin around them, and the
// gradients of its results.
struct OfData {
  static constexpr int margin = 1;
  template <int M>
  static void apply(const Vector* in, Vector* out) {
    transform_data<M>(in, out);
  }
};
struct OfGradients {
  static constexpr int margin = 0;
  template <int M>
  static void apply(const Vector* in, Vector* out) {
    transform_gradients<M>(in, out);
  }
};

// Boards -> transformed[point][board, tile][channel], of the channels from `first` up to `last`.
template <class Transform, int M, int N>
void transform_boards(const Tiling& tiling, const float* input, int channels, int first, int last, int boards,
                      float* transformed) {
  constexpr int height = M + 2 * Transform::margin, width = N + 2 * Transform::margin;
  const std::size_t stride = point_stride(tiling, boards, channels);
  const std::ptrdiff_t row_stride = static_cast<std::ptrdiff_t>(tiling.padded_width()) * channels;
  const std::ptrdiff_t board_stride = tiling.padded_height() * row_stride;
  input += (1 - Transform::margin) * (row_stride + channels) + first;
  transformed += first;
  for (int board = 0; board < boards; ++board, input += board_stride)
    for (int tile_row = 0; tile_row < tiling.tile_rows; ++tile_row)
      for (int tile_column = 0; tile_column < tiling.tile_columns; ++tile_column) {
        const float* corner =
            input + tile_row * M * row_stride + static_cast<std::ptrdiff_t>(tile_column) * N * channels;
        for (int channel = first; channel < last; channel += lanes, corner += lanes, transformed += lanes) {
          Vector half[M + 2][width];
#pragma GCC unroll 8
          for (int column = 0; column < width; ++column) {
            Vector data[height], out[M + 2];
#pragma GCC unroll 8
            for (int row = 0; row < height; ++row) data[row] = load(corner + row * row_stride + column * channels);
            Transform::template apply<M>(data, out);
#pragma GCC unroll 8
            for (int row = 0; row < M + 2; ++row) half[row][column] = out[row];
          }
#pragma GCC unroll 8
          for (int row = 0; row < M + 2; ++row) {
            Vector out[N + 2];
            Transform::template apply<N>(half[row], out);
#pragma GCC unroll 8
            for (int column = 0; column < N + 2; ++column)
              store(transformed + static_cast<std::size_t>(row * (N + 2) + column) * stride, out[column]);
          }
        }
        transformed += channels - (last - first);
      }
}

// products[point][board, tile][channel] of one panel of channels -> boards.
template <int M, int N>
void transform_back(const Tiling& tiling, const float* products, const float* bias, const float* residual,
                    float* result, bool compact, bool relu, int channels, int boards) {
  const std::size_t stride = point_stride(tiling, boards, panel);
  const std::ptrdiff_t row_stride = static_cast<std::ptrdiff_t>(tiling.padded_width()) * channels;
  const std::ptrdiff_t board_stride = tiling.padded_height() * row_stride, first = row_stride + channels;
  const std::ptrdiff_t result_row_stride = compact ? static_cast<std::ptrdiff_t>(tiling.width) * channels : row_stride;
  const std::ptrdiff_t result_board_stride = compact ? tiling.height * result_row_stride : board_stride;
  const std::ptrdiff_t result_first = compact ? 0 : first;
  for (int board = 0; board < boards; ++board)
    for (int tile_row = 0; tile_row < tiling.tile_rows; ++tile_row)
      for (int tile_column = 0; tile_column < tiling.tile_columns; ++tile_column) {
        const int rows = tiling.height - tile_row * M < M ? tiling.height - tile_row * M : M;
        const int columns = tiling.width - tile_column * N < N ? tiling.width - tile_column * N : N;
        const std::ptrdiff_t column_offset = static_cast<std::ptrdiff_t>(tile_column) * N * channels;
        const std::ptrdiff_t from = board * board_stride + first + tile_row * M * row_stride + column_offset;
        const std::ptrdiff_t to =
            board * result_board_stride + result_first + tile_row * M * result_row_stride + column_offset;
        for (int channel = 0; channel < panel; channel += lanes, products += lanes) {
          Vector half[M][N + 2];
#pragma GCC unroll 8
          for (int column = 0; column < N + 2; ++column) {
            Vector in[M + 2], out[M];
#pragma GCC unroll 8
            for (int row = 0; row < M + 2; ++row)
              in[row] = load(products + static_cast<std::size_t>(row * (N + 2) + column) * stride);
            transform_products<M>(in, out);
#pragma GCC unroll 8
            for (int row = 0; row < M; ++row) half[row][column] = out[row];
          }
          const Vector offset = load(bias + channel);
          for (int row = 0; row < rows; ++row) {
            Vector out[N];
            transform_products<N>(half[row], out);
            for (int column = 0; column < columns; ++column) {
              const std::ptrdiff_t cell = static_cast<std::ptrdiff_t>(column) * channels + channel;
              Vector value = out[column] + offset;
              if (residual) value += load(residual + from + row * row_stride + cell);
              if (relu) value = value < 0 ? Vector{} : value;  // NaN stays
              store(result + to + row * result_row_stride + cell, value);
            }
          }
        }
      }
}

// Calls f.operator()<M, N>() for the tile's size.
template <class F>
void with_tile(const Tiling& tiling, F&& f) {
  const auto with_width = [&]<int M>() {
    switch (tiling.tile_width) {
      case 3:
        return f.template operator()<M, 3>();
      case 4:
        return f.template operator()<M, 4>();
      case 5:
        return f.template operator()<M, 5>();
      default:
        return f.template operator()<M, 6>();
    }
  };
  switch (tiling.tile_height) {
    case 3:
      return with_width.template operator()<3>();
    case 4:
      return with_width.template operator()<4>();
    case 5:
      return with_width.template operator()<5>();
    default:
      return with_width.template operator()<6>();
  }
}

int best_tile(int length) {
  int best = 3;
  const auto products = [&](int m) { return (length + m - 1) / m * (m + 2); };
  for (int m = 4; m <= 6; ++m)
    if (products(m) < products(best)) best = m;
  return best;
}

}  // namespace

bool supported() {
#if defined(__AVX512F__)
  return __builtin_cpu_supports("avx512f") != 0;
#elif defined(__AVX2__)
  return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
#else
  return true;
#endif
}

int channel_multiple() { return panel; }

void pack(const float* weights, int depth, int columns, float* packed) {
  for (int first = 0; first < columns; first += panel)
    for (int i = 0; i < depth; ++i)
      for (int column = 0; column < panel; ++column) *packed++ = weights[i * columns + first + column];
}

void multiply(const float* rows_in, const float* packed, float* result, int rows, int depth, int columns) {
  for (int first = 0; first < columns; first += panel, packed += panel * depth) {
    int row = 0;
    for (; row + block_rows <= rows; row += block_rows)
      multiply_block<block_rows>(rows_in + row * depth, packed, result + row * columns + first, depth, columns);
    multiply_rest<block_rows - 1>(rows - row, rows_in + row * depth, packed, result + row * columns + first, depth,
                                  columns);
  }
}

Tiling best_tiling(int height, int width) {
  const int tile_height = best_tile(height), tile_width = best_tile(width);
  return {height,
          width,
          tile_height,
          tile_width,
          (height + tile_height - 1) / tile_height,
          (width + tile_width - 1) / tile_width};
}

// One panel of the output's channels at a time: the stores are contiguous, and the transforms work on vectors.
void pack_convolution(const Tiling& tiling, const float* weights, int real_in, int real_out, int in_channels,
                      int out_channels, float* packed) {
  const int rows = tiling.tile_height + 2, columns = tiling.tile_width + 2, points = rows * columns;
  const int matrix = in_channels * panel;  // one panel, one point
  if (real_in < in_channels)
    for (int i = 0; i < matrix * points * (out_channels / panel); ++i) packed[i] = 0;
  const WeightTransform vertical(tiling.tile_height), horizontal(tiling.tile_width);
  for (int first = 0; first < out_channels; first += panel, packed += points * matrix)
    for (int in = 0; in < real_in; ++in) {
      double kernel[9][panel] = {}, half[8 * 3][panel], full[8 * 8][panel];
      for (int lane = 0; lane < panel && first + lane < real_out; ++lane)
        for (int i = 0; i < 9; ++i) kernel[i][lane] = weights[((first + lane) * real_in + in) * 9 + i];
      for (int i = 0; i < 3; ++i) vertical.apply(kernel + i, 3, half + i, 3);
      for (int row = 0; row < rows; ++row) horizontal.apply(half + row * 3, 1, full + row * columns, 1);
      for (int point = 0; point < points; ++point) {
        float* place = packed + point * matrix + in * panel;
        for (int lane = 0; lane < panel; ++lane) place[lane] = static_cast<float>(full[point][lane]);
      }
    }
}

std::size_t transformed_size(const Tiling& tiling, int boards, int in_channels) {
  return static_cast<std::size_t>(tiling.points()) * point_stride(tiling, boards, in_channels);
}

std::size_t products_size(const Tiling& tiling, int boards) {
  return static_cast<std::size_t>(tiling.points()) * point_stride(tiling, boards, panel);
}

void transform_input(const Tiling& tiling, const float* input, int in_channels, int first, int last, int boards,
                     float* transformed) {
  with_tile(tiling, [&]<int M, int N>() {
    transform_boards<OfData, M, N>(tiling, input, in_channels, first, last, boards, transformed);
  });
}

void convolve_transformed(const Tiling& tiling, const Convolution& convolution, const float* transformed, int first,
                          const float* residual, float* result, bool compact, int boards, float* products) {
  const int in = convolution.in_channels, rows = boards * tiling.tiles();
  const std::size_t points = static_cast<std::size_t>(tiling.points()), matrix = static_cast<std::size_t>(in * panel);
  const std::size_t in_stride = point_stride(tiling, boards, in), out_stride = point_stride(tiling, boards, panel);
  const float* weights = convolution.packed + static_cast<std::size_t>(first / panel) * points * matrix;
  for (std::size_t point = 0; point < points; ++point)
    multiply(transformed + point * in_stride, weights + point * matrix, products + point * out_stride, rows, in, panel);
  with_tile(tiling, [&]<int M, int N>() {
    transform_back<M, N>(tiling, products, convolution.bias + first, residual ? residual + first : nullptr,
                         result + first, compact, convolution.relu, convolution.out_channels, boards);
  });
}

void convolve(const Tiling& tiling, const Convolution& convolution, const float* input, const float* residual,
              float* result, bool compact, int boards, float* transformed, float* products) {
  transform_input(tiling, input, convolution.in_channels, 0, convolution.in_channels, boards, transformed);
  for (int first = 0; first < convolution.out_channels; first += panel)
    convolve_transformed(tiling, convolution, transformed, first, residual, result, compact, boards, products);
}

void add_weight_gradient(const Tiling& tiling, const float* input, const float* gradient, int in_channels,
                         int out_channels, int boards, float* transformed_input, float* transformed_gradient,
                         float* sums) {
  with_tile(tiling, [&]<int M, int N>() {
    transform_boards<OfData, M, N>(tiling, input, in_channels, 0, in_channels, boards, transformed_input);
    transform_boards<OfGradients, M, N>(tiling, gradient, out_channels, 0, out_channels, boards, transformed_gradient);
  });
  const std::size_t in_stride = point_stride(tiling, boards, in_channels);
  const std::size_t out_stride = point_stride(tiling, boards, out_channels);
  for (std::size_t point = 0; point < static_cast<std::size_t>(tiling.points()); ++point)
    add_transposed_product(
        transformed_input + point * in_stride, in_channels, transformed_gradient + point * out_stride, out_channels,
        sums + point * static_cast<std::size_t>(in_channels) * static_cast<std::size_t>(out_channels),
        boards * tiling.tiles());
}

void weight_gradient(const Tiling& tiling, const float* sums, int real_in, int real_out, int in_channels,
                     int out_channels, float* gradient) {
  const int rows = tiling.tile_height + 2, columns = tiling.tile_width + 2, points = rows * columns;
  const std::ptrdiff_t matrix = static_cast<std::ptrdiff_t>(in_channels) * out_channels;
  const WeightTransform vertical(tiling.tile_height), horizontal(tiling.tile_width);
  for (int in = 0; in < real_in; ++in)
    for (int out = 0; out < real_out; ++out) {
      double full[8 * 8], half[8 * 3], kernel[9];
      for (int point = 0; point < points; ++point) full[point] = sums[point * matrix + in * out_channels + out];
      for (int row = 0; row < rows; ++row) horizontal.apply_transposed(full + row * columns, 1, half + row * 3, 1);
      for (int i = 0; i < 3; ++i) vertical.apply_transposed(half + i, 3, kernel + i, 3);
      for (int i = 0; i < 9; ++i) gradient[(out * real_in + in) * 9 + i] = static_cast<float>(kernel[i]);
    }
}

}  // namespace qizero::kernels
