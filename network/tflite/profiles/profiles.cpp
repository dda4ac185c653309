// Finds the row of the table (rows.hpp) that holds for a node of a network, and makes the node's lowering
// from it.
// SPDX-License-Identifier: Apache-2.0
#include "network/tflite/profiles/profiles.hpp"

#include <algorithm>
#include <iterator>

#include "network/tflite/ops/groups.hpp"
#include "network/tflite/profiles/rows.hpp"

namespace octet::model {
namespace {

using namespace profile_rows;

struct runtime_row {
    const char *name, *framework, *summary;
    unsigned has;              ///< rows with one of these bits
    unsigned without_delegate; ///< the same where the delegate fails
};

/// The first one is what networks get without a profile.
constexpr runtime_row runtimes[] = {
    {"tflm-90b983c", "tflite",
     "TensorFlow Lite Micro, reference kernels: what networks get without a profile", micro, micro},
    {"litert-2026.08-x86", "tflite",
     "LiteRT's default on x86: XNNPACK where the delegate takes the operator, else LiteRT's optimized "
     "kernels",
     xnnpack_x86 | optimized_x86, optimized_x86},
    {"litert-2026.08-x86-builtin", "tflite",
     "LiteRT on x86 without its default delegate: the optimized kernels", optimized_x86, optimized_x86},
    {"litert-2026.08-wasm", "tflite",
     "LiteRT's default in browsers, as WebAssembly: as on x86 but for products of floats with weights of "
     "codes, which have no fma",
     xnnpack_wasm | optimized_x86, optimized_x86},
    {"litert-2026.08-arm64", "tflite",
     "LiteRT's default on AArch64, compiled by Clang, as on phones: as on x86, with Arm's rounding of u8 "
     "products "
     "and MUL, contracted sums of floats, and kernels of its own for vectors",
     xnnpack_clang | optimized_clang, optimized_clang},
    {"litert-2026.08-arm64-builtin", "tflite",
     "LiteRT on AArch64, compiled by Clang, without its default delegate: the optimized kernels",
     optimized_clang, optimized_clang},
    {"litert-2026.08-arm64-gcc", "tflite",
     "LiteRT's default on AArch64, compiled by GCC, as for small computers: XNNPACK does not contract, "
     "SOFTMAX "
     "is that of x86",
     xnnpack_gcc | optimized_gcc, optimized_gcc},
    {"litert-2026.08-arm64-gcc-builtin", "tflite",
     "LiteRT on AArch64, compiled by GCC, without its default delegate: the optimized kernels", optimized_gcc,
     optimized_gcc},
    {"litert-2026.08-arm64-a53", "tflite",
     "LiteRT's default on AArch64 where the first core is a Cortex-A53, a Cortex-A55 or a Kryo: as "
     "litert-2026.08-arm64 but for u8 products",
     xnnpack_a53 | optimized_clang, optimized_clang},
    {"litert-2026.08-arm64-a53-builtin", "tflite",
     "the same without its default delegate, which is litert-2026.08-arm64-builtin", optimized_clang,
     optimized_clang},
    {"litert-builtin-ref", "tflite", "LiteRT with its reference kernels (BuiltinRefOpResolver)", reference,
     reference},
    {"ort-1.30", "onnx", "ONNX Runtime on x86: what networks of ONNX get", onnxruntime, onnxruntime},
    {"onnx-reference", "", "ONNX's specification, as its reference evaluator computes it", onnx_evaluator,
     onnx_evaluator},
    {"onednn-2.6.3", "", "oneDNN 2: output scales, the bias before them", onednn_2, onednn_2},
    {"onednn-3", "", "oneDNN 3: scales of the arguments, the bias behind them", onednn_3, onednn_3},
    {"pytorch-1.13-qnnpack", "", "PyTorch with its engine qnnpack", qnnpack, qnnpack},
    {"pytorch-1.13-onednn", "", "PyTorch with its engine onednn", onednn_2, onednn_2},
    {"exact-f32", "",
     "no runtime: operators on floats with one rounding each, for NAME+exact-f32 where NAME has no contract "
     "for them",
     exact_floats, exact_floats},
};

bool has_rows_of(const contract_row &r, const std::string &op, unsigned runs_in) {
    return (r.runs_in & runs_in) != 0 && r.op == op;
}

/// The row that counts for a node; null: the runtime says nothing of the operator, which moves codes or is the same in
/// all of them.
const contract_row *row_of(const runtime_row &r, const lowering &node) {
    for (const contract_row &each : rows)
        if (has_rows_of(each, node.get_node().op, r.has) && (!each.when.holds || each.when.holds(node)))
            return &each;
    return nullptr;
}

/// Whether a node of `framework` has a contract in a runtime; the operator's own is one.
bool has_contract(const runtime_row &r, std::string_view framework, const lowering &node) {
    const contract_row *row = row_of(r, node);
    return row ? !row->unknown : r.framework == framework;
}

[[noreturn]] void refuse_without_contract(const runtime_row &r, const contract_row &without,
                                          const lowering &node) {
    std::string others;
    for (const runtime_row &other : runtimes)
        if (std::string_view(other.name) != r.name && has_contract(other, r.framework, node))
            others += (others.empty() ? "" : ", ") + std::string(other.name);
    const std::string condition = without.when.holds ? std::string(" (") + without.when.text + ")" : "",
                      way = others.empty() ? "; no profile has one"
                                           : "; profiles with one: " + others + "; " + r.name +
                                                 "+NAME takes it from one of them";
    refuse_as_unimplemented(std::string("profile ") + r.name + " has no contract for " + node.get_node().op +
                            condition + ": " + without.unknown + way);
}

/// What it costs to make the name of a profile of what was given. Users leave parts of it out, so a letter that is
/// missing costs 1, and one that is wrong or too many costs 4.
std::size_t distance(const std::string &given, const std::string &name) {
    constexpr std::size_t missing = 1, wrong = 4;
    std::vector<std::size_t> line(name.size() + 1);
    for (std::size_t k = 0; k < line.size(); k++)
        line[k] = k * missing;
    for (const char letter : given) {
        std::size_t diagonal = line[0];
        line[0] += wrong;
        for (std::size_t k = 0; k < name.size(); k++) {
            const std::size_t replaced = diagonal + (letter != name[k] ? wrong : 0);
            diagonal = line[k + 1];
            line[k + 1] = std::min({replaced, line[k] + missing, diagonal + wrong});
        }
    }
    return line.back();
}

/// The three of the most alike names; what begins with it is most alike.
std::string closest(const std::string &name) {
    std::vector<std::pair<std::size_t, std::string>> all;
    for (const runtime_row &r : runtimes)
        all.emplace_back(std::string(r.name).rfind(name, 0) == 0 ? 0 : distance(name, r.name), r.name);
    std::stable_sort(all.begin(), all.end(), [](const auto &a, const auto &b) { return a.first < b.first; });
    return all[0].second + ", " + all[1].second + ", " + all[2].second;
}

profile profile_of(const runtime_row &r) {
    profile result{r.name, r.framework, r.summary, {}};
    for (const contract_row &each : rows) {
        if ((each.runs_in & r.has) == 0)
            continue;
        const auto &from = *std::find_if(std::begin(sources), std::end(sources), [&](const kernel_source &s) {
            return (s.runs_in & each.runs_in & r.has) != 0;
        });
        profile_entry entry{each.op,         each.when.text,  from.kernel, {},
                            each.arithmetic, each.derivation, from.source};
        if (each.unknown)
            entry.arithmetic = std::string("none: ") + each.unknown;
        else
            entry.rule = each.numbers.rule;
        if (const element_groups &g = each.numbers.groups; g.size != 0)
            entry.arithmetic += "; in whole groups of " + std::to_string(g.size) +
                                (g.is_by_channel ? " channels" : " elements") +
                                ", behind them ties of the last step go away from zero";
        result.entries.push_back(std::move(entry));
    }
    return result;
}

/// The runtime of a part of a name. Throws octet::error if networks of the framework do not have it there.
const runtime_row &listed(const std::string &name, std::string_view framework, bool is_substitute) {
    const std::string of = find_profile(name).framework;
    const runtime_row &found = *std::find_if(std::begin(runtimes), std::end(runtimes),
                                             [&](const runtime_row &r) { return r.name == name; });
    if (of == framework || (is_substitute && found.has == exact_floats))
        return found;
    std::string allowed;
    for (const runtime_row &r : runtimes)
        if (r.framework == framework)
            allowed += (allowed.empty() ? "" : ", ") + std::string(r.name);
    refuse("profile " + name +
           (found.has == exact_floats ? " stands behind another with a +"
            : of.empty()              ? " is a library of single operations"
                                      : " is of " + of + " networks") +
           ", allowed for this " + std::string(framework) + " network: " + allowed);
}

/// "NAME+SUBSTITUTE+…", checked.
std::vector<const runtime_row *> parts_of(const std::string &profile, std::string_view framework) {
    find_profile(profile); // an unknown part is told with the whole name
    std::vector<const runtime_row *> parts;
    for (std::size_t begin = 0, end = 0; end != std::string::npos; begin = end + 1) {
        end = profile.find('+', begin);
        parts.push_back(&listed(profile.substr(begin, end - begin), framework, !parts.empty()));
    }
    return parts;
}

/// Rows that nothing is lowered by: the operators' own lowerings are these runtimes'.
constexpr unsigned defaults = micro | onnxruntime;

/// Each part computes what those before it have no contract for.
class tflite_runtime final : public runtime {
public:
    explicit tflite_runtime(std::vector<const runtime_row *> parts) : parts_(std::move(parts)) {}

