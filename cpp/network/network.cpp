#include "network/network.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <mutex>
#include <new>
#include <vector>

#include "base/workers.h"
#include "games/game.h"
#include "network/floats.h"
#include "network/kernels.h"

namespace qizero {
namespace {

using kernels::Convolution;
using kernels::Tiling;

constexpr float off_board_logit = -30;  // network.py: OFF_BOARD_LOGIT

std::size_t product(int a, int b) { return static_cast<std::size_t>(a) * static_cast<std::size_t>(b); }

std::span<const float> named(const NamedWeights& weights, const std::string& name, std::size_t size) {
  const std::span<const float> values = weights(name);
  if (values.size() != size)
    throw InvalidInput("the weights '" + name + "' have " + std::to_string(values.size()) + " numbers, not " +
                       std::to_string(size));
  return values;
}

struct PackedConvolution {
  Floats packed, bias;
  int in_channels, out_channels;

  PackedConvolution(const Tiling& tiling, const NamedWeights& weights, const std::string& name, int real_in,
                    int real_out)
      : in_channels(padded(real_in)), out_channels(padded(real_out)) {
    packed = Floats(static_cast<std::size_t>(tiling.points()) * product(in_channels, out_channels));
    bias = Floats(static_cast<std::size_t>(out_channels));
    kernels::pack_convolution(tiling, named(weights, name + ".weight", 9 * product(real_in, real_out)).data(), real_in,
                              real_out, in_channels, out_channels, packed.data());
    std::ranges::copy(named(weights, name + ".bias", static_cast<std::size_t>(real_out)), bias.data());
  }
  Convolution view() const { return {packed.data(), bias.data(), in_channels, out_channels}; }
};

// rows [n][depth] -> [n][columns], padded with zeros. Several layers with the same input may lie side by side.
class Linear {
 public:
  Linear(int depth, int columns)
      : depth_(depth),
        columns_(padded(columns)),
        weights_(product(depth, columns_)),
        bias_(static_cast<std::size_t>(columns_)) {}

  // weight [outputs][inputs] into the columns from `column` on; inputs are the first of the depth.
  void place(const NamedWeights& weights, const std::string& name, int column, int inputs, int outputs) {
    const auto matrix = named(weights, name + ".weight", product(inputs, outputs));
    const auto bias = named(weights, name + ".bias", static_cast<std::size_t>(outputs));
    for (int out = 0; out < outputs; ++out) {
      bias_.data()[column + out] = bias[static_cast<std::size_t>(out)];
      for (int in = 0; in < inputs; ++in)
        weights_.data()[product(in, columns_) + static_cast<std::size_t>(column + out)] =
            matrix[product(out, inputs) + static_cast<std::size_t>(in)];
    }
  }
  void pack() {
    Floats packed(weights_.size());
    kernels::pack(weights_.data(), depth_, columns_, packed.data());
    weights_ = std::move(packed);
  }

  int columns() const { return columns_; }

  void apply(const float* rows_in, int rows, float* result, bool relu) const {
    kernels::multiply(rows_in, weights_.data(), result, rows, depth_, columns_);
    for (int row = 0; row < rows; ++row, result += columns_)
      for (int i = 0; i < columns_; ++i) {
        const float value = result[i] + bias_.data()[i];
        result[i] = relu && value < 0 ? 0 : value;  // NaN stays
      }
  }

