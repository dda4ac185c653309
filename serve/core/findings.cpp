// Findings as JSON, with the conditions under which they were made.
// SPDX-License-Identifier: Apache-2.0
#include "core/findings.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <unistd.h>

#include "core/model_file.hpp"
#include "core/small_json.hpp"
#include "octet/error.hpp"
#include "octet/settings.hpp"
#include "octet/version.hpp"

namespace octet::serve {

using nlohmann::json;

json to_json(const model_findings &f) {
    return {{"sizes", f.sizes},
            {"unbatchable_because", f.unbatchable_because},
            {"seconds_per_row", f.seconds_per_row},
            {"is_multi_threaded", f.is_multi_threaded}};
}

model_findings findings_from(const json &j) {
    model_findings f;
    f.sizes = j.at("sizes").get<std::vector<std::int64_t>>();
    f.unbatchable_because = j.at("unbatchable_because").get<std::string>();
    f.seconds_per_row = j.at("seconds_per_row").get<double>();
    f.is_multi_threaded = j.at("is_multi_threaded").get<bool>();
    constexpr std::size_t most_sizes = 12;
    const bool ascends =
        std::adjacent_find(f.sizes.begin(), f.sizes.end(), std::greater_equal<>()) == f.sizes.end();
    if (f.sizes.empty() || f.sizes.front() != 1 || f.sizes.size() > most_sizes || !ascends ||
        !(f.seconds_per_row >= 0))
        throw error(status::invalid_arguments, "these are no findings");
    return f;
}

stored_findings::stored_findings(const std::string &model_path, const std::string &config, int workers)
    : path_(model_path + ".findings.json"), model_path_(model_path), config_(config), workers_(workers) {}

json stored_findings::conditions() const {
    return {{"sha256", digest_of(model_path_)},
            {"config", config_},
            {"octet", version()},
            {"isa", to_string(get_effective_cpu_isa())},
            {"workers", workers_}};
}

std::optional<model_findings> stored_findings::read() const {
    std::error_code ignored;
    if (!std::filesystem::exists(path_, ignored))
        return std::nullopt;
    try {
        const json stored = read_small_json(read_regular_file(path_, most_control_bytes));
        if (stored.at("conditions") == conditions())
            return findings_from(stored.at("findings"));
    } catch (const json::exception &) { // somebody else's file
    } catch (const error &) {
    }
    return std::nullopt;
}

void stored_findings::write(const model_findings &f) const {
    const std::string next = path_ + '.' + std::to_string(::getpid());
    std::ofstream file(next);
    file << json({{"conditions", conditions()}, {"findings", to_json(f)}}).dump(2) << '\n';
    file.close();
    if (!file || std::rename(next.c_str(), path_.c_str()) != 0) {
        const std::string why = std::strerror(errno);
        std::remove(next.c_str());
        throw error(status::runtime_error, path_ + ": cannot be written: " + why);
    }
}

} // namespace octet::serve
