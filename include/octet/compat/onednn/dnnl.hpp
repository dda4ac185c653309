// Under the name that sources for oneDNN include.
// SPDX-License-Identifier: Apache-2.0
#include "octet/compat/dnnl.hpp"
