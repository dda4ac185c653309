#pragma once // SPDX-License-Identifier: Apache-2.0

// dnnl.hpp, second part: where things run and what they work on.

#include "octet/compat/dnnl_handles.hpp"

namespace dnnl {

struct primitive_desc;

/// The device that primitives run on: there is one, the CPU.
struct engine : public handle<dnnl_engine_t> {
    /// Kinds by oneDNN's numbers.
    enum class kind { any = dnnl_any_engine, cpu = dnnl_cpu, gpu = dnnl_gpu };

    using handle::handle;
    engine() = default; ///< none
    /// Throws for anything but the CPU and index 0.
    engine(kind k, std::size_t index) {
        dnnl_engine_t result = nullptr;
        octet_detail::check(dnnl_engine_create(&result, static_cast<dnnl_engine_kind_t>(k), index));
        reset(result);
    }
    /// The engine of a primitive descriptor.
    ///@{
    engine(const handle<dnnl_primitive_desc_t> &pd) : engine(query(pd)) {}
    template <typename Pd> static engine query(const Pd &pd) {
        dnnl_engine_t result = nullptr;
        octet_detail::check(dnnl_primitive_desc_query(pd.get(), dnnl_query_engine, 0, &result));
        return engine(result, true);
    }
    ///@}

    /// Engines of a kind: 1, or 0 GPUs.
    static std::size_t get_count(kind k) { return dnnl_engine_get_count(static_cast<dnnl_engine_kind_t>(k)); }
    kind get_kind() const { ///< cpu
        dnnl_engine_kind_t result;
        octet_detail::check(dnnl_engine_get_kind(get(), &result));
        return static_cast<kind>(result);
    }
};
inline dnnl_engine_kind_t convert_to_c(engine::kind k) {
    return static_cast<dnnl_engine_kind_t>(k);
} ///< the number

/// Executions are complete when they return, so a stream has nothing to wait for.
struct stream : public handle<dnnl_stream_t> {
    /// Accepted and without effect.
    enum class flags : unsigned {
        in_order = dnnl_stream_in_order,
        out_of_order = dnnl_stream_out_of_order,
        default_flags = dnnl_stream_default_flags
    };

    using handle::handle;
    stream() = default; ///< none
    /// Makes a stream of an engine.
    stream(const engine &e, flags f = flags::default_flags) {
        dnnl_stream_t result = nullptr;
        octet_detail::check(dnnl_stream_create(&result, e.get(), static_cast<unsigned>(f)));
        reset(result);
    }
    engine get_engine() const { ///< as given
        dnnl_engine_t result = nullptr;
        octet_detail::check(dnnl_stream_get_engine(get(), &result));
        return engine(result, true);
    }
    stream &wait() { ///< returns at once
        octet_detail::check(dnnl_stream_wait(get()));
        return *this;
    }
};
OCTET_DNNL_FLAGS(stream::flags)

/// A buffer with a description. Primitives use it with the layout that their descriptor names.
struct memory : public handle<dnnl_memory_t> {
    using dim = dnnl_dim_t;        ///< a size or an index, in elements
    using dims = std::vector<dim>; ///< up to 12 of them

