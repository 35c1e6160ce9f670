// Whatever the bytes are, they are refused as a sync mode and as saved states, or give ones that
// work.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "sync/machine.h"
#include "sync/server.h"
#include "sync/state_text.h"

namespace {

using namespace weft::sync;

// Every operation is answered at once, as if all ranks were alike.
void drive(Machine machine) {
  Actions todo = machine.start();
  for (int turns = 0; turns < 20 && !todo.empty(); ++turns) {
    Actions next;
    for (const Action& action : todo) {
      const auto add = [&](Actions more) { next.insert(next.end(), more.begin(), more.end()); };
      using Kind = Action::Kind;
      if (action.kind == Kind::kAverage) add(machine.arrived(action.id, {1, 1, 1}));
      if (action.kind == Kind::kExchange) add(machine.answered(action.id, action.step));
      if (action.kind == Kind::kVote) add(machine.voted(action.id, 1));
      if (action.kind == Kind::kProceed) add(machine.stepped({0.5, 0.1}));
    }
    todo = std::move(next);
  }
  CHECK(Machine::restore(machine.save(), machine.members(), machine.self()).ok());
}

void try_states(std::string_view text) {
  const std::vector<Member> members = {{0}, {1}, {4}};
  const auto machine = Machine::restore(text, members, 1);
  if (machine.ok()) {
    const auto again = Machine::restore(machine->save(), members, 1);
    CHECK(again.ok() && again->save() == machine->save());
    drive(*machine);
  } else {
    CHECK(!machine.error().what.empty());
  }
  const auto server = ShardServer::restore(text, members);
  if (server.ok()) CHECK(ShardServer::restore(server->save(), members).ok());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto mode = parse_mode(text); mode.ok()) {
    const auto again = parse_mode(mode_text(*mode));
    CHECK(again.ok() && *again == *mode);
    const auto machine = Machine::make(*mode, {{0}, {1}, {2}}, 2);
    if (machine.ok()) drive(*machine);
  }
  try_states(text);
  // With a checksum that fits, mutations come past it.
  const std::size_t check = text.rfind("check ");
  try_states(seal(std::string(text.substr(0, check))));
  return 0;
}
