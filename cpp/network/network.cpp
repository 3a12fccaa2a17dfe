#include "network/network.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <mutex>
#include <new>
#include <vector>

#include "base/stages.h"
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

// rows [n][depth] -> [n][columns], columns padded with zeros; only the first `inputs` of the depth have weights.
class Linear {
 public:
  Linear(const NamedWeights& weights, const std::string& name, int depth, int inputs, int outputs)
      : depth_(depth),
        columns_(padded(outputs)),
        packed_(product(depth, columns_)),
        bias_(static_cast<std::size_t>(columns_)) {
    const auto matrix = named(weights, name + ".weight", product(inputs, outputs));  // [outputs][inputs]
    std::ranges::copy(named(weights, name + ".bias", static_cast<std::size_t>(outputs)), bias_.data());
    Floats turned(packed_.size());
    for (int out = 0; out < outputs; ++out)
      for (int in = 0; in < inputs; ++in)
        turned.data()[product(in, columns_) + static_cast<std::size_t>(out)] =
            matrix[product(out, inputs) + static_cast<std::size_t>(in)];
    kernels::pack(turned.data(), depth_, columns_, packed_.data());
  }

  int columns() const { return columns_; }

  void apply(const float* rows_in, int rows, float* result, bool relu) const {
    kernels::multiply(rows_in, packed_.data(), result, rows, depth_, columns_);
    for (int row = 0; row < rows; ++row, result += columns_)
      for (int i = 0; i < columns_; ++i) {
        const float value = result[i] + bias_.data()[i];
        result[i] = relu && value < 0 ? 0 : value;  // NaN stays
      }
  }

