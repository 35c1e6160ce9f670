// The inside of a keeper: one thread that waits for its agent, its command and the clock.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "live/agent/folder.h"
#include "live/agent/keeper.h"
#include "live/agent/progress_lines.h"
#include "live/agent/rank_log.h"
#include "live/agent/rank_process.h"
#include "live/agent/rank_setup.h"

namespace weft::live {

class KeeperLoop {
 public:
  explicit KeeperLoop(const KeeperWords& words);
  ~KeeperLoop();
  KeeperLoop(const KeeperLoop&) = delete;
  KeeperLoop& operator=(const KeeperLoop&) = delete;

  Status run();

 private:
  struct Stop {
    std::int64_t kill_at_ns;
    std::string why;
  };

  // keeper.cc: the life of the rank.
  Status wait_for_go();
  Status read_order();
  Status begin();
  Status start_phase(const std::string& script);
  void verdict_is_here();
  void command_ended();
  void begin_stop(int signal, Seconds grace_s, const std::string& why);
  void send_signal(int number);
  void kill_all();
  bool set_frozen(bool frozen);
  bool is_held() const;
  bool go_on_as(std::uint64_t epoch);
  bool finished();
  RankEnd end() const;
  void tell_end(const RankEnd& end);

  // keeper_loop.cc: what it waits for.
  Status open_signals();
  Status open_progress();
  void turn();
  int timeout_ms(std::int64_t now_ns) const;
  void look_at_clock(std::int64_t now_ns);
  void take_signals();
  void reap();
  void take_output(bool all);
  void take_progress();
  void send_progress(std::int64_t now_ns);
  void reconnect(std::int64_t now_ns);
  void lose_agent();
  void take_messages();
  void obey(const nlohmann::json& message);
  nlohmann::json introduction() const;
  void say(const nlohmann::json& message);

  const FolderPaths paths_;
  RunKey key_;
  const int rank_;

  RunOrder order_;
  RankShare share_;
  RankSetup setup_;
  Seconds lease_s_ = 0;
  std::int64_t until_ns_ = 0;  // without a renewal everything is gone by then

  int signals_ = -1, agent_ = -1;
  std::int64_t reconnect_at_ns_ = 0, backoff_ns_ = 0;

  std::optional<Claim> claim_;
  std::optional<RankLog> log_;
  int output_ = -1, output_writer_ = -1;

  int progress_ = -1;
  std::string progress_path_;
  ProgressLines lines_;
  std::int64_t progress_at_ns_ = 0;

  pid_t command_ = -1;
  int verdict_ = -1;
  bool in_setup_ = false, told_exec_ = false, frozen_ = false, killing_ = false;
  std::optional<int> status_;  // of the command that ended last, as waitpid() gives it
  std::optional<Stop> stop_;
  std::string why_;  // why it did not even start
};

}  // namespace weft::live
