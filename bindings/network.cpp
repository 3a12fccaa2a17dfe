// The network in C++: weights in once, planes in and policy and value out.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <array>

#include "games/game.h"
#include "network/board_convolution.h"
#include "network/kernels.h"
#include "network/network.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace qizero {
namespace {

using Planes = nb::ndarray<const float, nb::ndim<4>, nb::c_contig, nb::device::cpu>;

constexpr std::string_view policy_names[] = {"cells", "cells_and_pass", "columns", "place_move_select", "dense"};

PolicyHead policy_by_name(std::string_view name) {
  for (std::size_t i = 0; i < std::size(policy_names); ++i)
    if (policy_names[i] == name) return static_cast<PolicyHead>(i);
  throw InvalidInput("policy is '" + std::string(name) +
                     "'; allowed are cells, cells_and_pass, columns, place_move_select, dense");
}

nb::ndarray<nb::numpy, float> new_rows(std::size_t rows, std::size_t columns) {
  float* data = new float[rows * columns];
  nb::capsule owner(data, [](void* pointer) noexcept { delete[] static_cast<float*>(pointer); });
  return nb::ndarray<nb::numpy, float>(data, {rows, columns}, owner);
}

nb::tuple evaluate(Network& network, const Planes& planes) {
  const NetworkShape& shape = network.shape();
  const std::array<int, 3> wanted{shape.planes, shape.height, shape.width};
  for (std::size_t i = 0; i < 3; ++i)
    if (planes.shape(i + 1) != static_cast<std::size_t>(wanted[i]))
      throw InvalidInput("planes must be [batch, " + std::to_string(wanted[0]) + ", " + std::to_string(wanted[1]) +
                         ", " + std::to_string(wanted[2]) + "]");
  auto policy = new_rows(planes.shape(0), static_cast<std::size_t>(shape.actions));
  auto wdl = new_rows(planes.shape(0), 3);
  {
    const nb::gil_scoped_release release;
    network.evaluate(planes.data(), static_cast<int>(planes.shape(0)), policy.data(), wdl.data());
  }
  return nb::make_tuple(policy, wdl);
}

using Boards = Planes;  // [boards, height, width, channels]
using NewBoards = nb::ndarray<float, nb::ndim<4>, nb::c_contig, nb::device::cpu>;

// Checks shapes: kernels work on plain pointers.
BoardConvolution convolution_of(const Boards& input, const Planes& weights, const auto& result) {
  const std::size_t multiple = static_cast<std::size_t>(kernels::channel_multiple());
  for (std::size_t i = 0; i < 3; ++i)
    if (input.shape(i) != result.shape(i))
      throw InvalidInput("input and result must have the same number and size of boards");
  if (weights.shape(0) != result.shape(3) || weights.shape(1) != input.shape(3) || weights.shape(2) != 3 ||
      weights.shape(3) != 3)
    throw InvalidInput("weights must be [channels of the result, channels of the input, 3, 3]");
  if (result.shape(3) % multiple != 0)
    throw InvalidInput("the number of channels of a result must be a multiple of " + std::to_string(multiple) +
                       ", not " + std::to_string(result.shape(3)));
  return {static_cast<int>(input.shape(1)), static_cast<int>(input.shape(2)), static_cast<int>(input.shape(3)),
          static_cast<int>(result.shape(3))};
}

void convolve_boards(const Boards& input, const Planes& weights, const NewBoards& result) {
  const BoardConvolution convolution = convolution_of(input, weights, result);
  const nb::gil_scoped_release release;
  convolution.apply(input.data(), weights.data(), static_cast<int>(input.shape(0)), result.data());
}

void convolve_boards_gradient(const Boards& input, const Planes& weights, const Boards& result_gradient,
                              const std::optional<NewBoards>& input_gradient, const NewBoards& weight_gradient) {
  const BoardConvolution convolution = convolution_of(input, weights, result_gradient);
  for (std::size_t i = 0; i < 4; ++i)
    if (weight_gradient.shape(i) != weights.shape(i) || (input_gradient && input_gradient->shape(i) != input.shape(i)))
      throw InvalidInput("a gradient must have the shape of its tensor");
  if (input_gradient && input.shape(3) % static_cast<std::size_t>(kernels::channel_multiple()) != 0)
    throw InvalidInput("the number of channels of an input with a gradient must be a multiple of " +
                       std::to_string(kernels::channel_multiple()) + ", not " + std::to_string(input.shape(3)));
  const nb::gil_scoped_release release;
  convolution.apply_gradient(input.data(), weights.data(), result_gradient.data(), static_cast<int>(input.shape(0)),
                             input_gradient ? input_gradient->data() : nullptr, weight_gradient.data());
}

}  // namespace
}  // namespace qizero

