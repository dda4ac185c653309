#pragma once

// A matmul whose integer bias has a value per row or per element, as ONNX Runtime's QGemm may have: products
// by the dot kernel, to s32; bias and all else by the stream kernel.

#include <memory>
#include <string>

#include "cpu/registry.hpp"

namespace octet::impl::biased_matmul {

offer plan(const matmul_problem &p, const machine &m);
} // namespace octet::impl::biased_matmul
