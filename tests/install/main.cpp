// A user's first program: 2x2 matrix product with a fixed-point contract.
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdio>

#include "octet/octet.hpp"

int main() {
    using namespace octet;
    const engine eng(engine::kind::cpu, 0);
    const memory::desc a({2, 2}, memory::data_type::u8, memory::format_tag::ab),
        b({2, 2}, memory::data_type::s8, memory::format_tag::ab);
    std::uint8_t src[] = {1, 2, 3, 4}, dst[4];
    std::int8_t weights[] = {1, 0, 0, -1};

    primitive_attr attr;
    attr.set_requantization(requantization_rule::tflite_2step, 0,
                            {from_double(requantization_rule::tflite_2step, 2.0)});
    attr.set_zero_points(OCTET_ARG_DST, 0, {10});
    const matmul::primitive_desc pd(eng, a, b, a, attr);
    matmul(pd).execute(stream(eng), {{OCTET_ARG_SRC, memory(a, eng, src)},
                                     {OCTET_ARG_WEIGHTS, memory(b, eng, weights)},
                                     {OCTET_ARG_DST, memory(a, eng, dst)}});

    std::printf("octet %s: %d %d %d %d\n", version(), dst[0], dst[1], dst[2], dst[3]);
    return dst[0] == 12 && dst[1] == 6 && dst[2] == 16 && dst[3] == 2 ? 0 : 1;
}
