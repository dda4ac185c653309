// Fields are named once, for both directions. Integers, most of them small, take a byte for each seven bits.
// SPDX-License-Identifier: Apache-2.0
#include "network/graph/stored_graph.hpp"

#include <cstring>
#include <map>
#include <type_traits>
#include <utility>
#include <variant>

namespace octet::model {
namespace {

// Bindings of all members: a new one does not compile until it is listed here.

template <typename Stream, typename Quantization> void pass_quantization(Stream &s, Quantization &q) {
    auto &[scales, zero_points, axis] = q;
    s(scales, zero_points, axis);
}

template <typename Stream, typename Tensor> void pass_tensor(Stream &s, Tensor &t) {
    auto &[name, type, foreign_type, dims, dim_names, is_channels_last, quant, is_constant, is_variable,
           data] = t;
    s(name, type, foreign_type, dims, dim_names, is_channels_last, quant, is_constant, is_variable, data);
}

template <typename Stream, typename Node> void pass_node(Stream &s, Node &n) {
    auto &[op, inputs, outputs, attributes, number, fused, result_input, stored_input, marks] = n;
    s(op, inputs, outputs, attributes, number, fused, result_input, stored_input, marks);
}

template <typename Stream, typename Graph, typename Saved> void pass_graph(Stream &s, Graph &g, Saved &at) {
    auto &[framework, tensors, nodes, inputs, outputs, saved, opset] = g;
    s(framework, tensors, nodes, inputs, outputs, opset);
    s.share(saved, at);
}

class writer {
public:
    writer(std::string &bytes, std::vector<shared_bytes> &constants,
           std::vector<std::shared_ptr<const node_marks>> &marks)
        : bytes_(bytes), constants_(constants), marks_(marks) {}

    template <typename... Fields> void operator()(const Fields &...fields) { (put(fields), ...); }
    template <typename T> void share(const T &from, T &to) { to = from; }

private:
    void put_bytes(const void *from, std::size_t size) {
        bytes_.append(static_cast<const char *>(from), size);
    }
    void put_unsigned(std::uint64_t x) {
        for (; x >= 0x80; x >>= 7)
            bytes_.push_back(static_cast<char>(x | 0x80));
        bytes_.push_back(static_cast<char>(x));
    }
    template <typename T> void put(const T &x) {
        if constexpr (std::is_floating_point_v<T>)
            put_bytes(&x, sizeof x);
        else { // the sign comes last, so that -1 is short, too
            const auto wide = static_cast<std::int64_t>(x);
            put_unsigned(static_cast<std::uint64_t>(wide) << 1 ^ static_cast<std::uint64_t>(wide >> 63));
        }
    }
    void put(const std::string &text) {
        put_unsigned(text.size());
        put_bytes(text.data(), text.size());
    }
    template <typename T> void put(const std::vector<T> &list) {
        put_unsigned(list.size());
        for (const T &entry : list)
            put(entry);
    }
    void put(const std::map<std::string, attribute> &attributes) {
        put_unsigned(attributes.size());
        for (const auto &[name, value] : attributes) {
            put(name);
            put_unsigned(value.index());
            std::visit([&](const auto &of_its_type) { put(of_its_type); }, value);
        }
    }
    void put(const shared_bytes &data) {
        put(!data.empty());
        if (!data.empty())
            constants_.push_back(data);
    }
    void put(const std::shared_ptr<const node_marks> &marks) {
        put(marks != nullptr);
        if (marks)
            marks_.push_back(marks);
    }
    void put(const quantization &q) { pass_quantization(*this, q); }
    void put(const tensor &t) { pass_tensor(*this, t); }
    void put(const node &n) { pass_node(*this, n); }

    std::string &bytes_;
    std::vector<shared_bytes> &constants_;
    std::vector<std::shared_ptr<const node_marks>> &marks_;
};

/// Reads what `writer` wrote: it trusts the bytes.
class reader {
public:
    reader(const std::string &bytes, const std::vector<shared_bytes> &constants,
           const std::vector<std::shared_ptr<const node_marks>> &marks)
        : at_(bytes.data()), constant_(constants.begin()), marks_(marks.begin()) {}

    template <typename... Fields> void operator()(Fields &...fields) { (get(fields), ...); }
    template <typename T> void share(T &to, const T &from) { to = from; }

private:
    std::uint64_t get_unsigned() {
        std::uint64_t x = 0;
        for (int shift = 0;; shift += 7) {
            const auto byte = static_cast<unsigned char>(*at_++);
            x |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
            if (byte < 0x80)
                return x;
        }
    }
    template <typename T> void get(T &x) {
        if constexpr (std::is_floating_point_v<T>) {
            std::memcpy(&x, at_, sizeof x);
            at_ += sizeof x;
        } else {
            const std::uint64_t coded = get_unsigned();
            x = static_cast<T>(static_cast<std::int64_t>(coded >> 1 ^ (0 - (coded & 1))));
        }
    }
    void get(std::string &text) {
        const std::size_t size = get_unsigned();
        text.assign(at_, size);
        at_ += size;
    }
    template <typename T> void get(std::vector<T> &list) {
        list.resize(get_unsigned());
        for (T &entry : list)
            get(entry);
    }
    void get(std::map<std::string, attribute> &attributes) {
        for (std::uint64_t count = get_unsigned(); count > 0; count--) {
            std::string name;
            get(name);
            get(attributes[name]);
        }
    }
    void get(attribute &value) {
        constexpr attribute (*empty[])() = {
            [] { return attribute(std::int64_t()); }, [] { return attribute(0.f); },
            [] { return attribute(std::string()); }, [] { return attribute(std::vector<std::int64_t>()); }};
        static_assert(std::size(empty) == std::variant_size_v<attribute>);
        value = empty[get_unsigned()]();
        std::visit([&](auto &of_its_type) { get(of_its_type); }, value);
    }
    void get(shared_bytes &data) {
        bool is_there = false;
        get(is_there);
        if (is_there)
            data = *constant_++;
    }
    void get(std::shared_ptr<const node_marks> &marks) {
        bool are_there = false;
        get(are_there);
        if (are_there)
            marks = *marks_++;
    }
    void get(quantization &q) { pass_quantization(*this, q); }
    void get(tensor &t) { pass_tensor(*this, t); }
    void get(node &n) { pass_node(*this, n); }

    const char *at_;
    std::vector<shared_bytes>::const_iterator constant_;
    std::vector<std::shared_ptr<const node_marks>>::const_iterator marks_;
};

} // namespace

stored_graph::stored_graph(const graph &g) {
    writer to(fields_, constants_, marks_);
    pass_graph(to, g, saved_);
    fields_.shrink_to_fit();
    constants_.shrink_to_fit();
    marks_.shrink_to_fit();
}

graph stored_graph::get() const {
    graph g;
    reader from(fields_, constants_, marks_);
    pass_graph(from, g, saved_);
    return g;
}

} // namespace octet::model
