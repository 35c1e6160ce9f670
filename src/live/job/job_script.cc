#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>

#include "base/delimited.h"
#include "live/job/job_check.h"
#include "live/job/job_fields.h"
#include "live/job/job_file.h"
#include "live/job/job_text.h"
#include "live/job/sbatch_headers.h"
#include "model/readers/table_reader.h"

namespace weft::live {
namespace {

// Stands in the script's first line, in place of "#!": every task runs the script, so `srun
// COMMAND` is the command itself, and the variables that sbatch scripts look at are there.
constexpr std::string_view kPrelude =
    "srun() { while :; do case \"$1\" in "
    "--label|--unbuffered|--overlap|--exact|--exclusive|--pty|--kill-on-bad-exit|--*=*) shift;; "
    "-[EHIKOQXklsuv]*|-[a-zA-Z]?*) shift;; "
    "--?*|-[a-zA-Z]) [ $# -ge 2 ] || return 2; shift 2;; *) break;; esac; done; \"$@\"; }; "
    "export SLURM_PROCID=\"${RANK:-0}\" SLURM_LOCALID=\"${LOCAL_RANK:-0}\" "
    "SLURM_NTASKS=\"${WORLD_SIZE:-1}\" SLURM_NODEID=\"${GROUP_RANK:-0}\"";

// "90" (minutes), "1:30" (minutes:seconds), "2:00:00", "1-12" (days-hours), "1-12:30:00".
std::optional<Seconds> parse_slurm_time(std::string_view text) {
  const std::size_t dash = text.find('-');
  std::optional<std::int64_t> days = 0;
  if (dash != std::string_view::npos) {
    days = parse_integer(text.substr(0, dash));
    text = text.substr(dash + 1);
  }
  std::vector<double> parts;
  for (const std::string_view part : split_text(text, ':')) {
    const auto value = parse_integer(part);
    if (!value || *value < 0 || *value > 10'000'000) return std::nullopt;
    parts.push_back(static_cast<double>(*value));
  }
  if (!days || *days < 0 || *days > 10'000 || parts.size() > 3) return std::nullopt;
  if (dash == std::string_view::npos) {
    if (parts.size() == 1) return parts[0] * 60;
    if (parts.size() == 2) return parts[0] * 60 + parts[1];
  }
  parts.resize(3);
  return static_cast<double>(*days) * 86'400 + parts[0] * 3600 + parts[1] * 60 + parts[2];
}

// "4000" (MiB), "4G", "512K", with or without a B.
std::optional<Bytes> parse_slurm_memory(std::string_view text) {
  if (!text.empty() && (text.back() == 'B' || text.back() == 'b')) text.remove_suffix(1);
  double unit = 0x1p20;
  if (!text.empty()) {
    constexpr std::string_view kUnits = "KMGT";
    const std::size_t found = kUnits.find(static_cast<char>(text.back() & ~0x20));
    if (found != std::string_view::npos) {
      unit = 0x1p10;
      for (std::size_t i = 0; i < found; ++i) unit *= 1024;
      text.remove_suffix(1);
    }
  }
  const auto value = parse_integer(text);
  if (!value || *value < 1) return std::nullopt;
  const double bytes = static_cast<double>(*value) * unit;
  if (bytes > kMaxMemory) return std::nullopt;
  return static_cast<Bytes>(bytes);
}

// Fills a job from headers. Those whose meaning depends on others wait for finish().
class ScriptReader {
 public:
  ScriptReader(const std::string& file, std::vector<std::string>& warnings)
      : file_(file), warnings_(warnings) {
    job_.name = job_name_of(file);
  }

  Result<JobSpec> read(std::string_view text) {
    check_interpreter(text);
    const SbatchScript script = scan_sbatch(text);
    for (const auto& [line, what] : script.complaints) complain(line, what);
    for (const auto& [line, what] : script.warnings) warn(line, what);
    for (const SbatchHeader& header : script.headers) take(header);
    if (!script.has_command) complain(1, "the script holds no command");
    finish();
    const std::size_t first_end = std::min(text.find('\n'), text.size());
    job_.run = std::string(kPrelude) + std::string(text.substr(first_end));
    for (const JobProblem& problem : check_job(job_)) {
      if (!unread_.touch(problem)) complain(line_of(problem), problem.what);
    }
    if (!complaints_.empty()) return complaints_.error("docs/jobs.md lists the headers");
    return std::move(job_);
  }

 private:
  void complain(long line, std::string_view what) {
    weft::complain(complaints_, file_, line, what);
  }
  void warn(long line, std::string_view what) {
    warnings_.push_back(fmt::format("{}:{}: {}", file_, line, what));
  }

  void check_interpreter(std::string_view text) {
    std::string_view first = trimmed(text.substr(2, text.find('\n') - 2));
    if (text.find('\n') == std::string_view::npos) first = trimmed(text.substr(2));
    const std::vector<std::string_view> words = split_text(first, ' ');
    std::string_view program = words.front();
    if (program.ends_with("/env") && words.size() > 1) program = words[1];
    program = program.substr(program.rfind('/') + 1);
    if (program == "sh" || program == "bash" || program == "dash") return;
    complain(
        1, fmt::format("the script is for {}; only sh and bash scripts are read", shown(program)));
  }

  void take(const SbatchHeader& header) {
    const SbatchOption* const option = find_sbatch_option(header.name);
    if (option == nullptr) {
      return complain(header.line, fmt::format("--{} is not read{}", shown(header.name),
                                               did_you_mean(header.name, sbatch_option_names())));
    }
    if (option->use == SbatchUse::kIgnored) {
      return warn(header.line, fmt::format("--{} is ignored: {}", header.name, option->note));
    }
    if (option->use == SbatchUse::kRefused) {
      return complain(header.line,
                      fmt::format("--{} is not supported: {}", header.name, option->note));
    }
    headers_[header.name] = header;  // the last one counts, as in sbatch
  }

  // The header of that name; `field` is what it gives.
  const SbatchHeader* find(const char* name, const char* field) {
    const auto found = headers_.find(name);
    if (found == headers_.end()) return nullptr;
    lines_[field] = found->second.line;
    return &found->second;
  }

  void refuse(const SbatchHeader& header, std::string_view wanted, const char* field) {
    complain(header.line,
             fmt::format("--{} is {}; it must be {}", header.name, shown(header.value), wanted));
    unread_.add(field);
  }

  std::optional<std::int64_t> integer(const char* name, const char* field, std::int64_t low,
                                      std::int64_t high) {
    const SbatchHeader* const header = find(name, field);
    if (header == nullptr) return std::nullopt;
    const auto value = parse_integer(header->value);
    if (value && *value >= low && *value <= high) return value;
    refuse(*header, fmt::format("a whole number from {} to {}", low, high), field);
    return std::nullopt;
  }

  void finish() {
    if (const auto* header = find("job-name", "name")) job_.name = header->value;
    if (const auto* header = find("chdir", "workdir")) job_.workdir = header->value;
    if (const auto* header = find("partition", "queue")) job_.queue = header->value;
    finish_size();
    finish_beside();
    finish_rules();
    finish_times();
    if (const auto* header = find("dependency", "depends_on")) read_dependency(*header);
    if (const auto* header = find("export", "envs")) read_export(*header);
  }

  void finish_size() {
    if (const auto nodes = integer("nodes", "num_nodes", 1, kMaxNodes)) {
      job_.num_nodes = static_cast<std::uint32_t>(*nodes);
    }
    const auto per_node = integer("ntasks-per-node", "workers_per_node", 1, kMaxWorkersPerNode);
    const auto tasks = integer("ntasks", "workers_per_node", 1, kMaxWorkers);
    if (per_node) job_.workers_per_node = static_cast<std::uint32_t>(*per_node);
    if (tasks) {
      const std::int64_t on_node = *tasks / job_.num_nodes;
      if (*tasks % job_.num_nodes != 0 || (per_node && *per_node != on_node) ||
          on_node > kMaxWorkersPerNode) {
        refuse(*find("ntasks", "workers_per_node"), "the same number on each node",
               "workers_per_node");
      } else {
        job_.workers_per_node = static_cast<std::uint32_t>(on_node);
      }
    }
    std::optional<AcceleratorChoice> choice;
    for (const char* const name : {"gres", "gpus-per-node", "gpus", "gpus-per-task"}) {
      const SbatchHeader* const header = find(name, "resources.accelerators");
      if (header == nullptr) continue;
      auto read = read_devices(*header);
      if (!read) {
        unread_.add("resources.accelerators");
      } else if (choice && *choice != *read) {
        complain(header->line,
                 fmt::format("--{} says {} devices on a node, another header {}", name,
                             accelerator_text(*read), accelerator_text(*choice)));
      }
      if (read) choice = read;
    }
    if (choice) job_.resources.accelerators = {*choice};
  }

  // Devices on each node.
  std::optional<AcceleratorChoice> read_devices(const SbatchHeader& header) {
    std::string_view value = header.value;
    if (header.name == "gres") {
      const bool gpu = value == "gpu" || value.starts_with("gpu:");
      if (!gpu) {
        refuse(header, "gpu, gpu:COUNT or gpu:TYPE:COUNT", "resources.accelerators");
        return std::nullopt;
      }
      value = value == "gpu" ? std::string_view("1") : value.substr(4);
    }
    const std::size_t colon = value.rfind(':');
    const auto count =
        parse_integer(colon == std::string_view::npos ? value : value.substr(colon + 1));
    const bool typed = colon != std::string_view::npos || !count;  // "a100" is one a100
    std::int64_t on_node = count.value_or(1);
    bool even = true;
    if (header.name == "gpus") {
      even = on_node % job_.num_nodes == 0;
      on_node /= job_.num_nodes;
    } else if (header.name == "gpus-per-task") {
      on_node *= std::max(1U, job_.workers_per_node);
    }
    const std::string type(typed ? value.substr(0, count ? colon : value.size()) : "any");
    auto choice = even ? parse_accelerator(fmt::format("{}:{}", type, on_node)) : std::nullopt;
    if (!choice) {
      refuse(header, "COUNT or TYPE:COUNT, the same from 1 to 64 on each node",
             "resources.accelerators");
    }
    return choice;
  }

  // Processors and memory of a node.
  void finish_beside() {
    const std::int64_t tasks = job_.ranks_per_node();
    const auto cpus = integer("cpus-per-task", "resources.cpus", 1, 100'000);
    if (cpus) job_.resources.cpus = static_cast<double>(*cpus * tasks);
    const auto memory = [&](const char* name, std::int64_t times) {
      const SbatchHeader* const header = find(name, "resources.memory");
      if (header == nullptr) return;
      const auto bytes = parse_slurm_memory(header->value);
      if (!bytes || *bytes > static_cast<Bytes>(kMaxMemory) / times) {
        return refuse(*header, "a size above 0 such as 4000 (MiB) or 32G", "resources.memory");
      }
      job_.resources.memory = *bytes * times;
    };
    memory("mem", 1);
    memory("mem-per-cpu", std::max<std::int64_t>(1, cpus.value_or(1) * tasks));
    memory("mem-per-gpu", job_.devices_per_node());
  }

  void finish_rules() {
    if (const auto nice = integer("nice", "priority", -kMaxPriority, kMaxPriority)) {
      job_.priority = static_cast<std::int32_t>(-*nice);
    }
    if (const auto priority = integer("priority", "priority", -kMaxPriority, kMaxPriority)) {
      job_.priority = static_cast<std::int32_t>(*priority);
    }
    const SbatchHeader* const never = find("no-requeue", "retries");
    const SbatchHeader* const requeue = find("requeue", "retries");
    if (never != nullptr && (requeue == nullptr || requeue->line < never->line)) {
      job_.retries.max = 0;
    }
    if (const auto* header = find("array", "array")) {
      Result<JobArray> array = parse_array(header->value);
      if (array.ok()) {
        job_.array = std::move(*array);
      } else {
        refuse(*header, fmt::format("a list of indices: {}", array.error().what), "array");
      }
    }
  }

  void finish_times() {
    if (const auto* header = find("time", "time")) {
      const auto time = parse_slurm_time(header->value);
      if (time && *time > 0 && *time <= kMaxDuration) {
        job_.time = *time;
      } else {
        refuse(*header, "MINUTES, M:S, H:M:S, D-H, D-H:M or D-H:M:S", "time");
      }
    }
    if (const auto* header = find("signal", "checkpoint")) {
      // [R][B][:]SIGNAL[@SECONDS]; which processes get it is the same for every job here.
      std::string_view value = header->value;
      if (const std::size_t colon = value.find(':'); colon != std::string_view::npos) {
        value = value.substr(colon + 1);
      }
      const std::size_t at = std::min(value.find('@'), value.size());
      const std::string name = signal_name(value.substr(0, at));
      const auto grace = at < value.size() ? parse_integer(value.substr(at + 1)) : 60;
      if (name.empty() || !grace || *grace < 0 || *grace > 65'535) {
        return refuse(*header, fmt::format("SIGNAL[@SECONDS] with {}", signal_wanted()),
                      "checkpoint");
      }
      job_.checkpoint.signal = name;
      job_.checkpoint.grace = static_cast<double>(*grace);
    }
  }

  // "afterok:a:b,afterany:c".
  void read_dependency(const SbatchHeader& header) {
    constexpr std::array<std::pair<std::string_view, DependencyCondition>, 3> kKinds = {
        {{"afterok", DependencyCondition::kOk},
         {"afterany", DependencyCondition::kAny},
         {"afternotok", DependencyCondition::kFailed}}};
    for (const std::string_view part : split_text(header.value, ',')) {
      const std::vector<std::string_view> words = split_text(part, ':');
      const auto kind = std::find_if(kKinds.begin(), kKinds.end(),
                                     [&](const auto& known) { return known.first == words[0]; });
      if (kind == kKinds.end() || words.size() < 2) {
        return refuse(header, "afterok:JOB, afterany:JOB or afternotok:JOB, by ',' and ':'",
                      "depends_on");
      }
      for (std::size_t i = 1; i < words.size(); ++i) {
        job_.depends_on.push_back({std::string(words[i]), kind->second});
      }
    }
  }

  // "ALL,NAME=VALUE,NAME=VALUE".
  void read_export(const SbatchHeader& header) {
    for (const std::string_view part : split_text(header.value, ',')) {
      const std::size_t equals = part.find('=');
      if (part == "ALL" || part == "NONE" || part == "NIL") {
        if (part == "ALL") warn(header.line, "--export=ALL: nothing is taken from your shell");
        continue;
      }
      if (equals == std::string_view::npos) {
        return refuse(header, "NAME=VALUE, by ','; values are not taken from your shell", "envs");
      }
      job_.envs[std::string(part.substr(0, equals))] = std::string(part.substr(equals + 1));
    }
  }

  // The line of the header that gave the field, or part of it; else the first.
  long line_of(const JobProblem& problem) const {
    for (const auto& [field, line] : lines_) {
      if (problem.field.starts_with(field)) return line;
    }
    return 1;
  }

  const std::string& file_;
  std::vector<std::string>& warnings_;
  Complaints complaints_;
  UnreadFields unread_;
  JobSpec job_;
  std::map<std::string, SbatchHeader> headers_;
  std::map<std::string, long> lines_;
};

}  // namespace

Result<JobSpec> read_job_script(std::string_view text, const std::string& file_name,
                                std::vector<std::string>& warnings) {
  if (const Status status = check_is_text({file_name, text}); !status.ok()) return status.error();
  return ScriptReader(file_name, warnings).read(text);
}

}  // namespace weft::live
