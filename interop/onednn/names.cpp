// Names of oneDNN's enumerators, as octet/compat/dnnl_debug.h promises them; the converters find Octet's enumerators by
// these names as well.
// SPDX-License-Identifier: Apache-2.0
#include "onednn/names.hpp"

#include "octet/compat/dnnl_debug.h"

namespace octet::onednn {

#define NAMED(name)                                                                                          \
    { dnnl_##name, #name }

const std::vector<named> &status_names() {
    static const std::vector<named> names{
        NAMED(success),       NAMED(out_of_memory), NAMED(invalid_arguments), NAMED(unimplemented),
        NAMED(iterator_ends), NAMED(runtime_error), NAMED(not_required)};
    return names;
}

const std::vector<named> &dt_names() {
    static const std::vector<named> names{{dnnl_data_type_undef, "undef"},
                                          NAMED(f16),
                                          NAMED(bf16),
                                          NAMED(f32),
                                          NAMED(s32),
                                          NAMED(s8),
                                          NAMED(u8),
                                          {octet_dnnl_s16, "s16"}};
    return names;
}

const std::vector<named> &fmt_kind_names() {
    static const std::vector<named> names{{dnnl_format_kind_undef, "undef"},
                                          {dnnl_format_kind_any, "any"},
                                          NAMED(blocked),
                                          {dnnl_format_kind_wino, "wino"},
                                          {dnnl_format_kind_rnn_packed, "rnn_packed"},
                                          {dnnl_format_kind_octet, "octet"}};
    return names;
}

const std::vector<named> &prop_kind_names() {
    static const std::vector<named> names{{dnnl_prop_kind_undef, "undef"},
                                          NAMED(forward_training),
                                          NAMED(forward_inference),
                                          NAMED(backward),
                                          NAMED(backward_data),
                                          NAMED(backward_weights),
                                          NAMED(backward_bias)};
    return names;
}

#define KIND(name, number) {number, #name},

const std::vector<named> &prim_kind_names() {
    static const std::vector<named> names{{dnnl_undefined_primitive, "undef"},
                                          OCTET_DNNL_PRIMITIVE_KINDS(KIND) NAMED(gemm),
                                          NAMED(primitive_kind_max)};
    return names;
}

const std::vector<named> &alg_kind_names() {
    static const std::vector<named> names{{dnnl_alg_kind_undef, "undef"}, OCTET_DNNL_ALGORITHMS(KIND)};
    return names;
}

#undef KIND

const std::vector<named> &rnn_flags_names() {
    static const std::vector<named> names{{dnnl_rnn_flags_undef, "undef"}};
    return names;
}

const std::vector<named> &rnn_direction_names() {
    static const std::vector<named> names{NAMED(unidirectional_left2right), NAMED(unidirectional_right2left),
                                          NAMED(bidirectional_concat), NAMED(bidirectional_sum)};
    return names;
}

const std::vector<named> &engine_kind_names() {
    static const std::vector<named> names{{dnnl_any_engine, "any"}, NAMED(cpu), NAMED(gpu)};
    return names;
}

const std::vector<named> &fpmath_mode_names() {
    static const std::vector<named> names{NAMED(fpmath_mode_strict),
                                          NAMED(fpmath_mode_bf16),
                                          NAMED(fpmath_mode_f16),
                                          {dnnl_fpmath_mode_any, "any"}};
    return names;
}

const std::vector<named> &scratchpad_mode_names() {
    static const std::vector<named> names{{dnnl_scratchpad_mode_library, "library"},
                                          {dnnl_scratchpad_mode_user, "user"}};
    return names;
}

const std::vector<named> &cpu_isa_names() {
    static const std::vector<named> names{NAMED(cpu_isa_all),
                                          NAMED(cpu_isa_sse41),
                                          NAMED(cpu_isa_avx),
                                          NAMED(cpu_isa_avx2),
                                          NAMED(cpu_isa_avx512_mic),
                                          NAMED(cpu_isa_avx512_mic_4ops),
                                          NAMED(cpu_isa_avx512_core),
                                          NAMED(cpu_isa_avx512_core_vnni),
                                          NAMED(cpu_isa_avx512_core_bf16),
                                          NAMED(cpu_isa_avx512_core_amx),
                                          NAMED(cpu_isa_avx2_vnni)};
    return names;
}

const std::vector<named> &cpu_isa_hints_names() {
    static const std::vector<named> names{NAMED(cpu_isa_no_hints), NAMED(cpu_isa_prefer_ymm)};
    return names;
}

const std::vector<named> &fmt_tag_names() {
#define TAG(name, number) {number, #name},
    static const std::vector<named> names{{dnnl_format_tag_undef, "undef"},
                                          {dnnl_format_tag_any, "any"},
                                          OCTET_DNNL_TAGS_PLAIN(TAG) OCTET_DNNL_TAGS_BLOCKED(TAG)};
#undef TAG
    return names;
}

const char *name_of(const std::vector<named> &names, int value, const char *otherwise) {
    for (const named &n : names)
        if (n.value == value)
            return n.name;
    return otherwise;
}

} // namespace octet::onednn

using namespace octet::onednn;

const char *dnnl_status2str(dnnl_status_t value) { return name_of(status_names(), value, "unknown status"); }
const char *dnnl_dt2str(dnnl_data_type_t value) { return name_of(dt_names(), value, "unknown dt"); }
const char *dnnl_fmt_kind2str(dnnl_format_kind_t value) {
    return name_of(fmt_kind_names(), value, "unknown fmt_kind");
}
const char *dnnl_prop_kind2str(dnnl_prop_kind_t value) {
    return name_of(prop_kind_names(), value, "unknown prop_kind");
}
const char *dnnl_prim_kind2str(dnnl_primitive_kind_t value) {
    return name_of(prim_kind_names(), value, "unknown prim_kind");
}
const char *dnnl_alg_kind2str(dnnl_alg_kind_t value) {
    return name_of(alg_kind_names(), value, "unknown alg_kind");
}
const char *dnnl_rnn_flags2str(dnnl_rnn_flags_t value) {
    return name_of(rnn_flags_names(), value, "unknown rnn_flags");
}
const char *dnnl_rnn_direction2str(dnnl_rnn_direction_t value) {
    return name_of(rnn_direction_names(), value, "unknown rnn_direction");
}
const char *dnnl_engine_kind2str(dnnl_engine_kind_t value) {
    return name_of(engine_kind_names(), value, "unknown engine_kind");
}
const char *dnnl_fpmath_mode2str(dnnl_fpmath_mode_t value) {
    return name_of(fpmath_mode_names(), value, "unknown fpmath_mode");
}
const char *dnnl_scratchpad_mode2str(dnnl_scratchpad_mode_t value) {
    return name_of(scratchpad_mode_names(), value, "unknown scratchpad_mode");
}
const char *dnnl_cpu_isa2str(dnnl_cpu_isa_t value) {
    return name_of(cpu_isa_names(), value, "unknown cpu_isa");
}
const char *dnnl_cpu_isa_hints2str(dnnl_cpu_isa_hints_t value) {
    return name_of(cpu_isa_hints_names(), value, "unknown cpu_isa_hints");
}
const char *dnnl_fmt_tag2str(dnnl_format_tag_t value) {
    return name_of(fmt_tag_names(), value, "unknown fmt_tag");
}

const char *dnnl_runtime2str(unsigned value) {
    static const std::vector<named> names{
        {DNNL_RUNTIME_NONE, "none"}, {DNNL_RUNTIME_SEQ, "sequential"},        {DNNL_RUNTIME_OMP, "OpenMP"},
        {DNNL_RUNTIME_TBB, "TBB"},   {DNNL_RUNTIME_THREADPOOL, "threadpool"}, {DNNL_RUNTIME_OCL, "OpenCL"}};
    return name_of(names, static_cast<int>(value), "unknown");
}
