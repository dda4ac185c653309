// Reading never looks beyond the bytes that are there: the header says how many elements follow, and exactly so
// many must.
// SPDX-License-Identifier: Apache-2.0
#include "files/npy.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

#include "octet/error.hpp"

namespace octet::tools {
namespace {

constexpr char magic[] = "\x93NUMPY";
constexpr std::size_t magic_size = sizeof magic - 1;
constexpr std::size_t most_dims = 32; ///< NumPy's own bound
constexpr std::size_t most_header_bytes = npy_beginning - 64;

/// The content of the dictionary.
struct header {
    std::string type; ///< "<f4"
    bool is_fortran = false;
    memory::dims dims;
};

/// The dictionary, read from left to right: the three keys in any order, nothing else.
class header_reader {
public:
    header_reader(std::string text, const std::string &name) : text_(std::move(text)), name_(name) {}

    header read() {
        std::optional<std::string> type;
        std::optional<bool> is_fortran;
        std::optional<memory::dims> dims;
        expect('{');
        while (!accept('}')) {
            const std::string key = quoted();
            expect(':');
            if (key == "descr")
                type = quoted();
            else if (key == "fortran_order")
                is_fortran = truth();
            else if (key == "shape")
                dims = shape();
            else
                fail();
            if (!accept(',') && peek() != '}')
                fail();
        }
        if (peek() != '\0' || !type || !is_fortran || !dims)
            fail();
        return {*type, *is_fortran, *dims};
    }

private:
    [[noreturn]] void fail() const {
        refuse(name_, "its .npy header is no dictionary of one type, fortran_order and shape");
    }
    char peek() {
        while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n'))
            at_++;
        return at_ < text_.size() ? text_[at_] : '\0';
    }
    bool accept(char c) {
        if (peek() != c)
            return false;
        at_++;
        return true;
    }
    void expect(char c) {
        if (!accept(c))
            fail();
    }
    std::string quoted() {
        const char quote = peek();
        const std::size_t end =
            quote == '\'' || quote == '"' ? text_.find(quote, at_ + 1) : std::string::npos;
        if (end == std::string::npos)
            fail();
        const std::string word = text_.substr(at_ + 1, end - at_ - 1);
        at_ = end + 1;
        return word;
    }
    bool truth() {
        peek();
        for (const char *word : {"True", "False"})
            if (text_.compare(at_, std::strlen(word), word) == 0) {
                at_ += std::strlen(word);
                return *word == 'T';
            }
        fail();
    }
    memory::dims shape() {
        memory::dims dims;
        expect('(');
        while (!accept(')')) {
            peek();
            dim_t size = 0;
            const char *end = text_.data() + text_.size();
            const auto [stop, failure] = std::from_chars(text_.data() + at_, end, size);
            if (failure != std::errc() || size < 0 || dims.size() == most_dims)
                fail();
            at_ = static_cast<std::size_t>(stop - text_.data());
            dims.push_back(size);
            if (!accept(',') && peek() != ')')
                fail();
        }
        return dims;
    }

