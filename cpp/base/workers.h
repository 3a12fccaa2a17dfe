// A fixed team of threads for loops over independent items. The caller works too: a team of 1 has no thread of its own.
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

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

  // Calls f(i) for i in [0, count), in any order, on all threads of the team; returns when all are done. The first
  // exception is thrown here. Not reentrant; one caller at a time.
  void for_each(int count, const std::function<void(int)>& f) {
    if (threads_.empty() || count <= 1) {
      for (int i = 0; i < count; ++i) f(i);
      return;
    }
    {
      const std::lock_guard lock(mutex_);
      function_ = &f;
      count_ = count;
      next_ = 0;
      error_ = nullptr;
      busy_ = static_cast<int>(threads_.size());
      ++round_;
    }
    wake_.notify_all();
    work(f, count);
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return busy_ == 0; });
    if (error_) std::rethrow_exception(error_);
  }

 private:
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
    int seen = 0;
    for (;;) {
      const std::function<void(int)>* function;
      int count;
      {
        std::unique_lock lock(mutex_);
        if (!wake_.wait(lock, stop, [&] { return round_ != seen; })) return;
        seen = round_;
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
  int count_ = 0, busy_ = 0, round_ = 0;
  std::atomic<int> next_{0};
  std::exception_ptr error_;
  std::vector<std::jthread> threads_;  // last: stops and joins before the rest is gone
};

}  // namespace qizero
