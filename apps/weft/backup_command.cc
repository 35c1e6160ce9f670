#include "backup_command.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "live/daemon/daemon.h"
#include "live/store/backup.h"

namespace weft {
namespace {

struct BackupArguments {
  std::string store, folder;
  bool json = false;
};

int tell(const char* verb, const BackupArguments& a, const Result<live::BackupReport>& report) {
  if (!report.ok()) {
    fmt::print(stderr, "weft {}: {}\n", verb, report.error().text());
    return kExitBadInput;
  }
  if (a.json) {
    const nlohmann::json json = {{"records", report->records},
                                 {"last_seq", report->last_seq},
                                 {"term", report->term},
                                 {"bytes", report->bytes}};
    fmt::print("{}\n", json.dump());
  } else {
    fmt::print("{} records up to number {}, {:.3g} MB, all as their checksums say\n",
               report->records, report->last_seq, static_cast<double>(report->bytes) / 1e6);
  }
  return kExitDone;
}

Verb add(CLI::App& app, const char* name, const char* says, const char* folder,
         int (*run)(const BackupArguments&)) {
  const auto a = std::make_shared<BackupArguments>();
  CLI::App* verb = app.add_subcommand(name, says);
  verb->add_option("folder", a->folder, folder)->required();
  verb->add_option("--store", a->store, "folder of the journal (WEFT_HOME, or a usual place)");
  verb->add_flag("--json", a->json, "print JSON");
  return {verb, [a, run] {
            if (a->store.empty()) a->store = live::default_store();
            return run(*a);
          }};
}

}  // namespace

Verb add_backup_command(CLI::App& app) {
  Verb verb = add(app, "backup", "copy a store, even while its daemon runs",
                  "where to: empty or not there", [](const BackupArguments& a) {
                    return tell("backup", a, live::backup_store(a.store, a.folder));
                  });
  verb.app->footer("example: weft backup /backups/weft-monday --store /var/lib/weft");
  return verb;
}

Verb add_restore_command(CLI::App& app) {
  Verb verb = add(app, "restore", "make a store from a backup", "what `weft backup` made",
                  [](const BackupArguments& a) {
                    return tell("restore", a, live::restore_store(a.folder, a.store));
                  });
  verb.app->footer(
      "The daemon that was copied must not run any more; jobs it started since are not known.\n"
      "example: weft restore /backups/weft-monday --store /var/lib/weft");
  return verb;
}

}  // namespace weft
