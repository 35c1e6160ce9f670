#include "runtime/member/mesh.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "base/stopwatch.h"
#include "runtime/wait.h"

namespace weft::runtime {
namespace {

std::string label_of(MemberId member) { return fmt::format("member {}", member); }

std::optional<MemberId> member_of(const std::string& label) {
  constexpr std::string_view kPrefix = "member ";
  MemberId member = 0;
  if (!label.starts_with(kPrefix)) return std::nullopt;
  const char* end = label.data() + label.size();
  const auto [last, error] = std::from_chars(label.data() + kPrefix.size(), end, member);
  if (error != std::errc{} || last != end) return std::nullopt;
  return member;
}

}  // namespace

Mesh::Mesh(Reactor& reactor, Connection::Settings settings, MemberId self, const Options& options,
           Events events)
    : reactor_(reactor),
      settings_(std::move(settings)),
      self_(self),
      options_(options),
      events_(std::move(events)),
      reform_(View{options.job_epoch, 0, {}}, MemberInfo{self, -1, "", "", "", ""}),
      alive_(std::make_shared<bool>(true)) {
  settings_.identity.label = label_of(self);
}

Result<std::unique_ptr<Mesh>> Mesh::open(Reactor& reactor, const std::string& address,
                                         const Connection::Settings& settings, MemberId self,
                                         const Options& options, Events events) {
  std::unique_ptr<Mesh> mesh(new Mesh(reactor, settings, self, options, std::move(events)));
  Mesh* raw = mesh.get();
  auto listener = Listener::open(
      reactor, address, mesh->settings_,
      [raw](const std::shared_ptr<Connection>& connection) { raw->accepted(connection); });
  if (!listener.ok()) return listener.error();
  mesh->listener_ = std::move(*listener);
  reactor.call([raw] {
    raw->last_beat_ns_ = raw->watched_since_ns_ = monotonic_ns();
    raw->timer_ = raw->reactor_.after(raw->options_.beat_s, [raw] { raw->beat(); });
  });
  return mesh;
}

Mesh::~Mesh() {
  listener_.reset();
  reactor_.call([this] {
    *alive_ = false;
    reactor_.cancel(timer_);
    for (auto& [member, link] : links_) link.connection->close();
    links_.clear();
  });
}

void Mesh::begin(const View& view, const MemberInfo& self) {
  reactor_.call([&] {
    own_ = self;
    reform_ = Reform(view, self);
    watch();
  });
}

void Mesh::set_links(const LinkSpeeds& links) {
  reactor_.call([&] { reform_.set_links(links); });
}

void Mesh::join(const std::vector<MemberInfo>& members, const MemberInfo& self) {
  reactor_.call([&] {
    joining_ = true;
    own_ = self;
    known_ = members;
    for (const MemberInfo& member : members) {
      if (member.id != self_ && !links_.contains(member.id)) connect(member, 1.0, false);
      send(member.id, Join{own_});
    }
  });
}

void Mesh::want(const MemberInfo& self) {
  reactor_.call([&] {
    own_ = self;
    if (fenced_) return;
    const std::uint32_t epoch = reform_.current().epoch();
    if (reforming_.insert(epoch).second) {
      flood(Reforming{epoch, name_of_member(self_) + " asked for a new membership"}, self_);
    }
    reform_.want(self);
    flush();
  });
}

void Mesh::give_up() {
  reactor_.call([&] { reform_.give_up(); });
}

void Mesh::tell(const Broken& broken) {
  reactor_.call([&] {
    if (broken_.insert({broken.group, broken.epoch}).second) flood(broken, self_);
  });
}

void Mesh::suspect(MemberId member, const std::string& why) {
  reactor_.post([this, member, why, alive = std::weak_ptr(alive_)] {
    const auto strong = alive.lock();
    if (strong != nullptr && *strong) question(member, why, true);
  });
}

void Mesh::ask_progress(const Progress& question) {
  reactor_.call([&] {
    for (const MemberInfo& member : std::vector(reform_.current().members)) {
      if (member.id != self_) send(member.id, question);
    }
  });
}

void Mesh::leave() {
  constexpr Seconds kHeard = 1;  // at most, for those that are busy or gone
  std::vector<std::shared_ptr<Connection>> told;
  reactor_.call([&] {
    leaving_ = true;
    told = open_links(self_);
    for (const auto& [member, link] : links_) {
      if (link.before != nullptr && link.before->open()) told.push_back(link.before);
    }
    for (const auto& connection : told) {
      connection->send(kMessage, to_text(ControlMessage{Leaving{}}));
      connection->finish();
    }
  });
  // Who sees our other connections end must know by then. Who has heard closes.
  const auto heard = [&] {
    bool all = false;
    reactor_.call([&] {
      all = std::all_of(told.begin(), told.end(), [](const auto& one) { return one->closed(); });
    });
    return all;
  };
  wait_until(heard, kHeard, 1e-3);
}

std::string Mesh::waits_for() {
  std::string text;
  reactor_.call([&] { text = reform_.waits_for(); });
  return text;
}

int Mesh::connections() {
  std::size_t open = 0;
  reactor_.call([&] { open = open_links(self_).size(); });
  return static_cast<int>(open);
}

void Mesh::accepted(const std::shared_ptr<Connection>& connection) {
  const auto member = member_of(connection->peer_label());
  if (!member || connection->purpose() != Purpose::kControl) {
    connection->close();
    return;
  }
  adopt(*member, connection);
}

void Mesh::adopt(MemberId member, const std::shared_ptr<Connection>& connection) {
  // Both sides may have called each other at once; the connection before goes on being read.
  connection->set_events(events_for(member, false));
  const auto old = links_.find(member);
  const std::shared_ptr<Connection> before =
      old == links_.end() || old->second.connection == connection ? nullptr
                                                                  : old->second.connection;
  links_[member] = {connection, monotonic_ns(), before};
  if (leaving_) {
    connection->send(kMessage, to_text(ControlMessage{Leaving{}}));
    connection->finish();
  }
  const auto asked = questioned_.find(member);
  if (asked == questioned_.end()) return;
  const Question question = asked->second;
  questioned_.erase(asked);
  if (!question.data) return;
  // It lives, but its messages may be lost: all must begin anew.
  const Broken broken{
      0, reform_.current().epoch(),
      fmt::format("the connection to {} was lost: {}", name_of_member(member), question.why)};
  if (broken_.insert({broken.group, broken.epoch}).second) flood(broken, self_);
  events_.on_lost(broken.epoch, broken.why);
}

Connection::Events Mesh::events_for(MemberId member, bool probing) {
  Connection::Events events;
  const std::weak_ptr<bool> alive = alive_;
  const auto gone = [alive] {
    const auto strong = alive.lock();
    return strong == nullptr || !*strong;
  };
  events.on_frame = [this, gone, member](std::uint16_t kind, ByteView body) {
    if (gone()) return;
    const auto link = links_.find(member);
    if (link != links_.end()) link->second.heard_ns = monotonic_ns();
    if (kind == kMessage) {
      received(member, {reinterpret_cast<const char*>(body.data()), body.size()});
    }
  };
  events.on_close = [this, gone, member, probing](End end, const std::string& reason) {
    if (gone()) return;
    if (probing) {
      probed(member, end);
    } else {
      const auto link = links_.find(member);
      if (link != links_.end() && link->second.connection->closed()) {
        closed(member, link->second.connection.get(), reason);
      }
    }
  };
  return events;
}

void Mesh::connect(const MemberInfo& info, Seconds deadline_s, bool probing) {
  const auto address = resolve(info.control);
  if (!address.ok()) {
    if (probing) probed(info.id, End::kTimedOut);
    return;
  }
  // Weak, because the connection holds its events; the reactor holds it until it is closed.
  auto slot = std::make_shared<std::weak_ptr<Connection>>();
  Connection::Events events = events_for(info.id, probing);
  const std::weak_ptr<bool> alive = alive_;
  events.on_open = [this, alive, slot, info, probing] {
    const auto strong = alive.lock();
    const std::shared_ptr<Connection> connection = slot->lock();
    if (strong == nullptr || !*strong || connection == nullptr) return;
    if (member_of(connection->peer_label()) != info.id) {
      connection->close();
      links_.erase(info.id);
      if (probing) probed(info.id, End::kRefused);  // another process has its port
      return;
    }
    adopt(info.id, connection);
    flush();
  };
  const auto connection = Connection::connect(reactor_, *address, settings_, Purpose::kControl,
                                              deadline_s, std::move(events));
  *slot = connection;
  if (!probing) links_[info.id] = {connection, monotonic_ns()};
}

void Mesh::closed(MemberId member, const Connection* which, const std::string& reason) {
  const auto link = links_.find(member);
  if (link == links_.end() || link->second.connection.get() != which) return;
  links_.erase(link);
  if (!leaving_) question(member, reason);
}

void Mesh::received(MemberId from, std::string_view body) {
  auto message = control_from(body);
  if (!message.ok()) {
    const auto link = links_.find(from);
    if (link != links_.end()) {
      link->second.connection->fail(End::kBadFrame, message.error().what);
    }
    return;
  }
  handle(from, *message);
  flush();
}

void Mesh::send(MemberId to, const ControlMessage& message) {
  if (to == self_) return;
  auto link = links_.find(to);
  if (link == links_.end()) {
    const MemberInfo* info = info_of(to);
    if (info == nullptr) return;
    connect(*info, options_.silence_s, false);
    link = links_.find(to);
    if (link == links_.end()) return;
  }
  link->second.connection->send(kMessage, to_text(message));
}

void Mesh::flood(const ControlMessage& message, MemberId except) {
  const std::string text = to_text(message);
  for (const auto& connection : open_links(except)) connection->send(kMessage, text);
}

// A copy, because sending may end a connection and so change the links.
std::vector<std::shared_ptr<Connection>> Mesh::open_links(MemberId except) const {
  std::vector<std::shared_ptr<Connection>> found;
  for (const auto& [member, link] : links_) {
    if (member != except && link.connection->open()) found.push_back(link.connection);
  }
  return found;
}

const MemberInfo* Mesh::info_of(MemberId member) const {
  if (const MemberInfo* info = reform_.current().find(member)) return info;
  for (const MemberInfo& info : known_) {
    if (info.id == member) return &info;
  }
  return nullptr;
}

std::string Mesh::name_of_member(MemberId member) const {
  const int rank = reform_.current().rank_of(member);
  return rank < 0 ? fmt::format("member {}", member)
                  : fmt::format("rank {} (member {})", rank, member);
}

std::vector<MemberInfo> Mesh::neighbours() const {
  const View& view = reform_.current();
  const int size = static_cast<int>(view.members.size());
  const int rank = view.rank_of(self_);
  std::vector<MemberInfo> found;
  for (int distance = 1; distance < size && rank >= 0; distance *= 2) {
    for (const int other : {(rank + distance) % size, (rank - distance + size) % size}) {
      found.push_back(view.members[static_cast<std::size_t>(other)]);
    }
  }
  return found;
}

void Mesh::watch() {
  watched_since_ns_ = monotonic_ns();
  // Of two that watch each other the lesser calls.
  for (const MemberInfo& info : neighbours()) {
    if (self_ < info.id && !links_.contains(info.id)) connect(info, options_.silence_s, false);
  }
}

}  // namespace weft::runtime
