// A program that is linked with this runs vpdpbssd at the level avx_vnni; others test the sign bits that are flipped
// without it.
// SPDX-License-Identifier: Apache-2.0
#include "amx/emulator.hpp"

namespace {
[[maybe_unused]] const bool has_signed_dot4 = octet::test::have_signed_dot4();
}
