#include "commands/tensor_file.hpp"

#include <fstream>
#include <random>

namespace octet::tools {

void read_tensor_file(const std::string &path, const memory &m, const std::string &who) {
    const std::size_t expected = m.get_desc().get_size();
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    const std::streamoff size = file ? static_cast<std::streamoff>(file.tellg()) : -1;
    if (size < 0)
        throw error(status::invalid_arguments, path + ": the file cannot be opened");
    if (static_cast<std::size_t>(size) != expected)
        throw error(status::invalid_arguments, path + ": the file has " + std::to_string(size) +
                                                   " bytes, but " + who + " takes " +
                                                   std::to_string(expected));
    file.seekg(0);
    if (!file.read(m.map_data<char>(), size))
        throw error(status::runtime_error, path + ": the file cannot be read");
}

void write_tensor_file(const std::string &path, const memory &m) {
    std::ofstream file(path, std::ios::binary);
    file.write(m.map_data<char>(), static_cast<std::streamsize>(m.get_desc().get_size()));
    if (!file.flush())
        throw error(status::runtime_error, path + ": the file cannot be written");
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
