// Engines, streams and errors: handles that oneDNN's interface asks for. There is one engine and a stream
// does nothing but say that execution is synchronous, so all that happens here is refusing what does not
// exist.
// SPDX-License-Identifier: Apache-2.0
#include "octet/engine.hpp"

#include "common/text.hpp"
#include "octet/error.hpp"

namespace octet {
inline namespace v0 {

error::error(octet::status s, const std::string &text)
    : std::runtime_error(text), status(s), message(what()) {}
error::~error() = default;

engine::engine(kind k, std::size_t index) : valid_(true), kind_(kind::cpu) {
    if (k == kind::gpu)
        impl::throw_invalid("engine: kind gpu, allowed: cpu");
    if (index != 0)
        impl::throw_invalid("engine: index ", index, ", allowed: 0");
}

stream::stream(const octet::engine &e, flags) : engine_(e) {
    if (!e)
        impl::throw_invalid("stream: engine is a null handle");
}

} // namespace v0
} // namespace octet
