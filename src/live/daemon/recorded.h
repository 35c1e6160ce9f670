// Clusters and policies as journals keep them: a name or shorthand, or a file's whole text.
#pragma once

#include <memory>
#include <string>

#include "model/cluster_yaml.h"
#include "policy/composition.h"

namespace weft::live {

inline Result<Cluster> cluster_of_text(const std::string& text) {
  if (text.find('\n') == std::string::npos) return parse_cluster_shorthand(text);
  return parse_cluster_yaml({"the journal's cluster", text});
}

inline Result<Composition> composition_of_text(const std::string& text) {
  return text.find('\n') == std::string::npos ? find_policy(text)
                                              : parse_composition(text, "the policy's text");
}
inline Result<std::unique_ptr<Policy>> policy_of_text(const std::string& text) {
  const auto composition = composition_of_text(text);
  if (!composition.ok()) return composition.error();
  return assemble(*composition);
}

}  // namespace weft::live
