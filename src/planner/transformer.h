// What is trained: the shape of a decoder-only transformer, dense or with experts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/readers/table_reader.h"

namespace weft::planner {

// Experts in place of one feed-forward part. `count` 0: a dense model.
struct Experts {
  int count = 0;
  int per_token = 0;     // routed to, for each token
  int shared = 0;        // every token goes through these too
  int ffn = 0;           // width of one expert
  int dense_layers = 0;  // leading layers without experts

  bool operator==(const Experts&) const = default;
};

// Queries and keys made from low-rank latents (multi-head latent attention). `kv_rank` 0: none.
struct LatentAttention {
  int query_rank = 0;
  int kv_rank = 0;
  int rope_size = 0;   // of a head: the part that carries positions, beside head_size
  int value_size = 0;  // of a head

  bool operator==(const LatentAttention&) const = default;
};

struct Transformer {
  std::string name;
  int layers = 1;
  int hidden = 1;
  int heads = 1;
  int kv_heads = 1;
  int head_size = 1;
  int ffn = 4;  // width of a dense feed-forward part
  int vocab = 1;
  int sequence = 1;     // tokens of one sample
  bool gated = false;   // SwiGLU: three matrices in the feed-forward part
  bool tied = true;     // the output layer shares the embedding's weights
  bool dropout = true;  // GPT type: dropout, biases, learned positions
  Experts experts;
  LatentAttention latent;

  bool operator==(const Transformer&) const = default;
};

// A GPT-type model: heads of hidden / heads, ffn of 4 * hidden, tied embedding.
Transformer gpt(std::string name, int layers, int hidden, int heads, int sequence, int vocab);

// The error names the first thing that cannot be: a count below 1, heads that do not divide.
Status check(const Transformer& model);

// Weights of one attention part, and of one feed-forward part by its kind.
double attention_parameters(const Transformer& model);
double dense_ffn_parameters(const Transformer& model);
double expert_parameters(const Transformer& model);  // of one expert
// Of layer `layer`, norms and router included, all experts.
double layer_parameters(const Transformer& model, int layer);
double embedding_parameters(const Transformer& model);
double parameters(const Transformer& model);
// Parameters that one token meets.
double active_parameters(const Transformer& model);

// Catalogue, in a fixed order; docs/planner.md names the sources.
const std::vector<Transformer>& transformers();
// A catalogue name (case and punctuation do not matter), or a path to YAML or a Hugging Face
// config.json. The error suggests a name that is near.
Result<Transformer> find_transformer(const std::string& name_or_path);
// YAML with this file's names as keys, or a Hugging Face config.json.
Result<Transformer> parse_transformer(const TextFile& file);

// Lower case, with letters, digits and dots only: how names are compared.
std::string plain_name(std::string_view name);

}  // namespace weft::planner
