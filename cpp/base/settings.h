// Settings of a struct, each declared once: type, name, default, range, meaning.
//
//   #define QIZERO_POOL_SETTINGS(SETTING) SETTING(int, slots, 1, 1, 1'000'000, "Searches at once.") …
//   struct PoolConfig { QIZERO_SETTINGS(PoolConfig, QIZERO_POOL_SETTINGS) };
//
// QIZERO_SETTINGS makes the members with their defaults, checks at compile time that each default is in its range, and
// defines `settings(visit)`, from which validation, bindings, run settings and docs are made. A setting is a number, a
// switch (bool, from false to true) or a choice (an enum with `choice_names`, from its first to its last name).
#pragma once

#include <cstdio>
#include <string>
#include <type_traits>

namespace qizero {

template <class Struct, class T>
struct Setting {
  const char* name;
  T Struct::* member;
  T initial, low, high;  // low and high are allowed
  const char* meaning;
};

#define QIZERO_SETTING_MEMBER(type, name, initial, low, high, meaning) type name = initial;

#define QIZERO_SETTING_VISIT(type, name, initial, low, high, meaning)                              \
  static_assert(type(low) <= type(initial) && type(initial) <= type(high), #name ": bad default"); \
  visit(qizero::Setting<Self, type>{#name, &Self::name, initial, low, high, meaning});

#define QIZERO_SETTINGS(Struct, LIST)   \
  LIST(QIZERO_SETTING_MEMBER)           \
  template <class Visit>                \
  static void settings(Visit&& visit) { \
    using Self = Struct;                \
    LIST(QIZERO_SETTING_VISIT)          \
  }

template <class T>
std::string setting_text(T value) {
  if constexpr (std::is_enum_v<T>) {
    return std::string(choice_names(value)[static_cast<std::size_t>(value)]);
  } else if constexpr (std::is_floating_point_v<T>) {
    char text[32];
    std::snprintf(text, sizeof text, "%.10g", value);
    return text;
  } else {
    return std::to_string(value);
  }
}

inline void add_problem(std::string& problems, const std::string& problem) {
  problems += (problems.empty() ? "" : "; ") + problem;
}

// The settings that are out of range, in words; empty if none.
template <class Struct>
std::string settings_out_of_range(const Struct& values) {
  std::string problems;
  Struct::settings([&](const auto& setting) {
    const auto value = values.*setting.member;
    if (!(value >= setting.low && value <= setting.high))
      add_problem(problems, std::string(setting.name) + " is " + setting_text(value) + ", not between " +
                                setting_text(setting.low) + " and " + setting_text(setting.high));
  });
  return problems;
}

}  // namespace qizero
