// Plain values to bytes and back. Reading checks every length, so that a damaged or foreign file ends in an error,
// nothing else.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <vector>

namespace qizero {

class ByteWriter {
 public:
  template <class T>
  void put(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(&value);
    bytes_.insert(bytes_.end(), bytes, bytes + sizeof value);
  }
  template <class T>
  void put_vector(const std::vector<T>& values) {
    put(static_cast<std::uint32_t>(values.size()));
    for (const T& value : values) put(value);
  }
  std::vector<std::uint8_t> take() { return std::move(bytes_); }

 private:
  std::vector<std::uint8_t> bytes_;
};

class ByteReader {
 public:
  explicit ByteReader(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  template <class T>
  T get() {
    static_assert(std::is_trivially_copyable_v<T>);
    if (bytes_.size() < sizeof(T)) throw std::out_of_range("the bytes end too early");
    std::array<std::uint8_t, sizeof(T)> raw;
    std::memcpy(raw.data(), bytes_.data(), sizeof(T));
    bytes_ = bytes_.subspan(sizeof(T));
    return std::bit_cast<T>(raw);
  }
  template <class T>
  std::vector<T> get_vector() {
    const auto size = get<std::uint32_t>();
    if (bytes_.size() / sizeof(T) < size) throw std::out_of_range("the bytes end too early");
    std::vector<T> values;
    values.reserve(size);
    for (std::uint32_t i = 0; i < size; ++i) values.push_back(get<T>());
    return values;
  }
  bool at_end() const { return bytes_.empty(); }

 private:
  std::span<const std::uint8_t> bytes_;
};

}  // namespace qizero