    std::shared_ptr<const runtime>
    instead_for(const graph &g, const std::function<lowering(std::size_t)> &at) const override {
        const runtime_row &first = *parts_.front();
        if (first.has == first.without_delegate)
            return nullptr;
        for (std::size_t i = 0; i < g.nodes.size(); i++)
            if (fails_in_xnnpack(at(i))) {
                std::vector<const runtime_row *> rest = parts_;
                rest.front() =
                    std::find_if(std::begin(runtimes), std::end(runtimes),
                                 [&](const runtime_row &r) { return r.has == first.without_delegate; });
                return std::make_shared<tflite_runtime>(std::move(rest));
            }
        return nullptr;
    }

    element_groups broken_groups(const lowering &node) const override {
        const contract_row *found = chosen(node).row;
        const bool is_broken =
            found && !found->unknown && count_behind_groups(node.under(found->numbers, nullptr)) != 0;
        return is_broken ? found->numbers.groups : element_groups();
    }

    std::unique_ptr<step> lower(const lowering &node) const override {
        const auto [part, found] = chosen(node);
        if (found && found->unknown)
            refuse_without_contract(*part, *found, node);
        if (!found || is_own(*part, *found))
            return runtime::lower(node);
        const contract_finder others = [r = part](const lowering &other) -> std::optional<contract> {
            const contract_row *row = row_of(*r, other);
            if (!row || is_own(*r, *row))
                return {};
            return row->numbers;
        };
        const lowering ruled = node.under(found->numbers, others);
        return found->lower ? found->lower(ruled) : runtime::lower(ruled);
    }

private:
    struct choice {
        const runtime_row *part;
        const contract_row *row; ///< null: the operator's own lowering
    };

