// A client of oneDNN as it stands, compiled against the installed headers that have oneDNN's names.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <oneapi/dnnl/dnnl.hpp>
#include <oneapi/dnnl/dnnl_debug.h>

int main() {
    using namespace dnnl;
    using dt = memory::data_type;
    using tag = memory::format_tag;
    const engine cpu(engine::kind::cpu, 0);
    const memory src({{1, 2}, dt::u8, tag::ab}, cpu), weights({{2, 1}, dt::s8, tag::ab}, cpu),
        dst({{1, 1}, dt::s32, tag::ab}, cpu);
    const matmul::primitive_desc pd({src.get_desc(), weights.get_desc(), dst.get_desc()}, cpu);
    *src.map_data<std::uint16_t>() = 0x0302;
    *weights.map_data<std::uint16_t>() = 0x05fc;
    stream s(cpu);
    matmul(pd).execute(s, {{DNNL_ARG_SRC, src}, {DNNL_ARG_WEIGHTS, weights}, {DNNL_ARG_DST, dst}});
    s.wait();
    const std::int32_t sum = *dst.map_data<std::int32_t>();
    std::printf("%s %s: %d\n", dnnl_prim_kind2str(convert_to_c(pd.get_kind())), pd.impl_info_str(), sum);
    return sum == 2 * -4 + 3 * 5 ? 0 : 1;
}
