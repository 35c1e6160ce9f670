#include "planner/transformer.h"

#include <fmt/core.h>

#include <cctype>

#include "base/files.h"
#include "model/readers/yaml_fields.h"

namespace weft::planner {

Transformer gpt(std::string name, int layers, int hidden, int heads, int sequence, int vocab) {
  Transformer model;
  model.name = std::move(name);
  model.layers = layers;
  model.hidden = hidden;
  model.heads = model.kv_heads = heads;
  model.head_size = hidden / heads;
  model.ffn = 4 * hidden;
  model.sequence = sequence;
  model.vocab = vocab;
  return model;
}

namespace {

Error bad_model(const Transformer& model, std::string what) {
  return {ErrorKind::kInvalidInput, fmt::format("model {}: {}", shown(model.name), what), ""};
}

}  // namespace

Status check(const Transformer& model) {
  const struct {
    const char* what;
    int value;
  } counts[] = {{"layers", model.layers},       {"hidden", model.hidden},
                {"heads", model.heads},         {"kv_heads", model.kv_heads},
                {"head_size", model.head_size}, {"ffn", model.ffn},
                {"vocab", model.vocab},         {"sequence", model.sequence}};
  for (const auto& [what, value] : counts) {
    if (value < 1)
      return bad_model(model, fmt::format("{} is {}; it must be at least 1", what, value));
  }
  if (model.heads % model.kv_heads != 0) {
    return bad_model(model, fmt::format("{} heads cannot share {} key-value heads evenly",
                                        model.heads, model.kv_heads));
  }
  const Experts& e = model.experts;
  if (e.count > 0 && (e.per_token < 1 || e.per_token > e.count || e.ffn < 1 || e.shared < 0 ||
                      e.dense_layers < 0 || e.dense_layers > model.layers)) {
    return bad_model(model,
                     fmt::format("experts: {} per token of {}, width {}, {} dense layers of {}",
                                 e.per_token, e.count, e.ffn, e.dense_layers, model.layers));
  }
  return {};
}

double attention_parameters(const Transformer& m) {
  const double h = m.hidden;
  const LatentAttention& l = m.latent;
  if (l.kv_rank > 0) {
    const double query = l.query_rank > 0 ? h * l.query_rank + double(l.query_rank) * m.heads *
                                                                   (m.head_size + l.rope_size)
                                          : h * m.heads * (m.head_size + l.rope_size);
    return query + h * (l.kv_rank + l.rope_size) +
           double(l.kv_rank) * m.heads * (m.head_size + l.value_size) +
           double(m.heads) * l.value_size * h;
  }
  const double query = double(m.heads) * m.head_size, kv = 2.0 * m.kv_heads * m.head_size;
  const double biases = m.dropout ? query + kv + h : 0;
  return h * (query + kv) + query * h + biases;
}

double dense_ffn_parameters(const Transformer& m) {
  const double biases = m.dropout ? m.ffn + m.hidden : 0;
  return (m.gated ? 3.0 : 2.0) * m.hidden * m.ffn + biases;
}

double expert_parameters(const Transformer& m) {
  return (m.gated ? 3.0 : 2.0) * m.hidden * m.experts.ffn;
}

double layer_parameters(const Transformer& m, int layer) {
  const double norms = (m.dropout ? 4.0 : 2.0) * m.hidden;
  double total = attention_parameters(m) + norms;
  const Experts& e = m.experts;
  if (e.count == 0 || layer < e.dense_layers) return total + dense_ffn_parameters(m);
  total += double(m.hidden) * e.count;  // router
  return total + (e.count + e.shared) * expert_parameters(m);
}

double embedding_parameters(const Transformer& m) { return double(m.vocab) * m.hidden; }

double parameters(const Transformer& m) {
  double total = embedding_parameters(m) * (m.tied ? 1 : 2) + (m.dropout ? 2.0 : 1.0) * m.hidden;
  if (m.dropout) total += double(m.sequence) * m.hidden;
  for (int layer = 0; layer < m.layers; ++layer) total += layer_parameters(m, layer);
  return total;
}

double active_parameters(const Transformer& m) {
  const Experts& e = m.experts;
  if (e.count == 0) return parameters(m);
  return parameters(m) -
         double(m.layers - e.dense_layers) * (e.count - e.per_token) * expert_parameters(m);
}

std::string plain_name(std::string_view name) {
  std::string out;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || c == '.') out += static_cast<char>(std::tolower(byte));
  }
  return out;
}

Result<Transformer> find_transformer(const std::string& name) {
  std::vector<std::string> known;
  for (const Transformer& model : transformers()) {
    if (plain_name(model.name) == plain_name(name)) return model;
    known.push_back(model.name);
  }
  if (is_file(name)) {
    const auto text = read_file(name, kMaxYamlBytes);
    if (!text.ok()) return text.error();
    return parse_transformer({name, *text});
  }
  return Error{
      ErrorKind::kNotFound,
      fmt::format("no model is named {} and no file is{}", shown(name), did_you_mean(name, known)),
      "weft plan search --list prints the catalogue; a path to YAML or config.json works"};
}

}  // namespace weft::planner