    static bool is_own(const runtime_row &r, const contract_row &row) {
        return (row.runs_in & r.has & ~defaults) == 0;
    }

    /// The first part with a contract for the node; if none has one, the last that says why.
    choice chosen(const lowering &node) const {
        choice without{};
        for (const runtime_row *part : parts_) {
            const contract_row *row = row_of(*part, node);
            if (row && row->unknown)
                without = {part, row};
            else if (row || part->framework == node.get_graph().framework)
                return {part, row};
        }
        return without;
    }

    const std::vector<const runtime_row *> parts_;
};

} // namespace

void check_profile(const std::string &profile, std::string_view framework) { parts_of(profile, framework); }

std::shared_ptr<const runtime> find_tflite_runtime(const std::string &profile) {
    return std::make_shared<tflite_runtime>(parts_of(profile.empty() ? runtimes[0].name : profile, "tflite"));
}

} // namespace octet::model

namespace octet {
inline namespace v0 {

const std::vector<profile> &all_profiles() {
    static const std::vector<profile> all = [] {
        std::vector<profile> result;
        for (const model::runtime_row &r : model::runtimes)
            result.push_back(model::profile_of(r));
        return result;
    }();
    return all;
}

namespace {

/// A name may come from a file.
constexpr std::size_t most_parts = 4;

const profile &listed_profile(const std::string &name) {
    for (const profile &p : all_profiles())
        if (p.name == name)
            return p;
    throw error(status::invalid_arguments,
                "there is no profile '" + name + "'; the closest are " + model::closest(name));
}

} // namespace

const profile &find_profile(const std::string &name) {
    const auto parts = static_cast<std::size_t>(std::count(name.begin(), name.end(), '+')) + 1;
    if (parts > most_parts)
        throw error(status::invalid_arguments, "profile '" + name.substr(0, 64) + "...' has " +
                                                   std::to_string(parts) + " parts, allowed: up to " +
                                                   std::to_string(most_parts));
    const profile *first = nullptr;
    for (std::size_t begin = 0, end = 0; end != std::string::npos; begin = end + 1) {
        end = name.find('+', begin);
        const std::string part = name.substr(begin, end - begin);
        if (part.empty() && parts > 1)
            throw error(status::invalid_arguments,
                        "there is no profile '" + name +
                            "', a name stands on either side of a +; the closest are " +
                            model::closest(name));
        const profile &found = listed_profile(part);
        first = first ? first : &found;
    }
    return *first;
}

} // namespace v0
} // namespace octet
