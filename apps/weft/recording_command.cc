#include "recording_command.h"

#include <fmt/core.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/table.h"
#include "runtime/record/summary.h"

namespace weft {
namespace {

using runtime::JobSummary;
using runtime::RankSummary;
using runtime::Recording;

struct RecordingArguments {
  std::vector<std::string> files;
  std::string perfetto;
  bool json = false;
};

Result<std::vector<Recording>> read_all(const std::vector<std::string>& files) {
  std::vector<Recording> recordings;
  for (const std::string& file : files) {
    const auto bytes = read_file(file, runtime::kMostRecordingBytes);
    if (!bytes.ok()) return bytes.error();
    auto recording = runtime::decode_recording(runtime::view_of(*bytes));
    if (!recording.ok()) {
      Error error = recording.error();
      error.what = fmt::format("{}: {}", file, error.what);
      return error;
    }
    for (std::size_t i = 0; i < recordings.size(); ++i) {
      if (recordings[i].job != recording->job) {
        return Error{ErrorKind::kInvalidInput,
                     fmt::format("{} is of another job than {}", file, files[i]), ""};
      }
      if (recordings[i].rank == recording->rank) {
        return Error{ErrorKind::kInvalidInput,
                     fmt::format("{} and {} are both of rank {}", files[i], file, recording->rank),
                     "give one recording of each rank"};
      }
    }
    recordings.push_back(std::move(*recording));
  }
  return recordings;
}

void print_summary_json(const JobSummary& job) {
  nlohmann::ordered_json json = {{"schema", 1}, {"verdict", job.verdict}};
  json["slowest_ratio"] = job.slowest_ratio;
  if (job.slowest >= 0) {
    json["slowest_rank"] = job.ranks[static_cast<std::size_t>(job.slowest)].rank;
  }
  json["slow"] = nlohmann::ordered_json::array();
  for (const runtime::SlowRank& slow : job.slow) {
    json["slow"].push_back(
        {{"rank", slow.rank}, {"ratio", slow.ratio}, {"since_step", slow.since}});
  }
  json["ranks"] = nlohmann::ordered_json::array();
  for (const RankSummary& rank : job.ranks) {
    json["ranks"].push_back({{"rank", rank.rank},
                             {"member", rank.member},
                             {"steps", rank.steps},
                             {"operations", rank.operations},
                             {"failed", rank.failed},
                             {"bytes", rank.bytes},
                             {"span_s", rank.span_s},
                             {"compute_s", rank.compute_s()},
                             {"wait_s", rank.wait_s},
                             {"communicate_s", rank.communicate_s},
                             {"events", rank.events},
                             {"events_lost", rank.lost}});
  }
  std::fputs((json.dump(2) + "\n").c_str(), stdout);
}

void print_summary_table(const JobSummary& job) {
  Table table({"rank", "steps", "operations", "failed", "MB", "seconds", "compute %", "wait %",
               "communicate %", "events", "lost"});
  for (const RankSummary& rank : job.ranks) {
    const auto share = [&](Seconds part) {
      return rank.span_s > 0 ? three_digits(100 * part / rank.span_s) : "-";
    };
    table.row({fmt::format("{}", rank.rank), fmt::format("{}", rank.steps),
               fmt::format("{}", rank.operations), fmt::format("{}", rank.failed),
               three_digits(1e-6 * static_cast<double>(rank.bytes)), three_digits(rank.span_s),
               share(rank.compute_s()), share(rank.wait_s), share(rank.communicate_s),
               fmt::format("{}", rank.events), fmt::format("{}", rank.lost)});
  }
  std::string text = table.text() + "\n";
  for (const runtime::SlowRank& slow : job.slow) text += in_words(slow) + "\n";
  std::fputs((text + job.verdict + "\n").c_str(), stdout);
}

int run_recording(const RecordingArguments& a) {
  const auto recordings = read_all(a.files);
  if (!recordings.ok()) return report_error("recording", recordings.error());
  if (!a.perfetto.empty()) {
    const Status written = write_file_atomically(a.perfetto, runtime::perfetto_json(*recordings));
    if (!written.ok()) return report_error("recording", written.error());
  }
  const JobSummary job = runtime::summarize(*recordings);
  a.json ? print_summary_json(job) : print_summary_table(job);
  return kExitDone;
}

}  // namespace

Verb add_recording_command(CLI::App& app) {
  const auto a = std::make_shared<RecordingArguments>();  // shared by parser and runner
  CLI::App* verb = app.add_subcommand("recording", "show where the time of recorded ranks went");
  verb->alias("trace");  // its old name; a trace is a list of jobs everywhere else
  verb->add_option("files", a->files, "recordings, one of each rank (WEFT_RECORD)")->required();
  verb->add_option("--perfetto", a->perfetto, "write trace events for ui.perfetto.dev");
  verb->add_flag("--json", a->json, "print JSON");
  verb->footer(
      "compute: not waiting; wait: a thread waited for an operation; communicate: one was in\n"
      "progress, waited for or not.\n"
      "example: WEFT_RECORD=/tmp/run weft launch -n 4 python3 train.py\n"
      "         weft recording /tmp/run.rank* --perfetto run.json");
  return {verb, [a] { return run_recording(*a); }};
}

}  // namespace weft
