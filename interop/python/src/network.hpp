#pragma once

// octet.Network: one object for any number of Python threads.

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "arrays.hpp"
#include "octet/network.hpp"

namespace octet::python {

/// A network and the contexts that its calls run in. Calls of several threads run at once, each in a context of its own;
/// with state (recurrent operators) they take turns in one.
class python_network {
public:
    explicit python_network(network first);

    network &get() const { return *contexts_.front(); }

    py::object call(const py::args &values, const py::kwargs &named);
    py::dict run(const py::dict &feeds, const std::vector<std::string> &wanted);
    py::dict trace(const py::dict &feeds);
    std::vector<double> profile(const py::dict &feeds, int repeat);

    /// Of the network alone, without Python, on whatever its buffers hold.
    double seconds_per_run(int repeat);

    /// Of the call that began last, by name; empty before the first.
    py::dict last_inputs() const;

    void resize(dim_t batch, const std::map<std::string, memory::dims> &shapes,
                const std::map<std::string, dim_t> &dimensions);
    void reset_state();
    void save(const std::string &path);

private:
    class lease;
    /// What a call asks of an input or output, found once.
    struct port {
        std::string name;
        memory::dims dims;
        data_type type;
        std::size_t bytes;
        bool is_scaled; ///< codes that stand for reals
    };
    void find_ports();
    network *take();
    void give_back(network *context);
    using inputs = std::vector<py::array>;

    inputs inputs_of(const py::args &values, const py::kwargs &named) const;
    py::array prepared(std::size_t i, const py::handle &given) const;
    std::string input_text(std::size_t i) const { return "input '" + input_ports_[i].name + "'"; }
    void set_inputs(network &net, const inputs &given) const;
    std::vector<py::array> execute(const inputs &given);

    std::vector<std::unique_ptr<network>>
        contexts_; ///< the first is there from the beginning and tells about all
    std::vector<port> input_ports_, output_ports_;
    bool has_state_;
    network_sizes sizes_;
    inputs last_;      ///< under Python's lock
    std::mutex mutex_; ///< of what follows, and of contexts_
    std::condition_variable change_;
    std::vector<network *> free_;
    int running_ = 0;
};

void bind_network(py::module_ &m);

} // namespace octet::python
