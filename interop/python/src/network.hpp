#pragma once // SPDX-License-Identifier: Apache-2.0

// octet.Network: one object for any number of Python threads.
//
// Whoever waits here has released Python's lock, so the order of locks is: a turn, a context, Python's lock. Between
// taking a turn and giving it back no Python code runs in a thread (but a `progress`, which `turns` keeps from using
// the network again): a call's arrays are made before, its results' objects afterwards.

#include <condition_variable>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "octet/fork_guard.hpp"
#include "octet/network.hpp"
#include "turns.hpp"

namespace octet::python {

/// A network and the contexts that its calls run in. Calls of several threads run at once, each in a context
/// of its own; with state (recurrent operators) they take turns in one. Where the file leaves sizes open,
/// calls choose them, and contexts of sizes that were used lately are kept.
class python_network {
public:
    explicit python_network(network first);

    py::object call(const py::args &values, const py::kwargs &named);
    py::dict run(const py::dict &feeds, const std::vector<std::string> &wanted);
    py::dict trace(const py::dict &feeds);
    /// Operators, in the sizes of these inputs, and the median seconds of each.
    py::tuple profile(const py::dict &feeds, int repeat);

    /// Seconds of the network alone, without Python, on whatever its buffers hold.
    double seconds_per_run(int repeat);

    /// Inputs of the call that began last, by name; empty before the first.
    py::dict last_inputs() const;

    void resize(const network_sizes &sizes);
    void reset_state();
    void close();
    void save(const std::string &path);

    py::list inputs() const { return infos(description_->inputs); }
    py::list outputs() const { return infos(description_->outputs); }
    py::dict sizes() const;
    py::list nodes();
    std::size_t buffer_bytes();
    const std::string &framework() const { return framework_; }
    int threads() const { return first_.options().threads; }

private:
    /// Contexts of one network, and sizes of calls that are remembered: as many as plans.
    static constexpr std::size_t most_contexts = 16;
    class lease;
    /// The facts that a call asks of an input or output.
    struct port {
        std::string name;
        memory::dims dims;
        data_type type;
        model::quantization quantization;
        std::vector<std::string> axes;                           ///< names of those whose size a call chooses
        bool is_scaled() const { return quantization.is_set(); } ///< codes that stand for reals
        std::string text() const { return "input '" + name + "'"; }
        bool is_open(std::size_t axis) const { return !axes[axis].empty(); }
        bool takes(const memory::dims &given) const;
        std::string allowed() const; ///< "1x*x64"
    };
    /// Never changed: `resize` puts another one in its place, and who read the old one keeps it.
    struct description {
        std::vector<port> inputs, outputs;
        network_sizes sizes;
        std::string key;             ///< dimensions of the inputs
        bool has_open_sizes() const; ///< until the first call
        bool has_dims_of(const description &other) const;
    };
    /// An input that was checked; `array` keeps its elements.
    struct input {
        py::object array;
        memory::dims dims;
        const void *data;
        std::size_t count, bytes;
        bool is_real; ///< to be quantized
    };
    using inputs_of_call = std::vector<input>;
    /// An operator as a plan has it.
    struct node_info {
        int number;
        std::string op;
        std::vector<std::string> inputs, outputs;
        memory::dims shape;
        std::string implementation, explanation;
    };
    struct last_call {
        std::shared_ptr<const description> sizes;
        inputs_of_call inputs;
    };

    const std::shared_ptr<const description> &open_description() const;
    static std::shared_ptr<const description> describe(const network &net, const network_sizes &sizes);
    std::shared_ptr<const description> description_for(const description &usual, const inputs_of_call &given);
    inputs_of_call checked(const description &d, const py::args &values, const py::kwargs &named);
    static input checked(const port &p, const py::handle &given);
    template <typename Prepare>
    void in_context(const py::args &values, const py::kwargs &named, const Prepare &prepare);
    std::vector<py::array> execute(const py::args &values, const py::kwargs &named);
    static py::list infos(const std::vector<port> &ports);
    static std::vector<node_info> nodes_of(const network &net);
    static py::list infos(const std::vector<node_info> &nodes);
    network *take(const network_sizes &sizes, const std::string &key);
    void give_back(network *context, const std::string &key);

    network first_; ///< tells about all contexts
    const std::string framework_;
    const bool has_state_;
    bool is_closed_ = false; ///< under Python's lock
    turns turns_;            ///< calls, and changes of all sizes

    /// Written by a change that holds Python's lock; so either is enough to read it.
    std::shared_ptr<const description> description_;
    last_call last_; ///< under Python's lock
    /// Descriptions of other sizes that calls had lately, latest first; under Python's lock.
    std::list<std::shared_ptr<const description>> others_described_;

    std::mutex mutex_; ///< guards the members below
    const fork_guard at_fork_{mutex_};
    std::condition_variable returned_;
    std::vector<std::unique_ptr<network>> others_;
    std::list<std::pair<std::string, network *>> free_; ///< with the key of its sizes, latest last
};

/// A turn and a context for the time of a call, without Python's lock.
class python_network::lease {
public:
    explicit lease(python_network &owner) : lease(owner, *owner.open_description()) {}
    lease(python_network &owner, const description &d) : lease(owner, d.sizes, d.key) {}
    lease(python_network &owner, network_sizes sizes, std::string key)
        : turn_(owner.turns_), owner_(owner), key_(std::move(key)), context_(owner.take(sizes, key_)) {}
    ~lease() { owner_.give_back(context_, key_); }
    network &operator*() const { return *context_; }
    network *operator->() const { return context_; }

private:
    const py::gil_scoped_release release_;
    const turns::call turn_;
    python_network &owner_;
    const std::string key_;
    network *const context_;
};

void bind_network(py::module_ &m);

} // namespace octet::python
