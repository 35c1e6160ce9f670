#include "completions_command.h"

#include <fmt/core.h>

#include <memory>
#include <string>
#include <vector>

#include "help_text.h"

namespace weft {
namespace {

struct Word {
  std::string word, says;
};
// A verb, or a verb of a verb: `path` as typed behind `weft`, empty for `weft` itself.
struct CompletionPlace {
  std::string path;
  std::vector<Word> verbs, options;
};

void gather(const CLI::App& app, const std::string& path, std::vector<CompletionPlace>& places) {
  CompletionPlace place{path, {}, {}};
  for (const CLI::Option* option : shown_options(app)) {
    for (const std::string& name : option->get_lnames()) {
      place.options.push_back({"--" + name, option->get_description()});
    }
    for (const std::string& name : option->get_snames()) {
      place.options.push_back({"-" + name, option->get_description()});
    }
  }
  const auto verbs = shown_verbs(app);
  for (const CLI::App* verb : verbs) {
    place.verbs.push_back({verb->get_name(), verb->get_description()});
  }
  places.push_back(std::move(place));
  for (const CLI::App* verb : verbs) {
    gather(*verb, path.empty() ? verb->get_name() : path + " " + verb->get_name(), places);
  }
}

// What may stand in single quotes, for all three shells; long texts are cut at a clause.
std::string quiet(const std::string& text) {
  std::string out;
  for (const char c : text.substr(0, text.find(';'))) {
    if (c == '\'' || c == '\\' || c == '\n') continue;
    out += c == ':' || c == '[' || c == ']' ? ' ' : c;
  }
  return out;
}

std::string joined_words(const std::vector<Word>& words) {
  std::string out;
  for (const Word& word : words) out += (out.empty() ? "" : " ") + word.word;
  return out;
}

// The longest known sequence of verbs before the cursor decides; files where nothing fits.
std::string bash(const std::vector<CompletionPlace>& places) {
  std::string out =
      "_weft() {\n"
      "  local path='' word verbs options current=\"${COMP_WORDS[COMP_CWORD]}\"\n"
      "  for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
      "    case \"${path:+$path }$word\" in\n      ";
  std::string known;
  for (const CompletionPlace& place : places) {
    if (!place.path.empty()) known += (known.empty() ? "'" : "|'") + place.path + "'";
  }
  out += known + ") path=\"${path:+$path }$word\" ;;\n    esac\n  done\n  case \"$path\" in\n";
  for (const CompletionPlace& place : places) {
    out += fmt::format("    '{}') verbs='{}' options='{}' ;;\n", place.path,
                       joined_words(place.verbs), joined_words(place.options));
  }
  out +=
      "  esac\n"
      "  if [[ $current == -* ]]; then\n"
      "    COMPREPLY=($(compgen -W \"$options\" -- \"$current\"))\n"
      "  elif [[ -n $verbs ]]; then\n"
      "    COMPREPLY=($(compgen -W \"$verbs\" -- \"$current\"))\n"
      "  else\n"
      "    COMPREPLY=($(compgen -f -- \"$current\"))\n"
      "  fi\n"
      "}\n"
      "complete -o filenames -F _weft weft\n";
  return out;
}

std::string zsh(const std::vector<CompletionPlace>& places) {
  std::string out =
      "#compdef weft\n_weft() {\n  local path_ word\n  local -a verbs options\n"
      "  for word in ${words[2,CURRENT-1]}; do\n    case \"${path_:+$path_ }$word\" in\n      ";
  std::string known;
  for (const CompletionPlace& place : places) {
    if (!place.path.empty()) known += (known.empty() ? "'" : "|'") + place.path + "'";
  }
  out += known + ") path_=\"${path_:+$path_ }$word\" ;;\n    esac\n  done\n  case \"$path_\" in\n";
  const auto list = [](const std::vector<Word>& words) {
    std::string text;
    for (const Word& word : words) text += fmt::format(" '{}:{}'", word.word, quiet(word.says));
    return text;
  };
  for (const CompletionPlace& place : places) {
    out += fmt::format("    '{}')\n      verbs=({} )\n      options=({} ) ;;\n", place.path,
                       list(place.verbs), list(place.options));
  }
  out +=
      "  esac\n"
      "  if [[ ${words[CURRENT]} == -* ]]; then _describe option options\n"
      "  elif (( $#verbs )); then _describe verb verbs\n"
      "  else _files\n  fi\n}\ncompdef _weft weft\n";
  return out;
}

std::string fish(const std::vector<CompletionPlace>& places) {
  // True when the words before the cursor that are verbs are exactly these.
  std::string out =
      "function __weft_at\n"
      "  set -l path\n"
      "  for word in (commandline -opc)[2..-1]\n"
      "    if contains -- (string join ' ' $path $word) $__weft_paths\n"
      "      set path $path $word\n"
      "    end\n"
      "  end\n"
      "  test (string join ' ' $path) = \"$argv\"\n"
      "end\n"
      "set -g __weft_paths";
  for (const CompletionPlace& place : places) {
    if (!place.path.empty()) out += " '" + place.path + "'";
  }
  out += "\n";
  for (const CompletionPlace& place : places) {
    const std::string when = fmt::format("complete -c weft -n '__weft_at {}'", place.path);
    if (!place.verbs.empty()) out += when + " -f\n";
    for (const Word& verb : place.verbs) {
      out += fmt::format("{} -a {} -d '{}'\n", when, verb.word, quiet(verb.says));
    }
    for (const Word& option : place.options) {
      const bool is_long = option.word.starts_with("--");
      out += fmt::format("{} -{} {} -d '{}'\n", when, is_long ? 'l' : 's',
                         option.word.substr(is_long ? 2 : 1), quiet(option.says));
    }
  }
  return out;
}

}  // namespace

Verb add_completions_command(CLI::App& app) {
  const auto shell = std::make_shared<std::string>();
  CLI::App* verb = app.add_subcommand("completions", "print a shell completion script");
  verb->add_option("shell", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  verb->footer("example: source <(weft completions bash)");
  return {verb, [shell, &app] {
            std::vector<CompletionPlace> places;
            gather(app, "", places);
            const std::string text = *shell == "bash"  ? bash(places)
                                     : *shell == "zsh" ? zsh(places)
                                                       : fish(places);
            fmt::print("{}", text);
            return kExitDone;
          }};
}

}  // namespace weft
