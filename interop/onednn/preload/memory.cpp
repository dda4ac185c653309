// Memory and its descriptors are the real library's. Descriptors of packed weights pass through here to be
// mended: clients that rebuild one by hand (ideep transposes weights so) keep the part that counts and lose
// what the real library reads.
// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "onednn/packed_descriptor.hpp"
#include "onednn/preload/real_library.hpp"

using namespace octet::onednn;

namespace {

/// A descriptor as the real library shall see it.
class mended {
public:
    explicit mended(const dnnl_memory_desc_t *md) : md_(md) {
        if (md && real().is_known && is_packed(*md)) {
            copy_ = *md;
            mend_packed(*copy_);
            md_ = &*copy_;
        }
    }
    const dnnl_memory_desc_t *get() const { return md_; }

private:
    const dnnl_memory_desc_t *md_;
    std::optional<dnnl_memory_desc_t> copy_;
};

} // namespace

extern "C" {

size_t dnnl_memory_desc_get_size(const dnnl_memory_desc_t *md) {
    return call_behind(real().dnnl_memory_desc_get_size, size_t{0}, mended(md).get());
}

int dnnl_memory_desc_equal(const dnnl_memory_desc_t *a, const dnnl_memory_desc_t *b) {
    return call_behind(real().dnnl_memory_desc_equal, 0, mended(a).get(), mended(b).get());
}

dnnl_status_t dnnl_memory_create(dnnl_memory_t *memory, const dnnl_memory_desc_t *md, dnnl_engine_t engine,
                                 void *handle) {
    return hand_on("memory", real().dnnl_memory_create, memory, mended(md).get(), engine, handle);
}

} // extern "C"
