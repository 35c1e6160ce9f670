#include "runtime/training/synchroniser.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "runtime/training/sync_operation.h"

namespace weft::runtime {
namespace {

constexpr std::uint32_t kVoteStream = kSyncStream - 1;
constexpr std::size_t kTotals = 3;

}  // namespace

Synchroniser::Synchroniser(std::shared_ptr<Group> group, const SyncOptions& options,
                           std::span<float> parameters)
    : group_(std::move(group)),
      options_(options),
      parameters_(parameters),
      replica_(options.mode, parameters.size()),
      reduce_(group_, options.codec, options.seed) {}

Synchroniser::~Synchroniser() { drop_operations(); }

// Their memory must stay until they have ended; how they end no longer matters.
void Synchroniser::drop_operations() {
  for (const auto& operation : under_way_) static_cast<void>(operation->wait_all());
  under_way_.clear();
}

// Every rank learns the others' weights and steps.
Status Synchroniser::meet() {
  const double own[2] = {options_.weight, static_cast<double>(options_.steps)};
  std::vector<double> all(2 * static_cast<std::size_t>(group_->size()));
  if (Status status = group_->all_gather(own, all.data(), 2, DataType::kFloat64)->wait();
      !status.ok()) {
    return status;
  }
  members_.resize(all.size() / 2);
  for (std::size_t rank = 0; rank < members_.size(); ++rank) {
    members_[rank].rank = static_cast<std::uint32_t>(rank);
    members_[rank].weight = all[2 * rank];
    members_[rank].steps = static_cast<std::uint32_t>(all[2 * rank + 1]);
  }
  return {};
}

Result<std::unique_ptr<Synchroniser>> Synchroniser::make(std::shared_ptr<Group> group,
                                                         const SyncOptions& options,
                                                         std::span<float> parameters) {
  if (Status status = check(options.mode, *options.codec); !status.ok()) return status.error();
  std::unique_ptr<Synchroniser> made(new Synchroniser(std::move(group), options, parameters));
  if (Status status = made->meet(); !status.ok()) return status.error();
  auto machine = sync::Machine::make(options.mode, made->members_,
                                     static_cast<std::uint32_t>(made->group_->rank()));
  if (!machine.ok()) return machine.error();
  if (!options.agreed) {
    const Status status =
        made->group_->broadcast(parameters.data(), parameters.size(), DataType::kFloat32, 0)
            ->wait();
    if (!status.ok()) return status.error();
  }
  if (Status status = made->begin(std::move(*machine), {}); !status.ok()) return status.error();
  return made;
}

Status Synchroniser::begin(sync::Machine machine, std::optional<ShardState> shard) {
  machine_.emplace(std::move(machine));
  machine_->take_all_steps();  // ranks of one program end after the same number of steps
  const auto exchange = options_.mode.exchange;
  if (points_ == nullptr &&
      (exchange == sync::Exchange::kServers || exchange == sync::Exchange::kNeighbours)) {
    std::vector<int> all;
    for (int rank = 0; rank < group_->size(); ++rank) all.push_back(rank);
    auto points = group_->subgroup(all);
    if (!points.ok()) return points.error();
    points_ = std::move(*points);
  }
  if (exchange == sync::Exchange::kServers) {
    if (!shard) {
      shard = fresh_shard(options_.mode, members_, parameters_,
                          static_cast<std::size_t>(group_->rank()));
      replica_.agree(parameters_);
    }
    shards_ = std::make_unique<ShardService>(points_, options_.codec, options_.mode,
                                             parameters_.size(), std::move(*shard));
  }
  return act(machine_->start());
}

std::size_t Synchroniser::place_of_agreed() {
  const auto vectors = replica_.vectors();
  for (std::size_t v = 0; v < vectors.size(); ++v) {
    if (vectors[v].name == "agreed") return v;
  }
  CHECK(false);
}

std::vector<float>& Synchroniser::agreed() { return *replica_.vectors()[place_of_agreed()].values; }

bool Synchroniser::needs_gradient() const {
  return !whole_ || options_.mode.proximal > 0 || options_.mode.control;
}

Status Synchroniser::may_step(double lr) const {
  if (failed_) return *failed_;
  if (options_.mode.control && !(lr >= 0 && std::isfinite(lr))) {
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("the learning rate is {}; sync mode '{}' needs one of 0 or more", lr,
                             options_.mode.name),
                 ""};
  }
  return {};
}

// Of a step: what was dropped in it has been told to all ranks alike, and the next may be taken.
Status Synchroniser::ended(Status status) {
  if (status.ok()) return std::exchange(dropped_, {});
  failed_ = status.error();
  return status;
}

