// Under the name that sources for oneDNN include.
#include "octet/compat/dnnl.hpp"
