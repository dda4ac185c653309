#pragma once // SPDX-License-Identifier: Apache-2.0

// The models that are served, and folders of them that change while they are.
//
//     DIR/NAME/VERSION/model.onnx | model.tflite | model.octet
//     DIR/NAME/config.json                                        optional: how it is served (model_config.hpp)
//     DIR/NAME/model.onnx, DIR/NAME.onnx, …                       version 1
//
// The highest versions are served. A version is loaded and warm before it takes the place of another one, which then
// finishes what waits for it. One that cannot be loaded changes nothing: the one before goes on.

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/model.hpp"
#include "core/trial.hpp"

namespace octet::serve {

/// For the log: whether it is an error, and a sentence.
using report = std::function<void(bool is_error, const std::string &sentence)>;

struct repository_options {
    trial_options trial;
    bool may_be_empty = false; ///< a folder without models ends those of before
    bool is_lax = false;       ///< ready although some models could not be loaded
    bool is_explicit = false;  ///< models are loaded when a client asks for them, and not before
    /// Default for .tflite models whose config.json names none; "": the framework's own arithmetic.
    std::string profile;
    bool rows_alike = true;      ///< default for .onnx models whose config.json does not say
    bool saves_findings = false; ///< measurements are stored beside each model
    std::string only_name;       ///< the folder is that of one model, with this name; "": a folder of models
};

class repository {
public:
    repository(scheduler &s, metrics &m, report log, repository_options options = {});
    ~repository();

    /// A model that stays, with a name that no other has. Throws octet::error.
    void add(const model_source &source, const model_config &config = {});
    /// Loads all that is in the folder. Throws octet::error if it is no folder.
    void open(const std::string &folder);
    /// Looks for changes in that folder every `interval`, in a thread of its own.
    void watch(std::chrono::milliseconds interval);
    /// Looks for changes now. A file that has changed since the last look may still be written to and is left for the
    /// next look, unless `is_urgent`.
    void scan(bool is_urgent);
    /// Loads that are under way are given up as soon as they notice.
    void abandon() { is_stopping_ = true; }
    /// Waits for that.
    void stop();
    /// All that was asked for has been tried.
    void set_loaded() { is_loaded_ = true; }

    /// The version that is asked for, "" for the highest. Throws refusal.
    std::shared_ptr<served_model> find(const std::string &name, const std::string &version) const;
    std::vector<std::string> versions(const std::string &name) const;
    bool is_loaded() const { return is_loaded_; }
    bool is_loading() const { return loading_ > 0; }
    /// Whether every model that was asked for is served.
    bool is_complete() const;

    struct row {
        std::string name, version, state, reason;
    };
    std::vector<row> index() const;
    /// Every version of a model, or of all with "".
    std::vector<std::shared_ptr<served_model>> all(const std::string &name) const;
    /// Requests of the protocol's repository extension. Throw refusal.
    ///@{
    void load(const std::string &name);
    void unload(const std::string &name);
    ///@}
    void update_gauges() const;

private:
    struct found_version {
        std::string path, signature;
    };
    struct entry {
        std::shared_ptr<served_model> model; ///< null: `reason`
        std::string signature, reason;
    };
    using versions_of_one = std::map<long, entry>;

    versions_of_one entries(const std::string &name) const;
    /// Returns the places of models by name. Throws octet::error.
    std::map<std::string, std::string> places() const;
    std::map<long, found_version> versions_at(const std::string &place, const std::string &config_signature);
    std::string signature_with_data(const std::string &file);
    void scan_model(const std::string &name, const std::string &place, bool is_urgent);
    std::shared_ptr<served_model> load_checked(const model_source &source, const model_config &config,
                                               const std::string &config_text);
    bool is_settled(const std::string &what, const std::string &signature, bool is_urgent);
    void load_version(const std::string &name, long version, const found_version &found,
                      const model_config &config, const std::string &config_text);
    void replace(const std::string &name, long version, entry next);
    void remove(const std::string &name, long version);

    scheduler &scheduler_;
    metrics &metrics_;
    report log_;
    const repository_options options_;
    std::string folder_;
    std::atomic<bool> is_loaded_{false}, is_stopping_{false};
    std::atomic<int> loading_{0};

    std::mutex scan_mutex_; ///< one scan at a time; of what follows
    /// Signatures of what was new in the last scan, and in this one.
    ///@{
    std::map<std::string, std::string> seen_, looked_at_;
    ///@}
    std::map<std::string, std::string>
        data_;                          ///< signatures of the files of data, by their folders, in this scan
    std::set<std::string> fixed_;       ///< by `add`
    std::map<std::string, bool> asked_; ///< by the repository extension: to load, or to unload
    bool was_empty_ = false;            ///< the folder, at the last look

    mutable std::shared_mutex mutex_; ///< guards the members below
    std::map<std::string, versions_of_one> models_;

    std::mutex watch_mutex_;
    std::condition_variable watch_wake_;
    std::thread watcher_;
};

} // namespace octet::serve
