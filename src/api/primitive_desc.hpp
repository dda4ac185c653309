#pragma once // SPDX-License-Identifier: Apache-2.0

// The objects behind primitive_desc and primitive.

#include <functional>
#include <map>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "api/aliasing.hpp"
#include "common/text.hpp"
#include "cpu/implementation.hpp"
#include "octet/primitive.hpp"

namespace octet::impl {

class runtime_problem;
class primitives_by_size;

/// The facts that a primitive descriptor tells, and those that executions are checked against. A primitive
/// keeps only these: plans of many numbers serve to make the kernel and are not kept.
struct primitive_description {
    std::string operation; ///< "convolution"
    primitive_attr attr;
    std::map<int, memory::desc> args; ///< every execution argument with its descriptor
    memory::desc described_dst;       ///< of a text, if it is not that of dst; else the zero descriptor
    std::map<int, extent> extents;    ///< the places of their elements, for the check that inputs are not dst
    std::vector<byte_range> ranges;   ///< the same in short, dst first: all that most executions look at
    std::string parameters;           ///< "strides:1x1 dilates:0x0 padding_l:1x1"
    std::string implementation;
    std::vector<std::string> refusals;
};

struct primitive_desc_data {
    std::shared_ptr<const primitive_description> is;
    std::string key; ///< equal keys execute equally; empty where `create` has the kernel
    std::function<std::shared_ptr<const kernel>()> create;
    /// Set if sizes come with the execution (runtime_sizes.hpp), and then `key` and `create` are empty; else
    /// null.
    std::shared_ptr<const runtime_problem> runtime;
};

struct primitive_data {
    std::shared_ptr<const primitive_description> desc;
    std::shared_ptr<const kernel> code;
    std::shared_ptr<primitives_by_size> sizes; ///< instead of `code`
    std::shared_ptr<const runtime_problem> runtime;
};

/// True for an argument that executions may leave out, and whose memory only has to be large enough.
constexpr bool is_hint(int arg) { return arg == OCTET_ARG_ATTR_PREFETCH; }

/// A kernel for a primitive descriptor, from the primitive cache or made.
std::shared_ptr<const primitive_data> make_primitive(std::shared_ptr<const primitive_desc_data> desc);

/// The problem in one line without commas: octet/problem.hpp.
std::string problem_text(const primitive_description &data);

/// Runs `call`; an allocation that fails is reported as this library's error.
template <typename Call> auto out_of_memory_is_an_error(const std::string &operation, const Call &call) {
    const auto fail = [&] {
        throw error(status::out_of_memory,
                    text(operation, ": cannot allocate memory for a problem of this size"));
    };
    try {
        return call();
    } catch (const std::bad_alloc &) {
        fail();
        throw;
    } catch (const std::length_error &) { // containers throw it before they ask for the memory
        fail();
        throw;
    }
}

} // namespace octet::impl
