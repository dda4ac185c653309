// All tests of a program within a phase of three threads.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <optional>

#include "octet/settings.hpp"

namespace {

class team_of_three : public ::testing::Environment {
    void SetUp() override {
        count_.emplace(3);
        phase_.emplace();
    }
    void TearDown() override {
        phase_.reset();
        count_.reset();
    }
    std::optional<octet::num_threads_scope> count_;
    std::optional<octet::parallel_phase> phase_;
};

const auto *const environment = ::testing::AddGlobalTestEnvironment(new team_of_three);

} // namespace
