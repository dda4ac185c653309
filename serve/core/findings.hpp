#pragma once // SPDX-License-Identifier: Apache-2.0

// The results of measuring a model. They travel as JSON from the process that tried the model, and can be
// stored beside the model's file, MODEL.findings.json, so that the next server need not measure.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace octet::serve {

struct model_findings {
    std::vector<std::int64_t> sizes = {1}; ///< sizes of batches
    std::string unbatchable_because;       ///< why it has no other sizes; "" if it has
    double seconds_per_row = 0;
    bool is_multi_threaded = false; ///< all cores help a request that is alone
    bool is_checked = false;        ///< batches were compared with their rows since the server began
};

nlohmann::json to_json(const model_findings &f);
/// Throws nlohmann::json::exception or octet::error where these are no findings.
model_findings findings_from(const nlohmann::json &j);

/// Findings beside a model's file. They hold for its bytes, its configuration, the version of the program,
/// the instruction set and the number of workers.
class stored_findings {
public:
    stored_findings(const std::string &model_path, const std::string &config, int workers);
    /// None where nothing is stored, or where it was found for something else.
    std::optional<model_findings> read() const;
    /// The file appears as a whole. Throws octet::error.
    void write(const model_findings &f) const;
    const std::string &path() const { return path_; }

private:
    nlohmann::json conditions() const;
    std::string path_, model_path_, config_;
    int workers_;
};

} // namespace octet::serve
