// The part of client.inl for recurrent networks, in the form of oneDNN's example cpu_rnn_inference_int8: weights
// of f32 are quantized by a reorder into the layout that the primitive chose.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <ctime>
#include <unordered_map>

#include "rnn.hpp"

namespace peers::PEER {

namespace {

using namespace dnnl;

class rnn_client {
public:
    explicit rnn_client(const rnn_problem &p) : p_(p) {
        attr_.set_rnn_data_qparams(p.data_scale, p.data_shift);
        attr_.set_rnn_weights_qparams(p.mask, p.scales);
        if (p.projected)
            attr_.set_rnn_weights_projection_qparams(p.projection_scales.size() == 1 ? 0 : 8,
                                                     p.projection_scales);
    }

    rnn_answer run() {
        const auto direction = static_cast<rnn_direction>(p_.direction);
        const memory::desc src = tensor({p_.steps, p_.batch, p_.inputs}, dt::u8, tag::tnc),
                           dst =
                               tensor({p_.steps, p_.batch, (p_.direction == 2 ? 2 : 1) * p_.state_channels()},
                                      p_.f32_results ? dt::f32 : dt::u8, tag::tnc);
        const memory::dims state{p_.layers, p_.directions(), p_.batch, p_.state_channels()},
            cells{p_.layers, p_.directions(), p_.batch, p_.channels};
        const dt state_type = p_.f32_states ? dt::f32 : dt::u8;
        const memory::desc iter = p_.has_states ? tensor(state, state_type, tag::ldnc) : memory::desc(),
                           iter_c = p_.has_states && !p_.is_gru ? tensor(cells, dt::f32, tag::ldnc)
                                                                : memory::desc();
        const memory::desc bias =
            p_.has_bias ? tensor({p_.layers, p_.directions(), p_.gates(), p_.channels}, dt::f32, tag::ldgo)
                        : memory::desc();
        if (p_.is_gru) {
            const gru_forward::desc d(prop_kind::forward_inference, direction, src, iter, weights(p_.inputs),
                                      weights(p_.state_channels()), bias, dst, iter);
            return execute<gru_forward>(gru_forward::primitive_desc(d, attr_, engine_), iter_c);
        }
        const memory::desc projection =
            p_.projected ? tensor({p_.layers, p_.directions(), p_.channels, p_.projected}, dt::s8, tag::any)
                         : memory::desc();
        const lstm_forward::desc d(prop_kind::forward_inference, direction, src, iter, iter_c,
                                   weights(p_.inputs), weights(p_.state_channels()), memory::desc(),
                                   projection, bias, dst, iter, iter_c);
        return execute<lstm_forward>(lstm_forward::primitive_desc(d, attr_, engine_), iter_c);
    }

private:
    using dt = memory::data_type;
    using tag = memory::format_tag;

    static memory::desc tensor(const memory::dims &sizes, dt type, tag layout) {
        return memory::desc(sizes, type, layout);
    }
    memory::desc weights(memory::dim inputs) const {
        return tensor({p_.layers, p_.directions(), inputs, p_.gates(), p_.channels}, dt::s8, tag::any);
    }

    template <typename T> memory filled(const memory::desc &md, const std::vector<T> &values) const {
        memory m(md, engine_);
        std::memcpy(m.get_data_handle(), values.data(), values.size() * sizeof(T));
        return m;
    }
    memory quantized(const memory::desc &to, const std::vector<float> &values) {
        const memory::desc real(to.dims(), dt::f32, to.data.ndims == 5 ? tag::ldigo : tag::ldio);
        memory from = filled(real, values), m(to, engine_);
        reorder(reorder::primitive_desc(engine_, real, engine_, to, attr_)).execute(stream_, from, m);
        stream_.wait();
        return m;
    }
    memory first_states(const memory::desc &md) const {
        if (!p_.f32_states)
            return filled(md, p_.src_iter);
        std::vector<float> values;
        for (const std::uint8_t code : p_.src_iter)
            values.push_back((static_cast<float>(code) - 100.3f) / 90.7f);
        return filled(md, values);
    }
    static std::vector<std::uint8_t> bytes_of(const memory &m) {
        const auto *data = static_cast<const std::uint8_t *>(m.get_data_handle());
        return std::vector<std::uint8_t>(data, data + m.get_desc().get_size());
    }

    template <typename Op, typename Pd> rnn_answer execute(const Pd &pd, const memory::desc &iter_c) {
        std::unordered_map<int, memory> args{
            {DNNL_ARG_SRC_LAYER, filled(pd.src_layer_desc(), p_.src_layer)},
            {DNNL_ARG_WEIGHTS_LAYER, quantized(pd.weights_layer_desc(), p_.weights_layer)},
            {DNNL_ARG_WEIGHTS_ITER, quantized(pd.weights_iter_desc(), p_.weights_iter)},
            {DNNL_ARG_DST_LAYER, memory(pd.dst_layer_desc(), engine_)}};
        if (p_.projected)
            args[DNNL_ARG_WEIGHTS_PROJECTION] =
                quantized(pd.query_md(query::exec_arg_md, DNNL_ARG_WEIGHTS_PROJECTION), p_.projection);
        if (p_.has_bias)
            args[DNNL_ARG_BIAS] = filled(pd.bias_desc(), p_.bias);
        if (p_.has_states) {
            args[DNNL_ARG_SRC_ITER] = first_states(pd.src_iter_desc());
            args[DNNL_ARG_DST_ITER] = memory(pd.dst_iter_desc(), engine_);
        }
        if (iter_c.data.ndims != 0) {
            args[DNNL_ARG_SRC_ITER_C] = filled(iter_c, p_.src_iter_c);
            args[DNNL_ARG_DST_ITER_C] = memory(iter_c, engine_);
        }
        const Op network(pd);
        network.execute(stream_, args);
        stream_.wait();
        rnn_answer answer;
        for (int i = 0; i < p_.timed_runs; i++) {
            const std::clock_t begin = std::clock();
            network.execute(stream_, args);
            stream_.wait();
            const double time = 1e3 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
            answer.milliseconds = i == 0 ? time : std::min(answer.milliseconds, time);
        }
        answer.dst_layer = bytes_of(args[DNNL_ARG_DST_LAYER]);
        if (p_.has_states)
            answer.dst_iter = bytes_of(args[DNNL_ARG_DST_ITER]);
        if (iter_c.data.ndims != 0)
            answer.dst_iter_c = bytes_of(args[DNNL_ARG_DST_ITER_C]);
        return answer;
    }

    const rnn_problem &p_;
    engine engine_{engine::kind::cpu, 0};
    stream stream_{engine_};
    primitive_attr attr_;
};

} // namespace

rnn_answer ask_rnn(const rnn_problem &p) {
    try {
        return rnn_client(p).run();
    } catch (const error &e) {
        rnn_answer refused;
        refused.refusal =
            std::string(e.what()) + " (status " + std::to_string(static_cast<int>(e.status)) + ")";
        return refused;
    }
}

} // namespace peers::PEER
