// Both functions go through one call with as many words as the longer version has parameters.
// SPDX-License-Identifier: Apache-2.0
#include "onednn/preload/real_many.hpp"

#include "onednn/preload/real_library.hpp"

namespace octet::onednn {
namespace {

using in_words = dnnl_status_t (*)(dnnl_primitive_desc_t *, word, word, word, word, word, word);

template <typename Function>
dnnl_status_t call(Function function, dnnl_primitive_desc_t *result, word a, word b, word c, word d, word e,
                   word f) {
    const auto untyped = reinterpret_cast<void (*)()>(function); // says that the types differ on purpose
    return hand_on("pd", reinterpret_cast<in_words>(untyped), result, a, b, c, d, e, f);
}

} // namespace

dnnl_status_t real_concat_primitive_desc_create(dnnl_primitive_desc_t *result, word a, word b, word c, word d,
                                                word e, word f) {
    return call(real().dnnl_concat_primitive_desc_create, result, a, b, c, d, e, f);
}

dnnl_status_t real_sum_primitive_desc_create(dnnl_primitive_desc_t *result, word a, word b, word c, word d,
                                             word e, word f) {
    return call(real().dnnl_sum_primitive_desc_create, result, a, b, c, d, e, f);
}

} // namespace octet::onednn
