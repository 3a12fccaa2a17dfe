// A flag by which one thread asks another to stop. Long searches look at it every few thousand nodes.
#pragma once

#include <atomic>

namespace qizero {

class CancelToken {
 public:
  void cancel() { cancelled_.store(true, std::memory_order_relaxed); }
  bool cancelled() const { return cancelled_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> cancelled_{false};
};

}  // namespace qizero
