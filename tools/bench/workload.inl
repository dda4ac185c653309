// A layer of `octet bench`, compiled once with Octet and once with oneDNN behind `namespace dnnl`, so that
// both are asked for the same thing in the same words. The including file defines WORKLOAD and
//   void set_attributes(dnnl::primitive_attr &, const layer &, const bench_contract &)
// SPDX-License-Identifier: Apache-2.0
#include <unordered_map>

namespace octet::tools {
namespace {

using dnnl::memory;

memory::data_type baseline_type(data_type type) {
    switch (type) {
    case data_type::u8:
        return memory::data_type::u8;
    case data_type::s8:
        return memory::data_type::s8;
    case data_type::s32:
        return memory::data_type::s32;
    default:
        return memory::data_type::f32;
    }
}

class WORKLOAD : public workload {
public:
    WORKLOAD(const layer &l, const bench_contract &contract) : layer_(l), contract_(contract) {
        set_attributes(attr_, l, contract);
        switch (l.kind) {
        case layer_kind::convolution:
            make_convolution();
            break;
        case layer_kind::inner_product:
            make_inner_product();
            break;
        case layer_kind::matmul:
            make_matmul();
            break;
        }
    }

    void run() override {
        primitive_.execute(stream_, arguments_);
        stream_.wait();
    }
    std::string implementation() const override { return implementation_; }

private:
    using tag = memory::format_tag;
    memory::data_type src_type() const { return baseline_type(contract_.src); }
    memory::data_type weights_type() const { return baseline_type(contract_.weights); }
    memory::data_type dst_type() const { return baseline_type(contract_.dst); }

    void make_convolution() {
        const layer &l = layer_;
        memory::dims weights = {l.oc, l.ic, l.kh, l.kw};
        if (l.g > 1)
            weights = {l.g, l.oc / l.g, l.ic / l.g, l.kh, l.kw};
        const memory::dims padding_r = {(l.oh - 1) * l.sh + (l.kh - 1) * (l.dh + 1) + 1 - l.ih - l.ph,
                                        (l.ow - 1) * l.sw + (l.kw - 1) * (l.dw + 1) + 1 - l.iw - l.pw};
        const dnnl::convolution_forward::primitive_desc pd(
            {dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct,
             memory::desc({l.mb, l.ic, l.ih, l.iw}, src_type(), tag::nhwc),
             memory::desc(weights, weights_type(), tag::any),
             memory::desc({l.mb, l.oc, l.oh, l.ow}, dst_type(), tag::nhwc), memory::dims{l.sh, l.sw},
             memory::dims{l.dh, l.dw}, memory::dims{l.ph, l.pw}, padding_r},
            attr_, engine_);
        take(pd, dnnl::convolution_forward(pd), weights, l.g > 1 ? tag::goihw : tag::oihw);
    }

    void make_inner_product() {
        const layer &l = layer_;
        const dnnl::inner_product_forward::primitive_desc pd(
            {dnnl::prop_kind::forward_inference, memory::desc({l.m, l.k}, src_type(), tag::ab),
             memory::desc({l.n, l.k}, weights_type(), tag::any),
             memory::desc({l.m, l.n}, dst_type(), tag::ab)},
            attr_, engine_);
        take(pd, dnnl::inner_product_forward(pd), {l.n, l.k}, tag::ab);
    }

    void make_matmul() {
        const layer &l = layer_;
        const dnnl::matmul::primitive_desc pd({memory::desc({l.m, l.k}, src_type(), tag::ab),
                                               memory::desc({l.k, l.n}, weights_type(), tag::any),
                                               memory::desc({l.m, l.n}, dst_type(), tag::ab)},
                                              attr_, engine_);
        take(pd, dnnl::matmul(pd), {l.k, l.n}, tag::ab);
    }

    template <typename PrimitiveDesc>
    void take(const PrimitiveDesc &pd, const dnnl::primitive &primitive, const memory::dims &weights_dims,
              tag weights_tag) {
        primitive_ = primitive;
        implementation_ = pd.impl_info_str();
        const memory src(pd.src_desc(), engine_), dst(pd.dst_desc(), engine_);
        memory plain(memory::desc(weights_dims, weights_type(), weights_tag), engine_);
        memory weights(pd.weights_desc(), engine_);
        fill(src.get_data_handle(), contract_.src, src.get_desc().get_size(), 1);
        fill(plain.get_data_handle(), contract_.weights, plain.get_desc().get_size(), 2);
        dnnl::reorder(plain, weights).execute(stream_, plain, weights);
        stream_.wait();
        arguments_ = {{src_arg, src}, {weights_arg, weights}, {dst_arg, dst}};
    }

    const layer layer_;
    const bench_contract contract_;
    dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
    dnnl::stream stream_{engine_};
    dnnl::primitive_attr attr_;
    dnnl::primitive primitive_;
    std::unordered_map<int, memory> arguments_;
    std::string implementation_;
};

} // namespace
} // namespace octet::tools
