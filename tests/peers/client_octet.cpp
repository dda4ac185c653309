// One of two clients that run the same problem: client.inl, compiled against Octet's oneDNN names.

#include "octet/compat/dnnl.hpp"

#define PEER octet
#include "client.inl"
