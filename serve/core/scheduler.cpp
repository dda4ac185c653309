// One lock for all queues: what happens under it takes a microsecond, what takes longer happens outside.
// SPDX-License-Identifier: Apache-2.0
#include "core/scheduler.hpp"

#include <algorithm>
#include <cmath>

#include <pthread.h>
#include <sched.h>

namespace octet::serve {
namespace {

double seconds(clock::duration d) { return std::chrono::duration<double>(d).count(); }

void pin_to(int index) {
    cpu_set_t mine, one;
    if (sched_getaffinity(0, sizeof mine, &mine) != 0)
        return;
    int left = index % std::max(1, CPU_COUNT(&mine));
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &mine) && left-- == 0) {
            CPU_ZERO(&one);
            CPU_SET(cpu, &one);
            pthread_setaffinity_np(pthread_self(), sizeof one, &one);
            return;
        }
}

} // namespace

const outcome_facts &facts_of(outcome o) {
    // The codes of gRPC are OK, INVALID_ARGUMENT, UNAUTHENTICATED, …; 499 is what servers log of a client
    // that has left.
    static constexpr outcome_facts all[outcome_count] = {
        {"ok", 200, 0},        {"invalid", 400, 3},   {"unauthorized", 401, 16}, {"forbidden", 403, 7},
        {"not_found", 404, 5}, {"too_large", 413, 8}, {"overloaded", 503, 8},    {"unavailable", 503, 14},
        {"expired", 504, 4},   {"cancelled", 499, 1}, {"failed", 500, 13}};
    return all[static_cast<int>(o)];
}

scheduler::scheduler(int workers, bool is_pinned) {
    for (int i = 0; i < workers; i++)
        workers_.emplace_back([this, i, is_pinned] { work(i, is_pinned); });
}

scheduler::~scheduler() { stop(); }

void scheduler::stop() {
    jobs left;
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        is_stopping_ = true;
        for (const auto &queue : at_rest_)
            queue->is_closed_ = true;
        for (const auto &queue : active_) {
            queue->is_closed_ = true;
            left.insert(left.end(), queue->jobs_.begin(), queue->jobs_.end());
            while (!queue->jobs_.empty())
                remove(*queue->jobs_.front());
        }
    }
    wake_.notify_all();
    for (const auto &j : left)
        j->finish(outcome::unavailable, "the server stops");
    for (std::thread &worker : workers_)
        if (worker.joinable())
            worker.join();
    std::vector<std::shared_ptr<executor>> over; // destroyed without the lock: they may hold their queues
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto *queues : {&active_, &at_rest_})
        for (const auto &queue : *queues)
            over.push_back(std::move(queue->executor_));
}

std::shared_ptr<job_queue> scheduler::add(std::shared_ptr<executor> e, const queue_options &options) {
    const auto queue = std::make_shared<job_queue>(std::move(e), options);
    const std::lock_guard<std::mutex> lock(mutex_);
    queue->is_closed_ = is_stopping_;
    queue->place_ = at_rest_.insert(at_rest_.end(), queue);
    return queue;
}

void scheduler::close(const std::shared_ptr<job_queue> &queue) {
    std::shared_ptr<executor> over;
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        queue->is_closed_ = true;
        over = settle(*queue);
    }
    wake_.notify_all(); // its jobs wait for no others now
}

/// Queues at rest are not looked through: few queues are active on a server with a thousand models. A queue
/// in which nothing waits or runs is at rest, or over if it is closed: then its executor is handed out,
/// because freeing a model's memory should not happen under the lock.
std::shared_ptr<executor> scheduler::settle(job_queue &queue) {
    if (waiting_ == 0 && busy_ == 0)
        idle_.notify_all();
    if (!queue.jobs_.empty() || queue.running_ > 0 || queue.is_over_)
        return nullptr;
    std::shared_ptr<executor> over;
    auto &from = queue.is_active_ ? active_ : at_rest_;
    if (queue.is_closed_) {
        queue.is_over_ = true;
        over = std::move(queue.executor_);
        from.erase(queue.place_); // may be the last share in it
    } else if (queue.is_active_) {
        queue.is_active_ = false;
        at_rest_.splice(at_rest_.end(), from, queue.place_);
    }
    return over;
}

double scheduler::estimate(const job_queue &queue) const {
    const int workers = std::max(1, std::min<int>(worker_count(), queue.options_.instances));
    return static_cast<double>(queue.rows_) * queue.seconds_per_row_ / workers;
}

