#pragma once // SPDX-License-Identifier: Apache-2.0

// Names of oneDNN's enumerators.

#include <vector>

#include "octet/compat/dnnl_types.h"

namespace octet::onednn {

struct named {
    int value;
    const char *name;
};

/// One name for each value, the first of several.
///@{
const std::vector<named> &status_names();
const std::vector<named> &dt_names();
const std::vector<named> &fmt_kind_names();
const std::vector<named> &prop_kind_names();
const std::vector<named> &prim_kind_names();
const std::vector<named> &alg_kind_names();
const std::vector<named> &rnn_flags_names();
const std::vector<named> &rnn_direction_names();
const std::vector<named> &engine_kind_names();
const std::vector<named> &fpmath_mode_names();
const std::vector<named> &scratchpad_mode_names();
const std::vector<named> &cpu_isa_names();
const std::vector<named> &cpu_isa_hints_names();
const std::vector<named> &fmt_tag_names();
///@}

const char *name_of(const std::vector<named> &names, int value, const char *otherwise);

} // namespace octet::onednn