Status Synchroniser::before_step(std::span<float> gradient, double loss, double lr) {
  if (Status status = may_step(lr); !status.ok()) return status;
  if (std::exchange(gradients_there_, false)) {  // the optimizer failed to use the last ones
    if (Status status = ended(act({})); !status.ok()) return status;
  }
  CHECK_MSG(proceeding_, "a step begins before the last one has ended");
  if (!needs_gradient()) return {};
  if (whole_) {
    replica_.correct(parameters_, gradient);
    return {};
  }
  gradient_ = gradient;
  proceeding_ = false;
  Status status = act(machine_->stepped({loss, lr}));
  // Without a mean gradient the optimizer takes no step, and after_step() is not called.
  if (status.ok() && !dropped_.ok() && std::exchange(gradients_there_, false)) status = act({});
  return ended(std::move(status));
}

Status Synchroniser::after_step(double loss, double lr) {
  if (Status status = may_step(lr); !status.ok()) return status;
  if (std::exchange(gradients_there_, false)) return ended(act({}));  // they are used now
  CHECK_MSG(proceeding_, "a step ends that has not begun");
  proceeding_ = false;
  take_arrived();
  return ended(act(machine_->stepped({loss, lr})));
}

// Until the machine lets the next step begin, or the optimizer has to use the mean gradient.
Status Synchroniser::act(sync::Actions actions) {
  queue_.insert(queue_.end(), actions.begin(), actions.end());
  while (!proceeding_ && !gradients_there_) {
    if (queue_.empty()) {
      if (Status status = finish_first(); !status.ok()) return status;
      continue;
    }
    const sync::Action action = std::move(queue_.front());
    queue_.pop_front();
    if (Status status = carry_out(action); !status.ok()) return status;
  }
  return {};
}

Status Synchroniser::carry_out(const sync::Action& action) {
  using ActionKind = sync::Action::Kind;
  switch (action.kind) {
    case ActionKind::kAverage:
      return action.weights.empty() ? average(action) : tell_neighbours(action);
    case ActionKind::kApply:
      return apply(action);
    case ActionKind::kExchange:
      return exchange(action);
    case ActionKind::kVote:
      return vote(action);
    case ActionKind::kAgree:
      replica_.agree(parameters_);
      return {};
    case ActionKind::kProceed:
      proceeding_ = true;
      whole_ = action.whole;
      return {};
    case ActionKind::kAdopt:
      break;
  }
  CHECK_MSG(false, "an action that live ranks do not have");
}

Result<std::shared_ptr<Group>> Synchroniser::group_of(const std::vector<std::uint32_t>& ranks) {
  if (ranks.size() == static_cast<std::size_t>(group_->size())) return group_;
  auto& made = subgroups_[ranks];
  if (made == nullptr) {
    auto group = group_->subgroup({ranks.begin(), ranks.end()});
    if (!group.ok()) return group.error();
    made = std::move(*group);
  }
  return made;
}

Status Synchroniser::average(const sync::Action& action) {
  auto group = group_of(action.ranks);
  if (!group.ok()) return group.error();
  // Averages of the same values follow each other: an eager one may still be under way.
  for (const auto& earlier : under_way_) {
    if (earlier->action.fragment != action.fragment) continue;
    if (Status status = earlier->wait_all(); !status.ok()) return status;
  }
  auto operation = std::make_unique<Operation>();
  operation->action = action;
  std::vector<float>& sum = operation->sum;
  sum.resize(replica_.contribution_size(action));
  replica_.contribute(action, action.what == sync::What::kGradients ? gradient_ : parameters_, sum);
  CallOptions call;
  call.stream = kSyncStream + action.fragment;
  // Parameters themselves are averaged as they are: codecs are for what is small beside them.
  const bool coded = options_.codec->text() != "none" && action.what != sync::What::kParameters;
  if (!coded) {
    operation->works.push_back(
        (*group)->all_reduce(sum.data(), sum.size(), DataType::kFloat32, ReduceOp::kSum, call));
  } else {
    const std::span<float> values = std::span(sum).first(sum.size() - kTotals);
    operation->coded = values.size();
    const std::uint32_t first = first_bucket(action.what, action.fragment);
    CHECK(values.size() / kPiece < kMostPieces);
    for (std::uint32_t k = 0; k * kPiece < values.size(); ++k) {
      const std::size_t from = k * kPiece, size = std::min(kPiece, values.size() - from);
      if (options_.mode.overlap > 0 || options_.mode.eager) {
        operation->before.emplace(first + k, reduce_.state_of(first + k));
      }
      operation->works.push_back(reduce_.average(first + k, values.subspan(from, size)));
    }
    operation->works.push_back((*group)->all_reduce(sum.data() + values.size(), kTotals,
                                                    DataType::kFloat32, ReduceOp::kSum, call));
  }
  under_way_.push_back(std::move(operation));
  return {};
}

