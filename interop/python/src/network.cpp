// Calls in three parts: inputs are checked against the sizes and arrays for outputs are made, with Python's lock; the
// network runs in a context of its own, without; objects are made of what it gave, with the lock again. `in_context`
// is the middle.
// SPDX-License-Identifier: Apache-2.0
#include "network.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace octet::python {
namespace {

/// A tensor between two operators.
struct traced_tensor {
    std::string name;
    data_type type;
    memory::dims dims;
    std::vector<std::uint8_t> bytes; ///< row-major over its dimensions
};

traced_tensor copy_of(const tensor_view &t) {
    traced_tensor copy = {t.name(), t.data_type(), t.dims(), std::vector<std::uint8_t>(t.size_in_bytes())};
    const memory from = t.get_memory();
    const memory::dims dims = from.get_desc().dims();
    const memory to(memory::desc(dims, t.data_type(), memory::dims()), from.get_engine(), copy.bytes.data());
    if (from.get_desc() == to.get_desc()) {
        std::memcpy(copy.bytes.data(), t.data(), copy.bytes.size());
        return copy;
    }
    primitive_attr attr;
    if (t.data_type() != data_type::f32)
        attr.set_requantization(requantization_rule::none);
    reorder(from, to, attr).execute(stream(to.get_engine()), from, to);
    return copy;
}

/// The caller's arrays must not be seen by later runs.
class bound_arrays {
public:
    explicit bound_arrays(network &net) : net_(net) {}
    ~bound_arrays() {
        for (std::size_t i = 0; i < net_.input_count(); i++)
            net_.bind_input(i, nullptr, 0);
        for (std::size_t i = 0; i < net_.output_count(); i++)
            net_.bind_output(i, nullptr, 0);
    }

private:
    network &net_;
};

/// Floats that stand for codes are converted into the network's buffer, others are read where they are.
template <typename Inputs> void set_inputs(network &net, const Inputs &given) {
    for (std::size_t i = 0; i < given.size(); i++)
        if (given[i].is_real)
            net.input(i).copy_from(static_cast<const float *>(given[i].data), given[i].count);
        else
            net.bind_input(i, given[i].data, given[i].bytes);
}

} // namespace

/// One input as elements of its type, or as float32 where it holds codes that stand for reals.
python_network::input python_network::checked(const port &p, const py::handle &given) {
    const py::array values = array_of(given, p.name);
    const memory::dims dims = dims_of(values);
    if (!p.takes(dims))
        throw py::value_error(p.text() + " has shape " + model::to_text(dims) + ", allowed is " +
                              p.allowed() + " (Network.resize takes other sizes)");
    const bool is_real = p.is_scaled() && values.dtype().kind() == 'f';
    const py::array elements = elements_as(values, is_real ? data_type::f32 : p.type, p.name);
    return {elements,
            dims,
            elements.data(),
            static_cast<std::size_t>(elements.size()),
            static_cast<std::size_t>(elements.nbytes()),
            is_real};
}

python_network::inputs_of_call python_network::checked(const description &d, const py::args &values,
                                                       const py::kwargs &named) {
    const std::vector<port> &ports = d.inputs;
    if (values.size() > ports.size())
        throw py::type_error("the network takes " + std::to_string(ports.size()) + " inputs, " +
                             std::to_string(values.size()) + " are given");
    inputs_of_call given(ports.size());
    const auto give = [&](std::size_t i, const py::handle &value) {
        if (given[i].array)
            throw py::type_error(ports[i].text() + " is given twice");
        given[i] = checked(ports[i], value);
    };
    for (std::size_t i = 0; i < values.size(); i++)
        give(i, values[i]);
    for (const auto &[name, value] : named) {
        const auto given_name = py::cast<std::string>(name);
        const auto found =
            std::find_if(ports.begin(), ports.end(), [&](const port &p) { return p.name == given_name; });
        if (found == ports.end())
            lease(*this)->input(given_name); // throws, with what there is
        give(static_cast<std::size_t>(found - ports.begin()), value);
    }
    for (std::size_t i = 0; i < ports.size(); i++)
        if (!given[i].array)
            throw py::type_error(ports[i].text() + " is missing");
    return given;
}

/// The description of a network whose open sizes are as in `given`, of which the plan is made if need be;
/// null where the network itself got these sizes, since it had none.
std::shared_ptr<const python_network::description>
python_network::description_for(const description &usual, const inputs_of_call &given) {
    network_sizes sizes;
    std::string key;
    bool has_batch = true;
    for (std::size_t i = 0; i < given.size(); i++) {
        sizes.shapes[usual.inputs[i].name] = given[i].dims;
        key += model::to_text(given[i].dims) + ' ';
        has_batch &= given[i].dims.empty() || given[i].dims.front() == usual.sizes.batch;
    }
    if (has_batch) // constants may name the old one
        sizes.batch = usual.sizes.batch;
    if (usual.has_open_sizes()) {
        resize(sizes);
        return nullptr;
    }
    const auto found = std::find_if(others_described_.begin(), others_described_.end(),
                                    [&](const auto &d) { return d->key == key; });
    std::shared_ptr<const description> d;
    if (found != others_described_.end()) {
        d = *found;
        others_described_.erase(found);
    } else {
        const lease net(*this, sizes, key);
        d = describe(*net, sizes);
    }
    others_described_.push_front(d);
    if (others_described_.size() > most_contexts)
        others_described_.pop_back();
    return d;
}

