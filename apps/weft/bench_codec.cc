#include "bench_codec.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/quantity.h"
#include "base/table.h"
#include "codec/codecs.h"
#include "codec_speed.h"
#include "machine_state.h"

namespace weft {
namespace {

struct CodecArguments {
  std::vector<std::string> codecs;
  std::string size = "100MB";
  int rounds = 7;
  std::uint64_t seed = 1;
  bool json = false, list = false;
};

// What is measured when nothing is named: one of each kind. Error feedback is on wherever a codec
// can have it; TernGrad and QSGD also as they were published, without.
constexpr const char* kUsual[] = {"fp16:ef=1",
                                  "bf16:ef=1",
                                  "fp8",
                                  "int8",
                                  "int4",
                                  "qsgd",
                                  "qsgd:ef=1,round=random",
                                  "terngrad",
                                  "terngrad:ef=1",
                                  "natural:ef=1",
                                  "sign",
                                  "efsign",
                                  "onebit",
                                  "topk:rate=0.01",
                                  "topk:rate=0.01+int8",
                                  "dgc:rate=0.01",
                                  "randomk:rate=0.01",
                                  "powersgd:rank=4"};

// GRACE (Xu et al., ICDCS 2021; commit fd3a7f4) under torch 1.13 on one thread of an EPYC of the
// third generation, 25 million floats, best of three: GB/s of compress and decompress together,
// without error feedback, measured by this project. Another machine, hence only beside.
struct GraceFigure {
  const char* codec;
  double both_gb_s;
};
constexpr GraceFigure kGrace[] = {{"fp16", 0.90},    {"sign", 0.33},      {"efsign", 0.23},
                                  {"onebit", 0.081}, {"terngrad", 0.097}, {"qsgd", 0.067},
                                  {"topk", 0.121},   {"dgc", 0.281},      {"threshold", 0.536},
                                  {"randomk", 1.50}, {"powersgd", 0.585}};

std::optional<double> grace_gb_s(const std::string& codec) {
  const std::string name = codec.substr(0, codec.find_first_of(":+"));
  for (const GraceFigure& figure : kGrace) {
    if (name == figure.codec) return figure.both_gb_s;
  }
  return {};
}

struct CodecRow {
  std::string codec;
  std::size_t residual_bytes = 0;  // of a value; 0: no error feedback
  double compress_gb_s = 0, decompress_gb_s = 0, both_gb_s = 0;
  double of_memcpy = 0, of_memcpy_median = 0, ratio = 0;
  // What of_memcpy would be if the bytes that must move did so at memcpy's rate.
  double by_bytes = 0;
};

double least(const std::vector<double>& seconds) {
  return *std::min_element(seconds.begin(), seconds.end());
}

CodecRow codec_row(const codec::Codec& codec, std::size_t count, const CodecSpeed& speed) {
  const double bytes = static_cast<double>(count * sizeof(float));
  const double compress_s = least(speed.compress_s), decompress_s = least(speed.decompress_s);
  CodecRow row;
  row.codec = codec.text();
  row.residual_bytes = codec.make_state(1, {}).residual_bytes();
  row.compress_gb_s = 1e-9 * bytes / compress_s;
  row.decompress_gb_s = 1e-9 * bytes / decompress_s;
  row.both_gb_s = 1e-9 * bytes / (compress_s + decompress_s);
  row.of_memcpy = speed.best_share();
  row.of_memcpy_median = speed.median_share();
  row.ratio = bytes / speed.wire_bytes;
  // Read the values, read and write the residual, write and read the code, write the values.
  const double residual = static_cast<double>(count * row.residual_bytes);
  const double moved = bytes + 2 * residual + 2 * speed.wire_bytes + bytes;
  row.by_bytes = 2 * bytes / moved;
  return row;
}

void print_codecs_json(const CodecArguments& a, std::size_t count, double memcpy_gb_s,
                       const std::vector<CodecRow>& rows) {
  nlohmann::ordered_json json = {{"schema", 1},
                                 {"bytes", count * sizeof(float)},
                                 {"rounds", a.rounds},
                                 {"seed", a.seed},
                                 {"memcpy_gb_s", memcpy_gb_s}};
  if (const auto load = load_average()) json["load_average"] = *load;
  json["rows"] = nlohmann::ordered_json::array();
  for (const CodecRow& row : rows) {
    nlohmann::ordered_json out = {{"codec", row.codec},
                                  {"error_feedback", row.residual_bytes > 0},
                                  {"residual_bytes", row.residual_bytes},
                                  {"compress_gb_s", row.compress_gb_s},
                                  {"decompress_gb_s", row.decompress_gb_s},
                                  {"roundtrip_gb_s", row.both_gb_s},
                                  {"roundtrip_of_memcpy", row.of_memcpy},
                                  {"roundtrip_of_memcpy_median", row.of_memcpy_median},
                                  {"roundtrip_of_memcpy_by_bytes", row.by_bytes},
                                  {"ratio", row.ratio}};
    if (const auto grace = grace_gb_s(row.codec)) out["grace_roundtrip_gb_s"] = *grace;
    json["rows"].push_back(out);
  }
  std::fputs((json.dump(2) + "\n").c_str(), stdout);
}

void print_codecs_table(const CodecArguments& a, std::size_t count, double memcpy_gb_s,
                        const std::vector<CodecRow>& rows) {
  Table table({"<codec", "<feedback", "compress GB/s", "decompress GB/s", "both GB/s", "of memcpy",
               "median", "by bytes", "ratio", "GRACE both GB/s"});
  for (const CodecRow& row : rows) {
    const auto grace = grace_gb_s(row.codec);
    table.row({row.codec, row.residual_bytes > 0 ? std::to_string(row.residual_bytes) + " B" : "no",
               three_digits(row.compress_gb_s), three_digits(row.decompress_gb_s),
               three_digits(row.both_gb_s), three_digits(row.of_memcpy),
               three_digits(row.of_memcpy_median), three_digits(row.by_bytes),
               three_digits(row.ratio), grace ? three_digits(*grace) : "-"});
  }
  std::fputs(
      fmt::format("{} of float32, one thread, best of {} rounds; memcpy {} GB/s in between\n\n{}\n"
                  "GB/s of float32 in; of memcpy: its time over that of compress and decompress\n"
                  "by bytes: the same if what must be read and written moved at memcpy's rate\n"
                  "GRACE: torch 1.13 on another processor (EPYC, third generation), no feedback\n",
                  bytes_text(static_cast<double>(count * sizeof(float))), a.rounds,
                  three_digits(memcpy_gb_s), table.text())
          .c_str(),
      stdout);
}

int print_list(bool json) {
  if (json) {
    nlohmann::ordered_json codecs = nlohmann::ordered_json::array();
    for (const codec::CodecHelp& help : codec::codec_list()) {
      codecs.push_back({{"codec", help.name},
                        {"family", help.family == codec::Family::kOpaque ? "opaque" : "linear"},
                        {"parameters", help.parameters},
                        {"summary", help.summary}});
    }
    std::fputs((codecs.dump(2) + "\n").c_str(), stdout);
    return kExitDone;
  }
  Table table({"<codec", "<family", "<parameters", "<what it sends"});
  for (const codec::CodecHelp& help : codec::codec_list()) {
    table.row({help.name, help.family == codec::Family::kOpaque ? "opaque" : "linear",
               help.parameters, help.summary});
  }
  std::fputs(table.text().c_str(), stdout);
  return kExitDone;
}

int run_codecs(const CodecArguments& a) {
  if (a.list) return print_list(a.json);
  const auto bytes = parse_bytes(a.size);
  constexpr double kMostBytes = 8e9;
  if (!bytes || *bytes < 4 || *bytes > kMostBytes) {
    return report_error("bench codec", {ErrorKind::kInvalidInput,
                                        fmt::format("--size is '{}'; it must be from 4 to {} bytes",
                                                    a.size, kMostBytes),
                                        std::string(kBytesWanted)});
  }
  std::vector<std::string> names = a.codecs;
  if (names.empty()) names.assign(std::begin(kUsual), std::end(kUsual));
  if (names == std::vector<std::string>{"all"}) {
    names.clear();
    for (const codec::CodecHelp& help : codec::codec_list()) names.push_back(help.name);
  }
  std::vector<std::unique_ptr<codec::Codec>> codecs;
  for (const std::string& name : names) {
    auto made = codec::make_codec(name);
    if (!made.ok()) return report_error("bench codec", made.error());
    codecs.push_back(std::move(*made));
  }
  const auto count = static_cast<std::size_t>(*bytes) / sizeof(float);
  const std::vector<float> values = gradients_like(count, a.seed);
  std::vector<float> out(count);
  std::vector<CodecRow> rows;
  double memcpy_s = 1e9;
  for (const auto& codec : codecs) {
    const auto speed = measure_codec(*codec, values, a.rounds, out);
    if (!speed.ok()) return report_error("bench codec", speed.error());
    memcpy_s = std::min(memcpy_s, least(speed->memcpy_s));
    rows.push_back(codec_row(*codec, count, *speed));
  }
  const double memcpy_gb_s = 1e-9 * static_cast<double>(count * sizeof(float)) / memcpy_s;
  a.json ? print_codecs_json(a, count, memcpy_gb_s, rows)
         : print_codecs_table(a, count, memcpy_gb_s, rows);
  return kExitDone;
}

}  // namespace

Verb add_bench_codec(CLI::App& bench) {
  const auto a = std::make_shared<CodecArguments>();  // shared by parser and runner
  CLI::App* verb = bench.add_subcommand("codec", "speed of gradient codecs as a share of memcpy");
  verb->add_option("--codec", a->codecs, "such as int8 topk:rate=0.01, or all (one of each kind)");
  verb->add_option("--size", a->size, "of the float32 gradients (100MB)");
  verb->add_option("--rounds", a->rounds, "that count, after one that does not (7)")
      ->check(CLI::Range(1, 10000));
  verb->add_option("--seed", a->seed, "of the gradients (1)");
  verb->add_flag("--list", a->list, "list the codecs and their parameters");
  verb->add_flag("--json", a->json, "print JSON");
  verb->footer(
      "example: weft bench codec --codec int8 topk:rate=0.01+int8 --size 25MB\n"
      "         weft bench codec --list");
  return {verb, [a] { return run_codecs(*a); }};
}

}  // namespace weft
