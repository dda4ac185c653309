#pragma once // SPDX-License-Identifier: Apache-2.0

// Whether loops of this thread may be divided.

namespace octet::impl {

/// While it exists, every parallel_for of this thread is sequential: for kernels within a range of another.
class sequential_scope {
public:
    sequential_scope();
    ~sequential_scope();
    sequential_scope(const sequential_scope &) = delete;
    sequential_scope &operator=(const sequential_scope &) = delete;

private:
    const bool before_;
};

/// True while a `sequential_scope` of this thread exists.
bool is_sequential();

} // namespace octet::impl