/// Calls what `prepare` returns for the sizes and the checked inputs with a context that has them set: what
/// was checked is what is bound, since a context has the sizes of its description, and inputs are checked
/// anew where `resize` changed the usual ones before a turn began.
template <typename Prepare>
void python_network::in_context(const py::args &values, const py::kwargs &named, const Prepare &prepare) {
    for (;;) {
        const std::shared_ptr<const description> usual = open_description();
        const inputs_of_call given = checked(*usual, values, named);
        bool is_usual = true;
        for (std::size_t i = 0; i < given.size(); i++)
            is_usual &= given[i].dims == usual->inputs[i].dims;
        const auto sizes = is_usual ? usual : description_for(*usual, given);
        if (!sizes)
            continue;
        const auto work = prepare(sizes, given);
        const lease net(*this, *sizes);
        if (is_usual && !description_->has_dims_of(*usual))
            continue;
        const bound_arrays unbind(*net);
        set_inputs(*net, given);
        work(*net);
        return;
    }
}

py::dict python_network::last_inputs() const {
    py::dict named;
    for (std::size_t i = 0; i < last_.inputs.size(); i++)
        named[py::str(last_.sizes->inputs[i].name)] = last_.inputs[i].array;
    return named;
}

std::vector<py::array> python_network::execute(const py::args &values, const py::kwargs &named) {
    std::vector<py::array> codes, results;
    in_context(values, named, [&](const auto &sizes, const inputs_of_call &given) {
        last_call now = {sizes, given};
        std::swap(last_, now); // destroying the old one may run Python code
        const bool wants_reals =
            std::any_of(given.begin(), given.end(), [](const input &i) { return i.is_real; });
        codes.clear();
        results.clear();
        for (const port &p : sizes->outputs) {
            codes.push_back(empty(p.type, p.dims));
            results.push_back(wants_reals && p.is_scaled() ? empty(data_type::f32, p.dims) : codes.back());
        }
        return [&](network &net) {
            for (std::size_t i = 0; i < codes.size(); i++)
                net.bind_output(i, codes[i].mutable_data(), static_cast<std::size_t>(codes[i].nbytes()));
            net.run();
            for (std::size_t i = 0; i < codes.size(); i++)
                if (!results[i].is(codes[i])) {
                    const std::vector<float> reals = net.output(i).as<float>();
                    std::copy(reals.begin(), reals.end(), static_cast<float *>(results[i].mutable_data()));
                }
        };
    });
    return results;
}

py::object python_network::call(const py::args &values, const py::kwargs &named) {
    std::vector<py::array> outputs = execute(values, named);
    if (outputs.size() == 1)
        return outputs[0];
    return py::tuple(py::cast(outputs));
}

py::dict python_network::run(const py::dict &feeds, const std::vector<std::string> &wanted) {
    const std::shared_ptr<const description> sizes = description_; // names are the same in all
    const std::vector<py::array> outputs = execute(py::args(), py::kwargs(feeds));
    py::dict result;
    for (std::size_t i = 0; i < outputs.size(); i++) {
        const std::string &name = sizes->outputs[i].name;
        if (wanted.empty() || std::find(wanted.begin(), wanted.end(), name) != wanted.end())
            result[py::str(name)] = outputs[i];
    }
    for (const std::string &name : wanted)
        if (!result.contains(name))
            lease(*this)->output(name); // throws, with what there is
    return result;
}

py::dict python_network::trace(const py::dict &feeds) {
    std::vector<traced_tensor> traced;
    in_context(py::args(), py::kwargs(feeds), [&](const auto &, const inputs_of_call &) {
        return [&](network &net) {
            const model::graph &g = net.get_graph();
            net.run([&](std::size_t node, double) {
                for (const int t : g.nodes[node].outputs)
                    if (t >= 0 && net.get_memory(t).get_data_handle())
                        traced.push_back(copy_of(net.tensor(t)));
            });
        };
    });
    py::dict result;
    for (const traced_tensor &t : traced) {
        py::array a = empty(t.type, t.dims);
        std::copy(t.bytes.begin(), t.bytes.end(), static_cast<std::uint8_t *>(a.mutable_data()));
        result[py::str(t.name)] = a;
    }
    return result;
}

py::tuple python_network::profile(const py::dict &feeds, int repeat) {
    std::vector<std::vector<double>> times;
    std::vector<node_info> nodes;
    in_context(py::args(), py::kwargs(feeds), [&](const auto &, const inputs_of_call &) {
        return [&](network &net) {
            nodes = nodes_of(net);
            times.resize(nodes.size());
            net.run(); // wakes threads, warms caches
            for (int r = 0; r < repeat; r++)
                net.run([&](std::size_t node, double seconds) { times[node].push_back(seconds); });
        };
    });
    std::vector<double> medians;
    for (std::vector<double> &t : times) {
        std::nth_element(t.begin(), t.begin() + static_cast<std::ptrdiff_t>(t.size() / 2), t.end());
        medians.push_back(t.empty() ? 0 : t[t.size() / 2]);
    }
    return py::make_tuple(infos(nodes), medians);
}

double python_network::seconds_per_run(int repeat) {
    const lease net(*this);
    const auto begin = std::chrono::steady_clock::now();
    for (int r = 0; r < repeat; r++)
        net->run();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / repeat;
}

} // namespace octet::python
