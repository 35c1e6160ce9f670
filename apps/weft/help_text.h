// `--help` of every verb, in our own words and widths: CLI11's text differs between its versions.
#pragma once

#include <string>
#include <vector>

#include "verb.h"

namespace weft {

// Where a verb stands in `weft --help`. Every verb has one place, or is hidden.
struct VerbPlace {
  const char *group, *verb;
};
inline constexpr const char *kTryIt = "try it", *kRunJobs = "run jobs", *kOperate = "operate",
                            *kStudy = "study";
inline constexpr VerbPlace kVerbPlaces[] = {
    {kTryIt, "demo"},     {kTryIt, "sim"},       {kRunJobs, "launch"},      {kRunJobs, "submit"},
    {kRunJobs, "jobs"},   {kRunJobs, "status"},  {kRunJobs, "explain"},     {kRunJobs, "logs"},
    {kRunJobs, "exec"},   {kRunJobs, "attach"},  {kRunJobs, "cancel"},      {kOperate, "up"},
    {kOperate, "down"},   {kOperate, "agent"},   {kOperate, "nodes"},       {kOperate, "top"},
    {kOperate, "events"}, {kOperate, "policy"},  {kOperate, "usage"},       {kOperate, "token"},
    {kOperate, "backup"}, {kOperate, "restore"}, {kOperate, "completions"}, {kStudy, "whatif"},
    {kStudy, "replay"},   {kStudy, "export"},    {kStudy, "plan"},          {kStudy, "net"},
    {kStudy, "bench"},    {kStudy, "recording"},
};

// At most kPageColumns wide, but for longer words. Without a parent, `app` is `weft` itself.
std::string help_text(const CLI::App& app);

// The verbs of `app` that are not hidden.
std::vector<const CLI::App*> shown_verbs(const CLI::App& app);
std::vector<const CLI::Option*> shown_options(const CLI::App& app);

}  // namespace weft
