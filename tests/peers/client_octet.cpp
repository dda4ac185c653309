#include "octet/compat/dnnl.hpp"

#define PEER octet
#include "client.inl"