 private:
  int depth_, columns_;
  Floats weights_, bias_;
};

Linear linear(const NamedWeights& weights, const std::string& name, int depth, int inputs, int outputs) {
  Linear layer(depth, outputs);
  layer.place(weights, name, 0, inputs, outputs);
  layer.pack();
  return layer;
}

// Mean and maximum of `channels` channels over `count` rows that lie `stride` floats apart -> out[2 * channels].
void pool(const float* rows, int count, std::ptrdiff_t stride, int channels, float* out) {
  float *mean = out, *maximum = out + channels;
  std::copy_n(rows, channels, mean);
  std::copy_n(rows, channels, maximum);
  for (int row = 1; row < count; ++row) {
    rows += stride;
    for (int i = 0; i < channels; ++i) {
      mean[i] += rows[i];
      maximum[i] = std::max(maximum[i], rows[i]);
    }
  }
  for (int i = 0; i < channels; ++i) mean[i] /= static_cast<float>(count);
}

void softmax(const float* logits, float* probabilities) {
  const float largest = std::max({logits[0], logits[1], logits[2]});
  float sum = 0;
  for (int i = 0; i < 3; ++i) sum += probabilities[i] = std::exp(logits[i] - largest);
  for (int i = 0; i < 3; ++i) probabilities[i] /= sum;
}

// maps [cells][stride] of place (also: destination), source, select -> the logits of network.py's
// combine_place_move_select.
void combine_place_move_select(const float* maps, int stride, const NetworkShape& shape, float* policy) {
  const int cells = shape.cells();
  const auto map = [&](int cell, int which) { return maps[product(cell, stride) + static_cast<std::size_t>(which)]; };
  for (int cell = 0; cell < cells; ++cell) {
    const int row = cell / shape.width, column = cell % shape.width;
    float* moves = policy + cells + 4 * cell;
    const float source = map(cell, 1);
    policy[cell] = map(cell, 0);
    moves[0] = row > 0 ? source + map(cell - shape.width, 0) : off_board_logit;
    moves[1] = row + 1 < shape.height ? source + map(cell + shape.width, 0) : off_board_logit;
    moves[2] = column > 0 ? source + map(cell - 1, 0) : off_board_logit;
    moves[3] = column + 1 < shape.width ? source + map(cell + 1, 0) : off_board_logit;
    policy[5 * cells + cell] = map(cell, 2);
  }
}

int expected_actions(const NetworkShape& shape) {
  switch (shape.policy) {
    case PolicyHead::cells:
      return shape.cells();
    case PolicyHead::cells_and_pass:
      return shape.cells() + 1;
    case PolicyHead::columns:
      return shape.width;
    case PolicyHead::place_move_select:
      return 6 * shape.cells();
    case PolicyHead::dense:
      return shape.actions;
  }
  return 0;
}

void validate(const NetworkShape& shape, int threads) {
  const auto demand = [](bool good, const std::string& problem) {
    if (!good) throw InvalidInput("network: " + problem);
  };
  demand(Network::supported(), "this processor lacks the vector instructions that qizero was built for");
  demand(shape.planes >= 1 && shape.planes <= 1024, "planes must be 1 to 1024");
  demand(shape.height >= 1 && shape.height <= 64 && shape.width >= 1 && shape.width <= 64,
         "boards must be 1 to 64 wide and high");
  demand(shape.channels >= 1 && shape.channels <= 1024 && shape.blocks >= 0 && shape.blocks <= 100,
         "channels must be 1 to 1024 and blocks 0 to 100");
  demand(
      shape.head_channels >= 1 && shape.head_channels <= 256 && shape.value_hidden >= 1 && shape.value_hidden <= 1024,
      "head_channels must be 1 to 256 and value_hidden 1 to 1024");
  demand(shape.actions >= 1 && shape.actions <= 100'000 && shape.actions == expected_actions(shape),
         "the policy head does not fit " + std::to_string(shape.actions) + " actions");
  demand(threads >= 1 && threads <= 1024, "threads must be 1 to 1024");
}

}  // namespace

struct Network::Parts {
  NetworkShape shape;
  Tiling tiling;
  std::vector<PackedConvolution> tower;  // the stem, then two for each block
  Linear features;                       // of each cell: the policy's channels, then the value's
  Linear value_hidden, wdl;
  std::vector<Linear> policy;  // one layer, and one for the pass
  int max_boards;

  // What one thread works in.
  struct Workspace {
    Floats planes, first, second, transformed, products, cells, features, pooled, hidden, rows, logits;
  };
  std::vector<Workspace> workspaces;
  Workers workers;
  std::mutex mutex;

  Parts(const NetworkShape& network_shape, const NamedWeights& weights, int threads)
      : shape(network_shape),
        tiling(kernels::best_tiling(shape.height, shape.width)),
        tower(make_tower(weights)),
        features(make_features(weights)),
        value_hidden(
            linear(weights, "value_hidden", 2 * shape.head_channels, 2 * shape.head_channels, shape.value_hidden)),
        wdl(linear(weights, "wdl", value_hidden.columns(), shape.value_hidden, 3)),
        policy(make_policy(weights)),
        max_boards(std::max(1, tiles_at_once / tiling.tiles())),
        workers(threads) {
    for (int i = 0; i < threads; ++i) workspaces.push_back(make_workspace());
  }

  std::vector<PackedConvolution> make_tower(const NamedWeights& weights) const {
    std::vector<PackedConvolution> layers;
    layers.emplace_back(tiling, weights, "stem.conv", shape.planes, shape.channels);
    for (int block = 0; block < shape.blocks; ++block)
      for (const char* part : {".first.conv", ".second.conv"})
        layers.emplace_back(tiling, weights, "blocks." + std::to_string(block) + part, shape.channels, shape.channels);
    return layers;
  }

