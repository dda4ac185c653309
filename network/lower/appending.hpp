#pragma once // SPDX-License-Identifier: Apache-2.0

// Steps that append rows to an input and give the whole as an output, as caches of decoders grow. A caller
// may bind both to one buffer; then only the new rows are written.

#include "network/lower/buffers.hpp"

namespace octet::model {

class appending_step {
public:
    /// Whether the step appends to `past` and gives `present`.
    virtual bool appends(const buffer &past, const buffer &present) const = 0;
    /// Whether masks that it reads have a column for each row of the tensors, of which sequences that lie
    /// apart have the last ones. Otherwise columns are those of rows from the first one on.
    virtual bool takes_last_columns() const = 0;

protected:
    ~appending_step() = default;
};

} // namespace octet::model
