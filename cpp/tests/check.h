// All that these tests need of a framework. Hand-made, because the build fetches from the two package registries only
// and neither of them has a C++ test framework.
#pragma once

#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace qizero {

struct CheckFailed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// `details` is evaluated only when the check fails.
#define CHECK(condition, details)                                                                                 \
  do {                                                                                                            \
    if (!(condition))                                                                                             \
      throw ::qizero::CheckFailed(std::string(__FILE__) + ":" + std::to_string(__LINE__) + ": " #condition "\n" + \
                                  (details));                                                                     \
  } while (false)

// Runs every test, prints one line each, returns the exit code.
inline int run_tests(const std::vector<std::pair<std::string, void (*)()>>& tests) {
  int failures = 0;
  for (const auto& [name, test] : tests) {
    try {
      test();
      std::printf("ok      %s\n", name.c_str());
    } catch (const std::exception& error) {
      std::printf("FAILED  %s\n%s\n", name.c_str(), error.what());
      ++failures;
    }
    std::fflush(stdout);
  }
  return failures == 0 ? 0 : 1;
}

}  // namespace qizero
