#include "runtime/any_game.h"

#include <algorithm>
#include <charconv>

#include "base/quoted.h"

namespace qizero {
namespace {

std::string join(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

int parse_option(const OptionSpec& spec, std::string_view game_id, const std::string& text) {
  const std::string where = std::string(game_id) + ": option " + std::string(spec.name);
  if (!spec.choices.empty()) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < spec.choices.size(); ++i) {
      if (spec.choices[i] == text) return static_cast<int>(i);
      names.emplace_back(spec.choices[i]);
    }
    throw InvalidInput(where + " is " + quoted(text) + "; allowed are " + join(names));
  }
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < spec.min || value > spec.max)
    throw InvalidInput(where + " is " + quoted(text) + "; allowed are whole numbers from " + std::to_string(spec.min) +
                       " to " + std::to_string(spec.max));
  return value;
}

}  // namespace

std::string AnyGame::spec() const {
  std::string inside;
  for (std::size_t i = 0; i < option_specs().size(); ++i) {
    const OptionSpec& option = option_specs()[i];
    const int value = options()[i];
    if (value == option.default_value) continue;
    inside +=
        (inside.empty() ? "" : ",") + std::string(option.name) + "=" +
        (option.choices.empty() ? std::to_string(value) : std::string(option.choices[static_cast<std::size_t>(value)]));
  }
  return std::string(info().id) + (inside.empty() ? "" : "(" + inside + ")");
}

std::string AnyGame::sentence(const Refusal& refusal) const {
  std::string_view words = refusal.code;  // of a code without words, which the laws refuse
  for (const std::span<const RefusalWords> table : {refusals(), std::span<const RefusalWords>(common_refusals)})
    for (const RefusalWords& row : table)
      if (row.code == refusal.code) words = row.english;
  std::string text;
  while (!words.empty()) {
    const std::size_t open = std::min(words.find('{'), words.size());
    text += words.substr(0, open);
    words.remove_prefix(open);
    if (words.empty()) break;
    const std::size_t close = words.find('}');
    for (const auto& [name, value] : refusal.values)
      if (name == words.substr(1, close - 1)) text += value;
    words.remove_prefix(close + 1);
  }
  return text;
}

std::string AnyState::why_illegal(int action) const {
  std::optional<Refusal> refused = refusal(action);
  if (!refused) return "";
  if (refused->code == out_of_range.code) throw game()->illegal(*std::move(refused));
  return game()->sentence(*refused);
}

Refusal range_refusal(std::int64_t action, int num_actions) {
  return {out_of_range.code, {{"action", std::to_string(action)}, {"last", std::to_string(num_actions - 1)}}};
}

std::shared_ptr<const AnyGame> make_game(std::string_view spec, const NamedOptions& more) {
  NamedOptions named = more;
  std::string_view id = spec;
  if (const std::size_t open = spec.find('('); open != std::string_view::npos) {
    if (!spec.ends_with(')'))
      throw InvalidInput("game " + quoted(spec) + " lacks its closing parenthesis; write it like 'gomoku(size=9)'");
    id = spec.substr(0, open);
    std::string_view inside = spec.substr(open + 1, spec.size() - open - 2);
    while (!inside.empty()) {
      const std::size_t end = std::min(inside.find(','), inside.size());
      const std::string_view item = inside.substr(0, end);
      const std::size_t equals = item.find('=');
      if (equals == std::string_view::npos)
        throw InvalidInput("game " + quoted(spec) + ": " + quoted(item) + " is not name=value");
      const auto [_, added] = named.emplace(item.substr(0, equals), item.substr(equals + 1));
      if (!added)
        throw InvalidInput("game " + quoted(spec) + ": option " + quoted(item.substr(0, equals)) + " is given twice");
      inside.remove_prefix(std::min(end + 1, inside.size()));
    }
  }

  std::vector<std::string> ids;
  for (const CatalogEntry& entry : catalog()) {
    ids.emplace_back(entry.info->id);
    if (entry.info->id != id) continue;
    OptionValues values{};
    std::vector<std::string> known;
    for (std::size_t i = 0; i < entry.option_specs.size(); ++i) {
      const OptionSpec& option = entry.option_specs[i];
      known.emplace_back(option.name);
      const auto given = named.find(option.name);
      values[i] = given == named.end() ? option.default_value : parse_option(option, id, given->second);
      if (given != named.end()) named.erase(given);
    }
    if (!named.empty())
      throw InvalidInput(std::string(id) + " has no option " + quoted(named.begin()->first) + "; " +
                         (known.empty() ? "it has none" : "it has " + join(known)));
    return entry.make(values);
  }
  throw InvalidInput("there is no game " + quoted(id) + "; there are " + join(ids));
}

}  // namespace qizero