    /// Element types, by oneDNN's numbers.
    enum class data_type {
        undef = dnnl_data_type_undef,
        f16 = dnnl_f16,
        bf16 = dnnl_bf16,
        f32 = dnnl_f32,
        s32 = dnnl_s32,
        s8 = dnnl_s8,
        u8 = dnnl_u8
    };
    /// The form of a layout. `octet`: as Octet packs weights, where oneDNN has a blocked layout after `any`.
    enum class format_kind {
        undef = dnnl_format_kind_undef,
        any = dnnl_format_kind_any,
        blocked = dnnl_blocked,
        wino = dnnl_format_kind_wino,
        packed = dnnl_format_kind_rnn_packed,
        octet = dnnl_format_kind_octet
    };
    /// oneDNN's layouts by name (octet/compat/dnnl_tags.h).
    enum class format_tag {
        undef = dnnl_format_tag_undef,
        any = dnnl_format_tag_any,
#define OCTET_DNNL_TAG(name, number) name = number,
#define OCTET_DNNL_NAME(name, of) name = of,
        OCTET_DNNL_TAGS_PLAIN(OCTET_DNNL_TAG) OCTET_DNNL_TAGS_BLOCKED(OCTET_DNNL_TAG)
            OCTET_DNNL_TAGS_NAMED(OCTET_DNNL_NAME)
#undef OCTET_DNNL_TAG
#undef OCTET_DNNL_NAME
                format_tag_last = dnnl_format_tag_last
    };
    /// The numbers.
    ///@{
    static dnnl_data_type_t convert_to_c(data_type type) { return static_cast<dnnl_data_type_t>(type); }
    static dnnl_format_tag_t convert_to_c(format_tag tag) { return static_cast<dnnl_format_tag_t>(tag); }
    ///@}

    /// Bytes of an element.
    static std::size_t data_type_size(data_type type) { return dnnl_data_type_size(convert_to_c(type)); }
    /// Throws unless there are between `min_size` and 12 elements.
    template <typename T> static void validate_dims(const std::vector<T> &v, int min_size = 0) {
        validate_container_size(v, "dimensions are invalid", min_size, DNNL_MAX_NDIMS);
    }

    /// Shape, type and layout of a tensor; default-constructed: no tensor. With `allow_empty`, here and
    /// below, the result is that where the call would throw.
    struct desc {
        dnnl_memory_desc_t data; ///< the C interface's description

        desc() : data() {}                               ///< no tensor
        desc(const dnnl_memory_desc_t &md) : data(md) {} ///< a copy
        /// Dense, in a layout by name or `any`.
        desc(const dims &shape, data_type type, format_tag tag, bool allow_empty = false) : data() {
            validate_dims(shape);
            take(dnnl_memory_desc_init_by_tag(&data, static_cast<int>(shape.size()), shape.data(),
                                              convert_to_c(type), convert_to_c(tag)),
                 allow_empty);
        }
        /// By strides in elements; without strides dense and row-major.
        desc(const dims &shape, data_type type, const dims &strides, bool allow_empty = false) : data() {
            validate_dims(shape);
            if (!strides.empty())
                validate_dims(strides, static_cast<int>(shape.size()));
            take(dnnl_memory_desc_init_by_strides(&data, static_cast<int>(shape.size()), shape.data(),
                                                  convert_to_c(type),
                                                  strides.empty() ? nullptr : strides.data()),
                 allow_empty);
        }

        /// The part of this tensor that starts at `offsets`.
        desc submemory_desc(const memory::dims &shape, const memory::dims &offsets,
                            bool allow_empty = false) const {
            validate_dims(shape, data.ndims);
            validate_dims(offsets, data.ndims);
            desc result;
            result.take(dnnl_memory_desc_init_submemory(&result.data, &data, shape.data(), offsets.data()),
                        allow_empty);
            return result;
        }
        /// Gives the same elements under other dimensions, where strides can say so.
        desc reshape(const memory::dims &shape, bool allow_empty = false) const {
            validate_dims(shape);
            desc result;
            result.take(
                dnnl_memory_desc_reshape(&result.data, &data, static_cast<int>(shape.size()), shape.data()),
                allow_empty);
            return result;
        }
        /// Dimension i becomes dimension `permutation[i]`.
        desc permute_axes(const std::vector<int> &permutation, bool allow_empty = false) const {
            validate_dims(permutation, data.ndims);
            desc result;
            result.take(dnnl_memory_desc_permute_axes(&result.data, &data, permutation.data()), allow_empty);
            return result;
        }

