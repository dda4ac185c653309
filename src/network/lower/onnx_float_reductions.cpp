// LogSoftmax and ReduceL2 with ONNX Runtime's orders of sums, which no primitive has.

#include <algorithm>
#include <array>
#include <cmath>

#include "network/lower/broadcast.hpp"
#include "network/lower/onnx.hpp"

namespace octet::model {
namespace {

/// x - max - ln(sum of e^(x - max)): the exponentials by primitives, sums as those of Softmax.
class log_softmax_step final : public step {
public:
    log_softmax_step(const lowering &l, const memory::desc &md, int axis)
        : dst_(l.output_buffer(md)), exponentials_(l.scratch(md)) {
        const memory::dims dims = md.dims();
        const auto middle = dims.begin() + axis;
        outer_ = element_count({dims.begin(), middle});
        size_ = *middle;
        inner_ = element_count({middle + 1, dims.end()});
        memory::dims reduced = dims;
        reduced[static_cast<std::size_t>(axis)] = 1;
        const memory::desc row_md(reduced, data_type::f32, memory::dims());
        const buffer src = l.input_buffer(0, md), largest = l.scratch(row_md);
        primitives_.add(
            reduction::primitive_desc({algorithm::reduction_max, md, row_md, 0.f, 0.f}, l.get_engine()),
            {{OCTET_ARG_SRC, src}, {OCTET_ARG_DST, largest}});
        primitives_.add(
            binary::primitive_desc({algorithm::binary_sub, md, row_md, md}, primitive_attr(), l.get_engine()),
            {{OCTET_ARG_SRC_0, src}, {OCTET_ARG_SRC_1, largest}, {OCTET_ARG_DST, dst_}});
        const eltwise_forward::desc exponential(prop_kind::forward_inference, algorithm::eltwise_ort_exp, md,
                                                md, 0.f);
        primitives_.add(eltwise_forward::primitive_desc(exponential, primitive_attr(), l.get_engine()),
                        {{OCTET_ARG_SRC, dst_}, {OCTET_ARG_DST, exponentials_}});
    }

    void make_primitives() override { primitives_.make_primitives(); }
    void run(const stream &s, const run_memory &m) const override {
        primitives_.run(s, m);
        for (dim_t o = 0; o < outer_; o++)
            for (dim_t i = 0; i < inner_; i++) {
                const dim_t first = o * size_ * inner_ + i;
                const float sum = sum_of(m.at<float>(exponentials_) + first);
                const float logarithm = std::log(sum);
                float *y = m.at<float>(dst_) + first;
                for (dim_t k = 0; k < size_; k++)
                    y[k * inner_] -= logarithm;
            }
    }
    std::string implementation() const override { return primitives_.implementation() + " + loop"; }
    std::string explain() const override {
        return primitives_.explain() + "\na plain loop over " + std::to_string(outer_ * inner_) + " rows";
    }

private:
    /// Over 16 lanes; of them halves, then neighbours.
    float sum_of(const float *x) const {
        std::array<float, 16> lanes{};
        for (dim_t k = 0; k < size_; k++)
            lanes[static_cast<std::size_t>(k % 16)] += x[k * inner_];
        for (std::size_t i = 0; i < 8; i++)
            lanes[i] += lanes[i + 8];
        for (std::size_t distance = 1; distance < 8; distance *= 2)
            for (std::size_t i = 0; i < 8; i += 2 * distance)
                lanes[i] += lanes[i + distance];
        return lanes[0];
    }

    buffer dst_, exponentials_;
    dim_t outer_ = 0, size_ = 0, inner_ = 0;
    primitive_step primitives_;
};

/// A sum of squares over eight lanes, then of what is left over four; of them halves, then what is left at last.
float sum_of_squares(const float *x, dim_t count) {
    std::array<float, 8> lanes{};
    const dim_t eights = count / 8 * 8, fours = count / 4 * 4;
    for (dim_t k = 0; k < eights; k++)
        lanes[static_cast<std::size_t>(k % 8)] += x[k] * x[k];
    for (std::size_t i = 0; i < 4; i++)
        lanes[i] += lanes[i + 4];
    for (dim_t k = eights; k < fours; k++)
        lanes[static_cast<std::size_t>(k % 4)] += x[k] * x[k];
    float sum = (lanes[0] + lanes[2]) + (lanes[1] + lanes[3]);
    for (dim_t k = fours; k < count; k++)
        sum += x[k] * x[k];
    return sum;
}

/// Square roots of sums of squares, each added up in the order of memory, if there are several.
class norm_step final : public step {
public:
    norm_step(buffer src, buffer dst, memory::dims dims, memory::dims strides)
        : src_(std::move(src)), dst_(std::move(dst)), dims_(std::move(dims)), strides_(std::move(strides)) {}

    void run(const stream &, const run_memory &m) const override {
        const dim_t count = element_count(dst_.get_desc().dims()), rows = element_count(dims_) / dims_.back();
        const float *x = m.at<float>(src_);
        float *y = m.at<float>(dst_);
        if (count == 1) {
            *y = std::sqrt(sum_of_squares(x, element_count(dims_)));
            return;
        }
        std::fill_n(y, count, 0.f);
        memory::dims at(dims_.size() - 1);
        for (dim_t r = 0; r < rows; r++, x += dims_.back()) {
            dim_t place = 0;
            for (std::size_t d = 0; d < at.size(); d++)
                place += at[d] * strides_[d];
            for (dim_t k = 0; k < dims_.back(); k++)
                y[place + k * strides_.back()] += x[k] * x[k];
            for (std::size_t d = at.size(); d-- > 0 && ++at[d] == dims_[d];)
                at[d] = 0;
        }
        for (dim_t i = 0; i < count; i++)
            y[i] = std::sqrt(y[i]);
    }
    std::string implementation() const override { return "loop"; }
    std::string explain() const override { return "a plain loop over " + to_text(dims_) + " elements"; }

private:
    buffer src_, dst_;
    memory::dims dims_, strides_;
};

} // namespace

std::unique_ptr<step> lower_log_softmax(const lowering &l) {
    const tensor &x = l.input(0, {data_type::f32}), &y = l.output({data_type::f32});
    if (x.dims != y.dims)
        refuse("input " + to_text(x.dims) + " and output " + to_text(y.dims) + " differ in shape");
    int axis = 0;
    const memory::desc md = softmax_desc(l, x, axis);
    return std::make_unique<log_softmax_step>(l, md, axis);
}

std::unique_ptr<step> lower_reduce_l2(const lowering &l) {
    const tensor &x = l.input(0, {data_type::f32}), &y = l.output({data_type::f32});
    const memory::dims reduced = l.integers("reduced", {});
    if (reduced.size() != x.dims.size() || element_count(reduced) != element_count(y.dims) || x.dims.empty())
        refuse("attribute 'reduced' is not that of " + to_text(x.dims) + " and " + to_text(y.dims));
    return std::make_unique<norm_step>(l.input_buffer(0), l.output_buffer(), x.dims,
                                       broadcast_strides(reduced, x.dims));
}

} // namespace octet::model
