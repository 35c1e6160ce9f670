#include "bindings/python/torch_training.h"

#include <algorithm>
#include <stdexcept>

#include "codec/codecs.h"
#include "sync/sampling.h"
#include "sync/straggler.h"

namespace weft::bindings {
namespace {

constexpr std::uint32_t kStateStream = (1u << 28) - 2;

std::shared_ptr<const codec::Codec> made(const std::string& text) {
  auto codec = codec::make_codec(text);
  if (!codec.ok()) throw std::invalid_argument(codec.error().text());
  return std::shared_ptr<const codec::Codec>(std::move(*codec));
}

sync::Mode parsed(const std::string& text) {
  auto mode = sync::parse_mode(text);
  if (!mode.ok()) throw std::invalid_argument(mode.error().text());
  return *mode;
}

// Python takes UTF-8 only, and errors may quote bytes from anywhere.
std::string printable(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) >= 0x80 || (c >= 0 && c < ' ' && c != '\n')) c = '?';
  }
  return text;
}

void check(const Status& status) {
  if (!status.ok()) throw std::runtime_error("weft: " + printable(status.error().text()));
}

std::span<float> values_of(const at::Tensor& tensor, const char* what) {
  const bool fits = tensor.scalar_type() == at::kFloat && tensor.device().is_cpu() &&
                    tensor.layout() == at::kStrided && tensor.is_contiguous();
  if (!fits) {
    throw std::invalid_argument(
        std::string("weft: ") + what + " is " + std::string(c10::toString(tensor.scalar_type())) +
        (tensor.layout() == at::kStrided ? "" : ", sparse,") + " on " + tensor.device().str() +
        "; codecs need contiguous float32 in host memory");
  }
  return {tensor.data_ptr<float>(), static_cast<std::size_t>(tensor.numel())};
}

}  // namespace

Compressor::Compressor(GroupHandle group, const std::string& codec, std::uint64_t seed)
    : group_(std::move(group)), reduce_(group_->shared_group(), made(codec), seed) {}

c10::intrusive_ptr<TorchWork> Compressor::average(std::uint32_t bucket, const at::Tensor& tensor,
                                                  double priority, const Places& exact,
                                                  const Matrices& matrices) {
  runtime::CallOptions call;
  call.deadline_s = std::chrono::duration<double>(group_->timeout()).count();
  call.priority = priority;
  const auto values = values_of(tensor, "the tensor");
  runtime::BucketContents contents;
  std::size_t reached = 0;
  const auto inside = [&](std::size_t from, std::size_t size) {
    if (from < reached || from > values.size() || size > values.size() - from) {
      throw std::invalid_argument("weft: places lie outside of the tensor, or in no order");
    }
    reached = from + size;
  };
  for (const auto& [from, size] : exact) {
    inside(from, size);
    contents.exact.push_back({from, size});
  }
  reached = 0;
  for (const auto& [from, rows, cols] : matrices) {
    inside(from, rows * cols);
    contents.matrices.push_back({from, rows, cols});
  }
  return group_->under_way(c10d::OpType::ALLREDUCE,
                           {reduce_.average(bucket, values, call, std::move(contents))}, {tensor});
}

void Compressor::restore(const std::vector<std::string>& saved) { check(reduce_.restore(saved)); }
void Compressor::regroup() { check(reduce_.regroup()); }

at::Tensor Compressor::take_residual(std::uint32_t bucket) {
  // The tensor owns the vector: a copy of memory that was never touched costs more than averaging.
  auto* residual = new std::vector<float>(reduce_.take_residual(bucket));
  return at::from_blob(
      residual->data(), {static_cast<std::int64_t>(residual->size())},
      [residual](void*) { delete residual; }, at::kFloat);
}

TrainingSync::TrainingSync(GroupHandle group, const std::string& codec, const std::string& mode,
                           const at::Tensor& parameters, std::uint64_t seed, double weight,
                           std::uint32_t steps, bool agreed)
    : group_(std::move(group)), parameters_(parameters) {
  const runtime::SyncOptions options{parsed(mode), made(codec), seed, weight, steps, agreed};
  auto sync = runtime::Synchroniser::make(group_->shared_group(), options,
                                          values_of(parameters_, "the model"));
  if (!sync.ok() && (sync.error().kind == ErrorKind::kUnsupported ||
                     sync.error().kind == ErrorKind::kInvalidInput)) {
    throw std::invalid_argument(sync.error().text());
  }
  if (!sync.ok()) throw std::runtime_error("weft: " + sync.error().text());
  sync_ = std::move(*sync);
}

