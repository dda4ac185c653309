// Operators that take elements from where others, or the shape functions, say: Gather, Slice, Split, Concat, Expand, Where.

#include <algorithm>
#include <cstring>

#include "network/lower/broadcast.hpp"
#include "network/lower/moving.hpp"
#include "network/lower/onnx.hpp"

namespace octet::model {
namespace {

std::size_t axis_of(const lowering &l, std::int64_t fallback, std::size_t rank) {
    const auto size = static_cast<std::int64_t>(rank);
    const std::int64_t given = l.integer("axis", fallback);
    if (given < -size || given >= size)
        refuse("attribute 'axis' is " + std::to_string(given) + ", allowed: " + std::to_string(-size) +
               " to " + std::to_string(size - 1));
    return static_cast<std::size_t>(given < 0 ? given + size : given);
}

/// Blocks of a tensor in the order of indices, which are checked before anything is written.
class gather_step final : public step {
public:
    gather_step(buffer data, buffer indices, buffer dst, std::int64_t outer, std::int64_t size,
                std::int64_t count, std::size_t block)
        : data_(std::move(data)), indices_(std::move(indices)), dst_(std::move(dst)), outer_(outer),
          size_(size), count_(count), block_(block) {}

    void run(const stream &, const run_memory &m) const override {
        const auto *index = m.at<std::int32_t>(indices_);
        for (std::int64_t i = 0; i < count_; i++)
            if (index[i] < -size_ || index[i] >= size_)
                throw error(status::invalid_arguments,
                            "Gather: index " + std::to_string(i) + " is " + std::to_string(index[i]) +
                                ", allowed: " + std::to_string(-size_) + " to " + std::to_string(size_ - 1));
        const auto *data = m.at<std::uint8_t>(data_);
        auto *y = m.at<std::uint8_t>(dst_);
        for (std::int64_t o = 0; o < outer_; o++)
            for (std::int64_t i = 0; i < count_; i++, y += block_) {
                const std::int64_t from = o * size_ + (index[i] < 0 ? index[i] + size_ : index[i]);
                std::memcpy(y, data + static_cast<std::size_t>(from) * block_, block_);
            }
    }

