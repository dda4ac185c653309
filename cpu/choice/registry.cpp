// The families of each operation, best first: read the tables in the middle. Above them are the forms in
// which a family is asked, as it is or with copies or a second step around it; below, the question itself.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/choice/registry.hpp"

#include <array>

#include "common/dynamic_matmul_problem.hpp"
#include "common/element.hpp"
#include "common/lrn_problem.hpp"
#include "common/text.hpp"
#include "cpu/compose/channels_last.hpp"
#include "cpu/compose/concat.hpp"
#include "cpu/compose/deconvolution.hpp"
#include "cpu/compose/dynamic_columns.hpp"
#include "cpu/compose/ggml_lanes.hpp"
#include "cpu/compose/one_order.hpp"
#include "cpu/compose/out_of_range_zero_points.hpp"
#include "cpu/compose/packed_reorder.hpp"
#include "cpu/compose/pooling.hpp"
#include "cpu/compose/separate_epilogue.hpp"
#include "cpu/compose/source_sums.hpp"
#include "cpu/compose/source_zero_points.hpp"
#include "cpu/compose/through_f32.hpp"
#include "cpu/compose/trilinear.hpp"
#include "cpu/depthwise/drive.hpp"
#include "cpu/dot/drive.hpp"
#include "cpu/group_products/drive.hpp"
#include "cpu/lanes/batch_statistics.hpp"
#include "cpu/lanes/layer_normalization.hpp"
#include "cpu/lanes/lrn.hpp"
#include "cpu/lanes/reduction.hpp"
#include "cpu/machine/isa.hpp"
#include "cpu/pool/drive.hpp"
#include "cpu/recurrent/drive.hpp"
#include "cpu/ref/ref.hpp"
#include "cpu/resampling/drive.hpp"
#include "cpu/softmax/softmax.hpp"
#include "cpu/stream/drive.hpp"
#include "cpu/stream/table.hpp"