void TrainingSync::before_step(const at::Tensor& gradient, double loss, double lr) {
  check(sync_->before_step(values_of(gradient, "the gradient"), loss, lr));
}
void TrainingSync::after_step(double loss, double lr) { check(sync_->after_step(loss, lr)); }
void TrainingSync::will_meet() { check(sync_->will_meet()); }
void TrainingSync::leave() { check(sync_->leave()); }
void TrainingSync::finish() { check(sync_->finish()); }
void TrainingSync::restore(const std::vector<std::string>& saved) { check(sync_->restore(saved)); }

ModeFacts mode_facts(const std::string& text) {
  const sync::Mode mode = parsed(text);
  return {sync::mode_text(mode), mode.codec, mode.exchange == sync::Exchange::kGradients,
          mode.adaptive, mode.warmup > 0 || mode.proximal > 0 || mode.control};
}

void check_together(const std::string& codec, const std::string& mode) {
  const Status status = runtime::Synchroniser::check(parsed(mode), *made(codec));
  if (!status.ok()) throw std::invalid_argument(status.error().text());
}

std::string codec_text(const std::string& codec) { return made(codec)->text(); }

std::vector<std::vector<std::uint32_t>> split_data(const std::string& split,
                                                   const std::vector<std::uint32_t>& labels,
                                                   std::uint32_t ranks, std::uint64_t seed) {
  const auto how = sync::parse_data_split(split);
  if (!how.ok()) throw std::invalid_argument(how.error().text());
  const std::size_t least = std::size_t{ranks} * std::max<std::uint32_t>(1, how->shards);
  if (ranks == 0 || labels.size() < least) {
    throw std::invalid_argument("weft: " + std::to_string(labels.size()) + " examples for " +
                                std::to_string(ranks) + " ranks; at least " +
                                std::to_string(std::max<std::size_t>(1, least)) + " are needed");
  }
  return sync::split_data(*how, labels, ranks, seed);
}

std::vector<std::uint32_t> balance_batch(const std::vector<double>& speeds, std::uint32_t batch) {
  if (speeds.empty() || batch < speeds.size()) {
    throw std::invalid_argument("weft: a batch of " + std::to_string(batch) + " for " +
                                std::to_string(speeds.size()) +
                                " ranks; every rank needs an example");
  }
  return sync::balance_batch(speeds, batch);
}

std::vector<CodingSeconds> coding_speeds(const std::vector<std::string>& codecs, std::size_t values,
                                         int ranks) {
  std::vector<CodingSeconds> speeds;
  for (const std::string& text : codecs) {
    const auto took = runtime::measure_coding(*made(text), values, ranks);
    if (!took.ok()) throw std::invalid_argument(took.error().text());
    const CodingTime one = *took * (values == 0 ? 0 : 1 / static_cast<double>(values));
    speeds.push_back({one.before_s, one.between_s, one.after_s});
  }
  return speeds;
}

std::string choose(TorchBackend& backend, runtime::AutomaticQuestion question) {
  const runtime::Group& group = backend.group();
  const runtime::ChooserClock clock(
      [&](collective::Operation operation, double bytes) {
        return group.explain(static_cast<runtime::Operation>(operation),
                             static_cast<std::uint64_t>(bytes));
      },
      group.size(), group.per_host());
  question.ranks = group.size();
  const auto answer = runtime::choose_automatically(question, clock);
  if (!answer.ok()) throw std::invalid_argument(answer.error().text());
  return runtime::to_json(*answer);
}

std::vector<std::string> gather_texts(TorchBackend& group, const std::string& own) {
  runtime::CallOptions call;
  call.stream = kStateStream;
  auto all = runtime::gather_strings(group.group(), own, call);
  if (!all.ok()) throw std::runtime_error("weft: " + all.error().text());
  return std::move(*all);
}

}  // namespace weft::bindings
