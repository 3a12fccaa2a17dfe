// Objects that are costly to make and used for a moment: threads borrow one each, and there are as many as threads that
// use one at the same time.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace qizero {

template <class T>
class IdlePool {
 public:
  // use(object) on an idle object, or on a new one made of `arguments`.
  template <class Use, class... Arguments>
  auto borrow(Use&& use, const Arguments&... arguments) {
    std::unique_ptr<T> object;
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        object = std::move(idle_.back());
        idle_.pop_back();
      }
    }
    if (!object) object = std::make_unique<T>(arguments...);
    auto result = use(*object);
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(object));
    return result;
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<T>> idle_;
};

}  // namespace qizero
