// A scan compares folders with what is served and loads what is new, in a thread of its own; requests see versions that are ready.

#include "core/repository.hpp"

#include <algorithm>
#include <filesystem>

#include "core/small_json.hpp"

namespace octet::serve {
namespace {

namespace fs = std::filesystem;

constexpr long no_version = 0; ///< of what is wrong with a model as a whole
constexpr const char *file_names[] = {"model.octet", "model.onnx", "model.tflite"};

/// Size and time of a file; "" if there is none.
std::string signature_of(const fs::path &file) {
    std::error_code failed;
    const auto size = fs::file_size(file, failed);
    if (failed)
        return "";
    const auto time = fs::last_write_time(file, failed);
    return failed ? ""
                  : file.string() + ' ' + std::to_string(size) + ' ' +
                        std::to_string(time.time_since_epoch().count());
}

/// The number of a folder "1", "2", …; 0 for other names.
long version_of(const std::string &name) {
    if (name.empty() || name.size() > 9 || name[0] == '0' ||
        name.find_first_not_of("0123456789") != std::string::npos)
        return 0;
    return std::stol(name);
}

std::vector<std::string> folders_in(const fs::path &folder) {
    std::vector<std::string> names;
    std::error_code failed;
    for (fs::directory_iterator it(folder, failed), end; !failed && it != end; it.increment(failed)) {
        std::error_code ignored;
        const std::string name = it->path().filename().string();
        if (name[0] != '.' && it->is_directory(ignored))
            names.push_back(name);
    }
    if (failed)
        throw error(status::invalid_arguments, folder.string() + ": " + failed.message());
    return names;
}

model_config config_of(const fs::path &file) {
    return fs::exists(file) ? read_config(read_regular_file(file, most_control_bytes)) : model_config();
}

/// For the log: how long it took, and how it will be served.
std::string loaded_text(const served_model &m, clock::time_point start) {
    const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(clock::now() - start);
    std::string sizes;
    for (const auto size : m.queue_settings().sizes)
        sizes += (sizes.empty() ? "" : ", ") + std::to_string(size);
    return "loaded in " + std::to_string(took.count()) + " ms, " +
           (m.is_batching() ? "batches of " + sizes : "no batches: " + m.why_not_batching()) +
           (m.has_latency_mode() ? "; all cores for a request that is alone" : "");
}

} // namespace

repository::repository(scheduler &s, metrics &m, report log)
    : scheduler_(s), metrics_(m), log_(std::move(log)) {}

repository::~repository() { stop(); }

void repository::stop() {
    {
        const std::lock_guard<std::mutex> lock(watch_mutex_);
        is_stopping_ = true;
    }
    watch_wake_.notify_all();
    if (watcher_.joinable())
        watcher_.join();
}

void repository::add(const model_source &source, const model_config &config) {
    const std::lock_guard<std::mutex> lock(scan_mutex_);
    if (!fixed_.insert(source.name).second)
        throw error(status::invalid_arguments, "two models are called '" + source.name + "'");
    entry e;
    const auto start = clock::now();
    e.model =
        served_model::load(source, config, scheduler_.worker_count(), [this] { return is_stopping_.load(); });
    log_(false, "model '" + source.name + "': " + loaded_text(*e.model, start));
    replace(source.name, version_of(source.version), std::move(e));
    is_loaded_ = true;
}

void repository::open(const std::string &folder) {
    folder_ = folder;
    is_loaded_ = false;
    if (!fs::is_directory(folder))
        throw error(status::invalid_arguments, folder + ": is no folder");
    scan(true);
    is_loaded_ = true;
}

void repository::watch(std::chrono::milliseconds interval) {
    watcher_ = std::thread([this, interval] {
        std::unique_lock<std::mutex> lock(watch_mutex_);
        while (!watch_wake_.wait_for(lock, interval, [this] { return is_stopping_.load(); })) {
            lock.unlock();
            scan(false);
            lock.lock();
        }
    });
}

void repository::scan(bool is_urgent) {
    const std::lock_guard<std::mutex> lock(scan_mutex_);
    if (folder_.empty())
        return;
    std::vector<std::string> names;
    try {
        names = folders_in(folder_);
    } catch (const error &e) { // not there for a moment, as when a volume is mounted anew: nothing changes
        log_(true, e.what());
        return;
    }
    std::vector<std::string> gone;
    {
        const std::shared_lock<std::shared_mutex> reading(mutex_);
        for (const auto &[name, versions] : models_)
            if (!fixed_.count(name) && std::find(names.begin(), names.end(), name) == names.end())
                gone.push_back(name);
    }
    for (const std::string &name : names)
        if (!unloaded_.count(name) && !fixed_.count(name) && !is_stopping_)
            scan_model(name, is_urgent);
    for (const std::string &name : gone) {
        for (const auto &[version, ignored] : entries(name))
            remove(name, version);
    }
}

repository::versions_of_one repository::entries(const std::string &name) const {
    const std::shared_lock<std::shared_mutex> reading(mutex_);
    const auto it = models_.find(name);
    return it == models_.end() ? versions_of_one() : it->second;
}

bool repository::is_settled(const std::string &what, const std::string &signature, bool is_urgent) {
    std::string &last = seen_[what];
    const bool is_same = last == signature;
    last = signature;
    return is_same || is_urgent;
}

void repository::scan_model(const std::string &name, bool is_urgent) {
    const fs::path folder = fs::path(folder_) / name;
    const std::string config_signature = signature_of(folder / "config.json");
    std::map<long, found_version> found;
    try {
        for (const std::string &sub : folders_in(folder)) {
            const long version = version_of(sub);
            for (const char *file : file_names) {
                const std::string signature = signature_of(folder / sub / file);
                if (version != no_version && !signature.empty() && !found.count(version))
                    found[version] = {(folder / sub / file).string(), signature + '\n' + config_signature};
            }
        }
    } catch (const error &) { // removed while it is looked at
        return;
    }
    const versions_of_one before = entries(name);
    model_config config;
    try {
        config = config_of(folder / "config.json");
        if (before.count(no_version) && !found.empty())
            remove(name, no_version);
    } catch (const std::exception &e) {
        if (is_settled(name, config_signature, is_urgent) &&
            (!before.count(no_version) || before.at(no_version).signature != config_signature)) {
            log_(true, "model '" + name + "': " + e.what());
            replace(name, no_version, {nullptr, config_signature, e.what()});
        }
        return;
    }
    if (found.empty() && before.empty()) {
        const std::string reason = "there is no VERSION/model.tflite, .onnx or .octet in " + folder.string();
        log_(true, "model '" + name + "': " + reason);
        replace(name, no_version, {nullptr, "", reason});
    }
    int left = config.versions;
    for (auto it = found.rbegin(); it != found.rend() && !is_stopping_; ++it) { // the highest first
        const auto &[version, file] = *it;
        const auto old = before.find(version);
        const bool is_new = old == before.end() || old->second.signature != file.signature;
        if (left > 0 && is_new && is_settled(name + '/' + std::to_string(version), file.signature, is_urgent))
            load_version(name, version, file, config);
        const versions_of_one now = entries(name);
        const auto at = now.find(version);
        left -= left > 0 && at != now.end() && at->second.model;
    }
    // What is older than the versions that are served; what is gone, once another one is there to take its place.
    int kept = config.versions;
    const versions_of_one now = entries(name);
    const bool is_replaced = found.empty() || std::any_of(found.begin(), found.end(), [&](const auto &f) {
                                 const auto at = now.find(f.first);
                                 return at != now.end() && at->second.model;
                             });
    for (auto it = now.rbegin(); it != now.rend(); ++it) {
        const auto &[version, e] = *it;
        const bool is_gone = !found.count(version) && (is_replaced || !e.model);
        if (version != no_version && (is_gone || (e.model && kept-- <= 0)))
            remove(name, version);
    }
}

bool repository::load_version(const std::string &name, long version, const found_version &found,
                              const model_config &config) {
    const std::string who = "model '" + name + "' version " + std::to_string(version);
    entry next;
    next.signature = found.signature;
    const auto start = clock::now();
    try {
        next.model = served_model::load({name, std::to_string(version), found.path, ""}, config,
                                        scheduler_.worker_count(), [this] { return is_stopping_.load(); });
    } catch (const std::exception &e) {
        next.reason = e.what();
    }
    metrics_.reloads(next.model != nullptr).Increment();
    if (!next.model) {
        log_(true, who + ": " + next.reason);
        const versions_of_one now = entries(name);
        const auto it = now.find(version);
        if (it != now.end())
            next.model = it->second.model; // goes on
    } else {
        log_(false, who + ": " + loaded_text(*next.model, start));
    }
    const bool is_good = next.model != nullptr;
    replace(name, version, std::move(next));
    return is_good;
}

void repository::replace(const std::string &name, long version, entry next) {
    std::shared_ptr<served_model> old;
    if (next.model && !next.model->queue) {
        next.model->set_metrics(metrics_.of_model(name, next.model->version()));
        next.model->metrics()->ready->Set(1);
        next.model->queue = scheduler_.add(next.model, next.model->queue_settings());
    }
    {
        const std::unique_lock<std::shared_mutex> writing(mutex_);
        entry &place = models_[name][version];
        if (place.model != next.model)
            old = place.model;
        place = std::move(next);
    }
    if (old)
        scheduler_.close(old->queue);
}

void repository::remove(const std::string &name, long version) {
    std::shared_ptr<served_model> old;
    {
        const std::unique_lock<std::shared_mutex> writing(mutex_);
        auto &versions = models_[name];
        old = versions[version].model;
        versions.erase(version);
        if (versions.empty())
            models_.erase(name);
    }
    if (!old)
        return;
    old->metrics()->ready->Set(0);
    log_(false, "model '" + name + "' version " + std::to_string(version) + ": no longer served");
    scheduler_.close(old->queue);
}

std::shared_ptr<served_model> repository::find(const std::string &name, const std::string &version) const {
    const std::shared_lock<std::shared_mutex> reading(mutex_);
    const auto it = models_.find(name);
    if (it == models_.end())
        throw refusal(outcome::not_found, "there is no model '" + shown(name) + "'");
    if (version.empty()) {
        for (auto v = it->second.rbegin(); v != it->second.rend(); ++v)
            if (v->second.model)
                return v->second.model;
        throw refusal(outcome::unavailable, "no version of model '" + shown(name) +
                                                "' could be loaded, POST /v2/repository/index tells why");
    }
    const auto found = it->second.find(version_of(version));
    if (version_of(version) == no_version || found == it->second.end())
        throw refusal(outcome::not_found,
                      "model '" + shown(name) + "' has no version '" + shown(version) + "'");
    if (!found->second.model)
        throw refusal(outcome::unavailable,
                      "version " + shown(version) + " of model '" + shown(name) + "' could not be loaded");
    return found->second.model;
}

std::vector<std::string> repository::versions(const std::string &name) const {
    const std::shared_lock<std::shared_mutex> reading(mutex_);
    std::vector<std::string> versions;
    const auto it = models_.find(name);
    if (it != models_.end())
        for (const auto &[version, e] : it->second)
            if (e.model)
                versions.push_back(std::to_string(version));
    return versions;
}

std::vector<repository::row> repository::index() const {
    const std::shared_lock<std::shared_mutex> reading(mutex_);
    std::vector<row> rows;
    for (const auto &[name, versions] : models_)
        for (const auto &[version, e] : versions)
            rows.push_back({name, version == no_version ? "" : std::to_string(version),
                            e.model ? "READY" : "UNAVAILABLE", e.reason});
    return rows;
}

void repository::load(const std::string &name) {
    {
        const std::lock_guard<std::mutex> lock(scan_mutex_);
        const bool is_plain = !name.empty() && name[0] != '.' && name.find('/') == std::string::npos;
        if (!is_plain || folder_.empty() || !fs::is_directory(fs::path(folder_) / name))
            throw refusal(outcome::not_found,
                          "there is no model '" + shown(name) + "' in the folder of models");
        unloaded_.erase(name);
        scan_model(name, true);
    }
    find(name, "");
}

void repository::unload(const std::string &name) {
    const std::lock_guard<std::mutex> lock(scan_mutex_);
    const std::vector<std::string> all = versions(name);
    if (all.empty())
        throw refusal(outcome::not_found, "there is no model '" + shown(name) + "'");
    if (fixed_.count(name))
        throw refusal(outcome::invalid, "model '" + shown(name) + "' is not of the folder of models");
    unloaded_.insert(name);
    for (const auto &[version, ignored] : entries(name))
        remove(name, version);
}

void repository::update_gauges() const {
    const std::shared_lock<std::shared_mutex> reading(mutex_);
    for (const auto &[name, versions] : models_)
        for (const auto &[version, e] : versions)
            if (e.model) {
                const auto load = scheduler_.load_of(e.model->queue);
                e.model->metrics()->waiting->Set(static_cast<double>(load.jobs));
                e.model->metrics()->buffer_bytes->Set(static_cast<double>(e.model->buffer_bytes()));
                e.model->metrics()->weight_bytes->Set(static_cast<double>(e.model->weight_bytes()));
            }
}

} // namespace octet::serve
