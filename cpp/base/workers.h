// A fixed team of threads for loops over independent items. The caller works too: a team of 1 has no thread of its own.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/stages.h"

namespace qizero {

class Workers {
 public:
  explicit Workers(int threads) {
    for (int i = 1; i < threads; ++i) threads_.emplace_back([this](std::stop_token stop) { run(stop); });
  }
  ~Workers() {
    for (std::jthread& thread : threads_) thread.request_stop();
    wake_.notify_all();
  }

  // Calls f(i) for i in [0, count), in any order, on the threads of the team that come in time; returns when all are
  // done. The first exception is thrown here. Not reentrant; one caller at a time.
  void for_each(int count, const std::function<void(int)>& f) {
    if (threads_.empty() || count <= 1) {
      for (int i = 0; i < count; ++i) f(i);
      return;
    }
    bool someone_sleeps;
    {
      const std::lock_guard lock(mutex_);
      function_ = &f;
      count_ = count;
      next_ = 0;
      open_ = true;
      ++round_;
      someone_sleeps = sleeping_ > 0;
    }
    if (someone_sleeps) wake_.notify_all();
    work(f, count);
    SpinWait wait;
    while (busy_ > 0 && wait.spins() < spins_before_sleep) wait.once();
    std::unique_lock lock(mutex_);
    open_ = false;  // a thread that still sleeps has nothing left to do: it is not waited for
    done_.wait(lock, [this] { return busy_ == 0; });
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }

 private:
  static constexpr int spins_before_sleep = 1'500;  // some tens of microseconds

  void work(const std::function<void(int)>& f, int count) {
    try {
      for (int i = next_.fetch_add(1); i < count; i = next_.fetch_add(1)) f(i);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
      next_ = count;
    }
  }

  void run(std::stop_token stop) {
    std::uint64_t seen = 0;
    for (;;) {
      const std::function<void(int)>* function;
      int count;
      SpinWait wait;  // the next loop often comes soon, and waking up takes long
      while (round_ == seen && wait.spins() < spins_before_sleep) wait.once();
      {
        std::unique_lock lock(mutex_);
        ++sleeping_;
        if (!wake_.wait(lock, stop, [&] { return open_ && round_ != seen; })) return;
        --sleeping_;
        seen = round_;
        ++busy_;
        function = function_;
        count = count_;
      }
      work(*function, count);
      const std::lock_guard lock(mutex_);
      if (--busy_ == 0) done_.notify_one();
    }
  }

  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::condition_variable done_;
  const std::function<void(int)>* function_ = nullptr;
  int count_ = 0, sleeping_ = 0;
  std::atomic<int> busy_{0};
  std::atomic<std::uint64_t> round_{0};
  bool open_ = false;  // a thread may still join the round
  std::atomic<int> next_{0};
  std::exception_ptr error_;
  std::vector<std::jthread> threads_;  // last: stops and joins before the rest is gone
};

}  // namespace qizero
