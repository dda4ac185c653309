#pragma once // SPDX-License-Identifier: Apache-2.0

// The body of a loop over a range of indices.

#include <cstdint>
#include <type_traits>

namespace octet::impl {

/// The body of a loop, by reference: unlike std::function it never allocates, so that executing does not
/// either.
class range_body {
public:
    template <typename Body, typename = std::enable_if_t<!std::is_same_v<std::decay_t<Body>, range_body>>>
    range_body(const Body &body)
        : body_(&body), call_([](const void *b, std::int64_t begin, std::int64_t end) {
              (*static_cast<const Body *>(b))(begin, end);
          }) {}
    void operator()(std::int64_t begin, std::int64_t end) const { call_(body_, begin, end); }

private:
    const void *body_;
    void (*call_)(const void *, std::int64_t, std::int64_t);
};

} // namespace octet::impl
