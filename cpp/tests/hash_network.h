// A network for testing pools, and the loop that an evaluator runs.
#pragma once

#include <set>
#include <vector>

#include "mcts/pool.h"

namespace qizero {

// A network made of hashes: outputs depend on the planes of a row and nothing else.
struct Outputs {
  std::vector<float> policy, wdl;
};

template <Game G>
class HashNetwork {
 public:
  explicit HashNetwork(const Pool<G>& pool)
      : row_floats_(static_cast<std::size_t>(num_planes<G> * pool.board_shape().cells())),
        num_actions_(pool.num_actions()) {}

  Outputs evaluate(const typename Pool<G>::Batch& batch) {
    Outputs outputs;
    for (int row = 0; row < batch.rows; ++row) {
      const float* planes = batch.planes + static_cast<std::size_t>(row) * row_floats_;
      std::uint64_t hash = 1;
      for (std::size_t i = 0; i < row_floats_; ++i) hash = hash_combine(hash, static_cast<std::uint64_t>(planes[i]));
      repeated += !seen.insert(hash).second;
      Rng rng(hash);
      for (int i = 0; i < num_actions_; ++i) outputs.policy.push_back(static_cast<float>(4 * rng.uniform()));
      const float win = static_cast<float>(rng.uniform()), draw = (1 - win) * static_cast<float>(rng.uniform());
      outputs.wdl.insert(outputs.wdl.end(), {win, draw, 1 - win - draw});
    }
    return outputs;
  }

  std::set<std::uint64_t> seen;
  int repeated = 0;  // rows that have been evaluated before

 private:
  std::size_t row_floats_;
  int num_actions_;
};

template <Game G>
void drain(Pool<G>& pool, HashNetwork<G>& network) {
  for (;;) {
    const auto batch = pool.collect();
    if (batch.rows == 0) return;
    const Outputs outputs = network.evaluate(batch);
    pool.submit(outputs.policy.data(), outputs.wdl.data());
  }
}
template <Game G>
void drain(Pool<G>& pool) {
  HashNetwork<G> network(pool);
  drain(pool, network);
}

}  // namespace qizero
