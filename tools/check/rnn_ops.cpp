// Vectors of oneDNN's int8 recurrent networks: weights are quantized by a reorder, as programs of oneDNN do it,
// then the primitive runs.
// SPDX-License-Identifier: Apache-2.0
#include "check/check.hpp"

namespace octet::vectors {
namespace {

class rnn_case {
public:
    rnn_case(const json_value &c, const std::vector<std::uint8_t> &blob)
        : inputs_(c["inputs"]), intermediate_(c["intermediate"]), outputs_(c["outputs"]),
          params_(c["params"]), blob_(blob) {
        attr_.set_rnn_data_qparams(params_["data_scale"].f32(), params_["data_shift"].f32());
        attr_.set_rnn_weights_qparams(static_cast<int>(params_["weights_scales_mask"].integer(0, 24)),
                                      floats("weights_scales"));
        if (inputs_.has("projection_scales")) {
            const std::vector<float> scales = floats("projection_scales");
            attr_.set_rnn_weights_projection_qparams(scales.size() == 1 ? 0 : 8, scales);
        }
    }

    void run(const options &opt, const std::string &op, const std::string &name, report &results) {
        const primitive_desc_of<rnn_desc> pd(description(), attr_, cpu_);
        std::string complaint = implementation_complaint(opt.impl, pd.impl_info_str(), "");
        if (complaint.empty())
            complaint = difference(pd);
        results.judge(op, name, complaint, pd.impl_info_str());
    }

private:
    std::vector<float> floats(const char *name) const {
        const tensor_record t = read_tensor(inputs_[name], blob_);
        std::vector<float> values(t.bytes.size / sizeof(float));
        std::memcpy(values.data(), t.bytes.data, t.bytes.size);
        return values;
    }

    /// Row-major, or the zero descriptor.
    memory::desc plain(const json_value &from, const char *name) const {
        if (!from.has(name))
            return {};
        const tensor_record t = read_tensor(from[name], blob_);
        return memory::desc(t.dims, t.type, memory::dims());
    }
    /// Quantized, in the primitive's layout.
    memory::desc weights(const char *name) const {
        return inputs_.has(name) ? memory::desc(plain(inputs_, name).dims(), data_type::s8, format_tag::any)
                                 : memory::desc();
    }

    rnn_direction direction() const {
        const std::string text = params_["direction"].text();
        return text == "r2l"      ? rnn_direction::unidirectional_right2left
               : text == "concat" ? rnn_direction::bidirectional_concat
               : text == "sum"    ? rnn_direction::bidirectional_sum
                                  : rnn_direction::unidirectional_left2right;
    }

    rnn_desc description() const {
        const bool is_lstm = params_["cell"].text() == "lstm";
        return {prop_kind::forward_inference,
                is_lstm ? algorithm::vanilla_lstm : algorithm::vanilla_gru,
                direction(),
                plain(inputs_, "src_layer"),
                plain(inputs_, "src_iter"),
                plain(inputs_, "src_iter_c"),
                weights("weights_layer"),
                weights("weights_iter"),
                {},
                weights("weights_projection"),
                plain(inputs_, "bias"),
                plain(outputs_, "dst_layer"),
                plain(outputs_, "dst_iter"),
                plain(outputs_, "dst_iter_c")};
    }

    memory input(const char *name) const {
        const memory m(plain(inputs_, name), cpu_);
        write(m, read_tensor(inputs_[name], blob_).bytes);
        return m;
    }

    void reorder_into(const memory &src, const memory &dst, const primitive_attr &attr) const {
        reorder(reorder::primitive_desc(src, dst, attr)).execute(stream(cpu_), src, dst);
    }

    /// The first wrong output, or code of weights.
    std::string difference(const primitive_desc &pd) const {
        std::unordered_map<int, memory> args;
        for (const auto &[arg, name] : {std::pair{OCTET_ARG_SRC_LAYER, "src_layer"},
                                        {OCTET_ARG_SRC_ITER, "src_iter"},
                                        {OCTET_ARG_SRC_ITER_C, "src_iter_c"},
                                        {OCTET_ARG_BIAS, "bias"}})
            if (inputs_.has(name))
                args[arg] = input(name);
        for (const auto &[arg, name] : {std::pair{OCTET_ARG_WEIGHTS_LAYER, "weights_layer"},
                                        {OCTET_ARG_WEIGHTS_ITER, "weights_iter"},
                                        {OCTET_ARG_WEIGHTS_PROJECTION, "weights_projection"}}) {
            if (!inputs_.has(name))
                continue;
            args[arg] = memory(pd.arg_desc(arg), cpu_);
            reorder_into(input(name), args[arg], attr_);
            const std::string codes = std::string(name) + "_codes";
            const std::string wrong = wrong_codes(codes.c_str(), args[arg]);
            if (!wrong.empty())
                return wrong;
        }
        const std::pair<int, const char *> outputs[] = {{OCTET_ARG_DST_LAYER, "dst_layer"},
                                                        {OCTET_ARG_DST_ITER, "dst_iter"},
                                                        {OCTET_ARG_DST_ITER_C, "dst_iter_c"}};
        for (const auto &[arg, name] : outputs)
            if (outputs_.has(name))
                args[arg] = memory(pd.arg_desc(arg), cpu_);
        primitive(pd).execute(stream(cpu_), args);
        for (const auto &[arg, name] : outputs)
            if (outputs_.has(name)) {
                const std::string wrong = wrong_elements(outputs_, name, args[arg]);
                if (!wrong.empty())
                    return wrong;
            }
        return {};
    }

    std::string wrong_codes(const char *name, const memory &weights) const {
        if (!intermediate_.has(name))
            return {};
        const memory codes(plain(intermediate_, name), cpu_);
        reorder_into(weights, codes, {});
        return wrong_elements(intermediate_, name, codes);
    }

    std::string wrong_elements(const json_value &from, const char *name, const memory &got) const {
        const tensor_record t = read_tensor(from[name], blob_);
        return first_difference(name, t.type, t.dims, t.bytes, view_of(got));
    }

    json_value inputs_, intermediate_, outputs_, params_;
    const std::vector<std::uint8_t> &blob_;
    const engine cpu_{engine::kind::cpu, 0};
    primitive_attr attr_;
};

} // namespace

void replay_rnn_case(const json_value &c, const std::vector<std::uint8_t> &blob, const options &opt,
                     report &results) {
    const std::string op = c["op"].text(), name = c["name"].text();
    try {
        rnn_case(c, blob).run(opt, op, name, results);
    } catch (const malformed_file &) {
        throw;
    } catch (const error &e) {
        results.fail(op, name, e.what());
    }
}

} // namespace octet::vectors
