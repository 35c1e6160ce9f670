// The control connections of a member: who lives, who is lost, and the messages of the agreement on
// the next membership. Connections are kept to members 1, 2, 4, … ranks away, so that news reaches
// everyone in a few hops and no rank holds a connection to all.
//
// A lost connection is no proof: the member is called once more. If its host answers that nothing
// listens, or another process does, it is dead. If nothing answers, it is unreachable.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "runtime/member/control.h"
#include "runtime/member/reform.h"
#include "runtime/net/connection.h"
#include "runtime/net/listener.h"

namespace weft::runtime {

// Everything runs on the reactor's thread, but for what says otherwise.
class Mesh {
 public:
  struct Events {
    // The membership of this epoch cannot go on; the sentence names who is lost.
    std::function<void(std::uint32_t epoch, const std::string& why)> on_lost;
    std::function<void(const Broken&)> on_broken;
    // Another member has asked for a new membership a moment ago.
    std::function<void(const Reforming&)> on_reforming;
    // The next membership is agreed on; `self` is how we are reached in it.
    std::function<void(const View&)> on_view;
    // Others go on without this process.
    std::function<void(const std::string& why)> on_fenced;
    // A member asks how far we are; the answer.
    std::function<Progress(MemberId from, const Progress& question)> progress;
    std::function<void(MemberId from, const Progress&)> on_progress;
  };
  struct Options {
    std::uint32_t job_epoch = 0;
    Seconds silence_s = 2.0;
    Seconds beat_s = 0.25;
  };

  // Not on the reactor's thread. Listens at once; port() is to be published.
  static Result<std::unique_ptr<Mesh>> open(Reactor& reactor, const std::string& address,
                                            const Connection::Settings& settings, MemberId self,
                                            const Options& options, Events events);
  // Not on the reactor's thread. No event is called afterwards.
  ~Mesh();
  int port() const { return listener_->port(); }

  // The rest may be called on any thread.
  // Begins to watch the members of the first membership.
  void begin(const View& view, const MemberInfo& self);
  void set_links(const LinkSpeeds& links);
  // Asks the members for the way in.
  void join(const std::vector<MemberInfo>& members, const MemberInfo& self);
  void want(const MemberInfo& self);
  void give_up();
  void tell(const Broken& broken);
  // Something else than the control connection says that the member may be lost.
  void suspect(MemberId member, const std::string& why);
  void ask_progress(const Progress& question);
  // Says goodbye to those that are watched, and waits a while until they have heard it. Not on the
  // reactor's thread.
  void leave();
  int joiners() const { return joiners_.load(); }
  std::string waits_for();
  // That are open now.
  int connections();

 private:
  static constexpr std::uint16_t kMessage = 1, kBeat = 2;  // kinds of frames

  struct Link {
    std::shared_ptr<Connection> connection;
    std::int64_t heard_ns = 0;
    std::shared_ptr<Connection> before = nullptr;  // the other, when both sides called at once
  };

  Mesh(Reactor& reactor, Connection::Settings settings, MemberId self, const Options& options,
       Events events);
  void accepted(const std::shared_ptr<Connection>& connection);
  void adopt(MemberId member, const std::shared_ptr<Connection>& connection);
  Connection::Events events_for(MemberId member, bool probing);
  void connect(const MemberInfo& info, Seconds deadline_s, bool probing);
  void closed(MemberId member, const Connection* which, const std::string& reason);
  void received(MemberId from, std::string_view body);
  void handle(MemberId from, const ControlMessage& message);
  void take(MemberId from, const LifeNotice& notice);
  void take(const Reforming& news, MemberId from);
  void hear_goodbye(MemberId from);
  void send(MemberId to, const ControlMessage& message);
  void flood(const ControlMessage& message, MemberId except);
  void question(MemberId member, const std::string& why, bool data = false);
  std::vector<std::shared_ptr<Connection>> open_links(MemberId except) const;
  void probe(MemberId member);
  void probed(MemberId member, End end);
  void fence(std::uint32_t number);  // others go on without us
  void judge(MemberId member, Life life, const std::string& why);
  std::vector<MemberInfo> neighbours() const;  // that this member watches, and they it
  void watch();
  void beat();
  void flush();  // what the agreement has to say
  void installed(const View& before);
  const MemberInfo* info_of(MemberId member) const;
  std::string name_of_member(MemberId member) const;

  Reactor& reactor_;
  Connection::Settings settings_;
  MemberId self_;
  Options options_;
  Events events_;
  std::unique_ptr<Listener> listener_;
  Reform reform_;
  bool joining_ = false, leaving_ = false, fenced_ = false;
  std::vector<MemberInfo> known_;  // members to ask for the way in, or joiners
  MemberInfo own_;
  std::map<MemberId, Link> links_;
  struct Question {
    int calls = 0;
    std::string why;
    bool data = false;  // its data connections were lost, so it must have died or all must re-form
  };
  std::map<MemberId, Question> questioned_;
  std::set<MemberId> left_;  // of their own will; what they sent before may still be on its way
  std::set<std::pair<std::uint32_t, std::uint32_t>> broken_;  // group, epoch: told already
  std::set<std::uint32_t> reforming_;                         // epochs: told already
  std::int64_t last_beat_ns_ = 0;
  std::int64_t watched_since_ns_ = 0;
  Reactor::Timer timer_ = 0;
  std::atomic<int> joiners_ = 0;
  std::shared_ptr<bool> alive_;  // false when this is gone, for what is still posted
};

}  // namespace weft::runtime
