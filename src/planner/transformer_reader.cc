// Shapes from files. JSON is read as YAML, of which it is a subset, so there is one reader.
#include <fmt/core.h>

#include <algorithm>

#include "model/readers/yaml_fields.h"
#include "planner/transformer.h"

namespace weft::planner {
namespace {

constexpr std::int64_t kMostInModel = 100'000'000, kMostLayers = 10'000;

int whole(YamlFields& fields, std::string_view key, int usual, std::int64_t low = 0,
          std::int64_t high = kMostInModel) {
  return static_cast<int>(fields.integer(key, usual, low, high));
}

bool null_or_absent(YamlFields& fields, std::string_view key) {
  const YAML::Node* node = fields.get(key);
  return node == nullptr || node->IsNull();
}

Transformer read_own(YamlFields& fields) {
  Transformer m;
  m.name = fields.text("name", "unnamed");
  for (const char* key : {"layers", "hidden", "heads", "vocab", "sequence"}) fields.require(key);
  m.layers = whole(fields, "layers", 1, 1, kMostLayers);
  m.hidden = whole(fields, "hidden", 1, 1);
  m.heads = whole(fields, "heads", 1, 1);
  m.vocab = whole(fields, "vocab", 1, 1);
  m.sequence = whole(fields, "sequence", 1, 1);
  m.kv_heads = whole(fields, "kv_heads", m.heads, 1);
  m.head_size = whole(fields, "head_size", m.hidden / m.heads);
  m.gated = fields.flag("gated", false);
  m.tied = fields.flag("tied", true);
  m.dropout = fields.flag("dropout", !m.gated);
  m.ffn = whole(fields, "ffn",
                static_cast<int>(std::min<std::int64_t>(4LL * m.hidden, kMostInModel)), 1);
  Experts& e = m.experts;
  e.count = whole(fields, "experts", 0);
  e.per_token = whole(fields, "experts_per_token", e.count > 0 ? 1 : 0);
  e.shared = whole(fields, "shared_experts", 0);
  e.ffn = whole(fields, "expert_ffn", e.count > 0 ? m.ffn : 0);
  e.dense_layers = whole(fields, "dense_layers", 0);
  fields.done();
  return m;
}

// Keys of Hugging Face's configurations: Llama, Qwen, Mixtral and DeepSeek use one family of names,
// GPT-2 another. Other keys concern inference or initialisation and are passed over.
Transformer read_hugging_face(YamlFields& fields, const std::string& path) {
  Transformer m;
  const bool gpt2 = fields.has("n_embd");
  const auto pick = [&](const char* usual, const char* old) { return gpt2 ? old : usual; };
  m.name = null_or_absent(fields, "_name_or_path") ? "" : fields.text("_name_or_path", path);
  if (m.name.empty()) m.name = path;
  const char *layers = pick("num_hidden_layers", "n_layer"),
             *hidden = pick("hidden_size", "n_embd"),
             *heads = pick("num_attention_heads", "n_head");
  for (const char* key : {layers, hidden, heads, "vocab_size"}) fields.require(key);
  m.layers = whole(fields, layers, 1, 1, kMostLayers);
  m.hidden = whole(fields, hidden, 1, 1);
  m.heads = whole(fields, heads, 1, 1);
  m.vocab = whole(fields, "vocab_size", 1, 1);
  m.sequence = whole(fields, pick("max_position_embeddings", "n_positions"), 2048, 1);
  const auto optional = [&](const char* key, int usual) {
    return null_or_absent(fields, key) ? usual : whole(fields, key, usual);
  };
  m.kv_heads = optional("num_key_value_heads", m.heads);
  m.head_size = optional("head_dim", m.hidden / m.heads);
  m.ffn = optional(pick("intermediate_size", "n_inner"),
                   static_cast<int>(std::min<std::int64_t>(4LL * m.hidden, kMostInModel)));
  m.gated = !gpt2;
  m.dropout = gpt2;
  m.tied = null_or_absent(fields, "tie_word_embeddings") ? gpt2
                                                         : fields.flag("tie_word_embeddings", gpt2);
  Experts& e = m.experts;
  e.count = optional("num_local_experts", optional("n_routed_experts", optional("num_experts", 0)));
  if (e.count > 0) {
    e.per_token = optional("num_experts_per_tok", 1);
    e.shared = optional("n_shared_experts", 0);
    e.ffn = optional("moe_intermediate_size", m.ffn);
    e.dense_layers = optional("first_k_dense_replace", 0);
  }
  if (const int rank = optional("kv_lora_rank", 0); rank > 0) {
    m.latent = {.query_rank = optional("q_lora_rank", 0),
                .kv_rank = rank,
                .rope_size = optional("qk_rope_head_dim", 64),
                .value_size = optional("v_head_dim", m.head_size)};
    m.head_size = optional("qk_nope_head_dim", m.head_size);
  }
  return m;
}

}  // namespace

Result<Transformer> parse_transformer(const TextFile& file) {
  const Result<YAML::Node> root = load_yaml(file);
  if (!root.ok()) return root.error();
  try {
    Complaints complaints;
    YamlReport report(file.path, complaints);
    YamlFields fields(report, *root, "model");
    Transformer model;
    if (fields.is_map()) {
      const bool hugging_face = fields.has("vocab_size");
      model = hugging_face ? read_hugging_face(fields, file.path) : read_own(fields);
    }
    if (!complaints.empty()) return complaints.error("docs/planner.md lists the keys");
    const Status status = check(model);
    if (!status.ok()) return status.error();
    return model;
  } catch (const std::exception& exception) {
    return yaml_error(file.path, exception);
  }
}

}  // namespace weft::planner
