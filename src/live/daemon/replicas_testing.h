// Replicas or ranks of one job between agents that do nothing but listen and a controller that the
// test is.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "live/daemon/replicas.h"
#include "live/job/job_json.h"

namespace weft::live {

class PartsTest : public testing::Test {
 protected:
  using Json = nlohmann::json;

  PartsTest() : cluster_(*parse_cluster_shorthand("2x2")) { begin(1); }

  void begin(std::uint64_t term) {
    replicas_ = std::make_unique<Replicas>(
        cluster_, term, "/logs",
        Replicas::Links{RunsLinks{[this](NodeId node, const Json& message) {
                                    said_.emplace_back(node, message);
                                  },
                                  nullptr,
                                  [this](EventRecord record, const std::function<void()>& durable) {
                                    told_.push_back(record);
                                    durable_.push_back(durable);
                                  },
                                  [this] { return now_; }},
                        [this](JobId, const std::string& what) { remarks_.push_back(what); },
                        [this](JobId, double qps, Seconds) { qps_ = qps; }});
  }
  static JobView view_of(const JobSpec& spec) {
    JobView view;
    view.id = 7;
    view.epoch = 3;
    view.identity = {"u", "ann", 0, 0, to_json(spec).dump()};
    view.name = spec.name;
    return view;
  }
  void durable() {
    for (const auto& act : std::exchange(durable_, {})) act();
  }

  Cluster cluster_;
  Seconds now_ = 100;
  double qps_ = 0;
  std::vector<std::pair<NodeId, Json>> said_;
  std::vector<EventRecord> told_;
  std::vector<std::function<void()>> durable_;
  std::vector<std::string> remarks_;
  std::unique_ptr<Replicas> replicas_;
};

}  // namespace weft::live
