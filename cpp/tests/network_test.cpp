// The network in C++ against plain sums: matrices, convolutions of every tile size, and the laws of `Network`. That the
// heads are those of the Python network is shown in tests/test_evaluator.py.
#include "network/network.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <new>
#include <string>
#include <vector>

#include "base/rng.h"
#include "check.h"
#include "games/game.h"
#include "network/board_convolution.h"
#include "network/floats.h"
#include "network/kernels.h"

namespace qizero {
namespace {

using kernels::Convolution;
using kernels::Tiling;

float random_weight(Rng& rng) { return static_cast<float>(rng.below(2001)) / 1000.0F - 1.0F; }

// Aligned as the kernels demand, zeros at first.
struct Floats {
  explicit Floats(std::size_t size) : storage(size + kernels::alignment / sizeof(float)) {
    void* start = storage.data();
    std::size_t space = storage.size() * sizeof(float);
    data = static_cast<float*>(std::align(kernels::alignment, size * sizeof(float), start, space));
  }
  std::vector<float> storage;
  float* data;
};

int padded(int channels) {
  const int multiple = kernels::channel_multiple();
  return (channels + multiple - 1) / multiple * multiple;
}

void products_of_matrices() {
  Rng rng(1);
  for (const int rows : {1, 2, 5, 6, 7, 11, 12, 13, 29})
    for (const int depth : {1, 3, 64}) {
      const int columns = padded(1) * 2;
      Floats in(static_cast<std::size_t>(rows * depth)), weights(static_cast<std::size_t>(depth * columns));
      Floats packed(static_cast<std::size_t>(depth * columns)), result(static_cast<std::size_t>(rows * columns));
      for (int i = 0; i < rows * depth; ++i) in.data[i] = random_weight(rng);
      for (int i = 0; i < depth * columns; ++i) weights.data[i] = random_weight(rng);
      kernels::pack(weights.data, depth, columns, packed.data);
      kernels::multiply(in.data, packed.data, result.data, rows, depth, columns);
      for (int row = 0; row < rows; ++row)
        for (int column = 0; column < columns; ++column) {
          double sum = 0;
          for (int i = 0; i < depth; ++i) sum += double{in.data[row * depth + i]} * weights.data[i * columns + column];
          CHECK(std::abs(sum - result.data[row * columns + column]) < 1e-4,
                std::to_string(rows) + " rows, depth " + std::to_string(depth));
        }
    }
}

// One cell and channel of relu(convolution + bias + residual), summed plainly.
struct PlainConvolution {
  int height, width, in, out;
  std::vector<float> weights, bias, input, residual;  // input and residual [row][column][channel]

