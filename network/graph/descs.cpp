// A scalar has one dimension, broadcasting aligns at the end, matrices are transposed by strides: what
// descriptors say, no kernel needs to do.
// SPDX-License-Identifier: Apache-2.0
#include "network/graph/descs.hpp"

#include <algorithm>
#include <cstring>

namespace octet::model {

memory::desc dense_desc(const tensor &t) {
    constexpr format_tag channels_last[] = {format_tag::nwc, format_tag::nhwc, format_tag::ndhwc};
    if (t.is_channels_last)
        return memory::desc(t.dims, t.type, channels_last[t.dims.size() - 3]);
    return memory::desc(t.dims.empty() ? memory::dims{1} : t.dims, t.type, memory::dims());
}

memory::desc padded_desc(const tensor &t, std::size_t rank) {
    if (t.dims.size() == rank)
        return dense_desc(t);
    memory::dims dims(rank - std::min(rank, t.dims.size()), 1);
    dims.insert(dims.end(), t.dims.begin(), t.dims.end());
    return memory::desc(dims, t.type, memory::dims());
}

memory::dims broadcast(const memory::dims &a, const memory::dims &b) {
    memory::dims result = a.size() < b.size() ? b : a;
    const memory::dims &shorter = a.size() < b.size() ? a : b;
    const std::size_t offset = result.size() - shorter.size();
    for (std::size_t i = 0; i < shorter.size(); i++) {
        dim_t &d = result[offset + i];
        if (d != shorter[i] && d != 1 && shorter[i] != 1)
            refuse("inputs " + to_text(a) + " and " + to_text(b) + " do not broadcast");
        d = d == 1 ? shorter[i] : d;
    }
    return result;
}

memory::desc matrices_desc(const memory::dims &matrix_dims, data_type type, std::size_t rank,
                           bool is_transposed) {
    memory::dims dims(rank - matrix_dims.size(), 1);
    dims.insert(dims.end(), matrix_dims.begin(), matrix_dims.end());
    memory::dims strides(rank, 1);
    for (std::size_t i = rank - 1; i-- > 0;)
        strides[i] = strides[i + 1] * dims[i + 1];
    if (is_transposed) {
        std::swap(dims[rank - 2], dims[rank - 1]);
        std::swap(strides[rank - 2], strides[rank - 1]);
    }
    return memory::desc(dims, type, strides);
}

memory::desc planned_weights(const memory::desc &plain, const tensor &weights) {
    return weights.is_constant ? memory::desc(plain.dims(), plain.data_type(), format_tag::any) : plain;
}

memory::desc checked_desc(const tensor &t) {
    if (t.type == data_type::undef || elements_per_byte(t.type) > 1)
        refuse_as_unimplemented("tensor '" + t.name + "' is " + type_text(t) +
                                "; networks have f32, s32, s16, s8 and u8");
    return dense_desc(t);
}

memory::desc constant_desc(const tensor &t) {
    if (elements_per_byte(t.type) == 1)
        return checked_desc(t);
    return memory::desc({static_cast<dim_t>(t.data.size())}, data_type::u8, format_tag::x);
}

memory constant_memory(const memory::desc &d, const shared_bytes &bytes) {
    const engine cpu(engine::kind::cpu, 0);
    const std::size_t element = memory::data_type_size(d.data_type());
    if (reinterpret_cast<std::uintptr_t>(bytes.data()) % element == 0)
        return memory(d, cpu, const_cast<std::uint8_t *>(bytes.data()));
    memory copy(d, cpu);
    std::memcpy(copy.get_data_handle(), bytes.data(),
                std::min(bytes.size(), d.get_size())); // of a part: up to its end
    return copy;
}

} // namespace octet::model
