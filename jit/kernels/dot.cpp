// How many rows of a tile the registers hold.
// SPDX-License-Identifier: Apache-2.0
#include "jit/kernels/dot.hpp"

#include <algorithm>

namespace octet::impl::jit {

int max_rows(instruction_set isa, int vectors, int epilogue_temps, dot_products products) {
    // The reduction needs the weights, a broadcast source and, of words, a product. Columns of their own need
    // weights, a source and, at the last lanes, a mask. Filtered rows meet one vector after the other.
    // Grouped codes need an order of the source for each vector, and several a register to permute into.
    if (products == dot_products::winograd_f43)
        vectors = 1;
    const int reduction = products == dot_products::own_floats ? 3
                          : products == dot_products::grouped_codes
                              ? 2 * vectors + (vectors > 1 ? 2 : 1)
                              : vectors + (are_in_words(products) ? 2 : 1);
    const int rows = (isa.registers() - std::max(reduction, epilogue_temps)) / vectors;
    return rows / rows_together(products) * rows_together(products);
}

int max_overlapping_rows(instruction_set isa, int vectors, int epilogue_temps, dot_products products) {
    if (isa.lanes() < 16 || are_in_words(products) || products == dot_products::grouped_codes)
        return 0;
    // Weights and a broadcast source are alive when the epilogue is.
    return (isa.registers() - vectors - 1 - epilogue_temps) / (2 * vectors);
}

} // namespace octet::impl::jit
