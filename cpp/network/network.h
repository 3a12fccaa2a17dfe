// The network of src/qizero/nets/network.py with its weights folded and packed, for evaluation on this processor. It
// has the same heads and outputs. tests/test_weights.py compares it with torch for every head; an ONNX file is also
// compared with its graph when it is opened (src/qizero/nets/evaluator.py).
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

namespace qizero {

enum class PolicyHead { cells, cells_and_pass, columns, place_move_select, dense };

struct NetworkShape {
  int planes, height, width, actions;
  int channels, blocks, head_channels, value_hidden;
  PolicyHead policy;
  int cells() const { return height * width; }
};

// The weights of a layer by their name in the file; the span is empty if there is none of that name.
using NamedWeights = std::function<std::span<const float>(const std::string& name)>;

class Network {
 public:
  // False on processors that lack the vector instructions this was built for.
  static bool supported();

  // Throws InvalidInput if the shape is impossible or a weight is missing or has another size. `threads` evaluate a
  // batch together.
  Network(const NetworkShape& shape, const NamedWeights& weights, int threads);
  ~Network();

  const NetworkShape& shape() const;

  // planes [batch][planes][height][width] -> policy [batch][actions], wdl [batch][3]: logits, and probabilities of win,
  // draw and loss of the mover. A position's result does not depend on the batch it is in. May be called from several
  // threads; they take turns.
  void evaluate(const float* planes, int batch, float* policy, float* wdl);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace qizero
