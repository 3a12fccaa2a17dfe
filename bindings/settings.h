// Parameter structs in Python, made from their settings (base/settings.h): keyword arguments, getters, repr, table.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <string>

#include "base/settings.h"
#include "games/game.h"

namespace qizero {

template <class T>
constexpr const char* setting_type() {
  if (std::is_same_v<T, bool>) return "bool";
  if (std::is_enum_v<T>) return "str";
  return std::is_floating_point_v<T> ? "float" : "int";
}

template <class T>
nanobind::object setting_to_python(T value) {
  if constexpr (std::is_enum_v<T>)
    return nanobind::cast(setting_text(value));
  else
    return nanobind::cast(value);
}

// What a setting may be, in words.
template <class Struct, class T>
std::string allowed_values(const Setting<Struct, T>& setting) {
  if constexpr (std::is_same_v<T, bool>) {
    return "True or False";
  } else if constexpr (std::is_enum_v<T>) {
    std::string names;
    for (const std::string_view name : choice_names(T{})) names += (names.empty() ? "" : ", ") + std::string(name);
    return "one of " + names;
  } else {
    return std::string(std::is_floating_point_v<T> ? "a number" : "a whole number") + " between " +
           setting_text(setting.low) + " and " + setting_text(setting.high);
  }
}

// False if the value is of another type, or not one of the choices.
template <class T>
bool setting_from_python(nanobind::handle value, T& result) {
  if constexpr (std::is_enum_v<T>) {
    std::string wanted;
    if (!nanobind::try_cast(value, wanted)) return false;
    const auto names = choice_names(T{});
    for (std::size_t i = 0; i < names.size(); ++i)
      if (names[i] == wanted) return result = static_cast<T>(i), true;
    return false;
  } else {
    return nanobind::try_cast(value, result);
  }
}

// Sets the settings given by name. Throws InvalidInput that names every unknown name and value of a wrong type.
template <class Struct>
void set_settings(Struct& target, const nanobind::kwargs& values, const std::string& what) {
  std::string problems;
  for (const auto [key, value] : values) {
    const auto name = nanobind::cast<std::string>(key);
    bool known = false;
    Struct::settings([&](const auto& setting) {
      if (name != setting.name) return;
      known = true;
      if (!setting_from_python(value, target.*setting.member))
        add_problem(problems, name + " is " + nanobind::cast<std::string>(nanobind::repr(value)) + ", not " +
                                  allowed_values(setting));
    });
    if (known) continue;
    std::string names;
    Struct::settings([&](const auto& setting) { names += (names.empty() ? "" : ", ") + std::string(setting.name); });
    add_problem(problems, "there is no '" + name + "'; there are " + names);
  }
  if (!problems.empty()) throw InvalidInput(what + ": " + problems);
}

// ", name: type = default" of every setting, for a signature.
template <class Struct>
std::string settings_signature() {
  std::string text;
  Struct::settings([&]<class T>(const Setting<Struct, T>& setting) {
    const auto initial = nanobind::cast<std::string>(nanobind::repr(setting_to_python(setting.initial)));
    text += std::string(", ") + setting.name + ": " + setting_type<T>() + " = " + initial;
  });
  return text;
}

// Getters, and a repr that shows what differs from the defaults.
template <class Struct, class Class>
void bind_settings(Class& binding, const char* name) {
  Struct::settings([&](const auto& setting) {
    const auto member = setting.member;
    const std::string signature =
        std::string("def ") + setting.name + "(self) -> " + setting_type<std::decay_t<decltype(setting.initial)>>();
    binding.def_prop_ro(
        setting.name, [member](const Struct& values) { return setting_to_python(values.*member); },
        nanobind::sig(signature.c_str()), setting.meaning);
  });
  binding.def("__repr__", [name](const Struct& values) {
    std::string text;
    Struct::settings([&](const auto& setting) {
      const auto value = values.*setting.member;
      if (value != setting.initial)
        text += (text.empty() ? "" : ", ") + std::string(setting.name) + "=" +
                nanobind::cast<std::string>(nanobind::repr(setting_to_python(value)));
    });
    return std::string(name) + "(" + text + ")";
  });
}

// A row per setting: group, name, meaning, type, low, high, choices, default. Only numbers have low and high.
template <class Struct>
void append_settings(nanobind::list& table, const char* group) {
  Struct::settings([&]<class T>(const Setting<Struct, T>& setting) {
    constexpr bool is_number = !std::is_enum_v<T> && !std::is_same_v<T, bool>;
    nanobind::dict row;
    nanobind::list choices;
    if constexpr (std::is_enum_v<T>)
      for (const std::string_view choice : choice_names(T{})) choices.append(std::string(choice));
    row["group"] = group;
    row["name"] = setting.name;
    row["meaning"] = setting.meaning;
    row["type"] = setting_type<T>();
    row["low"] = is_number ? setting_to_python(setting.low) : nanobind::none();
    row["high"] = is_number ? setting_to_python(setting.high) : nanobind::none();
    row["choices"] = choices;
    row["default"] = setting_to_python(setting.initial);
    table.append(row);
  });
}

}  // namespace qizero
