#pragma once // SPDX-License-Identifier: Apache-2.0

// Decides which job runs next. Jobs wait in queues, one per model version; a fixed set of workers takes them
// out in batches.
//
// A worker that is free takes what is there: under load batches form by themselves, without load nothing waits. A
// queue with a delay may hold jobs back that long to get more of them. Between queues the one that has had the least
// computing time goes first, so that no model starves another. What cannot be served in time is refused when it
// arrives, which costs nothing, instead of being served late.

#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <thread>

#include "core/job.hpp"

namespace octet::serve {

/// The one who runs the jobs of a queue: a model.
class executor {
public:
    virtual ~executor() = default;
    /// Runs the jobs, which have one text of shapes, as one batch and fills in outputs and `batch`. Called
    /// from as many threads at once as the queue has instances. `is_alone`: nothing else runs or waits, and
    /// nothing did with the last batches either, so all cores are free. Throws where none of them could be
    /// run; sets `result` and `sentence` of a job that alone has failed.
    virtual void run(const std::vector<std::shared_ptr<job>> &batch, bool is_alone) = 0;
    /// After a batch, before its jobs are finished.
    virtual void ran(const std::vector<std::shared_ptr<job>> &, double /*seconds*/) {}
};

struct queue_options {
    std::vector<std::int64_t> sizes = {1}; ///< sizes of batches, ascending; the last one is the largest
    std::chrono::microseconds delay{0};    ///< time that a job may wait for others
    std::size_t most_jobs = 1024, most_bytes = std::size_t(256) << 20; ///< bounds of waiting jobs
    /// Bound of the wait of a job without a deadline; a job that would wait longer is refused.
    std::chrono::milliseconds most_wait{1000};
    int instances = 1;          ///< batches at once
    double seconds_per_row = 0; ///< as measured before the first job; 0: not
};

/// Jobs that wait for one executor. Made by `scheduler::add`; all its members are the scheduler's.
class job_queue {
public:
    job_queue(std::shared_ptr<executor> e, const queue_options &o)
        : executor_(std::move(e)), options_(o), seconds_per_row_(o.seconds_per_row) {}

private:
    friend class scheduler;
    std::shared_ptr<executor> executor_;
    queue_options options_;
    std::list<std::shared_ptr<job>> jobs_;
    std::int64_t rows_ = 0;
    std::size_t bytes_ = 0;
    int running_ = 0;
    bool is_closed_ = false, is_active_ = false, is_over_ = false;
    std::list<std::shared_ptr<job_queue>>::iterator place_; ///< until it is over
    double used_ = 0;                                       ///< computing time, in which queues take turns
    double computed_ = 0;                                   ///< the same, without what it was credited
    double seconds_per_row_ = 0;                            ///< lately
};

class scheduler {
public:
    /// With `is_pinned`, worker i stays on the i-th CPU of the process.
    explicit scheduler(int workers, bool is_pinned = false);
    ~scheduler(); ///< stops
    scheduler(const scheduler &) = delete;
    scheduler &operator=(const scheduler &) = delete;

    /// Finishes every job that waits as `unavailable`, waits for those that run. Who still asks for something is told
    /// that all queues are closed.
    void stop();

    std::shared_ptr<job_queue> add(std::shared_ptr<executor> e, const queue_options &options);
    /// Takes no more jobs; those that wait are run. The queue drops its executor after the last one.
    void close(const std::shared_ptr<job_queue> &queue);

    /// Throws `refusal`: overloaded, or unavailable for a closed queue. The job is not touched, then.
    void submit(const std::shared_ptr<job_queue> &queue, std::shared_ptr<job> j);
    /// Finishes a job that still waits; false if it runs or is done.
    bool withdraw(const std::shared_ptr<job> &j, outcome why, const std::string &sentence);

    /// Seconds after which an overloaded queue may take jobs again.
    int retry_after(const std::shared_ptr<job_queue> &queue) const;
    struct load {
        std::size_t jobs = 0, bytes = 0;
        int running = 0;
        double oldest = 0;   ///< seconds that a job has waited
        double computed = 0; ///< seconds of computing so far
    };
    load load_of(const std::shared_ptr<job_queue> &queue) const;
    /// Whether nothing waits or runs by then.
    bool wait_until_idle(clock::time_point until);
    int worker_count() const { return static_cast<int>(workers_.size()); }

private:
    static constexpr int enough_alone = 4;
    using jobs = std::vector<std::shared_ptr<job>>;
    void work(int index, bool is_pinned);
    std::shared_ptr<job_queue> pick(clock::time_point now, clock::time_point &next) const;
    jobs take_batch(job_queue &queue, clock::time_point now, jobs &expired);
    static double run(executor &runs, const jobs &batch, bool is_alone);
    void remove(job &j);
    double estimate(const job_queue &queue) const;
    static clock::duration most_wait(const job_queue &queue, const job &j, clock::time_point from);
    std::shared_ptr<executor> settle(job_queue &queue);

    mutable std::mutex mutex_;
    std::condition_variable wake_, idle_;
    std::list<std::shared_ptr<job_queue>> active_, at_rest_; ///< in which jobs wait or run, and all others
    int busy_ = 0, sleeping_ = 0;
    int alone_ = enough_alone; ///< batches in a row that had no company, as far as that is counted
    std::size_t waiting_ = 0;
    bool is_stopping_ = false;
    std::vector<std::thread> workers_;
};

} // namespace octet::serve
