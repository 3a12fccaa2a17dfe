// The team of threads: every item runs once, errors reach the caller, no thread waits forever.
#include "base/workers.h"

#include <chrono>
#include <thread>

#include "check.h"

namespace qizero {
namespace {

void every_item_is_done_once() {
  for (const int threads : {1, 2, 4}) {
    Workers workers(threads);
    for (int round = 0; round < 500; ++round) {
      const int count = round % 40;
      std::vector<int> done(static_cast<std::size_t>(count), 0);
      workers.for_each(count, [&](int i) { ++done[static_cast<std::size_t>(i)]; });
      for (const int times : done) CHECK(times == 1, std::to_string(times));
    }
  }
}

// Also the item that another thread holds when nothing is left for the caller to do.
void the_caller_returns_after_every_item() {
  Workers workers(2);
  const auto caller = std::this_thread::get_id();
  for (int round = 0; round < 10; ++round) {
    std::atomic<bool> other_has_begun{false};
    std::atomic<int> done{0};
    workers.for_each(2, [&](int) {
      if (std::this_thread::get_id() != caller) {
        other_has_begun = true;
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      } else {
        while (!other_has_begun) std::this_thread::yield();
      }
      ++done;
    });
    CHECK(done == 2, std::to_string(done));
  }
}

void errors_reach_the_caller() {
  for (const int threads : {1, 3}) {
    Workers workers(threads);
    for (int round = 0; round < 100; ++round) {
      bool caught = false;
      try {
        workers.for_each(20, [&](int i) {
          if (i == round % 20) throw std::runtime_error("item " + std::to_string(i));
        });
      } catch (const std::runtime_error& error) {
        caught = error.what() == "item " + std::to_string(round % 20);
      }
      CHECK(caught, "round " + std::to_string(round));
      std::atomic<int> done{0};
      workers.for_each(20, [&](int) { ++done; });
      CHECK(done == 20, "the team goes on after an error");
    }
  }
}

void teams_come_and_go() {
  for (int round = 0; round < 100; ++round) {
    Workers workers(3);
    if (round % 2 == 0) workers.for_each(4, [](int) {});
  }
}

void a_stage_waits_for_the_one_before() {
  for (const int threads : {1, 2, 4}) {
    Workers workers(threads);
    for (int round = 0; round < 200; ++round) {
      const int items = 1 + round % 5, count = 30;
      Stages stages(count, items);
      std::vector<std::atomic<int>> done(static_cast<std::size_t>(count));
      std::atomic<int> too_early{0};
      workers.for_each(threads, [&](int) {
        stages.work([&](int stage, int) {
          if (stage > 0 && done[static_cast<std::size_t>(stage - 1)] != items) ++too_early;
          ++done[static_cast<std::size_t>(stage)];
        });
      });
      CHECK(too_early == 0, std::to_string(too_early));
      for (const auto& times : done) CHECK(times == items, std::to_string(times));
    }
  }
}

}  // namespace
}  // namespace qizero

int main() {
  using namespace qizero;
  return run_tests({{"every item is done once", every_item_is_done_once},
                    {"the caller returns after every item", the_caller_returns_after_every_item},
                    {"errors reach the caller", errors_reach_the_caller},
                    {"teams come and go", teams_come_and_go},
                    {"a stage waits for the one before", a_stage_waits_for_the_one_before}});
}