/// How long a job may wait: until its deadline, or as long as the queue lets those wait that have none.
clock::duration scheduler::most_wait(const job_queue &queue, const job &j, clock::time_point from) {
    return j.deadline != clock::time_point::max()
               ? j.deadline - from
               : std::max<clock::duration>(queue.options_.most_wait, 2 * queue.options_.delay);
}

int scheduler::retry_after(const std::shared_ptr<job_queue> &queue) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return static_cast<int>(std::clamp(std::ceil(estimate(*queue)), 1.0, 60.0));
}

scheduler::load scheduler::load_of(const std::shared_ptr<job_queue> &queue) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    clock::time_point oldest = clock::now();
    const auto now = oldest;
    for (const auto &j : queue->jobs_)
        oldest = std::min(oldest, j->queued);
    return {queue->jobs_.size(), queue->bytes_, queue->running_, seconds(now - oldest), queue->computed_};
}

bool scheduler::wait_until_idle(clock::time_point until) {
    std::unique_lock<std::mutex> lock(mutex_);
    return idle_.wait_until(lock, until, [&] { return waiting_ == 0 && busy_ == 0; });
}

void scheduler::submit(const std::shared_ptr<job_queue> &queue, std::shared_ptr<job> j) {
    const auto now = clock::now();
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (queue->is_closed_)
            throw refusal(outcome::unavailable, "the model is being unloaded");
        const queue_options &o = queue->options_;
        if (queue->jobs_.size() >= o.most_jobs)
            throw refusal(outcome::overloaded,
                          std::to_string(queue->jobs_.size()) + " requests wait already");
        if (!queue->jobs_.empty() && queue->bytes_ + j->bytes > o.most_bytes)
            throw refusal(outcome::overloaded,
                          std::to_string(queue->bytes_) + " bytes of requests wait already");
        const double wait = estimate(*queue), most = seconds(most_wait(*queue, *j, now));
        if (wait > most && most > 0)
            throw refusal(outcome::overloaded, "it would wait for " + std::to_string(wait) + " s, at most " +
                                                   std::to_string(most) + " s are allowed");
        if (j->deadline <= now)
            throw refusal(outcome::expired, "its time was over when it arrived");
        if (queue->jobs_.empty() && queue->running_ == 0) { // time that it did not use is lost
            double least = -1;
            for (const auto &other : active_)
                if (other != queue)
                    least = least < 0 ? other->used_ : std::min(least, other->used_);
            queue->used_ = std::max(queue->used_, least);
        }
        // Behind those that are as urgent. First: it may find no memory.
        auto at = queue->jobs_.end();
        while (at != queue->jobs_.begin() && (*std::prev(at))->priority > j->priority)
            --at;
        j->place = queue->jobs_.insert(at, j);
        if (!queue->is_active_) {
            queue->is_active_ = true;
            active_.splice(active_.end(), at_rest_, queue->place_);
        }
        j->queued = now;
        j->waits_in = queue.get();
        queue->rows_ += j->rows;
        queue->bytes_ += j->bytes;
        waiting_++;
        if (sleeping_ == 0)
            return;
    }
    wake_.notify_one();
}

void scheduler::remove(job &j) {
    job_queue &queue = *j.waits_in;
    queue.rows_ -= j.rows;
    queue.bytes_ -= j.bytes;
    waiting_--;
    j.waits_in = nullptr;
    queue.jobs_.erase(j.place); // may be the last share in it: callers hold another
}

bool scheduler::withdraw(const std::shared_ptr<job> &j, outcome why, const std::string &sentence) {
    std::shared_ptr<executor> over;
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (!j->waits_in)
            return false;
        job_queue &queue = *j->waits_in;
        remove(*j);
        over = settle(queue);
    }
    j->finish(why, sentence);
    return true;
}

/// The queue whose turn it is, null if none is ready before `next`.
std::shared_ptr<job_queue> scheduler::pick(clock::time_point now, clock::time_point &next) const {
    std::shared_ptr<job_queue> best;
    for (const auto &queue : active_) {
        if (queue->jobs_.empty() || queue->running_ >= queue->options_.instances)
            continue;
        const job &first = *queue->jobs_.front();
        const auto due = std::min(first.queued + queue->options_.delay, first.deadline);
        if (due > now && queue->rows_ < queue->options_.sizes.back() && !queue->is_closed_) {
            next = std::min(next, due);
            continue;
        }
        if (!best || queue->used_ < best->used_)
            best = queue;
    }
    return best;
}

