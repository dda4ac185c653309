// Sum and concat. In oneDNN 3.x their parameters stand in another order, and whatever comes must reach such a
// library unchanged; so they are words of a register here, and this file doesn't include the header that
// declares the functions.
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <memory>

#include "octet/compat/dnnl_config.h"
#include "octet/compat/dnnl_types.h"

#include "onednn/interface/decision.hpp"
#include "onednn/preload/real_many.hpp"

using namespace octet::onednn;

namespace {

/// Descriptors of the sources, which lie side by side.
std::vector<const dnnl_memory_desc_t *> sources(word first, int count) {
    std::vector<const dnnl_memory_desc_t *> srcs;
    for (int i = 0; i < count; i++)
        srcs.push_back(reinterpret_cast<const dnnl_memory_desc_t *>(first) + i);
    return srcs;
}

} // namespace

extern "C" {

DNNL_API dnnl_status_t dnnl_concat_primitive_desc_create(dnnl_primitive_desc_t *result, word dst, word count,
                                                         word dimension, word srcs, word attr, word engine) {
    if (may_take() && result && static_cast<int>(count) > 0 && srcs && engine) {
        request r;
        r.kind = dnnl_concat;
        r.dst = reinterpret_cast<const dnnl_memory_desc_t *>(dst);
        r.srcs = sources(srcs, static_cast<int>(count));
        r.concat_dimension = static_cast<int>(dimension);
        r.attr = reinterpret_cast<const_dnnl_primitive_attr_t>(attr);
        r.engine = reinterpret_cast<dnnl_engine_t>(engine);
        const decision made = decide(r);
        if (!made.falls_back())
            return answer(made, result);
    }
    return real_concat_primitive_desc_create(result, dst, count, dimension, srcs, attr, engine);
}

DNNL_API dnnl_status_t dnnl_sum_primitive_desc_create(dnnl_primitive_desc_t *result, word dst, word count,
                                                      word scales, word srcs, word attr, word engine) {
    if (may_take() && result && static_cast<int>(count) > 0 && scales && srcs && engine) {
        request r;
        r.kind = dnnl_sum;
        r.dst = reinterpret_cast<const dnnl_memory_desc_t *>(dst);
        r.srcs = sources(srcs, static_cast<int>(count));
        r.scales = reinterpret_cast<const float *>(scales);
        r.attr = reinterpret_cast<const_dnnl_primitive_attr_t>(attr);
        r.engine = reinterpret_cast<dnnl_engine_t>(engine);
        const decision made = decide(r);
        if (!made.falls_back())
            return answer(made, result);
    }
    return real_sum_primitive_desc_create(result, dst, count, scales, srcs, attr, engine);
}

} // extern "C"
