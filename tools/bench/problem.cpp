// Any problem that verbose mode prints, as something to be timed: its primitive with memory for every
// argument.
// SPDX-License-Identifier: Apache-2.0
#include "bench/problem.hpp"

#include <algorithm>
#include <unordered_map>

#include "bench/roofline.hpp"

namespace octet::tools {
namespace {

double product(const memory::dims &dims) {
    double result = 1;
    for (const memory::dim d : dims)
        result *= static_cast<double>(d);
    return result;
}

/// Bytes that look random for codes, 1 for floats (scales among them), 0 for s32 (zero points among them).
void fill_argument(const memory &m, std::uint32_t seed) {
    const std::size_t bytes = m.get_desc().get_size();
    switch (m.get_desc().data_type()) {
    case data_type::f32:
        std::fill_n(m.map_data<float>(), bytes / sizeof(float), 1.f);
        break;
    case data_type::s32:
        std::fill_n(m.map_data<std::uint8_t>(), bytes, std::uint8_t{0});
        break;
    default:
        fill(m.get_data_handle(), m.get_desc().data_type(), bytes, seed);
    }
}

class problem_workload : public workload {
public:
    explicit problem_workload(const primitive_desc &pd)
        : primitive_(pd), stream_(pd.get_engine()), implementation_(pd.impl_info_str()) {
        for (const int arg : pd.args())
            arguments_.emplace(arg, filled(pd, pd.arg_desc(arg), static_cast<std::uint32_t>(arg)));
    }

    void run() override {
        primitive_.execute(stream_, arguments_);
        stream_.wait();
    }
    std::string implementation() const override { return implementation_; }

private:
    memory filled(const primitive_desc &pd, const memory::desc &d, std::uint32_t seed) {
        const engine e = pd.get_engine();
        const memory m(d, e);
        if (d.get_format_kind() != format_kind::packed) {
            fill_argument(m, seed);
            return m;
        }
        const memory plain(memory::desc(d.get_dims(), d.data_type(), memory::dims{}), e);
        fill_argument(plain, seed);
        pack(pd.get_primitive_attr(), plain, m); // sums of weights are part of the layout
        return m;
    }
    /// Also with the scales and zero points that lie beside the codes.
    void pack(const primitive_attr &of_product, const memory &plain, const memory &packed) {
        primitive_attr attr;
        if (packed.get_desc().data.packed_kind == packed_kind::matmul_with_scales) {
            const auto values_of = [](const auto &values) {
                const auto found = values.find(OCTET_ARG_WEIGHTS);
                return found == values.end() ? nullptr : &found->second;
            };
            if (const auto *scales = values_of(of_product.scales()))
                attr.set_scales(OCTET_ARG_SRC, scales->mask, scales->groups, data_type::f32);
            if (const auto *zero_points = values_of(of_product.zero_points()))
                attr.set_zero_points(OCTET_ARG_SRC, zero_points->mask, zero_points->groups, data_type::s32);
        }
        const primitive_desc packing = reorder::primitive_desc(plain, packed, attr);
        std::unordered_map<int, memory> args{{OCTET_ARG_FROM, plain}, {OCTET_ARG_TO, packed}};
        for (const int arg : packing.args())
            if (arg != OCTET_ARG_FROM && arg != OCTET_ARG_TO) {
                args.emplace(arg, memory(packing.arg_desc(arg), packing.get_engine()));
                fill_argument(args.at(arg), 0);
            }
        primitive(packing).execute(stream_, args);
    }

    primitive primitive_;
    stream stream_;
    std::string implementation_;
    std::unordered_map<int, memory> arguments_;
};

} // namespace

std::unique_ptr<workload> make_problem_workload(const primitive_desc &pd) {
    return std::make_unique<problem_workload>(pd);
}

namespace {

std::int64_t size_of(const memory::desc &d) {
    return d.get_dims().empty() ? 0 : static_cast<std::int64_t>(d.get_size());
}

/// All arguments but the destination are read; of a convolution's source what some output needs.
traffic traffic_of(const primitive_desc &pd) {
    traffic bytes;
    for (const int arg : pd.args())
        (arg == OCTET_ARG_DST ? bytes.written : bytes.read) += size_of(pd.arg_desc(arg));
    if (pd.get_kind() != primitive_kind::convolution)
        return bytes;
    const memory::dims src = pd.src_desc().get_dims(), weights = pd.weights_desc().get_dims(),
                       dst = pd.dst_desc().get_dims();
    const std::int64_t whole = size_of(pd.src_desc());
    std::int64_t needed = whole;
    for (std::size_t from_end = 1; from_end + 2 <= src.size(); from_end++) { // width, height, depth
        const auto at = [&](const memory::dims &dims) { return dims[dims.size() - from_end]; };
        if (at(src) > 0)
            needed = needed / at(src) * needed_positions(at(src), at(dst), at(weights));
    }
    bytes.read += needed - whole;
    return bytes;
}

} // namespace

subject subject_of(const primitive_desc &pd) {
    subject s;
    s.bytes = traffic_of(pd);
    s.name = to_string(pd.get_kind());
    s.is_f32 = pd.src_desc().data_type() == data_type::f32;
    const memory::dims dst = pd.dst_desc().get_dims(), weights = pd.weights_desc().get_dims();
    switch (pd.get_kind()) {
    case primitive_kind::convolution: // weights {OC, IC, …}, or {G, OC, IC, …} of one group
        s.operations = 2 * product(dst) * product(weights) / static_cast<double>(dst.at(1));
        break;
    case primitive_kind::inner_product: // {OC, IC, …}
        s.operations = 2 * product(dst) * product(weights) / static_cast<double>(weights.at(0));
        break;
    case primitive_kind::matmul: // dst {…, M, N}, src {…, M, K}
        s.operations = 2 * product(dst) * static_cast<double>(pd.src_desc().get_dims().back());
        break;
    default: // products are not what takes their time
        break;
    }
    return s;
}

} // namespace octet::tools
