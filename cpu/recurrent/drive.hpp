#pragma once // SPDX-License-Identifier: Apache-2.0

// Recurrent networks by the products and functions of other families: the input's part of all steps of a layer
// is one product, each step has one for its state (a GRU two), and the loops of cpu/recurrent/loops.hpp lie
// between them and the functions of gates.

#include "common/rnn_problem.hpp"
#include "cpu/implementation.hpp"

namespace octet::impl::recurrent {

candidate plan(const rnn_problem &p, const machine &m);

} // namespace octet::impl::recurrent
