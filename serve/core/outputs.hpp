#pragma once // SPDX-License-Identifier: Apache-2.0

// Outputs as a request wants them: in another datatype, or by Triton's classification extension the largest
// elements, as texts "value:index".

#include "core/model.hpp"

namespace octet::serve {

/// Replaces those outputs of a finished job that were asked for in another form than the network's. Throws
/// refusal where there is no room for them.
void present(const served_model &m, job &j);

/// The datatype of an output in the reply.
const char *name_of_datatype(const wanted_output &w);

/// The texts of a tensor of BYTES: each lies behind its size, of four bytes.
std::vector<std::string> texts_of(const byte_range &bytes);

} // namespace octet::serve