  Linear make_features(const NamedWeights& weights) const {
    Linear layer(padded(shape.channels), 2 * shape.head_channels);
    layer.place(weights, "policy_features.conv", 0, shape.channels, shape.head_channels);
    layer.place(weights, "value_features.conv", shape.head_channels, shape.channels, shape.head_channels);
    layer.pack();
    return layer;
  }

  std::vector<Linear> make_policy(const NamedWeights& weights) const {
    const int head = shape.head_channels;
    std::vector<Linear> layers;
    switch (shape.policy) {
      case PolicyHead::cells:
        layers.push_back(linear(weights, "policy.cells", features.columns(), head, 1));
        break;
      case PolicyHead::cells_and_pass:
        layers.push_back(linear(weights, "policy.cells", features.columns(), head, 1));
        layers.push_back(linear(weights, "policy.pass_action", 2 * head, 2 * head, 1));
        break;
      case PolicyHead::columns:
        layers.push_back(linear(weights, "policy.columns", 2 * head, 2 * head, 1));
        break;
      case PolicyHead::place_move_select:
        layers.push_back(linear(weights, "policy.maps", features.columns(), head, 3));
        break;
      case PolicyHead::dense:
        layers.push_back(
            linear(weights, "policy.actions", head * (shape.cells() + 2), head * (shape.cells() + 2), shape.actions));
        break;
    }
    return layers;
  }

  Workspace make_workspace() const {
    const int boards = max_boards, channels = tower[0].out_channels, in_channels = tower[0].in_channels;
    const int cells = boards * shape.cells(), padded_cells = boards * tiling.padded_height() * tiling.padded_width();
    const int policy_rows = shape.policy == PolicyHead::dense ? boards : cells;
    return {.planes = Floats(product(padded_cells, in_channels)),
            .first = Floats(product(padded_cells, channels)),
            .second = Floats(product(padded_cells, channels)),
            .transformed = Floats(kernels::transformed_size(tiling, boards, std::max(channels, in_channels))),
            .products = Floats(kernels::products_size(tiling, boards)),
            .cells = Floats(product(cells, channels)),
            .features = Floats(product(cells, features.columns())),
            .pooled = Floats(product(boards, 2 * shape.head_channels)),
            .hidden = Floats(product(boards, std::max(value_hidden.columns(), wdl.columns())) * 2),
            .rows = Floats(
                product(boards, shape.head_channels * (shape.cells() + 2) + 2 * shape.head_channels * shape.width)),
            .logits = Floats(product(policy_rows, policy[0].columns()))};
  }

  // Planes [plane][cell] of each board -> [padded cell][channel]; what is off the board is zero already.
  void spread(const float* planes, int boards, float* out) const {
    const int channels = tower[0].in_channels, width = tiling.padded_width();
    for (int board = 0; board < boards; ++board, out += product(tiling.padded_height() * width, channels))
      for (int plane = 0; plane < shape.planes; ++plane)
        for (int row = 0; row < shape.height; ++row) {
          float* to = out + product((row + 1) * width + 1, channels) + plane;
          for (int column = 0; column < shape.width; ++column) to[product(column, channels)] = *planes++;
        }
  }

  void evaluate_few(const float* planes, int boards, float* policy_out, float* wdl_out, Workspace& space) const {
    spread(planes, boards, space.planes.data());
    const auto convolve = [&](std::size_t layer, const float* in, const float* residual, float* out) {
      const bool last = layer + 1 == tower.size();
      kernels::convolve(tiling, tower[layer].view(), in, residual, last ? space.cells.data() : out, last, boards,
                        space.transformed.data(), space.products.data());
    };
    float *x = space.first.data(), *y = space.second.data();
    convolve(0, space.planes.data(), nullptr, x);
    for (std::size_t layer = 1; layer < tower.size(); layer += 2) {
      convolve(layer, x, nullptr, y);
      convolve(layer + 1, y, x, x);
    }
    features.apply(space.cells.data(), boards * shape.cells(), space.features.data(), true);
    policy_of(boards, policy_out, space);
    value_of(boards, wdl_out, space);
  }

  // Mean and maximum over the board of the policy's (0) or the value's (1) features -> pooled.
  void pool_boards(int boards, int which, Workspace& space) const {
    const int head = shape.head_channels, stride = features.columns();
    for (int board = 0; board < boards; ++board)
      pool(space.features.data() + product(board * shape.cells(), stride) + which * head, shape.cells(), stride, head,
           space.pooled.data() + product(board, 2 * head));
  }

