// Inputs of networks from files, or made up.

#include "commands/tensor_file.hpp"

#include <algorithm>
#include <random>

#include "commands/files.hpp"

namespace octet::tools {

void read_tensor_file(const std::string &path, const memory &m, const std::string &who) {
    const std::size_t expected = m.get_desc().get_size();
    const std::vector<std::uint8_t> bytes = read_file(path);
    if (bytes.size() != expected)
        throw error(status::invalid_arguments, path + ": has " + std::to_string(bytes.size()) +
                                                   " bytes, but " + who + " takes " +
                                                   std::to_string(expected));
    std::copy(bytes.begin(), bytes.end(), m.map_data<std::uint8_t>());
}

void fill_pseudo_random(const memory &m) {
    std::mt19937 random(1); // its sequence is the same everywhere
    const std::size_t bytes = m.get_desc().get_size();
    if (m.get_desc().data_type() == data_type::f32) {
        for (std::size_t i = 0; i < bytes / sizeof(float); i++)
            m.map_data<float>()[i] = static_cast<float>(static_cast<std::int32_t>(random())) / 2147483648.f;
        return;
    }
    for (std::size_t i = 0; i < bytes; i++)
        m.map_data<std::uint8_t>()[i] = static_cast<std::uint8_t>(random() >> 24);
}

} // namespace octet::tools
