// Vectors of oneDNN's local response normalization, shuffle and logsoftmax, through the primitives.
// SPDX-License-Identifier: Apache-2.0
#include "check/check.hpp"

namespace octet::vectors {
namespace {

memory::desc row_major(const tensor_record &t) { return {t.dims, t.type, memory::dims()}; }

/// oneDNN's kernels of blocked layouts compute what those of channels-last do.
memory::desc in_layout(const tensor_record &t, const std::string &layout) {
    return layout == "nchw" ? row_major(t) : memory::desc(t.dims, t.type, format_tag::nhwc);
}

primitive_desc described(const std::string &op, const json_value &params, const tensor_record &x,
                         const tensor_record &y) {
    const engine cpu(engine::kind::cpu, 0);
    constexpr prop_kind prop = prop_kind::forward_inference;
    const auto number = [&](const char *name, std::int64_t last) {
        return static_cast<int>(params[name].integer(0, last));
    };
    if (op == "onednn_lrn") {
        const algorithm alg =
            number("within", 1) == 1 ? algorithm::lrn_within_channel : algorithm::lrn_across_channels;
        return lrn_forward::primitive_desc({prop, alg, in_layout(x, params["layout"].text()),
                                            params["size"].integer(1, 1 << 20), params["alpha"].f32(),
                                            params["beta"].f32(), params["k"].f32()},
                                           cpu);
    }
    if (op == "onednn_shuffle")
        return shuffle_forward::primitive_desc({prop, in_layout(x, params["layout"].text()),
                                                number("axis", max_ndims), number("group", 1 << 20)},
                                               cpu);
    primitive_attr attr;
    attr.set_output_scales(0, {params["scale"].f32()});
    return logsoftmax_forward::primitive_desc({prop, row_major(x), row_major(y), number("axis", max_ndims)},
                                              attr, cpu);
}

/// The first wrong element.
std::string difference(const primitive_desc &pd, const tensor_record &x, const tensor_record &y) {
    const engine cpu(engine::kind::cpu, 0);
    stream s(cpu);
    const auto reordered = [&](const memory &from, const memory::desc &to) {
        const memory m(to, cpu);
        reorder(reorder::primitive_desc(from, m)).execute(s, from, m);
        return m;
    };
    const memory given(row_major(x), cpu), dst(pd.dst_desc(), cpu);
    write(given, x.bytes);
    primitive(pd).execute(s, {{OCTET_ARG_SRC, reordered(given, pd.src_desc())}, {OCTET_ARG_DST, dst}});
    return first_difference("y", y.type, y.dims, y.bytes, view_of(reordered(dst, row_major(y))));
}

} // namespace

bool replay_onednn_case(const json_value &c, const std::vector<std::uint8_t> &blob, const options &opt,
                        report &results) {
    const std::string op = c["op"].text(), name = c["name"].text();
    if (op != "onednn_lrn" && op != "onednn_shuffle" && op != "onednn_logsoftmax")
        return false;
    const tensor_record x = read_tensor(c["inputs"]["x"], blob), y = read_tensor(c["outputs"]["y"], blob);
    try {
        const primitive_desc pd = described(op, c["params"], x, y);
        std::string complaint = implementation_complaint(opt.impl, pd.impl_info_str(), "");
        if (complaint.empty())
            complaint = difference(pd, x, y);
        results.judge(op, name, complaint, pd.impl_info_str());
    } catch (const malformed_file &) {
        throw;
    } catch (const error &e) {
        results.fail(op, name, e.what());
    }
    return true;
}

} // namespace octet::vectors
