#include "planner/transformer.h"

#include "planner/planner_testing.h"

namespace weft::planner {
namespace {

TEST(Transformer, ParametersAreThePublishedNumbers) {
  const struct {
    const char* name;
    double billions, active_billions, tolerance;
  } rows[] = {
      {"llama2-7b", 6.738, 6.738, 0.002},    {"llama2-70b", 68.98, 68.98, 0.002},
      {"llama3-8b", 8.03, 8.03, 0.002},      {"llama3-405b", 405.85, 405.85, 0.002},
      {"qwen2.5-72b", 72.7, 72.7, 0.005},    {"mixtral-8x7b", 46.7, 12.9, 0.005},
      {"mixtral-8x22b", 140.6, 39.1, 0.005}, {"qwen3-235b-a22b", 235.1, 22.2, 0.01},
      {"deepseek-v3", 671, 37.6, 0.01},      {"gpt3-175b", 174.6, 174.6, 0.005},
      {"megatron-1t", 1008, 1008, 0.005},    {"turing-530b", 529.6, 529.6, 0.005},
      {"megatron-3.6b", 3.6, 3.6, 0.02},
  };
  for (const auto& row : rows) {
    const Transformer model = model_named(row.name);
    EXPECT_NEAR(parameters(model) / 1e9, row.billions, row.tolerance * row.billions) << row.name;
    EXPECT_NEAR(active_parameters(model) / 1e9, row.active_billions, 0.02 * row.active_billions)
        << row.name;
  }
}

TEST(Transformer, NamesAreForgivingAndNearMissesAreSuggested) {
  EXPECT_EQ(find_transformer("GPT3_175B")->name, "gpt3-175b");
  const auto wrong = find_transformer("gpt3-175");
  ASSERT_FALSE(wrong.ok());
  EXPECT_NE(wrong.error().what.find("did you mean 'gpt3-175b'"), std::string::npos)
      << wrong.error().what;
}

TEST(Transformer, EveryModelOfTheCataloguePassesItsCheck) {
  for (const Transformer& model : transformers()) EXPECT_TRUE(check(model).ok()) << model.name;
}

TEST(TransformerReader, HuggingFaceConfigurations) {
  const auto mixtral = parse_transformer(
      {"config.json",
       R"({"architectures": ["MixtralForCausalLM"], "hidden_size": 4096, "head_dim": null,
           "intermediate_size": 14336, "max_position_embeddings": 4096, "num_attention_heads": 32,
           "num_experts_per_tok": 2, "num_hidden_layers": 32, "num_key_value_heads": 8,
           "num_local_experts": 8, "rope_theta": 1e6, "tie_word_embeddings": false,
           "vocab_size": 32000, "_name_or_path": "mixtral-8x7b"})"});
  ASSERT_TRUE(mixtral.ok()) << mixtral.error().text();
  EXPECT_EQ(*mixtral, model_named("mixtral-8x7b"));
  const auto gpt2 = parse_transformer(
      {"config.json", R"({"n_embd": 768, "n_head": 12, "n_layer": 12, "n_positions": 1024,
                          "vocab_size": 50257, "n_inner": null})"});
  ASSERT_TRUE(gpt2.ok()) << gpt2.error().text();
  EXPECT_EQ(gpt2->ffn, 3072);
  EXPECT_NEAR(parameters(*gpt2) / 1e6, 124.4, 0.5);
  const auto deepseek = parse_transformer(
      {"config.json",
       R"({"hidden_size": 7168, "intermediate_size": 18432, "moe_intermediate_size": 2048,
           "num_hidden_layers": 61, "num_attention_heads": 128, "num_key_value_heads": 128,
           "n_shared_experts": 1, "n_routed_experts": 256, "num_experts_per_tok": 8,
           "first_k_dense_replace": 3, "kv_lora_rank": 512, "q_lora_rank": 1536,
           "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "v_head_dim": 128,
           "max_position_embeddings": 4096, "vocab_size": 129280,
           "_name_or_path": "deepseek-v3"})"});
  ASSERT_TRUE(deepseek.ok()) << deepseek.error().text();
  EXPECT_EQ(*deepseek, model_named("deepseek-v3"));
}

TEST(TransformerReader, OwnYamlAndItsMistakes) {
  const auto good = parse_transformer(
      {"m.yaml", "name: tiny\nlayers: 4\nhidden: 256\nheads: 8\nvocab: 1000\nsequence: 128\n"});
  ASSERT_TRUE(good.ok()) << good.error().text();
  EXPECT_EQ(good->head_size, 32);
  EXPECT_EQ(good->ffn, 1024);
  const struct {
    const char* text;
    const char* says;
  } rows[] = {
      {"layers: 4\nhidden: 256\nheads: 8\nvocab: 1000\n", "sequence"},
      {"layers: 0\nhidden: 256\nheads: 8\nvocab: 1000\nsequence: 8\n", "layers"},
      {"layer: 4\nhidden: 256\nheads: 8\nvocab: 10\nsequence: 8\nlayers: 2\n", "did you mean"},
      {"layers: 4\nhidden: 256\nheads: 8\nkv_heads: 3\nvocab: 10\nsequence: 8\n", "evenly"},
      {"{\"vocab_size\": 10, \"hidden_size\": 64}", "num_hidden_layers"},
      {"{\"vocab_size\": 10,", "config"},
      {"[1, 2]", "map"},
  };
  for (const auto& row : rows) {
    const auto bad = parse_transformer({"config", row.text});
    ASSERT_FALSE(bad.ok()) << row.text;
    EXPECT_NE(bad.error().text().find(row.says), std::string::npos) << bad.error().text();
  }
}

}  // namespace
}  // namespace weft::planner
