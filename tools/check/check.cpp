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

/// Files that say what they are.
const struct {
    const char *format;
    file_kind kind;
} formats[] = {
    {"int8-op-vectors/1", {"operator", replay_tflite_operators}},
    {"int8-model-goldens/1", {"network", replay_models}},
    {"attention_ops 1", {"operator", replay_attention_operators}},
    {"octet-dynamic-vectors 1", {"contract", replay_dynamic_products}},
    {"recurrent 1", {"operator", replay_recurrent}},
    {"nbits 1", {"operator", replay_nbits_operators}},
    {"nbits graphs 1", {"graph", replay_decoder_graphs}},
};

file_kind recognise(const json_value &root) {
    if (root.has("vectors"))
        return {"rule", replay_requantization};
    if (root.has("format")) {
        const std::string given = root["format"].text();
        std::string known;
        for (const auto &row : formats) {
            if (given == row.format)
                return row.kind;
            known += (known.empty() ? "" : ", ") + std::string(row.format);
        }
        root["format"].fail("is '" + given + "', known: " + known);
    }
    if (root.has("generator") && root.has("cases"))
        return {"operator", replay_ort_operators};
    if (root.has("framework") && root.has("cases"))
        return {"group", replay_ort_graphs};
    root.fail("the file has neither 'format' nor 'vectors', nor 'cases' with 'generator' or 'framework': no "
              "known kind of vectors");
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
