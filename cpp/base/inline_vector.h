// A vector with its storage inside: no heap, trivially copyable, capacity fixed at compile time.
#pragma once

#include <cassert>
#include <cstddef>
#include <type_traits>

namespace qizero {

template <class T, int Capacity>
class InlineVector {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  void push_back(T value) {
    assert(size_ < Capacity);
    items_[size_++] = value;
  }
  void clear() { size_ = 0; }
  void resize_down(int size) {
    assert(size <= size_);
    size_ = size;
  }

  int size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T operator[](int i) const {
    assert(i >= 0 && i < size_);
    return items_[i];
  }
  T& operator[](int i) {
    assert(i >= 0 && i < size_);
    return items_[i];
  }
  const T* begin() const { return items_; }
  const T* end() const { return items_ + size_; }
  T* begin() { return items_; }
  T* end() { return items_ + size_; }

 private:
  int size_ = 0;
  T items_[Capacity];  // the first size_ are set, the rest is never read
};

}  // namespace qizero
