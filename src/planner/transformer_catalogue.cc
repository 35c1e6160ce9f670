// Shapes as their papers and published config.json files state them (docs/planner.md names each).
#include "planner/transformer.h"

namespace weft::planner {
namespace {

// Llama type: gated feed-forward, no biases or dropout, own output layer.
Transformer llama(std::string name, int layers, int hidden, int heads, int kv_heads, int ffn,
                  int sequence, int vocab) {
  Transformer model = gpt(std::move(name), layers, hidden, heads, sequence, vocab);
  model.kv_heads = kv_heads;
  model.ffn = ffn;
  model.gated = true;
  model.tied = model.dropout = false;
  return model;
}

Transformer with_head(Transformer model, int head_size) {
  model.head_size = head_size;
  return model;
}

Transformer with_experts(Transformer model, Experts experts) {
  model.experts = experts;
  return model;
}

Transformer deepseek_v3() {
  Transformer model = llama("deepseek-v3", 61, 7168, 128, 128, 18432, 4096, 129280);
  model.head_size = 128;
  model.latent = {.query_rank = 1536, .kv_rank = 512, .rope_size = 64, .value_size = 128};
  model.experts = {.count = 256, .per_token = 8, .shared = 1, .ffn = 2048, .dense_layers = 3};
  return model;
}

// Brown et al. 2020, table of sizes; vocabulary padded as Megatron does.
void add_gpt3(std::vector<Transformer>& all) {
  constexpr int kSequence = 2048, kVocab = 51200;
  all.push_back(gpt("gpt3-125m", 12, 768, 12, kSequence, kVocab));
  all.push_back(gpt("gpt3-350m", 24, 1024, 16, kSequence, kVocab));
  all.push_back(gpt("gpt3-760m", 24, 1536, 16, kSequence, kVocab));
  all.push_back(gpt("gpt3-1.3b", 24, 2048, 16, kSequence, kVocab));
  all.push_back(gpt("gpt3-2.7b", 32, 2560, 32, kSequence, kVocab));
  all.push_back(gpt("gpt3-6.7b", 32, 4096, 32, kSequence, kVocab));
  all.push_back(gpt("gpt3-13b", 40, 5120, 40, kSequence, kVocab));
  all.push_back(gpt("gpt3-175b", 96, 12288, 96, kSequence, kVocab));
}

// Narayanan et al. 2021, table 1; Korthikanti et al. 2022 add 22B.
void add_megatron(std::vector<Transformer>& all) {
  constexpr int kSequence = 2048, kVocab = 51200;
  all.push_back(gpt("megatron-1.7b", 24, 2304, 24, kSequence, kVocab));
  all.push_back(gpt("megatron-3.6b", 30, 3072, 32, kSequence, kVocab));
  all.push_back(gpt("megatron-7.5b", 36, 4096, 32, kSequence, kVocab));
  all.push_back(gpt("megatron-18b", 40, 6144, 48, kSequence, kVocab));
  all.push_back(gpt("megatron-22b", 48, 6144, 64, kSequence, kVocab));
  all.push_back(gpt("megatron-39b", 48, 8192, 64, kSequence, kVocab));
  all.push_back(gpt("megatron-76b", 60, 10240, 80, kSequence, kVocab));
  all.push_back(gpt("megatron-145b", 80, 12288, 96, kSequence, kVocab));
  all.push_back(gpt("megatron-310b", 96, 16384, 128, kSequence, kVocab));
  all.push_back(gpt("turing-530b", 105, 20480, 128, kSequence, kVocab));
  all.push_back(gpt("megatron-1t", 128, 25600, 160, kSequence, kVocab));
}

void add_llama(std::vector<Transformer>& all) {
  all.push_back(llama("llama2-7b", 32, 4096, 32, 32, 11008, 4096, 32000));
  all.push_back(llama("llama2-13b", 40, 5120, 40, 40, 13824, 4096, 32000));
  all.push_back(llama("llama2-70b", 80, 8192, 64, 8, 28672, 4096, 32000));
  all.push_back(llama("llama3-8b", 32, 4096, 32, 8, 14336, 8192, 128256));
  all.push_back(llama("llama3-70b", 80, 8192, 64, 8, 28672, 8192, 128256));
  all.push_back(llama("llama3-405b", 126, 16384, 128, 8, 53248, 8192, 128256));
  all.push_back(llama("qwen2.5-7b", 28, 3584, 28, 4, 18944, 4096, 152064));
  all.push_back(llama("qwen2.5-72b", 80, 8192, 64, 8, 29568, 4096, 152064));
  all.push_back(with_head(llama("qwen3-32b", 64, 5120, 64, 8, 25600, 4096, 151936), 128));
}

void add_experts(std::vector<Transformer>& all) {
  all.push_back(with_experts(llama("mixtral-8x7b", 32, 4096, 32, 8, 14336, 4096, 32000),
                             {.count = 8, .per_token = 2, .ffn = 14336}));
  all.push_back(with_experts(llama("mixtral-8x22b", 56, 6144, 48, 8, 16384, 4096, 32768),
                             {.count = 8, .per_token = 2, .ffn = 16384}));
  all.push_back(
      with_experts(with_head(llama("qwen3-235b-a22b", 94, 4096, 64, 4, 12288, 4096, 151936), 128),
                   {.count = 128, .per_token = 8, .ffn = 1536}));
  all.push_back(deepseek_v3());
}

}  // namespace

const std::vector<Transformer>& transformers() {
  static const std::vector<Transformer> all = [] {
    std::vector<Transformer> list;
    add_gpt3(list);
    add_megatron(list);
    add_llama(list);
    add_experts(list);
    return list;
  }();
  return all;
}

}  // namespace weft::planner
