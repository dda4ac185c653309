#pragma once // SPDX-License-Identifier: Apache-2.0

// One description per operation, at the end of its src/api/NAME.cpp: its parameters, visited one after the
// other, and a row with all else that depends on the operation. The text of a problem, its key, the reading
// of a text (problem_text.cpp), run-time sizes (runtime_sizes.hpp), and the probes of `octet info` follow
// from it. operations.cpp has the list.
//
//   constexpr auto parameters = [](auto &d, const auto &visit) {     // d: the operation's descriptor
//       visit("algorithm", d.alg);                                   // "algorithm:reduction_sum"
//       visit("p", d.p, is_norm(d.alg));                             // written for norms only, and always read
//       visit.list("strides", d.strides, 'x', n, 1);                 // "strides:1x1"; not given: n times 1
//   };

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "api/front.hpp"
#include "common/tokens.hpp"
#include "octet/example_problems.hpp"

namespace octet::impl {

// ---- tensors

namespace members {

#define OCTET_MEMBER(NAME, ARGUMENT)                                                                         \
    template <typename D, typename F> auto NAME(D &d, const F &f, int)->decltype(d.NAME, void()) {           \
        f(ARGUMENT, d.NAME);                                                                                 \
    }                                                                                                        \
    template <typename D, typename F> void NAME(D &, const F &, long) {}
OCTET_MEMBER(src, OCTET_ARG_SRC)
OCTET_MEMBER(src0, OCTET_ARG_SRC_0)
OCTET_MEMBER(src1, OCTET_ARG_SRC_1)
OCTET_MEMBER(weights, OCTET_ARG_WEIGHTS)
OCTET_MEMBER(bias, OCTET_ARG_BIAS)
OCTET_MEMBER(dst, OCTET_ARG_DST)
OCTET_MEMBER(stats, OCTET_ARG_MEAN) // variance has the same
OCTET_MEMBER(src_layer, OCTET_ARG_SRC_LAYER)
OCTET_MEMBER(src_iter, OCTET_ARG_SRC_ITER)
OCTET_MEMBER(src_iter_c, OCTET_ARG_SRC_ITER_C)
OCTET_MEMBER(weights_layer, OCTET_ARG_WEIGHTS_LAYER)
OCTET_MEMBER(weights_iter, OCTET_ARG_WEIGHTS_ITER)
OCTET_MEMBER(weights_peephole, OCTET_ARG_WEIGHTS_PEEPHOLE)
OCTET_MEMBER(weights_projection, OCTET_ARG_WEIGHTS_PROJECTION)
OCTET_MEMBER(dst_layer, OCTET_ARG_DST_LAYER)
OCTET_MEMBER(dst_iter, OCTET_ARG_DST_ITER)
OCTET_MEMBER(dst_iter_c, OCTET_ARG_DST_ITER_C)
#undef OCTET_MEMBER
template <typename D, typename F> auto srcs(D &d, const F &f, int) -> decltype(d.srcs, void()) {
    int arg = OCTET_ARG_MULTIPLE_SRC;
    for (auto &src : d.srcs)
        f(arg++, src);
}
template <typename D, typename F> void srcs(D &, const F &, long) {}

template <typename D> auto set_source_count(D &d, std::size_t n, int) -> decltype(d.srcs, void()) {
    d.srcs.resize(n);
}
template <typename D> void set_source_count(D &, std::size_t, long) {}

} // namespace members

/// Calls f(argument, tensor) for each tensor of a description, whichever of the usual members it has.
template <typename Description, typename F> void for_each_tensor(Description &d, const F &f) {
    members::src(d, f, 0);
    members::src0(d, f, 0);
    members::src1(d, f, 0);
    members::srcs(d, f, 0);
    members::weights(d, f, 0);
    members::bias(d, f, 0);
    members::dst(d, f, 0);
    members::stats(d, f, 0);
    members::src_layer(d, f, 0);
    members::src_iter(d, f, 0);
    members::src_iter_c(d, f, 0);
    members::weights_layer(d, f, 0);
    members::weights_iter(d, f, 0);
    members::weights_peephole(d, f, 0);
    members::weights_projection(d, f, 0);
    members::dst_layer(d, f, 0);
    members::dst_iter(d, f, 0);
    members::dst_iter_c(d, f, 0);
}

// ---- parameters

/// Windows that slide over `image` and stop at `positions`: all but the padding behind the image.
struct sliding_windows {
    const memory::desc &image, &positions;
    memory::dims kernel;
    const memory::dims &strides, &dilates, &padding_l;
};

/// A parameter from its text; throws `invalid_arguments` for a text that is none.
///@{
void read_parameter(const char *name, const std::string &given, float &value);
void read_parameter(const char *name, const std::string &given, int &value);
void read_parameter(const char *name, const std::string &given, dim_t &value);
void read_parameter(const char *name, const std::string &given, algorithm &value);
void read_parameter(const char *name, const std::string &given, resampling_coordinates &value);
void read_parameter(const char *name, const std::string &given, rnn_direction &value);
void read_parameter(const char *name, const std::string &given, prop_kind &value);
void read_parameter(const char *name, const std::string &given, normalization_flags &value);
///@}

/// Visits parameters and makes their text, "algorithm:reduction_sum p:2", a part of the problem's text and key.
class parameter_writer {
public:
    explicit parameter_writer(std::string &text) : text_(text) {}

