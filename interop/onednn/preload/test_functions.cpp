// oneDNN's own tests replace the functions of gates by factors, through a function that its headers do not declare and
// whose values nothing returns. Attributes with which that was done go to the real library.
// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>

#include <atomic>
#include <mutex>
#include <unordered_set>

#include "octet/fork_guard.hpp"
#include "onednn/preload/attributes.hpp"
#include "onednn/preload/real_library.hpp"

using namespace octet::onednn;

namespace {

class marked_attributes {
public:
    void mark(const_dnnl_primitive_attr_t attr) {
        const std::lock_guard<std::mutex> lock(mutex_);
        all_.insert(attr);
        count_ = all_.size();
    }
    void forget(const_dnnl_primitive_attr_t attr) {
        if (count_ == 0) // as in every program but those tests
            return;
        const std::lock_guard<std::mutex> lock(mutex_);
        all_.erase(attr);
        count_ = all_.size();
    }
    bool has(const_dnnl_primitive_attr_t attr) {
        if (count_ == 0)
            return false;
        const std::lock_guard<std::mutex> lock(mutex_);
        return all_.count(attr) != 0;
    }

private:
    std::mutex mutex_;
    const octet::fork_guard at_fork_{mutex_};
    std::unordered_set<const_dnnl_primitive_attr_t> all_;
    std::atomic<std::size_t> count_{0};
};

/// Used until the last thread ends.
marked_attributes &marked() {
    static marked_attributes &all = *new marked_attributes;
    return all;
}

} // namespace

bool octet::onednn::has_test_functions(const_dnnl_primitive_attr_t attr) { return marked().has(attr); }

/// A function of C++, unlike all others.
DNNL_API dnnl_status_t dnnl_primitive_attr_set_rnn_tparams(dnnl_primitive_attr_t attr, bool mode,
                                                           dnnl_dim_t gates, const float *scales,
                                                           float c_scale) {
    static const auto set = reinterpret_cast<decltype(&dnnl_primitive_attr_set_rnn_tparams)>(
        real().handle
            ? dlsym(real().handle, "_Z35dnnl_primitive_attr_set_rnn_tparamsP19dnnl_primitive_attrblPKff")
            : nullptr);
    if (mode)
        marked().mark(attr);
    else
        marked().forget(attr);
    return hand_on("attr", set, attr, mode, gates, scales, c_scale);
}

extern "C" dnnl_status_t dnnl_primitive_attr_destroy(dnnl_primitive_attr_t attr) {
    marked().forget(attr);
    return hand_on("attr", real().dnnl_primitive_attr_destroy, attr);
}
