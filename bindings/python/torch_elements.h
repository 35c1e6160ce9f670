// Tensors as the runtime sees them: memory, an element type and a count.
#pragma once

#include <functional>

#include "bindings/python/torch_work.h"

namespace weft::bindings {

struct Elements {
  runtime::DataType type = runtime::DataType::kUint8;
  std::uint64_t count = 0;
};

// Each throws a sentence when the tensor or the reduction cannot be served.
void check_tensor(const at::Tensor& tensor, const char* operation);
const at::Tensor& only_tensor(const Tensors& tensors, const char* operation);
// For moving: types the runtime does not know are bytes to it.
Elements moved(const at::Tensor& tensor);
runtime::DataType reduced_type(const at::Tensor& tensor, runtime::ReduceOp op);
runtime::ReduceOp reduction_of(const c10d::ReduceOp& op);
// One contiguous tensor that holds the elements of all, which must be of one type.
at::Tensor flat(const Tensors& tensors, const char* operation);
at::Tensor empty_like_all(const Tensors& tensors, const char* operation);
// The inverse: copies parts of `flat` to `tensors`.
void unflatten(const at::Tensor& flat, const Tensors& tensors);
std::uint64_t elements_in(const Tensors& tensors);

// Operations on memory that is not contiguous work on a copy.
struct InPlace {
  explicit InPlace(const at::Tensor& tensor) : given(tensor), used(tensor.contiguous()) {}
  std::function<void()> finish() const {
    if (used.is_same(given)) return {};
    return [given = given, used = used] { given.copy_(used); };
  }
  at::Tensor given, used;
};

// Throws unless there are `want` tensors, each of as many elements and of the type of `like`.
void check_equal_sizes(const Tensors& tensors, std::size_t want, const at::Tensor& like,
                       const char* what);

}  // namespace weft::bindings
