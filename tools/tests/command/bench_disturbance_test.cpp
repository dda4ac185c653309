// Samples of octet bench beside which the machine was disturbed, as probes tell that are given here: which ones count,
// which are taken again, and how a row shows it.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "bench/disturbance.hpp"
#include "bench/measure.hpp"
#include "bench/results.hpp"

namespace octet::tests {
namespace {

using namespace octet::tools;

/// A probe that gives these cycles in turn, then the last ones for ever.
class scripted_probe {
public:
    explicit scripted_probe(std::vector<double> cycles)
        : cycles_(std::move(cycles)), probe_([this] {
              calls_++;
              return cycles_[std::min(calls_, cycles_.size()) - 1];
          }) {}

    load_probe &get() { return probe_; }
    std::size_t calls() const { return calls_; }

private:
    std::vector<double> cycles_;
    std::size_t calls_ = 0;
    load_probe probe_;
};

sample_probes probes_of(load_probe &probe, int wanted, const std::vector<double> &cycles) {
    sample_probes beside(probe, wanted);
    for (std::size_t i = 0; i < cycles.size(); i++)
        beside.add(beside.now());
    return beside;
}

using indices = std::vector<std::size_t>;

TEST(Disturbance, AFifthMoreThanTheLeastIsDisturbed) {
    scripted_probe probe({8.5, 8.4});
    probe.get()();
    probe.get()();
    EXPECT_TRUE(probe.get().is_quiet(8.4 * 1.2));
    EXPECT_FALSE(probe.get().is_quiet(8.4 * 1.21));
}

TEST(Disturbance, QuietSamplesCountFirst) {
    const std::vector<double> cycles = {9, 30, 8.4, 8.5, 12};
    scripted_probe probe(cycles);
    const sample_probes beside = probes_of(probe.get(), 3, cycles);
    EXPECT_FALSE(beside.are_too_few_quiet());
    EXPECT_EQ(beside.counted(), (indices{0, 2, 3}));
    EXPECT_EQ(beside.disturbed(), 0);
}

TEST(Disturbance, TheLeastDisturbedFillTheNumber) {
    const std::vector<double> cycles = {40, 12, 8.4, 30};
    scripted_probe probe(cycles);
    const sample_probes beside = probes_of(probe.get(), 3, cycles);
    EXPECT_TRUE(beside.are_too_few_quiet());
    EXPECT_EQ(beside.counted(), (indices{1, 2, 3}));
    EXPECT_EQ(beside.disturbed(), 2);
}

TEST(Disturbance, AQuieterProbeShowsThatEarlierSamplesWereDisturbed) {
    scripted_probe probe({20, 8.4});
    sample_probes beside(probe.get(), 2);
    beside.add(beside.now());
    EXPECT_EQ(beside.disturbed(), 0);
    beside.add(beside.now());
    EXPECT_EQ(beside.disturbed(), 1);
    EXPECT_TRUE(beside.are_too_few_quiet());
}

/// Takes 1 ms, counting its runs.
class millisecond : public workload {
public:
    explicit millisecond(int &runs) : runs_(runs) {}
    void run() override {
        runs_++;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    std::string implementation() const override { return "sleep"; }

private:
    int &runs_;
};

struct probed {
    measurement result;
    std::size_t probes;
    int runs = 0;
};

/// Three samples of a workload with one thread, between two probes each.
probed measure_between(const std::vector<double> &cycles) {
    scripted_probe probe(cycles);
    measuring how;
    how.samples = 3;
    how.probe = [&](int) -> load_probe & { return probe.get(); };
    probed p{};
    p.result = measure({}, {[&] { return std::make_unique<millisecond>(p.runs); }, {}}, how).at(0);
    p.probes = probe.calls();
    return p;
}

TEST(Disturbance, DisturbedSamplesAreTakenAgain) {
    const probed quiet = measure_between({8.4});
    EXPECT_EQ(quiet.probes, 6u);
    EXPECT_EQ(quiet.result.disturbed, 0);

    const probed once = measure_between({8.4, 8.4, 8.4, 20, 8.4, 8.4, 8.4});
    EXPECT_EQ(once.probes, 8u) << "one sample more";
    EXPECT_GT(once.runs, quiet.runs);
    EXPECT_EQ(once.result.disturbed, 0);

    const probed lasting = measure_between({8.4, 8.4, 20});
    EXPECT_EQ(lasting.probes, 12u) << "as many again, no more";
    EXPECT_EQ(lasting.result.disturbed, 2);
}

TEST(Disturbance, RowsTellHowManySamplesWereDisturbed) {
    measurement m;
    m.what.name = "layer";
    m.time = summarize({4e-6});
    EXPECT_EQ(results_text({m}).find("disturbed"), std::string::npos);
    EXPECT_EQ(columns_of(m)["disturbed_samples"], 0);
    measurement disturbed = m;
    disturbed.disturbed = 7;
    const std::string text = results_text({m, disturbed});
    EXPECT_NE(text.find("disturbed"), std::string::npos) << text;
    EXPECT_EQ(columns_of(disturbed)["disturbed_samples"], 7);
    EXPECT_EQ(sum_of({m, disturbed}, "both").disturbed, 7);
}

/// From half a cycle to a hundred times what any CPU with AVX2 takes.
TEST(Disturbance, LoadsAreTimedInCycles) {
    for (const int threads : {1, 2}) {
        const double cycles = measure_load_cycles(get_effective_cpu_isa(), threads);
        EXPECT_GT(cycles, 4) << threads;
        EXPECT_LT(cycles, 3200) << threads;
    }
}

} // namespace
} // namespace octet::tests
