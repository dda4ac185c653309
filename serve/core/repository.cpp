// A scan compares folders with what is served and loads what is new, in a thread of its own; requests see
// versions that are ready.
// SPDX-License-Identifier: Apache-2.0
#include "core/repository.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <utility>

#include <sys/stat.h>

#include "core/small_json.hpp"
#include "octet/profile.hpp"

namespace octet::serve {
namespace {

namespace fs = std::filesystem;

constexpr long no_version = 0; ///< key of an error that concerns a model as a whole
/// Models that were asked for and are gone: they may come back, but not all are remembered for ever.
constexpr std::size_t most_absent = 1000;
constexpr const char *endings[] = {".octet", ".onnx", ".tflite"};

/// Returns a text that changes with the bytes of a file, even if its size and time are kept; "" if there is
/// no file.
std::string signature_of(const fs::path &file) {
    struct stat s {};
    if (::stat(file.c_str(), &s) != 0)
        return "";
    std::string text = file.string();
    for (const long long part :
         {static_cast<long long>(s.st_dev), static_cast<long long>(s.st_ino),
          static_cast<long long>(s.st_size), static_cast<long long>(s.st_mtim.tv_sec),
          static_cast<long long>(s.st_mtim.tv_nsec), static_cast<long long>(s.st_ctim.tv_sec),
          static_cast<long long>(s.st_ctim.tv_nsec)})
        text += ' ' + std::to_string(part);
    return text;
}

/// Signatures of the files of a folder that may be data of .onnx models.
std::string signatures_of_data(const fs::path &folder) {
    std::set<std::string> found; // in an order
    std::error_code failed;
    for (fs::directory_iterator it(folder, failed), end; !failed && it != end; it.increment(failed))
        if (it->path().extension() == ".data")
            found.insert(signature_of(it->path()));
    std::string text;
    for (const std::string &one : found)
        text += '\n' + one;
    return text;
}

bool is_model_file(const fs::path &file) {
    return std::find(std::begin(endings), std::end(endings), file.extension()) != std::end(endings);
}

/// The number of a folder "1", "2", …; 0 for other names.
long version_of(const std::string &name) {
    if (name.empty() || name.size() > 9 || name[0] == '0' ||
        name.find_first_not_of("0123456789") != std::string::npos)
        return 0;
    return std::stol(name);
}

/// Folders and files of models in a folder, but for what is hidden or the file system's.
std::vector<fs::path> entries_in(const fs::path &folder) {
    std::vector<fs::path> found;
    std::error_code failed;
    for (fs::directory_iterator it(folder, failed), end; !failed && it != end; it.increment(failed)) {
        std::error_code ignored;
        const std::string name = it->path().filename().string();
        const bool is_folder = it->is_directory(ignored) && name != "lost+found";
        if (name[0] != '.' && (is_folder || (it->is_regular_file(ignored) && is_model_file(it->path()))))
            found.push_back(it->path());
    }
    if (failed)
        throw error(status::invalid_arguments, folder.string() + ": " + failed.message());
    return found;
}

/// The file that says how a model is served: config.json, else Triton's, which config_text_of refuses.
fs::path config_in(const fs::path &folder) {
    const fs::path own = folder / "config.json", foreign = folder / "config.pbtxt";
    return signature_of(own).empty() && !signature_of(foreign).empty() ? foreign : own;
}

std::string config_text_of(const fs::path &file) {
    if (file.extension() == ".pbtxt")
        throw error(
            status::unimplemented,
            "config.pbtxt: Triton's model configuration is not read; a config.json beside it says how the "
            "model is served ({} takes every default)");
    struct stat s {};
    return ::stat(file.c_str(), &s) != 0 && errno == ENOENT ? ""
                                                            : read_regular_file(file, most_control_bytes);
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

repository::repository(scheduler &s, metrics &m, report log, repository_options options)
    : scheduler_(s), metrics_(m), log_(std::move(log)), options_(std::move(options)) {
    if (!options_.profile.empty() && find_profile(options_.profile).framework != "tflite")
        throw error(status::invalid_arguments, "profile " + options_.profile + " is not of .tflite networks");
}

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
    fixed_.insert(source.name);
    entry e;
    const auto start = clock::now();
    e.model = load_checked(source, config, "");
    log_(false, "model '" + source.name + "': " + loaded_text(*e.model, start));
    replace(source.name, version_of(source.version), std::move(e));
}

std::shared_ptr<served_model> repository::load_checked(const model_source &source, const model_config &config,
                                                       const std::string &config_text) {
    const auto load_with = [&](const char *key, const nlohmann::json &value) {
        const std::string text = with_key(config_text, key, value);
        return load_checked(source, read_config(text), text);
    };
    if (!options_.profile.empty() && config.network.profile.empty() &&
        fs::path(source.path).extension() == ".tflite")
        return load_with("profile", options_.profile);
    if (!options_.rows_alike && !config.rows_alike)
        return load_with("rows_alike", false);
    const auto stop = [this] { return is_stopping_.load(); };
    const int workers = scheduler_.worker_count();
    const struct counted {
        explicit counted(std::atomic<int> &n) : count(n) { count++; }
        ~counted() { count--; }
        std::atomic<int> &count;
    } counts(loading_);
    if (source.path.empty() || options_.trial.program.empty())
        return served_model::load(source, config, workers, stop);
    const stored_findings stored(source.path, config_text, workers);
    const auto before = stored.read();
    const model_findings known = try_model(options_.trial, source, config_text, workers, stop, before);
    if (options_.saves_findings && !before)
        try {
            stored.write(known);
        } catch (const error &e) {
            log_(true, e.what());
        }
    return served_model::load(source, config, workers, stop, &known);
}

void repository::open(const std::string &folder) {
    folder_ = folder;
    if (!fs::is_directory(folder))
        throw error(status::invalid_arguments, folder + ": is no folder");
    scan(true);
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
    std::map<std::string, std::string> found;
    try {
        found = places();
    } catch (const error &e) { // not there for a moment, as when a volume is mounted anew: nothing changes
        log_(true, e.what());
        return;
    }
    data_.clear();
    std::vector<std::string> gone;
    {
        const std::shared_lock<std::shared_mutex> reading(mutex_);
        for (const auto &[name, versions] : models_)
            if (!fixed_.count(name) && !found.count(name))
                gone.push_back(name);
    }
    const bool is_lost = found.empty() && !gone.empty() && !options_.may_be_empty;
    if (is_lost) { // the same
        if (!was_empty_)
            log_(true, folder_ + ": is empty; its models are served on (--allow-empty ends them)");
        gone.clear();
    }
    was_empty_ = is_lost;
    for (const auto &[name, place] : found) {
        const auto asked = asked_.find(name);
        const bool is_wanted = asked == asked_.end() ? !options_.is_explicit : asked->second;
        if (is_wanted && !fixed_.count(name) && !is_stopping_)
            scan_model(name, place, is_urgent);
    }
    for (const std::string &name : gone) {
        for (const auto &[version, ignored] : entries(name))
            remove(name, version);
    }
    seen_ = std::exchange(looked_at_, {});
    if (asked_.size() > found.size() + most_absent)
        for (auto i = asked_.begin(); i != asked_.end();)
            i = found.count(i->first) ? std::next(i) : asked_.erase(i);
}

repository::versions_of_one repository::entries(const std::string &name) const {
    const std::shared_lock<std::shared_mutex> reading(mutex_);
    const auto it = models_.find(name);
    return it == models_.end() ? versions_of_one() : it->second;
}

/// The signature of a model's file and, for .onnx, of the files beside it that may be its data. A folder is
/// read once in each look: it may hold a thousand models.
std::string repository::signature_with_data(const std::string &file) {
    const fs::path path = file;
    const std::string own = signature_of(path);
    if (own.empty() || path.extension() != ".onnx")
        return own;
    const auto [data, is_new] = data_.try_emplace(path.parent_path().string());
    if (is_new)
        data->second = signatures_of_data(path.parent_path());
    return own + data->second;
}

bool repository::is_settled(const std::string &what, const std::string &signature, bool is_urgent) {
    looked_at_[what] = signature;
    const auto before = seen_.find(what);
    return is_urgent || (before != seen_.end() && before->second == signature);
}

std::map<std::string, std::string> repository::places() const {
    if (!options_.only_name.empty())
        return entries_in(folder_).empty()
                   ? std::map<std::string, std::string>()
                   : std::map<std::string, std::string>{{options_.only_name, folder_}};
    std::map<std::string, std::string> found;
    for (const fs::path &entry : entries_in(folder_)) {
        std::error_code ignored;
        const bool is_folder = fs::is_directory(entry, ignored);
        found.emplace(is_folder ? entry.filename().string() : entry.stem().string(), entry.string());
    }
    return found;
}

std::map<long, repository::found_version> repository::versions_at(const std::string &place,
                                                                  const std::string &config_signature) {
    std::map<long, found_version> found;
    const auto add = [&](long version, const fs::path &file) {
        const std::string signature = signature_with_data(file.string());
        if (!signature.empty() && version != no_version)
            found.emplace(version, found_version{file.string(), signature + '\n' + config_signature});
    };
    std::error_code ignored;
    if (!fs::is_directory(place, ignored)) {
        add(1, place);
        return found;
    }
    std::vector<fs::path> entries = entries_in(place);
    std::sort(entries.begin(), entries.end());
    for (const fs::path &entry : entries)
        if (fs::is_directory(entry, ignored))
            for (const char *ending : endings)
                add(version_of(entry.filename().string()), entry / (std::string("model") + ending));
    for (const fs::path &entry : entries)
        if (!fs::is_directory(entry, ignored))
            add(1, entry);
    return found;
}

void repository::scan_model(const std::string &name, const std::string &place, bool is_urgent) {
    const fs::path folder = place, config_file = config_in(folder);
    const std::string config_signature = signature_of(config_file);
    std::map<long, found_version> found;
    try {
        found = versions_at(place, config_signature);
    } catch (const error &) { // removed while it is looked at
        return;
    }
    const versions_of_one before = entries(name);
    model_config config;
    std::string config_text;
    try {
        config_text = fs::is_directory(folder) ? config_text_of(config_file) : "";
        config = config_text.empty() ? model_config() : read_config(config_text);
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
        const bool is_new = old == before.end() || old->second.signature != file.signature ||
                            (is_urgent && !old->second.reason.empty()); // perhaps there is memory now
        if (left > 0 && is_new && is_settled(name + '/' + std::to_string(version), file.signature, is_urgent))
            load_version(name, version, file, config, config_text);
        const versions_of_one now = entries(name);
        const auto at = now.find(version);
        left -= left > 0 && at != now.end() && at->second.model;
    }
    // Remove versions older than those that are served, and those whose file is gone, once another version
    // has taken their place.
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

void repository::load_version(const std::string &name, long version, const found_version &found,
                              const model_config &config, const std::string &config_text) {
    const std::string who = "model '" + name + "' version " + std::to_string(version);
    entry next;
    next.signature = found.signature;
    const auto start = clock::now();
    try {
        next.model = load_checked({name, std::to_string(version), found.path, ""}, config, config_text);
    } catch (const std::bad_alloc &) {
        next.reason = "there is no memory to load it";
    } catch (const std::exception &e) {
        next.reason = e.what();
    }
    if (is_stopping_ && !next.model)
        return;
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
    replace(name, version, std::move(next));
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

bool repository::is_complete() const {
    const std::shared_lock<std::shared_mutex> reading(mutex_);
    return options_.is_lax || std::all_of(models_.begin(), models_.end(), [](const auto &m) {
               return std::any_of(m.second.begin(), m.second.end(),
                                  [](const auto &v) { return v.second.model != nullptr; });
           });
}

std::vector<std::shared_ptr<served_model>> repository::all(const std::string &name) const {
    const std::shared_lock<std::shared_mutex> reading(mutex_);
    std::vector<std::shared_ptr<served_model>> found;
    for (const auto &[one, versions] : models_)
        for (const auto &[version, e] : versions)
            if (e.model && (name.empty() || name == one))
                found.push_back(e.model);
    return found;
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
        const auto found = folder_.empty() ? std::map<std::string, std::string>() : places();
        const auto place = found.find(name);
        if (place == found.end())
            throw refusal(outcome::not_found,
                          "there is no model '" + shown(name) + "' in the folder of models");
        asked_[name] = true;
        data_.clear();
        scan_model(name, place->second, true);
    }
    find(name, "");
}

void repository::unload(const std::string &name) {
    const std::lock_guard<std::mutex> lock(scan_mutex_);
    if (entries(name).empty())
        throw refusal(outcome::not_found, "there is no model '" + shown(name) + "'");
    if (fixed_.count(name))
        throw refusal(outcome::invalid, "model '" + shown(name) + "' is not of the folder of models");
    asked_[name] = false;
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
                e.model->metrics()->running->Set(load.running);
                e.model->metrics()->oldest_seconds->Set(load.oldest);
                e.model->metrics()->look(load.computed, e.model->queue_settings().instances);
                e.model->metrics()->buffer_bytes->Set(static_cast<double>(e.model->buffer_bytes()));
                e.model->metrics()->weight_bytes->Set(static_cast<double>(e.model->weight_bytes()));
            }
}

} // namespace octet::serve