    std::string text_;
    const std::string &name_;
    std::size_t at_ = 0;
};

/// "<f4": order of bytes, kind, size. NumPy writes '|' where there is no order.
element_type parse_type(const std::string &text, const std::string &name) {
    static const element_type allowed[] = {{'b', 1}, {'i', 1}, {'i', 2}, {'i', 4}, {'i', 8}, {'u', 1},
                                           {'u', 2}, {'u', 4}, {'u', 8}, {'f', 4}, {'f', 8}};
    if (text.size() == 3 && std::strchr("<>|=", text[0]))
        for (const element_type &type : allowed)
            if (text[1] == type.kind && text[2] == static_cast<char>('0' + type.size))
                return type;
    refuse(name, "its elements are '" + text.substr(0, 40) +
                     "', allowed are bool, int8 to int64, uint8 to uint64, float32, float64");
}

std::size_t byte_count(const memory::dims &dims, std::size_t element_size, const std::string &name) {
    std::size_t bytes = element_size;
    for (const dim_t d : dims)
        if (__builtin_mul_overflow(bytes, static_cast<std::size_t>(d), &bytes) || bytes > most_array_bytes)
            refuse(name, "has more than 2 GiB of elements");
    return bytes;
}

void reverse_elements(std::vector<std::uint8_t> &bytes, std::size_t element_size) {
    for (auto at = bytes.begin(); at != bytes.end(); at += static_cast<std::ptrdiff_t>(element_size))
        std::reverse(at, at + static_cast<std::ptrdiff_t>(element_size));
}

/// From the order in which the first index runs fastest to that in which the last one does.
std::vector<std::uint8_t> row_major(const std::vector<std::uint8_t> &columns, const memory::dims &dims,
                                    std::size_t element_size) {
    std::vector<std::uint8_t> rows(columns.size());
    memory::dims index(dims.size(), 0);
    for (std::size_t to = 0; to < rows.size(); to += element_size) {
        std::size_t from = 0;
        for (std::size_t d = dims.size(); d-- > 0;)
            from = from * static_cast<std::size_t>(dims[d]) + static_cast<std::size_t>(index[d]);
        std::memcpy(&rows[to], &columns[from * element_size], element_size);
        for (std::size_t d = dims.size(); d-- > 0 && ++index[d] == dims[d];)
            index[d] = 0;
    }
    return rows;
}

struct facts {
    array described; ///< without elements
    std::size_t elements_at;
    bool is_big_endian, is_fortran;
};

/// The facts of a file of `size` bytes that begins so.
facts read_facts(const std::vector<std::uint8_t> &file, std::size_t size, const std::string &name) {
    if (file.size() < magic_size + 4 || std::memcmp(file.data(), magic, magic_size) != 0)
        refuse(name, "is no .npy file");
    const std::uint8_t version = file[magic_size];
    if (version < 1 || version > 3)
        refuse(name, "has version " + std::to_string(version) + " of the .npy format, known are 1 to 3");
    const std::size_t size_bytes = version == 1 ? 2 : 4, header_at = magic_size + 2 + size_bytes;
    std::size_t header_size = 0;
    for (std::size_t i = 0; i < size_bytes && magic_size + 2 + i < file.size(); i++)
        header_size |= std::size_t{file[magic_size + 2 + i]} << 8 * i;
    if (header_size > most_header_bytes)
        refuse(name, "has a .npy header of " + std::to_string(header_size) + " bytes, allowed are " +
                         std::to_string(most_header_bytes));
    const std::size_t elements_at = header_at + header_size;
    if (file.size() < elements_at)
        refuse(name, "ends within its .npy header");
    const header h = header_reader({file.begin() + static_cast<std::ptrdiff_t>(header_at),
                                    file.begin() + static_cast<std::ptrdiff_t>(elements_at)},
                                   name)
                         .read();
    array a{parse_type(h.type, name), h.dims, {}};
    const std::size_t expected = byte_count(a.dims, a.type.size, name);
    if (size - elements_at != expected)
        refuse(name, "has " + std::to_string(size - elements_at) + " bytes of elements, but " + a.text() +
                         " takes " + std::to_string(expected));
    return {std::move(a), elements_at, h.type[0] == '>', h.is_fortran};
}

} // namespace

array described_npy(const std::vector<std::uint8_t> &beginning, std::size_t size, const std::string &name) {
    return read_facts(beginning, size, name).described;
}

array parse_npy(const std::vector<std::uint8_t> &file, const std::string &name) {
    facts f = read_facts(file, file.size(), name);
    array a = std::move(f.described);
    a.bytes.assign(file.begin() + static_cast<std::ptrdiff_t>(f.elements_at), file.end());
    if (f.is_big_endian)
        reverse_elements(a.bytes, a.type.size);
    if (f.is_fortran && a.dims.size() > 1)
        a.bytes = row_major(a.bytes, a.dims, a.type.size);
    return a;
}

std::string npy_text(const array &a) {
    constexpr std::size_t alignment = 64; // alignment of the elements, so that the file can be mapped
    std::string shape;
    for (const dim_t d : a.dims)
        shape += std::to_string(d) + (a.dims.size() == 1 ? "," : &d == &a.dims.back() ? "" : ", ");
    std::string dictionary = std::string("{'descr': '") + (a.type.size == 1 ? '|' : '<') + a.type.kind +
                             std::to_string(a.type.size) + "', 'fortran_order': False, 'shape': (" + shape +
                             "), }";
    const std::size_t before = magic_size + 4;
    dictionary.append(alignment - (before + dictionary.size() + 1) % alignment, ' ');
    dictionary += '\n';
    std::string text(magic, magic_size);
    text +=
        {'\1', '\0', static_cast<char>(dictionary.size() & 255), static_cast<char>(dictionary.size() >> 8)};
    return text + dictionary + std::string(a.bytes.begin(), a.bytes.end());
}

} // namespace octet::tools
