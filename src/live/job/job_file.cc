#include "live/job/job_file.h"

#include <fmt/core.h>

#include "live/job/job_fields.h"
#include "live/job/job_text.h"

namespace weft::live {

Result<JobSpec> read_job_file(std::string_view text, const std::string& file_name,
                              std::vector<std::string>* warnings) {
  if (text.size() > kMaxJobFileBytes) {
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("{}: has {} bytes; the limit for job files is {}", file_name,
                             text.size(), kMaxJobFileBytes),
                 "put long scripts into files of their own, in workdir"};
  }
  if (!text.starts_with("#!")) return read_job_yaml(text, file_name);
  std::vector<std::string> unused;
  return read_job_script(text, file_name, warnings == nullptr ? unused : *warnings);
}

std::string job_name_of(const std::string& file_name) {
  std::string name = file_name.substr(file_name.rfind('/') + 1);
  if (const std::size_t dot = name.rfind('.'); dot != std::string::npos && dot > 0) {
    name.resize(dot);
  }
  return is_plain_name(name) && !is_uuid(name) ? name : "job";
}

}  // namespace weft::live