        /// Fields of `data`, in the spelling of oneDNN 2.x and of 3.x.
        ///@{
        memory::data_type data_type() const { return static_cast<memory::data_type>(data.data_type); }
        memory::dims dims() const { return memory::dims(data.dims, data.dims + data.ndims); }
        int get_ndims() const { return data.ndims; }
        memory::data_type get_data_type() const { return data_type(); }
        memory::dims get_dims() const { return dims(); }
        memory::format_kind get_format_kind() const {
            return static_cast<memory::format_kind>(data.format_kind);
        }
        memory::dims get_strides() const {
            const dnnl_dim_t *strides = data.format_desc.blocking.strides;
            return data.format_kind == dnnl_blocked ? memory::dims(strides, strides + data.ndims)
                                                    : memory::dims();
        }
        ///@}
        /// Bytes of a buffer that holds the tensor.
        std::size_t get_size() const { return dnnl_memory_desc_get_size(&data); }
        bool is_zero() const { return data.ndims == 0; }           ///< no tensor
        explicit operator bool() const { return data.ndims != 0; } ///< a tensor
        /// Equal tensors in equal layouts.
        ///@{
        bool operator==(const desc &other) const { return dnnl_memory_desc_equal(&data, &other.data) != 0; }
        bool operator!=(const desc &other) const { return !(*this == other); }
        ///@}

    private:
        void take(dnnl_status_t status, bool allow_empty) {
            if (status == dnnl_success)
                return;
            data = dnnl_memory_desc_t();
            if (!allow_empty)
                octet_detail::check(status);
        }
    };

    using handle::handle;
    memory() = default; ///< none
    /// Uses the caller's buffer, or allocates one.
    ///@{
    memory(const desc &md, const engine &e, void *buffer) {
        dnnl_memory_t result = nullptr;
        octet_detail::check(dnnl_memory_create(&result, &md.data, e.get(), buffer));
        reset(result);
    }
    memory(const desc &md, const engine &e) : memory(md, e, DNNL_MEMORY_ALLOCATE) {}
    ///@}

    desc get_desc() const { ///< as given
        const dnnl_memory_desc_t *result = nullptr;
        octet_detail::check(dnnl_memory_get_memory_desc(get(), &result));
        return *result;
    }
    engine get_engine() const { ///< as given
        dnnl_engine_t result = nullptr;
        octet_detail::check(dnnl_memory_get_engine(get(), &result));
        return engine(result, true);
    }
    /// The buffer.
    ///@{
    void *get_data_handle() const {
        void *result = nullptr;
        octet_detail::check(dnnl_memory_get_data_handle(get(), &result));
        return result;
    }
    void set_data_handle(void *buffer) const {
        octet_detail::check(dnnl_memory_set_data_handle(get(), buffer));
    }
    void set_data_handle(void *buffer, const stream &) const { set_data_handle(buffer); }
    template <typename T = void> T *map_data() const {
        void *result = nullptr;
        octet_detail::check(dnnl_memory_map_data(get(), &result));
        return static_cast<T *>(result);
    }
    void unmap_data(void *mapped) const { octet_detail::check(dnnl_memory_unmap_data(get(), mapped)); }
    ///@}
};

/// Enumerators of both interfaces.
///@{
inline bool operator==(dnnl_data_type_t a, memory::data_type b) { return a == memory::convert_to_c(b); }
inline bool operator!=(dnnl_data_type_t a, memory::data_type b) { return !(a == b); }
inline bool operator==(memory::data_type a, dnnl_data_type_t b) { return b == a; }
inline bool operator!=(memory::data_type a, dnnl_data_type_t b) { return !(b == a); }
inline bool operator==(dnnl_format_tag_t a, memory::format_tag b) { return a == memory::convert_to_c(b); }
inline bool operator!=(dnnl_format_tag_t a, memory::format_tag b) { return !(a == b); }
inline bool operator==(memory::format_tag a, dnnl_format_tag_t b) { return b == a; }
inline bool operator!=(memory::format_tag a, dnnl_format_tag_t b) { return !(b == a); }
inline std::vector<dnnl_memory_desc_t> convert_to_c(const std::vector<memory::desc> &descs) {
    std::vector<dnnl_memory_desc_t> result;
    for (const memory::desc &d : descs)
        result.push_back(d.data);
    return result;
}
///@}

} // namespace dnnl