 private:
  int depth_, columns_;
  Floats packed_, bias_;
};

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
  std::vector<PackedConvolution> tower;    // the stem, then two for each block
  Linear policy_features, value_features;  // of each cell
  Linear value_hidden, wdl;
  std::vector<Linear> policy;  // one layer, and one for the pass
  int max_boards;
  int rounds_apart = 0;  // evaluations of few boards, each by one thread, until threads share them again

  // Tiles up to which threads share a batch: with more, each weight is used so often that dividing the boards is faster
  // (benchmarks/batch_speed.py).
  static constexpr int few_tiles = 9;
  // Where another program holds a core, threads that wait for each other are slower than one.
  static constexpr int rounds_apart_after_a_delay = 100;

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
        policy_features(weights, "policy_features.conv", padded(shape.channels), shape.channels, shape.head_channels),
        value_features(weights, "value_features.conv", padded(shape.channels), shape.channels, shape.head_channels),
        value_hidden(weights, "value_hidden", 2 * shape.head_channels, 2 * shape.head_channels, shape.value_hidden),
        wdl(weights, "wdl", value_hidden.columns(), shape.value_hidden, 3),
        policy(make_policy(weights)),
        max_boards(std::max(1, tiles_at_once / tiling.tiles())),
        workers(threads) {
    for (int i = 0; i < threads; ++i) workspaces.push_back(make_workspace());
  }

  int panels_of_tower() const { return tower[0].out_channels / kernels::channel_multiple(); }

  std::vector<PackedConvolution> make_tower(const NamedWeights& weights) const {
    std::vector<PackedConvolution> layers;
    layers.emplace_back(tiling, weights, "stem.conv", shape.planes, shape.channels);
    for (int block = 0; block < shape.blocks; ++block)
      for (const char* part : {".first.conv", ".second.conv"})
        layers.emplace_back(tiling, weights, "blocks." + std::to_string(block) + part, shape.channels, shape.channels);
    return layers;
  }

  std::vector<Linear> make_policy(const NamedWeights& weights) const {
    const int head = shape.head_channels;
    std::vector<Linear> layers;
    switch (shape.policy) {
      case PolicyHead::cells:
        layers.emplace_back(weights, "policy.cells", policy_features.columns(), head, 1);
        break;
      case PolicyHead::cells_and_pass:
        layers.emplace_back(weights, "policy.cells", policy_features.columns(), head, 1);
        layers.emplace_back(weights, "policy.pass_action", 2 * head, 2 * head, 1);
        break;
      case PolicyHead::columns:
        layers.emplace_back(weights, "policy.columns", 2 * head, 2 * head, 1);
        break;
      case PolicyHead::place_move_select:
        layers.emplace_back(weights, "policy.maps", policy_features.columns(), head, 3);
        break;
      case PolicyHead::dense:
        layers.emplace_back(weights, "policy.actions", head * (shape.cells() + 2), head * (shape.cells() + 2),
                            shape.actions);
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
            .features = Floats(product(cells, policy_features.columns())),
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
    policy_of(space.cells.data(), boards, policy_out, space);
    value_of(space.cells.data(), boards, wdl_out, space);
  }

  // The same by several threads at once, layer by layer: each computes some of a layer's channels and needs only their
  // weights. For so few boards it is the weights that take time: they come from far, and each is used a few times only.
  // There are at least two threads and two panels of channels.
  void evaluate_together(const float* planes, int boards, float* policy_out, float* wdl_out) {
    Workspace& space = workspaces[0];
    const int panel = kernels::channel_multiple(), panels = panels_of_tower();
    const int layers = static_cast<int>(tower.size()), heads = layers + 1;
    // A layer's input is transformed by those who computed it, while others may still need that of this layer.
    float* const transformed[] = {space.transformed.data(), workspaces[1].transformed.data()};
    float *const x = space.first.data(), *const y = space.second.data();
    const auto do_item = [&](int stage, int item, Workspace& own) {
      if (stage == 0) {
        if (item != 0) return;
        spread(planes, boards, space.planes.data());
        kernels::transform_input(tiling, space.planes.data(), tower[0].in_channels, 0, tower[0].in_channels, boards,
                                 transformed[0]);
      } else if (stage == heads) {
        if (item == 0) policy_of(space.cells.data(), boards, policy_out, own);
        if (item == 1) value_of(space.cells.data(), boards, wdl_out, own);
      } else {
        const int layer = stage - 1, first = item * panel;
        const bool last = stage == layers, ends_block = layer > 0 && layer % 2 == 0;
        float* result = last ? space.cells.data() : layer % 2 == 0 ? x : y;
        const Convolution convolution = tower[static_cast<std::size_t>(layer)].view();
        kernels::convolve_transformed(tiling, convolution, transformed[layer % 2], first, ends_block ? x : nullptr,
                                      result, last, boards, own.products.data());
        if (!last)
          kernels::transform_input(tiling, result, convolution.out_channels, first, first + panel, boards,
                                   transformed[stage % 2]);
      }
    };
    Stages stages(layers + 2, panels);
    workers.for_each(std::min(static_cast<int>(workspaces.size()), panels), [&](int worker) {
      Workspace& own = workspaces[static_cast<std::size_t>(worker)];
      stages.work([&](int stage, int item) { do_item(stage, item, own); });
    });
    if (stages.was_held_up()) rounds_apart = rounds_apart_after_a_delay;
  }

  // Mean and maximum of the features over the board -> pooled.
  void pool_boards(int boards, Workspace& space) const {
    const int head = shape.head_channels, stride = policy_features.columns();
    for (int board = 0; board < boards; ++board)
      pool(space.features.data() + product(board * shape.cells(), stride), shape.cells(), stride, head,
           space.pooled.data() + product(board, 2 * head));
  }

  // From what the tower makes of each cell.
  void value_of(const float* cells, int boards, float* wdl_out, Workspace& space) const {
    value_features.apply(cells, boards * shape.cells(), space.features.data(), true);
    pool_boards(boards, space);
    float* hidden = space.hidden.data();
    float* logits = hidden + product(boards, value_hidden.columns());
    value_hidden.apply(space.pooled.data(), boards, hidden, true);
    wdl.apply(hidden, boards, logits, false);
    for (int board = 0; board < boards; ++board) softmax(logits + product(board, wdl.columns()), wdl_out + 3 * board);
  }

  void policy_of(const float* tower_cells, int boards, float* out, Workspace& space) const {
    const int head = shape.head_channels, cells = shape.cells(), width = policy[0].columns(),
              stride = policy_features.columns();
    policy_features.apply(tower_cells, boards * cells, space.features.data(), true);
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
        pool_boards(boards, space);
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
        pool_boards(boards, space);
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
    const bool few = batch <= max_boards && batch * tiling.tiles() <= few_tiles;
    if (few && threads > 1 && panels_of_tower() > 1 && rounds_apart-- <= 0) {
      rounds_apart = 0;
      return evaluate_together(planes, batch, policy_out, wdl_out);
    }
    // Pieces of about one size, as many for each thread: a much shorter last one would let the others wait. Two for
    // each, if they do not become too small: somebody else may hold a core for a while.
    const auto divide = [](int count, int parts) { return (count + parts - 1) / parts; };
    const int pieces = threads * std::max(batch >= 32 * threads ? 2 : 1, divide(batch, threads * max_boards));
    const int step = std::max(1, divide(batch, pieces));
    std::atomic<int> next{0};
    workers.for_each(std::min(threads, divide(batch, step)), [&](int worker) {
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