Status Synchroniser::tell_neighbours(const sync::Action& action) {
  auto operation = std::make_unique<Operation>();
  operation->action = action;
  operation->sum.assign(parameters_.begin(), parameters_.end());
  const auto tag = static_cast<std::uint32_t>(action.id & 1023);
  for (const std::uint32_t to : action.targets) {
    operation->works.push_back(points_->send(operation->sum.data(), operation->sum.size(),
                                             DataType::kFloat32, static_cast<int>(to), tag));
  }
  const auto self = static_cast<std::uint32_t>(group_->rank());
  operation->heard.resize(action.ranks.size());
  for (std::size_t k = 0; k < action.ranks.size(); ++k) {
    if (action.ranks[k] == self) continue;
    operation->heard[k].resize(parameters_.size());
    operation->works.push_back(points_->receive(operation->heard[k].data(), parameters_.size(),
                                                DataType::kFloat32,
                                                static_cast<int>(action.ranks[k]), tag));
  }
  under_way_.push_back(std::move(operation));
  return {};
}

Status Synchroniser::vote(const sync::Action& action) {
  auto drift = static_cast<float>(replica_.drift(parameters_));
  if (std::isnan(drift)) drift = std::numeric_limits<float>::infinity();  // as far as can be
  CallOptions call;
  call.stream = kVoteStream;
  if (Status status =
          group_->all_reduce(&drift, 1, DataType::kFloat32, ReduceOp::kMax, call)->wait();
      !status.ok()) {
    return status;
  }
  for (auto& next : machine_->voted(action.id, drift)) queue_.push_back(std::move(next));
  return {};
}

Status Synchroniser::exchange(const sync::Action& action) {
  const auto clock = shards_->exchange(action, replica_, agreed(), parameters_);
  if (!clock.ok()) return clock.error();
  for (auto& next : machine_->answered(action.id, *clock)) queue_.push_back(std::move(next));
  return {};
}

Status Synchroniser::apply(const sync::Action& action) {
  if (action.alone) {
    replica_.apply(action, {}, parameters_);
    return {};
  }
  const auto at = std::find_if(under_way_.begin(), under_way_.end(), [&](const auto& operation) {
    return operation->action.id == action.id;
  });
  CHECK(at != under_way_.end() && (*at)->arrived);
  const std::unique_ptr<Operation> operation = std::move(*at);
  under_way_.erase(at);
  if (!action.weights.empty()) {
    std::vector<std::span<const float>> views;
    for (const auto& heard : operation->heard) {
      views.emplace_back(heard.empty() ? operation->sum : heard);
    }
    replica_.mix(action, views, parameters_);
    return {};
  }
  const bool gradients = action.what == sync::What::kGradients;
  gradients_there_ = gradients;
  if (operation->failure.ok()) {
    replica_.apply(action, operation->sum, gradients ? gradient_ : parameters_);
    return {};
  }
  dropped_ = operation->failure;
  if (gradients) return {};
  const auto part = sync::part_of(parameters_.size(), options_.mode.fragments, action.fragment);
  std::copy_n(agreed().begin() + static_cast<std::ptrdiff_t>(part.from), part.size,
              parameters_.begin() + static_cast<std::ptrdiff_t>(part.from));
  return {};
}

// Waits for the oldest average that has not arrived, and tells the machine.
Status Synchroniser::finish_first() {
  const auto at = std::find_if(under_way_.begin(), under_way_.end(),
                               [](const auto& operation) { return !operation->arrived; });
  CHECK_MSG(at != under_way_.end(), "nothing is under way and no step may begin");
  Operation& operation = **at;
  if (Status status = operation.finish(group_->size()); !status.ok()) {
    // What a rank cannot encode is the same error on all, and the group is whole: they drop it.
    const bool theirs = operation.coded > 0 && status.error().kind == ErrorKind::kInvalidInput;
    if (!theirs || options_.mode.eager || !group_->broken().empty()) return status;
    operation.drop(status);
  }
  sync::Totals totals;
  if (operation.action.weights.empty()) totals = sync::Replica<float>::totals(operation.sum);
  for (auto& next : machine_->arrived(operation.action.id, totals)) {
    queue_.push_back(std::move(next));
  }
  return {};
}

void Synchroniser::take_arrived() {
  while (std::any_of(under_way_.begin(), under_way_.end(),
                     [](const auto& operation) { return !operation->arrived; })) {
    const auto at = std::find_if(under_way_.begin(), under_way_.end(),
                                 [](const auto& operation) { return !operation->arrived; });
    if (!(*at)->done()) return;
    if (!finish_first().ok()) return;  // told again when it is needed
  }
}

Status Synchroniser::finish() {
  if (!under_way_.empty()) {
    failed_ =
        Error{ErrorKind::kUnsupported, "training has finished: the average under way was given up",
              "load a state to go on"};
  }
  drop_operations();
  if (shards_ == nullptr || shards_->finished()) return {};
  if (Status status = shards_->finish(parameters_); !status.ok()) return status;
  replica_.agree(parameters_);  // what a state that is saved now must say
  failed_ = Error{ErrorKind::kUnsupported, "training has finished: shards are no longer served",
                  "load a state to go on"};
  return {};
}

}  // namespace weft::runtime
