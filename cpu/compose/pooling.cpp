// Two steps: the pooling kernel to an intermediate tensor, the stream kernel from there.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/compose/pooling.hpp"

#include "cpu/compose/separate_epilogue.hpp"
#include "cpu/pool/drive.hpp"

namespace octet::impl::pooling_and_stream {

candidate plan(const pooling_problem &p, const machine &m) {
    const bool is_maximum = p.form == pooling_form::maximum;
    if (!is_plain_f32(p.out_stage.rule) || (!is_maximum && p.form != pooling_form::average_of_codes))
        return candidate::refused("averages but those of codes by rule f32");
    pooling_problem values = p;
    values.dst = stream::dense_in_order_of(p.dst, p.dst);
    values.dst.data_type = is_maximum ? p.src.data_type : data_type::f32;
    values.out_stage = {};
    values.out_stage.rule = unchanged(true);
    values.out_stage.dst = values.dst;
    return in_two_steps(values.dst, pool::plan(values, m),
                        separate_epilogue::plan_post_ops(p.out_stage, values.dst, m));
}

} // namespace octet::impl::pooling_and_stream
