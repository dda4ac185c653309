#include "cpu/accumulating/weights.hpp"

#include "cpu/accumulating/pack.hpp"
#include "cpu/machine/scratch.hpp"

namespace octet::impl {

const std::int8_t *stored_weights::bind(const arguments &args) const {
    const void *weights = args.get<const void>(OCTET_ARG_WEIGHTS);
    if (memory::desc(given_) == memory::desc(packed_))
        return static_cast<const std::int8_t *>(weights);
    memory_desc plain = given_;
    if (plain.format_kind == format_kind::packed) { // in another order: depthwise weights for another stride
        set_row_major(plain);
        void *unpacked = thread_scratch(scratch_slot::source_rows, size_in_bytes(plain));
        unpack_weights(given_, weights, plain, unpacked);
        weights = unpacked;
    }
    void *packed = thread_scratch(scratch_slot::packed_weights, size_bytes());
    pack_weights(plain, weights, packed_, packed);
    return static_cast<const std::int8_t *>(packed);
}

} // namespace octet::impl