  void value_of(int boards, float* wdl_out, Workspace& space) const {
    pool_boards(boards, 1, space);
    float* hidden = space.hidden.data();
    float* logits = hidden + product(boards, value_hidden.columns());
    value_hidden.apply(space.pooled.data(), boards, hidden, true);
    wdl.apply(hidden, boards, logits, false);
    for (int board = 0; board < boards; ++board) softmax(logits + product(board, wdl.columns()), wdl_out + 3 * board);
  }

  void policy_of(int boards, float* out, Workspace& space) const {
    const int head = shape.head_channels, cells = shape.cells(), width = policy[0].columns(),
              stride = features.columns();
    float *logits = space.logits.data(), *rows = space.rows.data();
    const auto first_column = [&](int count, float* to) {
      for (int i = 0; i < count; ++i) to[i] = logits[product(i, width)];
    };
    switch (shape.policy) {
      case PolicyHead::cells:
        policy[0].apply(space.features.data(), boards * cells, logits, false);
        first_column(boards * cells, out);
        break;
      case PolicyHead::cells_and_pass:
        policy[0].apply(space.features.data(), boards * cells, logits, false);
        for (int board = 0; board < boards; ++board)
          for (int cell = 0; cell < cells; ++cell)
            out[product(board, cells + 1) + static_cast<std::size_t>(cell)] =
                logits[product(board * cells + cell, width)];
        pool_boards(boards, 0, space);
        policy[1].apply(space.pooled.data(), boards, logits, false);
        for (int board = 0; board < boards; ++board)
          out[product(board + 1, cells + 1) - 1] = logits[product(board, width)];
        break;
      case PolicyHead::columns:
        for (int board = 0; board < boards; ++board)
          for (int column = 0; column < shape.width; ++column)
            pool(space.features.data() + product(board * cells + column, stride), shape.height,
                 static_cast<std::ptrdiff_t>(shape.width) * stride, head,
                 rows + product(board * shape.width + column, 2 * head));
        policy[0].apply(rows, boards * shape.width, logits, false);
        first_column(boards * shape.width, out);
        break;
      case PolicyHead::place_move_select:
        policy[0].apply(space.features.data(), boards * cells, logits, false);
        for (int board = 0; board < boards; ++board)
          combine_place_move_select(logits + product(board * cells, width), width, shape,
                                    out + product(board, shape.actions));
        break;
      case PolicyHead::dense:
        pool_boards(boards, 0, space);
        for (int board = 0; board < boards; ++board) {
          float* row = rows + product(board, head * (cells + 2));
          const float* from = space.features.data() + product(board * cells, stride);
          for (int channel = 0; channel < head; ++channel)
            for (int cell = 0; cell < cells; ++cell)
              *row++ = from[product(cell, stride) + static_cast<std::size_t>(channel)];
          std::copy_n(space.pooled.data() + product(board, 2 * head), 2 * head, row);
        }
        policy[0].apply(rows, boards, logits, false);
        for (int board = 0; board < boards; ++board)
          std::copy_n(logits + product(board, width), shape.actions, out + product(board, shape.actions));
        break;
    }
  }

  void evaluate(const float* planes, int batch, float* policy_out, float* wdl_out) {
    const std::lock_guard lock(mutex);
    const int threads = static_cast<int>(workspaces.size());
    // Pieces of about one size, as many for each thread: a much shorter last one would let the others wait. Two for
    // each, if they do not become too small: somebody else may hold a core for a while.
    const auto divide = [](int count, int parts) { return (count + parts - 1) / parts; };
    const int pieces = threads * std::max(batch >= 32 * threads ? 2 : 1, divide(batch, threads * max_boards));
    const int step = std::max(1, divide(batch, pieces));
    std::atomic<int> next{0};
    workers.for_each(threads, [&](int worker) {
      for (int board = next.fetch_add(step); board < batch; board = next.fetch_add(step))
        evaluate_few(planes + product(board, shape.planes * shape.cells()), std::min(step, batch - board),
                     policy_out + product(board, shape.actions), wdl_out + product(board, 3),
                     workspaces[static_cast<std::size_t>(worker)]);
    });
  }
};

bool Network::supported() { return kernels::supported(); }

Network::Network(const NetworkShape& shape, const NamedWeights& weights, int threads) {
  validate(shape, threads);
  parts_ = std::make_unique<Parts>(shape, weights, threads);
}

Network::~Network() = default;

const NetworkShape& Network::shape() const { return parts_->shape; }

void Network::evaluate(const float* planes, int batch, float* policy, float* wdl) {
  parts_->evaluate(planes, batch, policy, wdl);
}

}  // namespace qizero
