// SPDX-License-Identifier: Apache-2.0
#include "amx/emulator.hpp"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include <ucontext.h>
#include <unistd.h>

#include "amx/instructions.hpp"
#include "cpu/machine/isa.hpp"

namespace octet::test {

namespace {

using namespace amx;

thread_local tile_state tiles_of_thread;
struct sigaction handler_before;
std::atomic<std::uint64_t> products{0}, vector_products{0};

/// General registers in the order of their numbers in encodings.
constexpr int registers[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                             REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

/// Returns the address of a memory operand, without its index.
std::int64_t base_of(const address &memory, const greg_t *gregs, std::int64_t next) {
    return memory.displacement + (memory.base == address::none  ? 0
                                  : memory.base == address::rip ? next
                                                                : gregs[registers[memory.base]]);
}

void report_and_abort(const std::string &what) {
    const std::string line = "tile registers: " + what + "\n";
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
    std::abort();
}

/// Vector registers as a signal saves them: the lower halves as fxsave has them, the upper ones where xsave has them.
class saved_vectors {
public:
    explicit saved_vectors(const mcontext_t &context)
        : area_(reinterpret_cast<std::uint8_t *>(context.fpregs)) {}

    void get(int i, std::uint8_t (&v)[vector_bytes]) const {
        std::memcpy(v, lower(i), half);
        std::memset(v + half, 0, half);
        if (is_in_use() & upper_halves)
            std::memcpy(v + half, upper(i), half);
    }
    void set(int i, const std::uint8_t (&v)[vector_bytes]) {
        if (!(is_in_use() & upper_halves))
            std::memset(upper(0), 0, 16 * half);
        const std::uint64_t used = is_in_use() | lower_halves | upper_halves;
        std::memcpy(area_ + header, &used, sizeof used);
        std::memcpy(lower(i), v, half);
        std::memcpy(upper(i), v + half, half);
    }

private:
    static constexpr std::size_t half = vector_bytes / 2, header = 512;
    static constexpr std::uint64_t lower_halves = 2, upper_halves = 4; // bits of the header's first word
    std::uint64_t is_in_use() const {
        std::uint64_t used;
        std::memcpy(&used, area_ + header, sizeof used);
        return used;
    }
    std::uint8_t *lower(int i) const { return area_ + 160 + half * static_cast<std::size_t>(i); }
    std::uint8_t *upper(int i) const { return area_ + 576 + half * static_cast<std::size_t>(i); }
    std::uint8_t *area_;
};

bool emulate_vector_product(mcontext_t &context) {
    greg_t *gregs = context.gregs;
    const std::int64_t here = gregs[REG_RIP];
    const auto found = decode_vector_product(reinterpret_cast<const std::uint8_t *>(here));
    if (!found)
        return false;
    const auto next = here + static_cast<std::int64_t>(found->length);
    const address &memory = found->memory;
    saved_vectors vectors(context);
    std::uint8_t sums[vector_bytes], source1[vector_bytes], source2[vector_bytes];
    vectors.get(found->sums, sums);
    vectors.get(found->source1, source1);
    if (found->source2 != vector_product::in_memory) {
        vectors.get(found->source2, source2);
    } else {
        const std::int64_t index =
            memory.index == address::none ? 0 : gregs[registers[memory.index]] * memory.scale;
        std::memcpy(source2, reinterpret_cast<const std::uint8_t *>(base_of(memory, gregs, next) + index),
                    sizeof source2);
    }
    add_products(sums, source1, source2);
    vectors.set(found->sums, sums);
    vector_products++;
    gregs[REG_RIP] = next;
    return true;
}

/// Executes the instruction at `here`, if it is one of ours.
bool emulate_one(mcontext_t &context) {
    if (emulate_vector_product(context))
        return true;
    greg_t *gregs = context.gregs;
    const std::int64_t here = gregs[REG_RIP];
    const auto found = decode(reinterpret_cast<const std::uint8_t *>(here));
    if (!found)
        return false;
    const auto next = here + static_cast<std::int64_t>(found->length);
    const address &memory = found->memory;
    const std::int64_t index =
        memory.index == address::none ? 0 : gregs[registers[memory.index]] * memory.scale;
    const bool index_is_stride = moves_rows(found->what);
    const std::int64_t at = base_of(memory, gregs, next) + (index_is_stride ? 0 : index);
    const std::string fault = execute(*found, tiles_of_thread, reinterpret_cast<std::uint8_t *>(at), index);
    if (!fault.empty())
        report_and_abort(fault);
    products += is_product(found->what);
    gregs[REG_RIP] = next;
    return true;
}

/// As many as follow each other: a signal takes longer than they do.
void emulate(int, siginfo_t *, void *context) {
    mcontext_t &interrupted = static_cast<ucontext_t *>(context)->uc_mcontext;
    if (!emulate_one(interrupted)) { // it comes again, to whoever handled it before
        sigaction(SIGILL, &handler_before, nullptr);
        return;
    }
    while (emulate_one(interrupted)) {
    }
}

bool install() {
    struct sigaction handler {};
    handler.sa_sigaction = emulate;
    handler.sa_flags = SA_SIGINFO;
    sigemptyset(&handler.sa_mask);
    return sigaction(SIGILL, &handler, &handler_before) == 0;
}

bool is_installed() {
    static const bool succeeded = install();
    return succeeded;
}

bool has(cpu_isa level) {
    const std::vector<cpu_isa> levels = get_available_cpu_isas();
    return std::find(levels.begin(), levels.end(), level) != levels.end();
}

bool add_tile_registers() {
    if (has(cpu_isa::avx512_amx) || !has(cpu_isa::avx512_vnni) || !is_installed())
        return false;
    impl::pretend_cpu_features(impl::cpu_feature::amx_int8);
    return true;
}

const bool has_added_tile_registers = add_tile_registers();
[[maybe_unused]] const bool takes_tiles_for_little_work = (impl::ignore_gap_of_tiles(true), true);
bool has_added_signed_dot4 = false;

} // namespace

bool emulates_amx() { return has_added_tile_registers; }
const char *executor_of_amx() {
    return has_added_tile_registers   ? "the emulator"
           : has(cpu_isa::avx512_amx) ? "the machine"
                                      : "nothing: no AVX512-VNNI to stand under the emulator";
}
std::uint64_t emulated_products() { return products; }

bool have_signed_dot4() {
    if (!has(cpu_isa::avx_vnni))
        return false;
    if (impl::machine_at(cpu_isa::avx_vnni).isa.signed_dot4)
        return true;
    if (!is_installed())
        return false;
    impl::pretend_cpu_features(impl::cpu_feature::avx_vnni_int8);
    return has_added_signed_dot4 = true;
}
bool emulates_signed_dot4() { return has_added_signed_dot4; }
std::uint64_t emulated_vector_products() { return vector_products; }

} // namespace octet::test