namespace octet::impl {

namespace {

enum class code {
    generated, ///< for each instruction set
    plain,     ///< C++, but not asked where the cap says that only definitions may run
    reference  ///< the definition
};

/// A row of a table.
template <typename Problem> struct family {
    const char *name;
    code kind;
    plan_function<Problem> plan;
};
template <typename Problem> using families = std::vector<family<Problem>>;

template <typename Problem> family<Problem> reference() {
    return {"ref", code::reference,
            [](const Problem &p, const machine &) { return candidate([p] { return ref::create(p); }); }};
}

template <typename Problem> family<Problem> code_table() { return {"table", code::plain, table::plan}; }

template <typename Problem> family<Problem> jit_stream() {
    return {"jit:stream", code::generated, stream::plan};
}

/// The family, with copies of tensors whose channels are not innermost.
template <typename Problem, plan_function<Problem> plan> family<Problem> in_any_layout(const char *name) {
    return {name, code::generated, channels_last::plan<Problem, plan>};
}

/// The family's sums, then the epilogue on the stream kernel.
template <typename Problem, plan_function<Problem> sums> family<Problem> and_stream(const char *name) {
    return in_any_layout<Problem, separate_epilogue::plan<Problem, sums>>(name);
}

/// The family's sums for weights zero points that it can't take, and the stream kernel.
template <typename Problem, plan_function<Problem> sums>
family<Problem> weights_zero_point_by_second_product(const char *name) {
    return in_any_layout<Problem, source_sums::plan<Problem, sums>>(name);
}

/// The family's sums for src zero points of each channel, and the stream kernel.
template <typename Problem, plan_function<Problem> sums>
family<Problem> per_channel_src_zero_points(const char *name) {
    return in_any_layout<Problem, source_zero_points::plan<Problem, sums>>(name);
}

/// The family, with copies of sources that lie otherwise than the destination.
template <typename Problem, plan_function<Problem> plan> family<Problem> in_one_order(const char *name) {
    return {name, code::generated, one_order::plan<Problem, plan>};
}

/// The family, with copies of sources and destinations of bf16 and f16 as f32.
template <typename Problem, plan_function<Problem> plan>
family<Problem> with_f32_alone(const char *name, code kind = code::generated) {
    return {name, kind, through_f32::plan<Problem, plan>};
}

/// The family, for elements that do not share bytes.
template <plan_function<reorder_problem> plan>
family<reorder_problem> of_whole_bytes(const char *name, code kind) {
    return {name, kind, [](const reorder_problem &p, const machine &m) {
                for (const memory_desc *md : {&p.src, &p.dst})
                    if (shares_bytes(md->data_type))
                        return candidate::refused(
                            text("elements that share bytes, ", memory::desc(*md).to_string()));
                return plan(p, m);
            }};
}

// ---- the tables, best first

#if OCTET_JIT

families<convolution_problem> families_of(const convolution_problem &) {
    return {
        in_any_layout<convolution_problem, depthwise::plan>("jit:depthwise"),
        in_any_layout<convolution_problem, dot::plan>("jit:dot"),
        and_stream<convolution_problem, depthwise::plan>("jit:depthwise+stream"),
        and_stream<convolution_problem, dot::plan>("jit:dot+stream"),
        weights_zero_point_by_second_product<convolution_problem, dot::plan>("jit:dot+dot+stream"),
        per_channel_src_zero_points<convolution_problem, depthwise::plan>("jit:depthwise+image+stream"),
        per_channel_src_zero_points<convolution_problem, dot::plan>("jit:dot+image+stream"),
        per_channel_src_zero_points<convolution_problem, source_sums::plan<convolution_problem, dot::plan>>(
            "jit:dot+dot+image+stream"),
        reference<convolution_problem>()};
}
families<matmul_problem> families_of(const matmul_problem &) {
    return {in_any_layout<matmul_problem, dot::plan>("jit:dot"),
            and_stream<matmul_problem, dot::plan>("jit:dot+stream"), reference<matmul_problem>()};
}
families<dynamic_matmul_problem> families_of(const dynamic_matmul_problem &) {
    return {{"jit:groups", code::generated, groups::plan},
            {"jit:dot+columns", code::generated, dynamic_columns::plan},
            {"ggml_lanes", code::plain, ggml_lanes::plan},
            {"groups", code::reference, groups::plan_packed},
            reference<dynamic_matmul_problem>()};
}
families<packing_problem> families_of(const packing_problem &) {
    return {{"pack", code::reference, groups::plan_packing}};
}
families<deconvolution_problem> families_of(const deconvolution_problem &) {
    return {in_any_layout<deconvolution_problem, deconvolution::plan>("jit:deconvolution"),
            and_stream<deconvolution_problem, deconvolution::plan>("jit:deconvolution+stream"),
            weights_zero_point_by_second_product<deconvolution_problem, deconvolution::plan>(
                "jit:deconvolution+deconvolution+stream"),
            per_channel_src_zero_points<deconvolution_problem, deconvolution::plan>(
                "jit:deconvolution+image+stream"),
            per_channel_src_zero_points<deconvolution_problem,
                                        source_sums::plan<deconvolution_problem, deconvolution::plan>>(
                "jit:deconvolution+deconvolution+image+stream"),
            reference<deconvolution_problem>()};
}
families<pooling_problem> families_of(const pooling_problem &) {
    return {in_any_layout<pooling_problem, pool::plan>("jit:pool"),
            in_any_layout<pooling_problem, pooling_and_stream::plan>("jit:pool+stream"),
            reference<pooling_problem>()};
}
families<resampling_problem> families_of(const resampling_problem &) {
    using namespace channels_last;
    return {with_f32_alone<resampling_problem, plan<resampling_problem, resampling::plan>>("jit:resampling"),
            with_f32_alone<resampling_problem, plan<resampling_problem, trilinear::plan>>(
                "jit:resampling+resampling+stream"),
            reference<resampling_problem>()};
}
families<reorder_problem> families_of(const reorder_problem &) {
    return {of_whole_bytes<stream::plan>("jit:stream", code::generated),
            of_whole_bytes<table::plan>("table", code::plain),
            of_whole_bytes<packed_reorder::plan>("pack", code::generated), reference<reorder_problem>()};
}
families<eltwise_problem> families_of(const eltwise_problem &) {
    return {jit_stream<eltwise_problem>(), code_table<eltwise_problem>(), reference<eltwise_problem>()};
}
families<binary_problem> families_of(const binary_problem &) {
    return {in_one_order<binary_problem, stream::plan>("jit:stream"), reference<binary_problem>()};
}

/// In a dst of 16 bits logarithms are rounded twice: octet/logsoftmax.hpp.
candidate plan_softmax(const softmax_problem &p, const machine &m) {
    if (p.is_log && is_small_float(p.dst.data_type))
        return candidate::refused("logarithms in 16 bits");
    return through_f32::plan<softmax_problem, one_order::plan<softmax_problem, softmax::plan>>(p, m);
}

families<softmax_problem> families_of(const softmax_problem &) {
    return {{"jit:stream", code::generated, plan_softmax}, reference<softmax_problem>()};
}
families<lrn_problem> families_of(const lrn_problem &) {
    return {with_f32_alone<lrn_problem, lanes::plan>("lanes", code::plain), reference<lrn_problem>()};
}
families<prelu_problem> families_of(const prelu_problem &) {
    return {in_one_order<prelu_problem, stream::plan>("jit:stream"), reference<prelu_problem>()};
}
families<batch_normalization_problem> families_of(const batch_normalization_problem &) {
    return {jit_stream<batch_normalization_problem>(),
            with_f32_alone<batch_normalization_problem, lanes::plan>("lanes+jit:stream"),
            reference<batch_normalization_problem>()};
}
families<layer_normalization_problem> families_of(const layer_normalization_problem &) {
    return {with_f32_alone<layer_normalization_problem, lanes::plan>("lanes", code::plain),
            reference<layer_normalization_problem>()};
}
families<reduction_problem> families_of(const reduction_problem &) {
    return {with_f32_alone<reduction_problem, lanes::plan>("lanes", code::plain),
            reference<reduction_problem>()};
}
families<rnn_problem> families_of(const rnn_problem &) {
    return {{"jit:dot+stream", code::generated, recurrent::plan}, reference<rnn_problem>()};
}
families<sum_problem> families_of(const sum_problem &) {
    return {in_one_order<sum_problem, stream::plan>("jit:stream"), reference<sum_problem>()};
}

#else

/// Without generated code the definitions are all there is.
template <typename Problem> families<Problem> families_of(const Problem &) { return {reference<Problem>()}; }
families<dynamic_matmul_problem> families_of(const dynamic_matmul_problem &) {
    return {{"groups", code::reference, groups::plan_packed}, reference<dynamic_matmul_problem>()};
}
families<packing_problem> families_of(const packing_problem &) {
    return {{"pack", code::reference, groups::plan_packing}};
}

#endif

/// Each part has an implementation of its own: a reorder's.
template <bool may_be_reference> candidate plan_concat(const concat_problem &p, const machine &) {
    std::vector<candidate> parts;
    for (const reorder_problem &part : p.parts) {
        const selection<reorder_problem> choice = select(part);
        if (choice.is_reference && !may_be_reference)
            return candidate::refused("a part that runs on ref");
        parts.push_back(choice.taken);
    }
    return concatenation(parts);
}
families<concat_problem> families_of(const concat_problem &) {
    return {{"reorder", code::plain, plan_concat<false>}, {"ref", code::reference, plan_concat<true>}};
}

// ---- the choice

/// A family with what users see of it at each level: "jit:dot/avx512_vnni", or its name where the level
/// changes nothing.
template <typename Problem> struct named_family {
    family<Problem> is;
    std::array<std::string, isa_count> names;

    explicit named_family(const family<Problem> &f) : is(f) {
        names.fill(f.name);
        if (f.kind == code::generated)
            for (std::size_t i = 1; i < isa_count; i++)
                names[i] = text(f.name, "/", isa_table[i].name);
    }
};

/// Asks a family, or refuses for it where the cap does not let it run.
template <typename Problem>
candidate ask(const family<Problem> &f, const Problem &problem, const machine &m) {
    if (f.kind != code::reference && !m.isa.has_vectors())
        return candidate::refused(text("needs ", isa_table[1].name, ", in use is ", m.isa.name()));
    const candidate answer = f.plan(problem, m);
    return answer.is_refused() || f.kind == code::reference ? answer
                                                            : with_out_of_range_zero_points(problem, answer);
}

/// A reason that several families have is told once.
void add_refusal(std::vector<std::string> &refusals, const std::string &name, const std::string &reason) {
    const std::string ending = ": " + reason;
    for (std::string &refusal : refusals)
        if (const std::size_t at = refusal.find(": "); refusal.compare(at, std::string::npos, ending) == 0) {
            refusal.insert(at, " and " + name);
            return;
        }
    refusals.push_back(name + ending);
}

} // namespace

template <typename Problem> selection<Problem> select(const Problem &problem) {
    static const auto list = [&] {
        const families<Problem> table = families_of(problem);
        return std::vector<named_family<Problem>>(table.begin(), table.end());
    }();
    selection<Problem> result;
    result.here = machine_in_use();
    const auto level = static_cast<std::size_t>(result.here.isa.level);
    for (const named_family<Problem> &f : list) {
        result.taken = ask(f.is, problem, result.here);
        if (!result.taken.is_refused()) {
            result.name = f.names[level].c_str();
            result.is_reference = f.is.kind == code::reference;
            return result;
        }
        add_refusal(result.refusals, f.names[level], result.taken.reason());
    }
    return result;
}

template selection<convolution_problem> select(const convolution_problem &);
template selection<matmul_problem> select(const matmul_problem &);
template selection<dynamic_matmul_problem> select(const dynamic_matmul_problem &);
template selection<packing_problem> select(const packing_problem &);
template selection<reorder_problem> select(const reorder_problem &);
template selection<pooling_problem> select(const pooling_problem &);
template selection<binary_problem> select(const binary_problem &);
template selection<softmax_problem> select(const softmax_problem &);
template selection<lrn_problem> select(const lrn_problem &);
template selection<prelu_problem> select(const prelu_problem &);
template selection<sum_problem> select(const sum_problem &);
template selection<concat_problem> select(const concat_problem &);
template selection<resampling_problem> select(const resampling_problem &);
template selection<deconvolution_problem> select(const deconvolution_problem &);
template selection<eltwise_problem> select(const eltwise_problem &);
template selection<batch_normalization_problem> select(const batch_normalization_problem &);
template selection<layer_normalization_problem> select(const layer_normalization_problem &);
template selection<reduction_problem> select(const reduction_problem &);
template selection<rnn_problem> select(const rnn_problem &);

} // namespace octet::impl
