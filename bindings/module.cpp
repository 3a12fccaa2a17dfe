// The Python module qizero._core. One function per file of bindings/ adds its part.
#include <nanobind/nanobind.h>

namespace nb = nanobind;

void bind_alphabeta(nb::module_& module);
void bind_connect4_solver(nb::module_& module);
void bind_games(nb::module_& module);
void bind_network(nb::module_& module);
void bind_search(nb::module_& module);

NB_MODULE(_core, module) {
  module.doc() = "The C++ core of qizero.";
  bind_games(module);
  bind_search(module);
  bind_network(module);
  bind_alphabeta(module);
  bind_connect4_solver(module);
}