  double at(int row, int column, int channel) const {
    double sum = bias[static_cast<std::size_t>(channel)];
    for (int i = 0; i < 9; ++i) {
      const int y = row + i / 3 - 1, x = column + i % 3 - 1;
      if (y < 0 || y >= height || x < 0 || x >= width) continue;
      for (int c = 0; c < in; ++c)
        sum += double{weights[static_cast<std::size_t>((channel * in + c) * 9 + i)]} *
               input[static_cast<std::size_t>((y * width + x) * in + c)];
    }
    return std::max(0.0, sum + residual[static_cast<std::size_t>((row * width + column) * out + channel)]);
  }
};

void check_convolution(const Tiling& tiling, bool compact, Rng& rng) {
  const int boards = 3, in = 5, out = 18, height = tiling.height, width = tiling.width;
  const int in_channels = padded(in), out_channels = padded(out);
  const auto size = [](int a, int b, int c = 1) { return static_cast<std::size_t>(a * b * c); };
  const int padded_cells = tiling.padded_height() * tiling.padded_width();
  Floats packed(size(tiling.points(), in_channels, out_channels)), bias(size(out_channels, 1));
  Floats input(size(boards, padded_cells, in_channels)), result(size(boards, padded_cells, out_channels));
  Floats residual(size(boards, padded_cells, out_channels));
  Floats transformed(kernels::transformed_size(tiling, boards, in_channels));
  Floats products(kernels::products_size(tiling, boards));
  const auto padded_cell = [&](int board, int row, int column) {
    return board * padded_cells + (row + 1) * tiling.padded_width() + column + 1;
  };

  std::vector<float> weights(size(out, in, 9));
  for (float& weight : weights) weight = random_weight(rng);
  for (int i = 0; i < out; ++i) bias.data[i] = random_weight(rng);
  kernels::pack_convolution(tiling, weights.data(), in, out, in_channels, out_channels, packed.data);
  std::vector<PlainConvolution> plain;
  for (int board = 0; board < boards; ++board) {
    PlainConvolution one{height, width, in, out, weights, {bias.data, bias.data + out}, {}, {}};
    for (int row = 0; row < height; ++row)
      for (int column = 0; column < width; ++column) {
        for (int c = 0; c < in; ++c)
          one.input.push_back(input.data[padded_cell(board, row, column) * in_channels + c] = random_weight(rng));
        for (int c = 0; c < out; ++c)
          one.residual.push_back(residual.data[padded_cell(board, row, column) * out_channels + c] =
                                     random_weight(rng));
      }
    plain.push_back(one);
  }

  float* into = compact ? result.data : residual.data;  // in place, as the network does it
  kernels::convolve(tiling, {packed.data, bias.data, in_channels, out_channels}, input.data, residual.data, into,
                    compact, boards, transformed.data, products.data);
  for (int board = 0; board < boards; ++board)
    for (int row = 0; row < height; ++row)
      for (int column = 0; column < width; ++column)
        for (int channel = 0; channel < out_channels; ++channel) {
          const int cell = compact ? (board * height + row) * width + column : padded_cell(board, row, column);
          const double wanted = channel < out ? plain[static_cast<std::size_t>(board)].at(row, column, channel) : 0;
          CHECK(std::abs(wanted - into[cell * out_channels + channel]) < 1e-3,
                std::to_string(height) + "x" + std::to_string(width) + " in tiles of " +
                    std::to_string(tiling.tile_height) + "x" + std::to_string(tiling.tile_width));
        }
  if (compact) return;
  for (int board = 0; board < boards; ++board)
    for (int row = -1; row < tiling.padded_height() - 1; ++row)
      for (int column = -1; column < tiling.padded_width() - 1; ++column)
        if (row < 0 || row >= height || column < 0 || column >= width)
          for (int channel = 0; channel < out_channels; ++channel)
            CHECK(into[padded_cell(board, row, column) * out_channels + channel] == 0, "cells off the board stay zero");
}

void convolutions_of_every_tile_size() {
  Rng rng(2);
  for (int tile_height = 3; tile_height <= 6; ++tile_height)
    for (int tile_width = 3; tile_width <= 6; ++tile_width)
      for (const auto& [height, width] : {std::pair{6, 7}, {3, 3}, {1, 9}, {15, 11}}) {
        const Tiling tiling{height,
                            width,
                            tile_height,
                            tile_width,
                            (height + tile_height - 1) / tile_height,
                            (width + tile_width - 1) / tile_width};
        check_convolution(tiling, false, rng);
        check_convolution(tiling, true, rng);
      }
}

void boards_are_divided_well() {
  const auto points = [](int height, int width) {
    const Tiling tiling = kernels::best_tiling(height, width);
    CHECK(tiling.tile_rows * tiling.tile_height >= height && tiling.tile_columns * tiling.tile_width >= width, "");
    return tiling.points() * tiling.tiles();
  };
  CHECK(points(6, 6) == 64, "");
  CHECK(points(6, 7) == 96, "");
  CHECK(points(8, 8) == 144, "");
  CHECK(points(15, 15) == 441, "");
}

constexpr NetworkShape small_shape{
    .planes = 2,
    .height = 6,
    .width = 7,
    .actions = 7,
    .channels = 70,  // several parts for threads that share a board, the last one not full
    .blocks = 2,
    .head_channels = 5,
    .value_hidden = 9,
    .policy = PolicyHead::columns};

// Random weights of the sizes that small_shape needs.
std::map<std::string, std::vector<float>> random_weights() {
  constexpr std::size_t channels = small_shape.channels;
  std::map<std::string, std::size_t> sizes{{"stem.conv.weight", channels * 2 * 9},
                                           {"stem.conv.bias", channels},
                                           {"policy_features.conv.weight", 5 * channels},
                                           {"policy_features.conv.bias", 5},
                                           {"value_features.conv.weight", 5 * channels},
                                           {"value_features.conv.bias", 5},
                                           {"policy.columns.weight", 10},
                                           {"policy.columns.bias", 1},
                                           {"value_hidden.weight", 90},
                                           {"value_hidden.bias", 9},
                                           {"wdl.weight", 27},
                                           {"wdl.bias", 3}};
  for (const std::string block : {"0", "1"})
    for (const std::string part : {"first", "second"}) {
      sizes["blocks." + block + "." + part + ".conv.weight"] = channels * channels * 9;
      sizes["blocks." + block + "." + part + ".conv.bias"] = channels;
    }
  Rng rng(3);
  std::map<std::string, std::vector<float>> weights;
  for (const auto& [name, size] : sizes)
    for (std::size_t i = 0; i < size; ++i) weights[name].push_back(0.1F * random_weight(rng));
  return weights;
}

NamedWeights lookup(const std::map<std::string, std::vector<float>>& weights) {
  return [&weights](const std::string& name) -> std::span<const float> {
    const auto found = weights.find(name);
    return found == weights.end() ? std::span<const float>() : std::span<const float>(found->second);
  };
}

void results_depend_on_the_position_alone() {
  const auto weights = random_weights();
  Rng rng(4);
  constexpr int batch = 101, plane_floats = 2 * 42;
  std::vector<float> planes(batch * plane_floats);
  for (float& value : planes) value = static_cast<float>(rng.below(2));
  std::vector<float> policy(batch * 7), wdl(batch * 3);
  Network(small_shape, lookup(weights), 1).evaluate(planes.data(), batch, policy.data(), wdl.data());
  for (const int threads : {1, 2, 3}) {
    for (const int size : {1, 2, 4, 12, 50, 101}) {
      Network network(small_shape, lookup(weights), threads);
      std::vector<float> some_policy(static_cast<std::size_t>(size) * 7), some_wdl(static_cast<std::size_t>(size) * 3);
      const int first = batch - size;
      network.evaluate(planes.data() + first * plane_floats, size, some_policy.data(), some_wdl.data());
      CHECK(std::equal(some_policy.begin(), some_policy.end(), policy.begin() + first * 7), "policy, bit by bit");
      CHECK(std::equal(some_wdl.begin(), some_wdl.end(), wdl.begin() + first * 3), "wdl, bit by bit");
    }
  }
  for (int i = 0; i < batch; ++i) {
    const float sum = wdl[static_cast<std::size_t>(3 * i)] + wdl[static_cast<std::size_t>(3 * i + 1)] +
                      wdl[static_cast<std::size_t>(3 * i + 2)];
    CHECK(std::abs(sum - 1) < 1e-5F, "");
  }
}

void not_a_number_is_passed_on() {
  for (const char* name : {"stem.conv.weight", "blocks.1.second.conv.bias", "value_hidden.weight"}) {
    auto weights = random_weights();
    weights[name][0] = std::nanf("");
    const std::vector<float> planes(2 * 42, 1.0F);
    std::vector<float> policy(7), wdl(3);
    Network(small_shape, lookup(weights), 1).evaluate(planes.data(), 1, policy.data(), wdl.data());
    CHECK(std::isnan(wdl[0]), name);
  }
}

std::string refusal(const NetworkShape& shape, const std::map<std::string, std::vector<float>>& weights, int threads) {
  try {
    Network(shape, lookup(weights), threads);
  } catch (const InvalidInput& error) {
    return error.what();
  }
  return "accepted";
}

void bad_shapes_and_weights_are_refused() {
  const auto weights = random_weights();
  CHECK(refusal(small_shape, weights, 1) == "accepted", "");
  auto shape = small_shape;
  shape.actions = 8;
  CHECK(refusal(shape, weights, 1) == "network: the policy head does not fit 8 actions", refusal(shape, weights, 1));
  shape = small_shape;
  shape.height = 0;
  CHECK(refusal(shape, weights, 1) == "network: boards must be 1 to 64 wide and high", "");
  CHECK(refusal(small_shape, weights, 0) == "network: threads must be 1 to 1024", "");
  auto fewer = weights;
  fewer["wdl.bias"].pop_back();
  CHECK(refusal(small_shape, fewer, 1) == "the weights 'wdl.bias' have 2 numbers, not 3",
        refusal(small_shape, fewer, 1));
  fewer.erase("wdl.weight");
  CHECK(refusal(small_shape, fewer, 1) == "the weights 'wdl.weight' have 0 numbers, not 27", "");
}

// The sums that a convolution and its gradients are, one product after the other.
struct PlainGradients {
  std::vector<double> result, input, weights;

