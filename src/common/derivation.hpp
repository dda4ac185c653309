#pragma once // SPDX-License-Identifier: Apache-2.0

#include "octet/requantization.hpp"

namespace octet::impl {

/// `real_multiplier` without its checks: a scale of a pruned channel is 0.
double factor_of_scales(scale_derivation how, float src_scale, float weights_scale, float dst_scale);

/// Throws `invalid_arguments` unless a scale that a caller gives is positive and finite.
void require_scale(const char *call, const char *name, float scale);

} // namespace octet::impl
