#include "help_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>

#include "base/wrap.h"

namespace weft {
namespace {

constexpr std::size_t kNameColumns = 26;  // of options, with the margin before them

std::string path_of_verb(const CLI::App& app) {
  return app.get_parent() == nullptr ? "weft"
                                     : path_of_verb(*app.get_parent()) + " " + app.get_name();
}

bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

// CLI11 gives `FLOAT:from 0 to 1` or `TEXT:{a,b}`: a type, and what its checks allow.
std::pair<std::string, std::string> type_and_limits(const CLI::Option& option) {
  const std::string text = option.get_type_name();
  const std::size_t colon = std::min(text.find(':'), text.size());
  return {text.substr(0, colon), colon < text.size() ? text.substr(colon + 1) : ""};
}

std::string value_word(const CLI::Option& option) {
  const std::string type = type_and_limits(option).first;
  const std::string word = type.starts_with("FLOAT")                             ? "X"
                           : type.starts_with("INT") || type.starts_with("UINT") ? "N"
                                                                                 : "TEXT";
  return word + (option.get_items_expected_max() > 1 ? "..." : "");
}

std::string names_of_option(const CLI::Option& option) {
  std::string names;
  const auto add = [&](const std::string& name) { names += (names.empty() ? "" : ", ") + name; };
  for (const std::string& name : option.get_snames()) add("-" + name);
  for (const std::string& name : option.get_lnames()) add("--" + name);
  if (names.empty()) return option.get_name(true);
  return takes_value(option) ? names + " " + value_word(option) : names;
}

// Limits are told, unless they are choices that the description names one by one.
std::string description_of_option(const CLI::Option& option) {
  const std::string says = option.get_description(), limits = type_and_limits(option).second;
  if (limits.empty()) return says;
  if (!limits.starts_with('{')) return fmt::format("{} [{}]", says, limits);
  bool told = true;
  std::string choices;
  for (std::size_t from = 1; from < limits.size();) {
    const std::size_t to = std::min(limits.find_first_of(",}", from), limits.size());
    const std::string choice = limits.substr(from, to - from);
    told = told && says.find(choice) != std::string::npos;
    choices += (choices.empty() ? "" : ", ") + choice;
    from = to + 1;
  }
  return told ? says : fmt::format("{} [{}]", says, choices);
}

// `name` on the left, `says` on the right, in lines of its own where the name is long.
std::string help_line(const std::string& name, const std::string& says, std::size_t column) {
  std::string line = "  " + name;
  if (columns_of(line) + 2 > column) {
    line += "\n" + std::string(column, ' ');
  } else {
    line += std::string(column - columns_of(line), ' ');
  }
  return line + wrapped(says, kPageColumns, column, column) + "\n";
}

std::string usage_of(const CLI::App& app) {
  std::string text = "usage: " + path_of_verb(app);
  std::string positionals;
  for (const CLI::Option* option : shown_options(app)) {
    if (option->nonpositional()) {
      if (!option->get_required()) continue;
      const std::string names = names_of_option(*option);
      // The first spelling is enough.
      const std::size_t comma = names.find(", "), blank = names.rfind(' ');
      text +=
          " " + (comma == std::string::npos ? names : names.substr(0, comma) + names.substr(blank));
    } else {
      std::string name = option->get_name(true);
      std::transform(name.begin(), name.end(), name.begin(),
                     [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
      if (option->get_items_expected_max() > 1) name += "...";
      positionals += option->get_required() ? " " + name : " [" + name + "]";
    }
  }
  text += " [options]" + positionals;
  if (app.get_prefix_command()) text += " COMMAND...";
  if (!shown_verbs(app).empty()) {
    text += app.get_require_subcommand_min() > 0 ? " VERB" : " [VERB]";
  }
  return wrapped(text, kPageColumns, 7) + "\n";
}

std::string verb_lines(const std::vector<const CLI::App*>& verbs) {
  std::size_t longest = 0;
  for (const CLI::App* verb : verbs) longest = std::max(longest, verb->get_name().size());
  std::string text;
  for (const CLI::App* verb : verbs) {
    text += help_line(verb->get_name(), verb->get_description(), longest + 4);
  }
  return text;
}

// Options without a group of their own come first; CLI11 calls theirs "Options" or "OPTIONS".
std::string option_sections(const CLI::App& app) {
  std::string arguments, plain, rest;
  std::vector<std::string> groups;
  const auto line = [](const CLI::Option& option) {
    return help_line(names_of_option(option), description_of_option(option), kNameColumns);
  };
  const auto all = shown_options(app);
  for (const CLI::Option* option : all) {
    std::string group = option->get_group();
    std::transform(group.begin(), group.end(), group.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (!option->nonpositional()) {
      arguments += line(*option);
    } else if (group == "options") {
      plain += line(*option);
    } else if (std::find(groups.begin(), groups.end(), option->get_group()) == groups.end()) {
      groups.push_back(option->get_group());
    }
  }
  for (const std::string& group : groups) {
    rest += "\n" + group + ":\n";
    for (const CLI::Option* option : all) {
      if (option->get_group() == group && option->nonpositional()) rest += line(*option);
    }
  }
  return (arguments.empty() ? "" : "\narguments:\n" + arguments) +
         (plain.empty() ? "" : "\noptions:\n" + plain) + rest;
}

// `weft --help` itself: verbs by what one wants to do, on one screen.
std::string overview(const CLI::App& app) {
  std::size_t longest = 0;
  for (const VerbPlace& place : kVerbPlaces) {
    longest = std::max(longest, std::string_view(place.verb).size());
  }
  std::string text = app.get_description() + "\n", group;
  const auto verbs = shown_verbs(app);
  for (const VerbPlace& place : kVerbPlaces) {
    if (group != place.group) text += fmt::format("\n{}\n", place.group);
    group = place.group;
    for (const CLI::App* verb : verbs) {
      if (verb->get_name() != place.verb) continue;
      text += help_line(place.verb, verb->get_description(), longest + 4);
    }
  }
  return text + "\n" + app.get_footer() + "\n";
}

}  // namespace

std::vector<const CLI::App*> shown_verbs(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* verb) {
    return verb->get_group() != kHidden && !verb->get_name().empty();
  });
}

std::vector<const CLI::Option*> shown_options(const CLI::App& app) {
  return app.get_options([](const CLI::Option* option) { return option->get_group() != kHidden; });
}

std::string help_text(const CLI::App& app) {
  if (app.get_parent() == nullptr) return overview(app);
  std::string text = wrapped(path_of_verb(app) + ": " + app.get_description(), kPageColumns) +
                     "\n\n" + usage_of(app);
  const auto verbs = shown_verbs(app);
  if (!verbs.empty()) text += "\nverbs:\n" + verb_lines(verbs);
  text += option_sections(app);
  if (const std::string footer = app.get_footer(); !footer.empty()) {
    text += "\n" + wrapped(footer, kPageColumns) + "\n";
  }
  return text;
}

}  // namespace weft