    template <typename Value>
    void operator()(const char *name, const Value &value, bool is_written = true) const {
        if (!is_written)
            return;
        begin(name);
        if constexpr (std::is_enum_v<Value>)
            append_text(text_, to_string(value));
        else
            append_text(text_, value);
    }
    template <typename List>
    void list(const char *name, const List &values, char separator, std::size_t,
              typename List::value_type) const {
        begin(name);
        for (const auto &value : values) {
            if (&value != values.data())
                append_text(text_, separator);
            append_text(text_, value);
        }
    }
    /// Follows from the sizes.
    template <typename Windows> void padding_r(const memory::dims &, const Windows &) const {}

private:
    void begin(const char *name) const {
        append_text(text_, text_.empty() ? "" : " ");
        append_text(text_, name);
        append_text(text_, ':');
    }
    std::string &text_;
};

template <typename Description, typename Parameters>
std::string parameter_text(const Description &d, const Parameters &parameters) {
    std::string text;
    parameters(d, parameter_writer(text));
    return text;
}

/// The tokens of a problem's text, sorted by what they are; their owner keeps them.
struct problem_tokens {
    const std::map<int, memory::desc> &tensors; ///< by execution argument
    const std::map<std::string, std::string> &parameters;
};

/// Visits parameters and sets those that the text has; the others keep their values.
class parameter_reader {
public:
    explicit parameter_reader(const problem_tokens &tokens) : tokens_(tokens) {}

    template <typename Value> void operator()(const char *name, Value &value, bool = true) const {
        if (const std::string *given = find(name))
            read_parameter(name, *given, value);
    }
    template <typename List>
    void list(const char *name, List &values, char separator, std::size_t n,
              typename List::value_type otherwise) const {
        const std::string *given = find(name);
        if (!given || given->empty())
            return values.assign(n, otherwise);
        values.clear();
        for (std::size_t begin = 0, end = 0; end != std::string::npos; begin = end + 1) {
            end = given->find(separator, begin);
            values.push_back(number_of<typename List::value_type>(given->substr(begin, end - begin)));
        }
    }
    /// Given, or what the other numbers leave; windows() tells them.
    template <typename Windows> void padding_r(memory::dims &values, const Windows &windows) const {
        const std::string *given = find("padding_r");
        values = given && !given->empty() ? numbers_of(*given, 'x') : padding_left_by(windows());
    }

private:
    static memory::dims padding_left_by(const sliding_windows &windows);
    const std::string *find(const char *name) const;
    const problem_tokens &tokens_;
};

/// Visits parameters for their names.
class parameter_names {
public:
    explicit parameter_names(std::vector<std::string> &names) : names_(names) {}
    template <typename Value> void operator()(const char *name, const Value &, bool = true) const {
        names_.emplace_back(name);
    }
    template <typename List>
    void list(const char *name, const List &, char, std::size_t, typename List::value_type) const {
        names_.emplace_back(name);
    }
    template <typename Windows> void padding_r(const memory::dims &, const Windows &) const {
        names_.emplace_back("padding_r");
    }

private:
    std::vector<std::string> &names_;
};

/// The parameters of operations that are their tensors and attributes.
constexpr auto no_parameters = [](auto &, const auto &) {};

/// Spatial dimensions of a tensor with images, 0 for what is none.
inline std::size_t spatial_ndims(const memory::desc &image) {
    return image.data.ndims > 2 ? static_cast<std::size_t>(image.data.ndims) - 2 : 0;
}

// ---- the row

/// How the layouts of its tensors are spelled in texts.
enum class tensor_roles {
    by_rank,  ///< nchw from three dimensions on, ab below
    channels, ///< nchw, oihw: dimensions have roles at any rank
    letters,  ///< abcd
};

enum operation_trait : unsigned {
    has_numbered_sources = 1, ///< src0, src1, … as many as there are
    flags_tell_operands = 2,  ///< scales and shifts, which a text does not name
    ties_sizes = 4,           ///< by windows or weights: all but the batch must be known
    in_place = 8,             ///< dst may be any input with the same elements
    in_place_of_src = 16,     ///< dst may be src
    has_optional_states = 32, ///< its tensors but src, weights, weights1 and dst may be absent
};

/// The facts about an operation that its front does not compute.
struct operation_facts {
    const char *name; ///< "reduction": in messages, texts and keys
    /// Small, usual problems, listed in octet/example_problems.hpp; the first has the operation's name.
    std::vector<example_problem> examples;
    tensor_roles roles = tensor_roles::by_rank;
    unsigned traits = 0; ///< a set of `operation_trait`
};

/// A row of the list in operations.cpp.
struct described_operation : operation_facts {
    std::vector<std::string> parameters;
    std::function<primitive_desc_ptr(const problem_tokens &, const request &)> read;

    bool has(operation_trait trait) const { return (traits & trait) != 0; }
    /// True if this input may be the destination's memory.
    bool runs_in_place(int arg) const {
        return has(in_place) || (has(in_place_of_src) && arg == OCTET_ARG_SRC);
    }
};

const std::vector<const described_operation *> &all_operations();
/// Throws `invalid_arguments` for another name. Allocates nothing for one that there is.
const described_operation &operation_named(const std::string &name);

/// A tensor of the text; throws where the operation needs it and it is not there.
memory::desc described_tensor(const problem_tokens &tokens, const operation_facts &facts, int arg);
std::size_t described_sources(const problem_tokens &tokens);

} // namespace octet::impl
