#include "cpu/compose/biased_matmul.hpp"

#include "common/element.hpp"
#include "cpu/compose/two_steps.hpp"
#include "cpu/dot/drive.hpp"
#include "cpu/stream/nest.hpp"
#include "cpu/stream/programs.hpp"
#include "cpu/stream/task_builder.hpp"

namespace octet::impl::biased_matmul {

namespace {

matmul_problem products_of(const matmul_problem &p) {
    matmul_problem products = p;
    products.dst = stream::dense_in_order_of(p.dst, p.dst);
    products.dst.data_type = data_type::s32;
    products.out_stage = {};
    products.out_stage.dst = products.dst;
    return products;
}

stream::task rest_of(const matmul_problem &p) {
    epilogue out = p.out_stage;
    out.bias = {};
    stream::task_builder b(out);
    b.load(products_of(p).dst, OCTET_ARG_SRC);
    b.load(p.out_stage.bias, OCTET_ARG_BIAS);
    b.step(jit::stream_op::add_pair);
    return b.finish(jit::epilogue_stage::accumulator);
}

} // namespace

offer plan(const matmul_problem &p, const machine &m) {
    const epilogue &out = p.out_stage;
    if (out.bias.ndims == 0)
        return offer::refused("no bias");
    if (!is_integer(out.bias.data_type) || facts_of(out.rule).f32.adds_bias_in_f32)
        return offer::refused("a bias that is added in f32");
    const matmul_problem products = products_of(p);
    return in_two_steps(products.dst, dot::plan(products, m), stream::plan_task(m.isa, rest_of(p)));
}

} // namespace octet::impl::biased_matmul
