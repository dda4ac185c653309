#pragma once

// The models that are served, and folders of them that change while they are.
//
//     DIR/NAME/VERSION/model.onnx | model.tflite | model.octet
//     DIR/NAME/config.json                                        optional: how it is served (model_config.hpp)
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

namespace octet::serve {

/// For the log: whether it is an error, and a sentence.
using report = std::function<void(bool is_error, const std::string &sentence)>;

class repository {
public:
    repository(scheduler &s, metrics &m, report log);
    ~repository();

    /// A model that stays. Throws octet::error.
    void add(const model_source &source, const model_config &config = {});
    /// Loads all that is in the folder. Throws octet::error if it is no folder.
    void open(const std::string &folder);
    /// Looks for changes in that folder every `interval`, in a thread of its own.
    void watch(std::chrono::milliseconds interval);
    /// Looks for changes now. A file that has changed since the last look may still be written to and is left for the
    /// next look, unless `is_urgent`.
    void scan(bool is_urgent);
    /// Ends loads that are under way.
    void stop();

    /// The version that is asked for, "" for the highest. Throws refusal.
    std::shared_ptr<served_model> find(const std::string &name, const std::string &version) const;
    std::vector<std::string> versions(const std::string &name) const;
    bool is_loaded() const { return is_loaded_; }

    struct row {
        std::string name, version, state, reason;
    };
    std::vector<row> index() const;
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
    void scan_model(const std::string &name, bool is_urgent);
    bool is_settled(const std::string &what, const std::string &signature, bool is_urgent);
    bool load_version(const std::string &name, long version, const found_version &found,
                      const model_config &config);
    void replace(const std::string &name, long version, entry next);
    void remove(const std::string &name, long version);

    scheduler &scheduler_;
    metrics &metrics_;
    report log_;
    std::string folder_;
    std::atomic<bool> is_loaded_{false}, is_stopping_{false};

    std::mutex scan_mutex_;                   ///< one scan at a time; of what follows
    std::map<std::string, std::string> seen_; ///< signatures at the last look
    std::set<std::string> unloaded_, fixed_;  ///< by the repository extension; by `add`

    mutable std::shared_mutex mutex_; ///< of what follows
    std::map<std::string, versions_of_one> models_;

    std::mutex watch_mutex_;
    std::condition_variable watch_wake_;
    std::thread watcher_;
};

} // namespace octet::serve
