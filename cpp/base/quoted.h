// Text from outside, as part of an error message.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace qizero {

// The text as valid UTF-8 without control characters: every invalid byte becomes '?', a long text is cut.
inline std::string printable(std::string_view text) {
  constexpr std::size_t longest = 39;
  const auto is_continuation = [&](std::size_t i) {
    return i < text.size() && (static_cast<unsigned char>(text[i]) & 0xc0) == 0x80;
  };
  std::string result;
  std::size_t i = 0;
  while (i < text.size() && result.size() < longest) {
    const auto lead = static_cast<unsigned char>(text[i]);
    // C0, C1 and F5.. begin nothing; E0, ED, F0 and F4 begin some sequences that are not characters: all are left out.
    const std::size_t length = lead < 0x80                                  ? 1
                               : lead >= 0xc2 && lead <= 0xdf               ? 2
                               : lead > 0xe0 && lead < 0xf0 && lead != 0xed ? 3
                               : lead > 0xf0 && lead < 0xf4                 ? 4
                                                                            : 0;
    bool valid = length > 0 && (length > 1 || (lead >= ' ' && lead != 0x7f));
    for (std::size_t k = 1; valid && k < length; ++k) valid = is_continuation(i + k);
    if (length == 2 && lead == 0xc2 && valid) valid = static_cast<unsigned char>(text[i + 1]) >= 0xa0;  // C1 controls
    result += valid ? text.substr(i, length) : std::string_view("?");
    i += valid ? length : 1;
  }
  return result + (i < text.size() ? "…" : "");
}

inline std::string quoted(std::string_view text) { return "'" + printable(text) + "'"; }

}  // namespace qizero