/// From the front: as many jobs of equal shapes as make up one of the sizes; if no number of them does, as many as fit
/// the largest. Those whose time is over, or that have waited too long, are taken out on the way.
scheduler::jobs scheduler::take_batch(job_queue &queue, clock::time_point now, jobs &expired) {
    const auto &sizes = queue.options_.sizes;
    jobs fitting;
    std::size_t exact = 0;
    std::int64_t rows = 0;
    for (const auto &j : queue.jobs_) {
        if (now - j->queued >= most_wait(queue, *j, j->queued)) {
            expired.push_back(j);
            continue;
        }
        if (!fitting.empty()) {
            if (rows + j->rows > sizes.back() || fitting.front()->wants_profile)
                break;
            if (j->shapes != fitting.front()->shapes || j->wants_profile)
                continue;
        }
        fitting.push_back(j);
        rows += j->rows;
        if (std::binary_search(sizes.begin(), sizes.end(), rows))
            exact = fitting.size();
    }
    if (exact > 0)
        fitting.resize(exact);
    for (const jobs *taken : {&fitting, &expired})
        for (const auto &j : *taken)
            remove(*j);
    return fitting;
}

/// Runs a batch, without the lock, and returns the seconds that it took.
double scheduler::run(executor &runs, const jobs &batch, bool is_alone) {
    outcome result = outcome::ok;
    std::string sentence;
    const auto start = clock::now();
    for (const auto &j : batch)
        j->started = start;
    try {
        runs.run(batch, is_alone);
    } catch (const refusal &e) {
        result = e.why;
        sentence = e.what();
    } catch (const std::bad_alloc &) {
        result = outcome::overloaded;
        sentence = "there is no memory for this request";
    } catch (const std::exception &e) {
        result = outcome::failed;
        sentence = e.what();
    }
    const double took = seconds(clock::now() - start);
    runs.ran(batch, took);
    for (const auto &j : batch)
        result == outcome::ok ? j->finish(j->result, j->sentence) : j->finish(result, sentence);
    return took;
}

void scheduler::work(int index, bool is_pinned) {
    if (is_pinned)
        pin_to(index);
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
        const auto now = clock::now();
        auto next = clock::time_point::max();
        const std::shared_ptr<job_queue> queue = pick(now, next);
        if (!queue) {
            if (is_stopping_)
                return;
            sleeping_++;
            if (next == clock::time_point::max())
                wake_.wait(lock);
            else
                wake_.wait_until(lock, next);
            sleeping_--;
            continue;
        }
        jobs expired;
        const jobs batch = take_batch(*queue, now, expired);
        const bool has_company = busy_ > 0 || waiting_ > 0;
        const bool is_alone = !has_company && alone_ == enough_alone;
        std::shared_ptr<executor> runs = queue->executor_;
        queue->running_++;
        busy_++;
        if (waiting_ > 0 && sleeping_ > 0) // one wake-up may have been for several jobs
            wake_.notify_one();
        lock.unlock();

        for (const auto &j : expired)
            j->deadline <= now
                ? j->finish(outcome::expired, "its time was over before it could run")
                : j->finish(outcome::overloaded, "it has waited for as long as the queue allows");
        const double took = batch.empty() ? 0 : run(*runs, batch, is_alone);
        std::int64_t rows = 0;
        for (const auto &j : batch)
            rows += j->rows;

        lock.lock();
        busy_--;
        // All cores for one request cost the next one time if it comes meanwhile: not where that has happened lately.
        alone_ = has_company || busy_ > 0 || waiting_ > 0 ? 0 : std::min(alone_ + 1, enough_alone);
        queue->running_--;
        queue->used_ += took;
        queue->computed_ += took;
        if (rows > 0) {
            double &lately = queue->seconds_per_row_;
            const double row = took / static_cast<double>(rows);
            // A batch whose thread lost its CPU for a while says little: none counts for more than four times
            // the usual.
            lately = lately == 0 ? row : lately + 0.1 * (std::min(row, 4 * lately) - lately);
        }
        if (std::shared_ptr<executor> over =
                settle(*queue)) { // freed without the lock; `runs` is another share of it
            lock.unlock();
            runs.reset();
            over.reset();
            lock.lock();
        }
    }
}

} // namespace octet::serve
