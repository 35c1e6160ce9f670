#include "bindings/python/torch_elements.h"

#include <optional>

namespace weft::bindings {

using runtime::DataType;

void check_tensor(const at::Tensor& tensor, const char* operation) {
  TORCH_CHECK(tensor.layout() == at::kStrided, "weft: ", operation,
              " takes dense tensors; got layout ", tensor.layout());
  TORCH_CHECK(tensor.device().is_cpu(), "weft: ", operation,
              " takes tensors in host memory; got device ", tensor.device());
}

const at::Tensor& only_tensor(const Tensors& tensors, const char* operation) {
  TORCH_CHECK(tensors.size() == 1, "weft: ", operation, " takes one tensor per rank; got ",
              tensors.size());
  check_tensor(tensors[0], operation);
  return tensors[0];
}

static std::optional<DataType> known_type(at::ScalarType type) {
  switch (type) {
    case at::kFloat:
      return DataType::kFloat32;
    case at::kDouble:
      return DataType::kFloat64;
    case at::kHalf:
      return DataType::kFloat16;
    case at::kBFloat16:
      return DataType::kBfloat16;
    case at::kInt:
      return DataType::kInt32;
    case at::kLong:
      return DataType::kInt64;
    case at::kByte:
      return DataType::kUint8;
    default:
      return std::nullopt;
  }
}

Elements moved(const at::Tensor& tensor) {
  if (const auto type = known_type(tensor.scalar_type()))
    return {*type, static_cast<std::uint64_t>(tensor.numel())};
  return {DataType::kUint8, static_cast<std::uint64_t>(tensor.numel()) * tensor.element_size()};
}

DataType reduced_type(const at::Tensor& tensor, runtime::ReduceOp op) {
  if (const auto type = known_type(tensor.scalar_type())) return *type;
  const bool ordered = op == runtime::ReduceOp::kMin || op == runtime::ReduceOp::kMax;
  if (tensor.scalar_type() == at::kBool && ordered) return DataType::kUint8;
  TORCH_CHECK(false, "weft: the ", std::string(name_of(op)), " of ", tensor.scalar_type(),
              " is not supported; it is for float16, float32, float64, bfloat16, int32, int64 and "
              "uint8, and min and max also for bool");
}

runtime::ReduceOp reduction_of(const c10d::ReduceOp& op) {
  switch (static_cast<c10d::ReduceOp::RedOpType>(op)) {
    case c10d::ReduceOp::SUM:
      return runtime::ReduceOp::kSum;
    case c10d::ReduceOp::AVG:
      return runtime::ReduceOp::kAverage;
    case c10d::ReduceOp::MIN:
      return runtime::ReduceOp::kMin;
    case c10d::ReduceOp::MAX:
      return runtime::ReduceOp::kMax;
    default:
      break;
  }
  static constexpr const char* kNames[] = {"SUM",  "AVG", "PRODUCT", "MIN",       "MAX",
                                           "BAND", "BOR", "BXOR",    "PREMUL_SUM"};
  const auto index = static_cast<std::size_t>(static_cast<c10d::ReduceOp::RedOpType>(op));
  TORCH_CHECK(false, "weft: the reduction ", index < std::size(kNames) ? kNames[index] : "?",
              " is not supported; SUM, AVG, MIN and MAX are");
}

void check_equal_sizes(const Tensors& tensors, std::size_t want, const at::Tensor& like,
                       const char* what) {
  TORCH_CHECK(tensors.size() == want, "weft: ", what, " needs ", want,
              " tensors, one per rank; got ", tensors.size());
  for (const auto& tensor : tensors) {
    check_tensor(tensor, what);
    TORCH_CHECK(tensor.numel() == like.numel() && tensor.scalar_type() == like.scalar_type(),
                "weft: tensors of ", what, " differ: ", tensor.numel(), " ", tensor.scalar_type(),
                " and ", like.numel(), " ", like.scalar_type());
  }
}

std::uint64_t elements_in(const Tensors& tensors) {
  std::uint64_t count = 0;
  for (const auto& tensor : tensors) count += static_cast<std::uint64_t>(tensor.numel());
  return count;
}

at::Tensor empty_like_all(const Tensors& tensors, const char* operation) {
  TORCH_CHECK(!tensors.empty(), "weft: ", operation, " got no tensors");
  for (const auto& tensor : tensors) {
    check_tensor(tensor, operation);
    TORCH_CHECK(tensor.scalar_type() == tensors[0].scalar_type(), "weft: ", operation,
                " takes tensors of one type; got ", tensors[0].scalar_type(), " and ",
                tensor.scalar_type());
  }
  return at::empty({static_cast<int64_t>(elements_in(tensors))},
                   at::TensorOptions().dtype(tensors[0].scalar_type()));
}

at::Tensor flat(const Tensors& tensors, const char* operation) {
  const at::NoGradGuard no_grad;
  at::Tensor all = empty_like_all(tensors, operation);
  int64_t at = 0;
  for (const auto& tensor : tensors) {
    all.narrow(0, at, tensor.numel()).copy_(tensor.reshape({-1}));
    at += tensor.numel();
  }
  return all;
}

void unflatten(const at::Tensor& flat, const Tensors& tensors) {
  int64_t at = 0;
  for (const auto& tensor : tensors) {
    tensor.copy_(flat.narrow(0, at, tensor.numel()).view_as(tensor));
    at += tensor.numel();
  }
}

}  // namespace weft::bindings
