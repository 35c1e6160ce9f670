// What differs between versions of torch, in one place. torch 1.13 derives back ends from
// ProcessGroup; torch 2 from Backend, with the same operations.
#pragma once

#include <torch/version.h>

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/Types.hpp>
#include <torch/csrc/distributed/c10d/Work.hpp>
#if TORCH_VERSION_MAJOR >= 2
#include <torch/csrc/distributed/c10d/Backend.hpp>
#endif

namespace weft::bindings {

#if TORCH_VERSION_MAJOR >= 2
using TorchGroup = c10d::Backend;
#else
using TorchGroup = c10d::ProcessGroup;
#endif
using TorchWork = c10d::Work;

}  // namespace weft::bindings
