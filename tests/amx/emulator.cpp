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
std::atomic<std::uint64_t> products{0};

/// General registers in the order of their numbers in encodings.
constexpr int registers[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                             REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

/// Where a memory operand is, without its index.
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

/// Executes the instruction at `here`, if it is one of ours.
bool emulate_one(greg_t *gregs) {
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
    greg_t *gregs = static_cast<ucontext_t *>(context)->uc_mcontext.gregs;
    if (!emulate_one(gregs)) { // it comes again, to whoever handled it before
        sigaction(SIGILL, &handler_before, nullptr);
        return;
    }
    while (emulate_one(gregs)) {
    }
}

bool install() {
    const std::vector<cpu_isa> levels = get_available_cpu_isas();
    const auto has = [&](cpu_isa level) {
        return std::find(levels.begin(), levels.end(), level) != levels.end();
    };
    if (has(cpu_isa::avx512_amx) || !has(cpu_isa::avx512_vnni))
        return false;
    struct sigaction handler {};
    handler.sa_sigaction = emulate;
    handler.sa_flags = SA_SIGINFO;
    sigemptyset(&handler.sa_mask);
    if (sigaction(SIGILL, &handler, &handler_before) != 0)
        return false;
    impl::pretend_cpu_features(impl::cpu_feature::amx_int8);
    return true;
}

const bool is_installed = install();

} // namespace

bool emulates_amx() { return is_installed; }
std::uint64_t emulated_products() { return products; }

} // namespace octet::test
