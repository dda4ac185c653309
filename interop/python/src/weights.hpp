#pragma once // SPDX-License-Identifier: Apache-2.0

// octet.Weights: weights that are packed once for many calls.

#include <mutex>
#include <vector>

#include "dynamic.hpp"
#include "octet/fork_guard.hpp"

namespace octet::python {

/// Weights that are used again, with the layouts that primitives chose for them so far.
class weights {
public:
    explicit weights(const py::object &w);

    const py::array &array() const { return array_; }

    /// In the layout that a primitive chose; packed at the first time. `values`: null, or what is packed with it.
    memory packed(const memory &plain, const memory::desc &chosen, const weight_values *values);

private:
    const py::array array_;
    std::mutex mutex_;
    const fork_guard at_fork_{mutex_};
    struct packing {
        memory::desc from;
        std::optional<weight_values> values;
        memory to;
    };
    std::vector<packing> packed_;
};

void bind_weights(py::module_ &m);

} // namespace octet::python
