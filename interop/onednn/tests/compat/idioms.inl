// The table, compiled twice; PEER names the header. IDIOM(code) runs a line of client code, whose text is its
// name; what it hands to `print` is compared. Lines share the few objects of `client`, and are grouped by
// what they talk to.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <numeric>
#include <set>
#include <sstream>
#include <string>

#include "idioms.hpp"
#include "octet/compat/dnnl_tags.h" // names and numbers alone

// Clients reopen the namespace.
namespace dnnl {
namespace PEER {
inline memory::dim element_count(const memory::desc &md) {
    memory::dim count = 1;
    for (int d = 0; d < md.data.ndims; d++)
        count *= md.data.dims[d];
    return count;
}
} // namespace PEER
} // namespace dnnl

namespace idioms::PEER {

namespace {

using namespace dnnl;
using tag = memory::format_tag;
using dt = memory::data_type;
using dims = memory::dims;

class printer {
public:
    template <typename... Values> void operator()(const Values &...values) { (one(values), ...); }
    std::string text() const { return text_.str(); }

private:
    template <typename T> void one(const T &value) { text_ << value << ' '; }
    template <typename T> void one(const std::vector<T> &values) {
        for (const T v : values)
            text_ << +v << ' '; // codes as numbers
    }
    std::ostringstream text_;
};

/// The objects that every line can use.
struct client {
    engine eng{engine::kind::cpu, 0};
    stream s{eng};
    memory::desc u8_image{{2, 8, 5, 4}, dt::u8, tag::nhwc};
    memory::desc s8_weights{{16, 8, 3, 3}, dt::s8, tag::oihw};
    memory::desc s32_bias{{16}, dt::s32, tag::x};
    memory::desc s8_image{{2, 16, 5, 4}, dt::s8, tag::nhwc};
    memory::desc f32_matrix{{3, 4}, dt::f32, tag::ab};
    memory::desc any_weights{{16, 8, 3, 3}, dt::s8, tag::any};
    convolution_forward::desc conv_d{prop_kind::forward_inference,
                                     algorithm::convolution_direct,
                                     u8_image,
                                     s8_weights,
                                     s32_bias,
                                     s8_image,
                                     {1, 1},
                                     {1, 1},
                                     {1, 1}};

    /// Memory with a small pattern in it.
    template <typename T> memory filled(const memory::desc &md, std::vector<T> values) const {
        memory m(md, eng);
        T *data = static_cast<T *>(m.get_data_handle());
        for (std::size_t i = 0; i < md.get_size() / sizeof(T); i++)
            data[i] = values[i % values.size()];
        return m;
    }
    template <typename T> std::vector<T> values(const memory &m) const {
        const T *data = static_cast<const T *>(m.get_data_handle());
        return std::vector<T>(data, data + m.get_desc().get_size() / sizeof(T));
    }
    memory filled_u8(const memory::desc &md) const {
        return filled<std::uint8_t>(md, {0, 7, 255, 31, 4, 128, 90});
    }
    memory filled_s8(const memory::desc &md) const {
        return filled<std::int8_t>(md, {-128, 3, 0, -7, 127, 12});
    }
    memory filled_s32(const memory::desc &md) const {
        return filled<std::int32_t>(md, {-1000, 30, 0, -7, 512});
    }
    memory filled_f32(const memory::desc &md) const {
        return filled<float>(md, {-1.5f, 0.f, 2.25f, 100.f, -0.125f});
    }

    template <typename Primitive, typename Pd>
    memory run(const Pd &pd, std::unordered_map<int, memory> args) const {
        const memory dst(pd.dst_desc(), eng);
        args[DNNL_ARG_DST] = dst;
        Primitive(pd).execute(s, args);
        return dst;
    }
};

class table {
public:
    template <typename Line> void add(std::string text, const Line &line) {
        printer print;
        try {
            line(print);
        } catch (const dnnl::error &e) {
            print("error:", dnnl_status2str(e.status));
        }
        text.erase(std::unique(text.begin(), text.end(), [](char a, char b) { return a == ' ' && b == ' '; }),
                   text.end());
        results_.emplace_back(std::move(text), print.text());
    }
    results take() { return std::move(results_); }

private:
    results results_;
};

#define IDIOM(...) t.add(#__VA_ARGS__, [&]([[maybe_unused]] printer &print) { __VA_ARGS__; });

/// Lists, since a function per number would take compilers minutes.
void numbers(table &t) {
    struct number {
        const char *name;
        long long value;
    };
#define NUMBER(name) {#name, static_cast<long long>(name)},
    static const number numbers[] = {
#include "numbers.inl"
    };
#undef NUMBER
    for (const number &n : numbers)
        t.add(n.name, [&](printer &print) { print(n.value); });

    struct tag_names {
        const char *name;
        dnnl_format_tag_t in_c;
        tag in_cpp;
    };
#define TAG(name, number) {"dnnl_" #name, dnnl_##name, tag::name},
#define NAME(name, of) TAG(name, 0)
    static const tag_names tags[] = {OCTET_DNNL_TAGS_PLAIN(TAG) OCTET_DNNL_TAGS_BLOCKED(TAG)
                                         OCTET_DNNL_TAGS_NAMED(NAME)};
#undef TAG
#undef NAME
    for (const tag_names &n : tags)
        t.add(n.name, [&](printer &print) {
            print(static_cast<int>(n.in_c), static_cast<int>(n.in_cpp), dnnl_fmt_tag2str(n.in_c));
        });
    static_assert(dnnl_query_max == 0x7fff);
}

} // namespace

#include "idioms_attributes.inl"
#include "idioms_c.inl"
#include "idioms_descriptors.inl"
#include "idioms_operations.inl"

results run() {
    table t;
    const client c;
    descriptors(t, c);
    attributes(t, c);
    operations(t, c);
    more_operations(t, c);
    c_interface(t, c);
    numbers(t);
    return t.take();
}

} // namespace idioms::PEER
