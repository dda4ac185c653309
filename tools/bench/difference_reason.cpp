// Reasons that can be tried come first; an operator or a CPU with another order of sums is a reason that may
// apply.
// SPDX-License-Identifier: Apache-2.0
#include "bench/difference_reason.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "octet/octet.hpp"

namespace octet::tools {
namespace {

bool are_both_nan(const char *a, const char *b) {
    float x, y;
    std::memcpy(&x, a, sizeof x);
    std::memcpy(&y, b, sizeof y);
    return std::isnan(x) && std::isnan(y);
}

/// Whether the bytes are equal, or with `but_nan` those of all floats that are numbers.
bool is_equal(const std::string &theirs, const tensor_view &ours, bool but_nan) {
    const char *const own = static_cast<const char *>(ours.data());
    if (theirs.size() != ours.size_in_bytes())
        return false;
    if (!but_nan || ours.data_type() != data_type::f32)
        return std::memcmp(theirs.data(), own, theirs.size()) == 0;
    for (std::size_t i = 0; i < theirs.size(); i += sizeof(float))
        if (std::memcmp(theirs.data() + i, own + i, sizeof(float)) != 0 &&
            !are_both_nan(theirs.data() + i, own + i))
            return false;
    return true;
}

bool are_equal(const std::vector<std::string> &theirs, const network &ours, bool but_nan) {
    for (std::size_t i = 0; i < theirs.size(); i++)
        if (!is_equal(theirs[i], ours.output(i), but_nan))
            return false;
    return true;
}

/// Operators, among those that ONNX Runtime's rewrites leave, whose sums may have another order there.
constexpr std::pair<const char *, const char *> operators[] = {
    {"MultiHeadAttention",
     "MultiHeadAttention of many keys, whose sums ONNX Runtime corrects from block to block"},
    {"Resize", "a Resize of mode cubic between two Transposes"},
};

} // namespace

std::string difference_reason(const std::vector<std::string> &theirs, const network &ours,
                              const std::function<network()> &without_rows_alike) {
    if (are_equal(theirs, ours, true) && !are_equal(theirs, ours, false))
        return "the bits of a NaN";
    if (ours.options().rows_alike && are_equal(theirs, without_rows_alike(), false))
        return "--rows-alike: without it the bytes are equal";
    if (get_machine_cpu_isa() < cpu_isa::avx512_vnni)
        return "possibly this CPU: without AVX512-VNNI ONNX Runtime itself gives other bytes than with it";
    const std::vector<std::string> &left = ours.operators_left();
    for (const auto &[op, reason] : operators)
        if (std::count(left.begin(), left.end(), op) != 0)
            return std::string("possibly ") + reason;
    return "";
}

} // namespace octet::tools
