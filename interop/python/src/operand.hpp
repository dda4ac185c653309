#pragma once // SPDX-License-Identifier: Apache-2.0

// The common part of all operations' arguments: arrays as operands of primitives, results, execution.

#include <vector>

#include "attributes.hpp"

namespace octet::python {

/// An array with the descriptor of its strides; copied where a descriptor cannot say them (negative, overlapping).
struct operand {
    py::array array;
    memory::desc desc;

    operand(const py::handle &object, const std::string &who);

    primitive::argument as(int arg) const { return {arg, const_cast<void *>(array.data())}; }

private:
    bool is_plain() const;
};

bool is_channels_last(const operand &x);

/// An array for results, in channels-last order if asked for; it begins as the array that a sum post-op adds to.
operand result(data_type type, const dims &sizes, bool channels_last, const attributes &a);

/// Runs a primitive with its arguments and those of post-ops, without Python's lock.
void execute(const primitive &p, std::vector<primitive::argument> args, const attributes &a);

/// The type of results: as asked for, or that of the input (s32 behind rule none).
data_type result_type(const py::object &asked, const operand &x, const attributes &a);

/// A dimension counted from either end, from 0 on.
int axis_of(int axis, int rank);

} // namespace octet::python
