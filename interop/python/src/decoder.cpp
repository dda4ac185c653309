// Tokens are checked and copied with Python's lock, decoders run without it, and arrays are made with it again.
// SPDX-License-Identifier: Apache-2.0
#include "decoder.hpp"

#include <algorithm>
#include <cstring>

namespace octet::python {
namespace {

std::vector<std::int32_t> tokens_of(const py::object &given, std::size_t turn) {
    const std::string who = "tokens of turn " + std::to_string(turn);
    const py::array tokens = array_of(given, who);
    if (tokens.ndim() != 1)
        throw py::value_error(who + " have " + std::to_string(tokens.ndim()) + " dimensions, allowed: 1");
    if (tokens.size() == 0) // NumPy takes an empty list for floats
        return {};
    const py::array elements = elements_as(tokens, data_type::s32, who);
    const auto *const first = static_cast<const std::int32_t *>(elements.data());
    return {first, first + elements.size()};
}

/// Of one row, or of a row for each token.
py::array array_of_logits(const std::vector<float> &logits, std::size_t tokens, bool has_rows) {
    const auto rows = static_cast<dim_t>(has_rows ? tokens : 1), all = static_cast<dim_t>(logits.size());
    py::array y = empty(data_type::f32, has_rows ? memory::dims{rows, all / rows} : memory::dims{all});
    if (all > 0)
        std::memcpy(y.mutable_data(), logits.data(), logits.size() * sizeof(float));
    return y;
}

std::shared_ptr<python_decoder> make_python_decoder(const py::object &model, dim_t capacity, int threads,
                                                    std::size_t memory_limit, const std::string &nbits) {
    decoder_options o;
    o.capacity = capacity;
    o.network.threads = threads;
    o.network.memory_limit = memory_limit;
    o.network.nbits = nbits;
    if (py::isinstance<py::bytes>(model)) {
        const auto bytes = py::cast<std::string_view>(model);
        return std::make_shared<python_decoder>(decoder(
            model::read_network(reinterpret_cast<const std::uint8_t *>(bytes.data()), bytes.size(), "bytes"),
            o));
    }
    const auto path = py::cast<std::string>(py::module_::import("os").attr("fspath")(model));
    const py::gil_scoped_release release;
    return std::make_shared<python_decoder>(decoder(path, o));
}

} // namespace

std::unique_ptr<python_sequence> python_decoder::new_sequence() {
    return std::make_unique<python_sequence>(shared_from_this(),
                                             alone([this] { return decoder_.new_sequence(); }));
}

std::vector<py::array> python_decoder::run(const turns &given) {
    std::vector<decoder::turn> all;
    for (const auto &[of, tokens, has_rows] : given) {
        if (of->of_.get() != this)
            throw py::value_error("turn " + std::to_string(all.size()) +
                                  ": its sequence is none of this decoder's");
        all.push_back({&of->tokens_, tokens_of(tokens, all.size()), has_rows});
    }
    const std::vector<std::vector<float>> logits = alone([&] { return decoder_.run(all); });
    std::vector<py::array> arrays;
    for (std::size_t i = 0; i < all.size(); i++)
        arrays.push_back(array_of_logits(logits[i], all[i].tokens.size(), all[i].wants_all));
    return arrays;
}

std::size_t python_decoder::weight_bytes() {
    return alone([this] { return decoder_.weight_bytes(); });
}

dim_t python_sequence::size() const {
    return of_->alone([this] { return tokens_.size(); });
}

std::size_t python_sequence::bytes() const {
    return of_->alone([this] { return tokens_.bytes(); });
}

void python_sequence::truncate(dim_t size) {
    of_->alone([&] { tokens_.truncate(size); });
}

std::unique_ptr<python_sequence> python_sequence::fork() {
    return std::make_unique<python_sequence>(of_, of_->alone([this] { return tokens_.fork(); }));
}

void bind_decoder(py::module_ &m) {
    py::class_<python_sequence>(m, "Sequence")
        .def("truncate", &python_sequence::truncate, py::arg("size"))
        .def("fork", &python_sequence::fork)
        .def_property_readonly("size", &python_sequence::size)
        .def_property_readonly("capacity", &python_sequence::capacity)
        .def_property_readonly("nbytes", &python_sequence::bytes);
    py::class_<python_decoder, std::shared_ptr<python_decoder>>(m, "Decoder")
        .def(py::init(&make_python_decoder), py::arg("model"), py::kw_only(), py::arg("capacity") = 4096,
             py::arg("threads") = 0, py::arg("memory_limit") = 0, py::arg("nbits") = "onnxruntime")
        .def("new_sequence", &python_decoder::new_sequence)
        .def("run", &python_decoder::run, py::arg("turns"))
        .def("bytes_of", &python_decoder::bytes_of, py::arg("tokens"))
        .def_property_readonly("weight_bytes", &python_decoder::weight_bytes);
}

} // namespace octet::python
