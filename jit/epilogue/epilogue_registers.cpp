// The registers of an epilogue, counted by emitting it once.
// SPDX-License-Identifier: Apache-2.0
#include "jit/base/dry_run.hpp"
#include "jit/base/key.hpp"
#include "jit/epilogue/epilogue.hpp"

namespace octet::impl::jit {

namespace {

constexpr dim_t far_apart = 1 << 10; // elements

/// Returns a result of each kind that needs other registers: whole vectors; vectors with fewer lanes, which
/// have masks; and stores of each quarter of a vector of codes alone.
std::vector<epilogue_result> results_of_all_kinds(const emitter &e, const vec &acc, epilogue_stage value) {
    std::vector<epilogue_result> results;
    for (int i = 0; i < 3; i++)
        results.push_back({acc, 0, 0, i * far_apart, e.lanes() - i % 2, value});
    return results;
}

} // namespace

int epilogue_plan::temps(instruction_set isa, epilogue_stage value) const {
    const std::string key = key_writer().add(value).key() + code_key();
    const int with_acc = count_registers(isa, key, [&](emitter &e) {
        const emitter::temp acc(e); // one for all: they are not counted
        epilogue_emitter(e, *this, {e.rcx, e.r8, e.r14, e.rbp, e.r10, e.r15})
            .emit(results_of_all_kinds(e, acc, value));
    });
    return with_acc - 1;
}

} // namespace octet::impl::jit
