// A short computation in stages, by several threads at once: what one stage makes, the next one needs.
#pragma once

#include <atomic>
#include <thread>

namespace qizero {

// Waits for another thread that is about to be done: it does not sleep, which would take longer.
class SpinWait {
 public:
  void once() {
    if (++spins_ % spins_per_yield == 0)
      std::this_thread::yield();
    else
      pause();
  }
  int spins() const { return spins_; }

  static void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb");
#endif
  }

 private:
  static constexpr int spins_per_yield = 1'000;

  int spins_ = 0;
};

// Every stage has the same number of items, which depend on nothing but earlier stages.
class Stages {
 public:
  Stages(int stages, int items) : items_(items), total_(stages * items) {}

  // Calls f(stage, item), together with the other threads in here, for every item once; they may come at any time.
  // Items that others have begun may be unfinished when it returns. f must not throw.
  template <class F>
  void work(F&& f) {
    SpinWait wait;
    for (int next = next_.load(); next < total_;) {
      if (finished_.load(std::memory_order_acquire) < next / items_ * items_) {  // a stage before it goes on
        wait.once();
        if (wait.spins() == many_spins) held_up_ = true;
        next = next_.load();
      } else if (next_.compare_exchange_weak(next, next + 1)) {
        f(next / items_, next % items_);
        finished_.fetch_add(1, std::memory_order_release);
        wait = {};
        next = next_.load();
      }
    }
  }

  // Whether a thread had to wait so long that another one was probably put to sleep in the middle of an item.
  bool was_held_up() const { return held_up_; }

 private:
  static constexpr int many_spins = 20'000;  // several hundred microseconds; an item takes a few tens

  int items_, total_;
  std::atomic<int> next_{0}, finished_{0};
  std::atomic<bool> held_up_{false};
};

}  // namespace qizero