void bind_network(nb::module_& module) {
  using namespace qizero;
  nb::class_<Network>(module, "NativeNetwork", "The network of qizero.nets.network, evaluated by the C++ core.")
      .def(
          "__init__",
          [](Network* self, const nb::dict& weights, int threads, int planes, int height, int width, int actions,
             int channels, int blocks, int head_channels, int value_hidden, std::string_view policy) {
            const NetworkShape shape{.planes = planes,
                                     .height = height,
                                     .width = width,
                                     .actions = actions,
                                     .channels = channels,
                                     .blocks = blocks,
                                     .head_channels = head_channels,
                                     .value_hidden = value_hidden,
                                     .policy = policy_by_name(policy)};
            using Weights = nb::ndarray<const float, nb::c_contig, nb::device::cpu>;
            std::vector<Weights> kept;  // until the network has its copy
            const NamedWeights by_name = [&](const std::string& name) -> std::span<const float> {
              if (!weights.contains(name.c_str())) return {};
              Weights array;
              if (!nb::try_cast(weights[name.c_str()], array))
                throw InvalidInput("the weights '" + name + "' are not float32");
              kept.push_back(array);
              return {array.data(), array.size()};
            };
            new (self) Network(shape, by_name, threads);
          },
          nb::kw_only(), "weights"_a, "threads"_a, "planes"_a, "height"_a, "width"_a, "actions"_a, "channels"_a,
          "blocks"_a, "head_channels"_a, "value_hidden"_a, "policy"_a,
          nb::sig("def __init__(self, *, weights: dict[str, numpy.typing.NDArray[numpy.float32]], threads: int, "
                  "planes: int, "
                  "height: int, width: int, actions: int, channels: int, blocks: int, head_channels: int, "
                  "value_hidden: int, policy: str) -> None"),
          "`weights` by the names of the torch module in play.")
      .def_static("supported", &Network::supported,
                  "Whether this processor has the vector instructions it was built for.")
      .def("evaluate", &evaluate, "planes"_a,
           nb::sig("def evaluate(self, planes: numpy.typing.NDArray[numpy.float32]) -> "
                   "tuple[numpy.typing.NDArray[numpy.float32], numpy.typing.NDArray[numpy.float32]]"),
           "planes [B, C, H, W] -> policy logits [B, A], wdl probabilities [B, 3].");
  module.def("channel_multiple", &kernels::channel_multiple,
             "Channels of what `convolve_boards` writes are a multiple of this.");
  module.def("convolve_boards", &convolve_boards, "boards"_a, "weights"_a, "result"_a,
             nb::sig("def convolve_boards(boards: typing.Any, weights: typing.Any, result: typing.Any) -> None"),
             "A 3x3 convolution that keeps the size of boards [B, H, W, C]; weights are [C of the result, C of the "
             "input, 3, 3]. Writes `result`. Arrays are float32, contiguous, of numpy or torch without gradient.");
  module.def(
      "convolve_boards_gradient", &convolve_boards_gradient, "boards"_a, "weights"_a, "result_gradient"_a,
      "boards_gradient"_a.none(), "weight_gradient"_a,
      nb::sig("def convolve_boards_gradient(boards: typing.Any, weights: typing.Any, result_gradient: typing.Any, "
              "boards_gradient: typing.Any, weight_gradient: typing.Any) -> None"),
      "Writes the last two from the gradient of what `convolve_boards` gave; `boards_gradient` may be None.");
}
