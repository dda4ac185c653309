// A table of kinds of files, each with how it is recognised and who replays it.
// SPDX-License-Identifier: Apache-2.0
#include "check/check.hpp"

#include <iostream>

#include "base/options.hpp"
#include "base/print.hpp"

namespace octet::vectors {
namespace {

struct file_kind {
    const char *row_title;
    void (*replay)(const vector_file &, const options &, report &);
};

file_kind recognise(const json_value &root) {
    constexpr file_kind requantization{"rule", replay_requantization};
    constexpr file_kind tflite{"operator", replay_tflite_operators};
    constexpr file_kind ort{"operator", replay_ort_operators};
    constexpr file_kind attention{"operator", replay_attention_operators};
    constexpr file_kind models{"network", replay_models};
    constexpr file_kind graphs{"group", replay_ort_graphs};

    if (root.has("vectors"))
        return requantization;
    if (!root.has("format")) {
        if (root.has("generator") && root.has("cases"))
            return ort;
        if (root.has("framework") && root.has("cases"))
            return graphs;
        root.fail(
            "the file has neither 'format' nor 'vectors', nor 'cases' with 'generator' or 'framework': no "
            "known kind of vectors");
    }
    const std::string format = root["format"].text();
    if (format == "int8-op-vectors/1")
        return tflite;
    if (format == "int8-model-goldens/1")
        return models;
    if (format == "attention_ops 1")
        return attention;
    root["format"].fail("is '" + format +
                        "', known: int8-op-vectors/1, int8-model-goldens/1, attention_ops 1");
}

/// Caps the ISA level for the time of a replay.
class isa_cap {
public:
    explicit isa_cap(const options &opt) : before_(get_effective_cpu_isa()) {
        if (!opt.isa.empty() || opt.impl == implementation::ref)
            set_max_cpu_isa(opt.impl == implementation::ref ? get_available_cpu_isas().front()
                                                            : tools::available_isa(opt.isa));
    }
    ~isa_cap() { set_max_cpu_isa(before_); }
    isa_cap(const isa_cap &) = delete;
    isa_cap &operator=(const isa_cap &) = delete;

private:
    cpu_isa before_;
};

} // namespace

bool check_file(const std::string &path, const options &opt, std::ostream &out, tools::json *object) {
    const isa_cap cap(opt);
    const vector_file file(path);
    report results(out, opt.op, opt.verbose, opt.show_progress ? &std::cerr : nullptr, object);
    try {
        const file_kind kind = recognise(file.root());
        if (!opt.profile.empty() && kind.replay != replay_tflite_operators)
            throw error(status::invalid_arguments,
                        path + ": --profile is given, allowed with vectors of TensorFlow Lite's operators");
        kind.replay(file, opt, results);
        return results.finish(kind.row_title);
    } catch (const malformed_file &e) {
        throw malformed_file(tools::one_line(path + ": " + e.what()));
    }
}

} // namespace octet::vectors