    std::string implementation() const override { return "copy"; }
    std::string explain() const override {
        return "copies of " + std::to_string(block_) + " bytes, one per index";
    }

private:
    buffer data_, indices_, dst_;
    std::int64_t outer_, size_, count_;
    std::size_t block_;
};

template <typename T>
void choose_row(void *y, const void *const *operands, const dim_t *strides, dim_t count) {
    for (dim_t i = 0; i < count; i++) {
        const std::size_t chosen =
            static_cast<const std::uint8_t *>(operands[0])[i * strides[0]] != 0 ? 1 : 2;
        static_cast<T *>(y)[i] = static_cast<const T *>(operands[chosen])[i * strides[chosen]];
    }
}

walked_operand broadcast_operand(const lowering &l, std::size_t i) {
    return {l.input_buffer(i), broadcast_strides(l.input(i).dims, l.output().dims)};
}

} // namespace

std::unique_ptr<step> lower_gather(const lowering &l) {
    const tensor &x = any_input(l, 0), &indices = l.input(1, {data_type::s32}), &y = l.output({x.type});
    const std::size_t axis = axis_of(l, 0, x.dims.size());
    const auto middle = x.dims.begin() + static_cast<std::ptrdiff_t>(axis);
    memory::dims expected(x.dims.begin(), middle);
    expected.insert(expected.end(), indices.dims.begin(), indices.dims.end());
    expected.insert(expected.end(), middle + 1, x.dims.end());
    need_output_dims(l, expected);
    const auto block =
        static_cast<std::size_t>(element_count({middle + 1, x.dims.end()})) * memory::data_type_size(y.type);
    return std::make_unique<gather_step>(l.input_buffer(0), l.input_buffer(1), l.output_buffer(),
                                         element_count({x.dims.begin(), middle}), *middle,
                                         element_count(indices.dims), block);
}

/// `begin` and `stride` are the shape function's.
std::unique_ptr<step> lower_slice(const lowering &l) {
    const tensor &x = any_input(l, 0), &y = l.output({x.type});
    const memory::dims begin = l.integers("begin", {}), stride = l.integers("stride", {});
    if (begin.size() != x.dims.size() || stride.size() != x.dims.size() || y.dims.size() != x.dims.size())
        refuse("attributes 'begin' and 'stride' are not those of " + to_text(x.dims));
    for (std::size_t d = 0; d < x.dims.size(); d++) {
        const dim_t last = begin[d] + (y.dims[d] - 1) * stride[d];
        if (begin[d] < 0 || begin[d] >= x.dims[d] || last < 0 || last >= x.dims[d])
            refuse("elements " + std::to_string(begin[d]) + " to " + std::to_string(last) + " are outside " +
                   to_text(x.dims));
    }
    if (std::all_of(stride.begin(), stride.end(), [](dim_t s) { return s == 1; }) && !x.dims.empty()) {
        auto result = std::make_unique<primitive_step>();
        add_copy(*result, l.input_buffer(0, dense_desc(x).submemory_desc(y.dims, begin)), l.output_buffer());
        return result;
    }
    walked_operand source{l.input_buffer(0), broadcast_strides(x.dims, x.dims)};
    for (std::size_t d = 0; d < x.dims.size(); d++) {
        source.first += begin[d] * source.strides[d];
        source.strides[d] *= stride[d];
    }
    return broadcast_step(l, {source}, copying(memory::data_type_size(y.type)));
}

std::unique_ptr<step> lower_split(const lowering &l) {
    const tensor &x = any_input(l, 0);
    const std::size_t axis = axis_of(l, 0, x.dims.size());
    auto result = std::make_unique<primitive_step>();
    memory::dims begin(x.dims.size(), 0);
    for (std::size_t i = 0; i < l.get_node().outputs.size(); i++) {
        const tensor &y = l.output(i, {x.type});
        memory::dims part = x.dims;
        part[axis] = y.dims.size() == x.dims.size() ? y.dims[axis] : 0;
        if (y.dims != part || begin[axis] + part[axis] > x.dims[axis])
            refuse("output " + std::to_string(i) + " (" + to_text(y.dims) + ") is no part of " +
                   to_text(x.dims));
        add_copy(*result, l.input_buffer(0, dense_desc(x).submemory_desc(part, begin)), l.output_buffer(i));
        begin[axis] += part[axis];
    }
    return result;
}

std::unique_ptr<step> lower_concat(const lowering &l) {
    const tensor &first = any_input(l, 0), &y = l.output({first.type});
    const std::size_t axis = axis_of(l, 0, y.dims.size());
    arguments args{{OCTET_ARG_DST, l.output_buffer()}};
    std::vector<memory::desc> srcs;
    for (std::size_t i = 0; i < l.input_count(); i++) {
        if (element_count(l.input(i, {first.type}).dims) == 0)
            continue;
        const int arg = OCTET_ARG_MULTIPLE_SRC + static_cast<int>(srcs.size());
        args[arg] = l.input_buffer(i);
        srcs.push_back(args[arg].get_desc());
    }
    return one_step(concat::primitive_desc(l.output_buffer().get_desc(), static_cast<int>(axis), srcs,
                                           l.get_engine(), copy_attr(first.type)),
                    args);
}

std::unique_ptr<step> lower_expand(const lowering &l) {
    const tensor &x = any_input(l, 0), &y = l.output({x.type});
    if (element_count(x.dims) == element_count(y.dims))
        return make_view(l);
    return broadcast_step(l, {broadcast_operand(l, 0)}, copying(memory::data_type_size(y.type)));
}

std::unique_ptr<step> lower_where(const lowering &l) {
    l.input(0, {data_type::u8});
    const tensor &x = any_input(l, 1);
    l.input(2, {x.type});
    l.output({x.type});
    const std::size_t size = memory::data_type_size(x.type);
    const row_function f = size == 1   ? choose_row<std::uint8_t>
                           : size == 2 ? choose_row<std::uint16_t>
                                       : choose_row<std::uint32_t>;
    return broadcast_step(l, {broadcast_operand(l, 0), broadcast_operand(l, 1), broadcast_operand(l, 2)}, f);
}

} // namespace octet::model