  PlainGradients(const BoardConvolution& c, int boards, const std::vector<float>& in, const std::vector<float>& w,
                 const std::vector<float>& result_gradient)
      : result(result_gradient.size()), input(in.size()), weights(w.size()) {
    for (int board = 0; board < boards; ++board)
      for (int cell = 0; cell < c.height * c.width; ++cell)
        for (int i = 0; i < 9; ++i) {
          const int y = cell / c.width + i / 3 - 1, x = cell % c.width + i % 3 - 1;
          if (y < 0 || y >= c.height || x < 0 || x >= c.width) continue;
          for (int out = 0; out < c.out_channels; ++out)
            for (int channel = 0; channel < c.in_channels; ++channel) {
              const int cells = board * c.height * c.width;
              const auto from = static_cast<std::size_t>((cells + y * c.width + x) * c.in_channels + channel);
              const auto to = static_cast<std::size_t>((cells + cell) * c.out_channels + out);
              const auto weight = static_cast<std::size_t>((out * c.in_channels + channel) * 9 + i);
              result[to] += double{in[from]} * w[weight];
              input[from] += double{result_gradient[to]} * w[weight];
              weights[weight] += double{result_gradient[to]} * in[from];
            }
        }
  }
};

void check_near(const std::vector<float>& found, const std::vector<double>& wanted, const std::string& what) {
  for (std::size_t i = 0; i < wanted.size(); ++i)
    CHECK(std::abs(found[i] - wanted[i]) < 1e-2,
          what + ": " + std::to_string(found[i]) + ", not " + std::to_string(wanted[i]));
}

void gradients_of_convolutions() {
  Rng rng(3);
  const int multiple = kernels::channel_multiple();
  for (const auto& [height, width] : {std::pair{3, 3}, {6, 7}, {8, 8}, {9, 9}, {10, 13}, {1, 20}})
    for (const int in : {3, multiple, 2 * multiple}) {
      const BoardConvolution convolution{height, width, in, 2 * multiple};
      // More than are computed at once, the last ones fewer.
      const int boards = tiles_at_once / kernels::best_tiling(height, width).tiles() + 5;
      const auto random = [&](int size) {
        std::vector<float> values(static_cast<std::size_t>(size));
        for (float& value : values) value = random_weight(rng);
        return values;
      };
      const int cells = boards * height * width;
      const std::vector<float> input = random(cells * in), weights = random(9 * in * 2 * multiple);
      const std::vector<float> result_gradient = random(cells * 2 * multiple);
      const PlainGradients plain(convolution, boards, input, weights, result_gradient);
      std::vector<float> result(result_gradient.size()), input_gradient(input.size()), gradient(weights.size());
      const auto compute = [&](const std::vector<float>& x, const std::vector<float>& w, const std::vector<float>& g) {
        convolution.apply(x.data(), w.data(), boards, result.data());
        convolution.apply_gradient(x.data(), w.data(), g.data(), boards,
                                   in % multiple == 0 ? input_gradient.data() : nullptr, gradient.data());
      };
      const auto bad = [](std::size_t size) { return std::vector<float>(size, std::nanf("")); };
      compute(bad(input.size()), bad(weights.size()), bad(result.size()));  // nothing of an earlier call remains
      compute(input, weights, result_gradient);
      const std::string where = std::to_string(height) + "x" + std::to_string(width) + ", " + std::to_string(in);
      check_near(result, plain.result, "result, " + where);
      check_near(gradient, plain.weights, "gradient of the weights, " + where);
      if (in % multiple == 0) check_near(input_gradient, plain.input, "gradient of the input, " + where);
    }
}

}  // namespace
}  // namespace qizero

int main() {
  using namespace qizero;
  return run_tests({{"products of matrices", products_of_matrices},
                    {"convolutions of every tile size", convolutions_of_every_tile_size},
                    {"gradients of convolutions", gradients_of_convolutions},
                    {"boards are divided well", boards_are_divided_well},
                    {"results depend on the position alone", results_depend_on_the_position_alone},
                    {"not a number is passed on", not_a_number_is_passed_on},
                    {"bad shapes and weights are refused", bad_shapes_and_weights_are_refused}});
}
