// Describes the plain copy, makes the real library's reorder to or from it, and runs both steps.
// SPDX-License-Identifier: Apache-2.0
#include "onednn/preload/two_step_reorder.hpp"

#include "onednn/packed_descriptor.hpp"
#include "onednn/preload/descriptors.hpp"
#include "onednn/preload/real_library.hpp"
#include "onednn/translate.hpp"

namespace octet::onednn {
namespace {

/// Returns the descriptor of the tensor in row-major order.
dnnl_memory_desc_t row_major(dnnl_memory_desc_t md) {
    md.extra = dnnl_memory_extra_desc_t();
    md.format_kind = dnnl_format_kind_any;
    const octet::memory::desc any = to_octet(md);
    return with_layout(md, octet::memory::desc(any.dims(), any.get_data_type(), octet::memory::dims()));
}

void *handle_of_argument(int arg, int count, const dnnl_exec_arg_t *args) {
    void *handle = nullptr;
    for (int i = 0; i < count; i++)
        if (args[i].arg == arg && args[i].memory)
            real().dnnl_memory_get_data_handle(args[i].memory, &handle);
    return handle;
}

} // namespace

two_step_reorder::two_step_reorder(const request &r, const dnnl_memory_desc_t &plain, bool is_first)
    : engine_(r.engine), plain_(plain), is_first_(is_first) {
    const dnnl_memory_desc_t *src = is_first ? r.srcs[0] : &plain_, *dst = is_first ? &plain_ : r.dst;
    dnnl_primitive_desc_t desc = nullptr;
    if (real().dnnl_reorder_primitive_desc_create(&desc, src, r.engine, dst, r.engine, r.attr) !=
        dnnl_success)
        throw refusal("a layout of the other side that oneDNN doesn't reorder either");
    const dnnl_status_t status = real().dnnl_primitive_create(&reorder_, desc);
    real().dnnl_primitive_desc_destroy(desc);
    if (status != dnnl_success)
        throw refusal("a layout of the other side that oneDNN doesn't reorder either");
}

two_step_reorder::~two_step_reorder() {
    if (reorder_)
        real().dnnl_primitive_destroy(reorder_);
}

dnnl_status_t two_step_reorder::execute(const octet::primitive &packing, dnnl_stream_t stream, int count,
                                        const dnnl_exec_arg_t *args) const {
    std::vector<char> copy(real().dnnl_memory_desc_get_size(&plain_));
    dnnl_memory_t plain = nullptr;
    if (const dnnl_status_t status = real().dnnl_memory_create(&plain, &plain_, engine_, copy.data()))
        return status;
    const std::unique_ptr<dnnl_memory, decltype(real().dnnl_memory_destroy)> owned(
        plain, real().dnnl_memory_destroy);
    std::vector<dnnl_exec_arg_t> foreign_args(args, args + count);
    for (dnnl_exec_arg_t &argument : foreign_args)
        if (argument.arg == (is_first_ ? DNNL_ARG_TO : DNNL_ARG_FROM))
            argument.memory = plain;
    const auto run_foreign = [&] {
        return real().dnnl_primitive_execute(reorder_, stream, count, foreign_args.data());
    };
    const auto run_own = [&] {
        const octet::primitive::argument buffers[] = {
            {OCTET_ARG_FROM, is_first_ ? copy.data() : handle_of_argument(DNNL_ARG_FROM, count, args)},
            {OCTET_ARG_TO, is_first_ ? handle_of_argument(DNNL_ARG_TO, count, args) : copy.data()}};
        packing.execute(octet::stream(octet::engine(octet::engine::kind::cpu, 0)), buffers, 2);
    };
    if (!is_first_)
        run_own();
    const dnnl_status_t status = run_foreign();
    if (is_first_ && status == dnnl_success)
        run_own();
    return status;
}

octet::primitive_desc translate_two_steps(const request &r, std::shared_ptr<const foreign_step> &foreign) {
    const bool to_packed = is_packed(*r.dst);
    const dnnl_memory_desc_t plain = row_major(to_packed ? *r.dst : *r.srcs[0]);
    foreign = std::make_shared<two_step_reorder>(r, plain, to_packed);
    request own = r;
    (to_packed ? own.srcs[0] : own.dst) = &plain;
    return translate(own, octet::primitive_attr());
}

} // namespace octet::onednn
