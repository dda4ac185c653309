#pragma once // SPDX-License-Identifier: Apache-2.0

// The algorithms of a family, for tests that take all of them, or any. A new one is among them by its name.

#include <string>
#include <vector>

#include "octet/types.hpp"

namespace octet::test {

/// Those whose names begin so: "eltwise_", "binary_".
inline std::vector<algorithm> algorithms_of(const std::string &family) {
    std::vector<algorithm> all;
    for (int i = 0; std::string("unknown") != to_string(static_cast<algorithm>(i)); i++)
        if (const auto alg = static_cast<algorithm>(i); std::string(to_string(alg)).rfind(family, 0) == 0)
            all.push_back(alg);
    return all;
}

template <typename Source> algorithm random_algorithm(Source &source, const std::string &family) {
    const std::vector<algorithm> all = algorithms_of(family);
    return all[static_cast<std::size_t>(source.between(0, static_cast<dim_t>(all.size()) - 1))];
}

} // namespace octet::test
