#include "alphabeta/connect4_book.h"

#include <algorithm>
#include <fstream>

#include "games/connect4.h"

namespace qizero {
namespace {

constexpr std::size_t record_size = 5;
constexpr int index_bits = 16;

// The key with its sign bit flipped.
std::uint32_t key_of(std::uint64_t mover, std::uint64_t occupied, bool mirrored) {
  std::uint32_t key = 0;
  for (int i = 0; i < Connect4::columns; ++i) {
    const int column = mirrored ? Connect4::columns - 1 - i : i;
    for (int row = Connect4::rows - 1; row >= 0; --row) {
      const std::uint64_t cell = std::uint64_t{1} << Connect4::cell_bit(row, column);
      if (!(occupied & cell)) break;
      key = key << 2 | ((mover & cell) ? 0b10 : 0b11);
    }
    key <<= 1;
  }
  return (key << 1) ^ 0x8000'0000;
}

int score_of(int value) {
  if (value == 0) return 0;
  const int plies = 100 - std::abs(value);
  const int stones_of_winner = (Connect4Book::stones + plies + 1) / 2;
  return value > 0 ? 22 - stones_of_winner : stones_of_winner - 22;
}

}  // namespace

Connect4Book::Connect4Book(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw InvalidInput("the opening table '" + path + "' cannot be opened");
  file.seekg(0, std::ios::end);
  std::vector<char> bytes(static_cast<std::size_t>(std::max<std::streamoff>(file.tellg(), 0)));
  file.seekg(0);
  if (!file.read(bytes.data(), static_cast<std::streamsize>(bytes.size())))
    throw InvalidInput("the opening table '" + path + "' cannot be read");
  if (bytes.empty() || bytes.size() % record_size != 0)
    throw InvalidInput("the opening table '" + path + "' has " + std::to_string(bytes.size()) +
                       " bytes, which is not a multiple of the record size, 5 bytes");
  const std::size_t records = bytes.size() / record_size;
  keys_.reserve(records);
  scores_.reserve(records);
  index_.assign((std::size_t{1} << index_bits) + 1, 0);
  for (std::size_t i = 0; i < records; ++i) {
    const char* record = bytes.data() + i * record_size;
    std::uint32_t key = 0;
    for (int byte = 0; byte < 4; ++byte) key = key << 8 | static_cast<std::uint8_t>(record[byte]);
    key ^= 0x8000'0000;
    const int value = static_cast<std::int8_t>(record[4]);
    if ((!keys_.empty() && key <= keys_.back()) || value < -100 || value > 100)
      throw InvalidInput("the opening table '" + path + "' is corrupted at record " + std::to_string(i));
    keys_.push_back(key);
    scores_.push_back(static_cast<std::int8_t>(score_of(value)));
    ++index_[(key >> (32 - index_bits)) + 1];
  }
  for (std::size_t i = 1; i < index_.size(); ++i) index_[i] += index_[i - 1];
}

std::optional<int> Connect4Book::find(std::uint32_t key) const {
  const std::size_t high = key >> (32 - index_bits);
  const auto first = keys_.begin() + index_[high], last = keys_.begin() + index_[high + 1];
  const auto found = std::lower_bound(first, last, key);
  if (found == last || *found != key) return std::nullopt;
  return scores_[static_cast<std::size_t>(found - keys_.begin())];
}

std::optional<int> Connect4Book::score(std::uint64_t mover, std::uint64_t occupied) const {
  if (keys_.empty()) return std::nullopt;
  if (const auto score = find(key_of(mover, occupied, false))) return score;
  return find(key_of(mover, occupied, true));
}

}  // namespace qizero
