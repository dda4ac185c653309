// Prints the settings in effect: the child process of settings_test.
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <iostream>
#include <string>

#include "octet/octet.hpp"

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

/// Has the kernel forbid that written memory becomes executable. False where it can't.
bool forbid_generated_code() {
    constexpr int set_mdwe = 65;                  // PR_SET_MDWE, Linux 6.3
    constexpr unsigned long refuse_exec_gain = 1; // PR_MDWE_REFUSE_EXEC_GAIN
    return prctl(set_mdwe, refuse_exec_gain, 0ul, 0ul, 0ul) == 0;
}

/// Whether this process has asked for tile registers and got them.
bool may_use_tiles() {
    constexpr long get_permissions = 0x1022, tile_data = 1 << 18; // ARCH_GET_XCOMP_PERM
    std::uint64_t permitted = 0;
    return syscall(SYS_arch_prctl, get_permissions, &permitted) == 0 && (permitted & tile_data) != 0;
}

/// Sum of a tiny matmul's results.
int tiny_matmul() {
    using namespace octet;
    const engine cpu(engine::kind::cpu, 0);
    stream s(cpu);
    const memory::desc src({2, 4}, data_type::u8, format_tag::ab),
        weights({4, 2}, data_type::s8, format_tag::ab), dst({2, 2}, data_type::s32, format_tag::ab);
    std::uint8_t a[] = {1, 2, 3, 4, 5, 6, 7, 8};
    std::int8_t b[] = {1, -1, 1, -1, 1, -1, 1, -1};
    std::int32_t c[4] = {};
    primitive_attr attr;
    attr.set_requantization(requantization_rule::none);
    matmul(matmul::primitive_desc({src, weights, dst}, attr, cpu))
        .execute(s, {{OCTET_ARG_SRC, memory(src, cpu, a)},
                     {OCTET_ARG_WEIGHTS, memory(weights, cpu, b)},
                     {OCTET_ARG_DST, memory(dst, cpu, c)}});
    return 10 * c[0] + c[2];
}

} // namespace

int main(int argc, char **argv) {
    const std::string argument = argc > 1 ? argv[1] : "";
    if (argument == "--no-generated-code")
        std::cout << "forbidden " << forbid_generated_code() << '\n';
    if (!argument.empty())
        std::cout << "matmul " << tiny_matmul() << '\n';
    std::cout << "isa " << octet::to_string(octet::get_effective_cpu_isa()) << "\nthreads "
              << octet::get_num_threads() << "\nverbose " << octet::get_verbose() << "\ncache "
              << octet::get_primitive_cache_capacity() << "\ntiles " << may_use_tiles() << "\n";
}
