// A library without generated code (OCTET_JIT=OFF): there are no features of the CPU that such code and vectors of x86
// could use, so that nothing asks for either.
// SPDX-License-Identifier: Apache-2.0
#include <cerrno>

#include "common/text.hpp"
#include "cpu/group_products/quantize_vectors.hpp"
#include "cpu/stream/drive.hpp"
#include "cpu/weights/pack_blocks.hpp"
#include "jit/base/cpu_features.hpp"
#include "jit/kernels/group_dot.hpp"
#include "octet/settings.hpp"

namespace octet {

namespace impl {
namespace {

[[noreturn]] void never_asked() { throw error(status::runtime_error, "this library has no generated code"); }

} // namespace

namespace jit {

unsigned detect_cpu_features() { return 0; }
int ask_for_tile_registers() { return ENOSYS; }
shared_code<const group_dot_args> group_dot_code(const group_dot_spec &) { never_asked(); }
group_tile largest_group_tile(instruction_set, std::int64_t) { never_asked(); }

} // namespace jit

template <> candidate stream::plan(const reorder_problem &, const machine &) { never_asked(); }
bool packs_in_blocks(const packed_geometry &, instruction_set) { return false; }
void pack_blocks(const packed_geometry &, const block_source &, std::uint8_t, std::int8_t *,
                 instruction_set) {
    never_asked();
}
extremes extremes_by_vectors(const float *, dim_t) { never_asked(); }
dim_t store_codes(const float *, dim_t, const source_parameters &, int, int, int, std::uint8_t *) {
    never_asked();
}

} // namespace impl

inline namespace v0 {

void set_jit_dump(const std::string &directory) {
    if (!directory.empty())
        impl::throw_invalid("set_jit_dump: directory is '", directory,
                            "', allowed: empty, this library generates no code");
}

void set_jit_profile(const std::string &profiler) {
    if (!profiler.empty())
        impl::throw_invalid("set_jit_profile: profiler is '", profiler,
                            "', allowed: empty, this library generates no code");
}

} // namespace v0
} // namespace octet
