// The archive lies in memory on both sides, so libzip never sees a path and what it says is about bytes alone.
// SPDX-License-Identifier: Apache-2.0
#include "files/npz.hpp"

#include <algorithm>
#include <memory>

#include <zip.h>

#include "files/npy.hpp"
#include "octet/error.hpp"

namespace octet::tools {
namespace {

constexpr zip_int64_t most_entries = 10'000;
const std::string ending = ".npy";

class zip_failure {
public:
    zip_failure() { zip_error_init(&error_); }
    ~zip_failure() { zip_error_fini(&error_); }
    zip_failure(const zip_failure &) = delete;
    zip_failure &operator=(const zip_failure &) = delete;
    operator zip_error_t *() { return &error_; }
    std::string text() { return zip_error_strerror(&error_); }

private:
    zip_error_t error_;
};

using archive = std::unique_ptr<zip_t, decltype(&zip_discard)>;
using entry = std::unique_ptr<zip_file_t, decltype(&zip_fclose)>;

archive open_archive(const std::vector<std::uint8_t> &file, const std::string &name) {
    zip_failure failure;
    zip_source_t *bytes = zip_source_buffer_create(file.data(), file.size(), 0, failure);
    zip_t *opened = bytes ? zip_open_from_source(bytes, ZIP_RDONLY | ZIP_CHECKCONS, failure) : nullptr;
    if (!opened) {
        zip_source_free(bytes);
        refuse(name, "is no .npz file: " + failure.text());
    }
    return {opened, zip_discard};
}

/// The first bytes of an entry, `most` or fewer. Its size in the directory is a claim: no more than that is read.
std::vector<std::uint8_t> read_entry(zip_t *from, zip_uint64_t index, std::uint64_t most,
                                     const std::string &who) {
    constexpr std::uint64_t portion = std::uint64_t{1} << 20;
    const entry opened(zip_fopen_index(from, index, 0), zip_fclose);
    if (!opened)
        refuse(who, std::string("cannot be unpacked: ") + zip_strerror(from));
    std::vector<std::uint8_t> bytes;
    while (bytes.size() < most) {
        const std::size_t before = bytes.size();
        bytes.resize(before + std::min(portion, most - before));
        const zip_int64_t got = zip_fread(opened.get(), bytes.data() + before, bytes.size() - before);
        if (got < 0)
            refuse(who, std::string("cannot be unpacked: ") + zip_file_strerror(opened.get()));
        bytes.resize(before + static_cast<std::size_t>(got));
        if (got == 0)
            break;
    }
    return bytes;
}

/// An array of an archive before it is unpacked.
struct packed_array {
    std::string key, who; ///< `who` for messages
    std::uint64_t size = 0;
};

packed_array find_array(zip_t *from, zip_uint64_t index, const std::string &name) {
    zip_stat_t facts;
    const bool is_known = zip_stat_index(from, index, 0, &facts) == 0 && (facts.valid & ZIP_STAT_NAME) &&
                          (facts.valid & ZIP_STAT_SIZE);
    std::string key = is_known ? facts.name : "";
    if (key.size() <= ending.size() || key.compare(key.size() - ending.size(), ending.size(), ending) != 0)
        refuse(name, "entry " + std::to_string(index) + " '" + key + "' is no .npy file");
    key.resize(key.size() - ending.size());
    const std::string who = name + ", array '" + key + "'";
    if (facts.size > most_array_bytes)
        refuse(who, "is larger than 2 GiB");
    if (facts.valid & ZIP_STAT_ENCRYPTION_METHOD && facts.encryption_method != ZIP_EM_NONE)
        refuse(who, "is encrypted");
    return {key, who, facts.size};
}

/// A name that an archive can have once: np.load shows it without the ending.
std::string entry_name(const std::string &name) { return name + ending; }

} // namespace

named_arrays described_npz(const std::vector<std::uint8_t> &file, const std::string &name) {
    const archive opened = open_archive(file, name);
    const zip_int64_t count = zip_get_num_entries(opened.get(), 0);
    if (count == 0 || count > most_entries)
        refuse(name, "holds " + std::to_string(count) + " arrays, allowed are 1 to " +
                         std::to_string(most_entries));
    named_arrays arrays;
    for (zip_uint64_t i = 0; i < static_cast<zip_uint64_t>(count); i++) {
        const packed_array a = find_array(opened.get(), i, name);
        arrays.emplace_back(a.key,
                            described_npy(read_entry(opened.get(), i, npy_beginning, a.who), a.size, a.who));
    }
    return arrays;
}

array unpacked(const std::vector<std::uint8_t> &file, std::size_t index, const std::string &name) {
    const archive opened = open_archive(file, name);
    const packed_array a = find_array(opened.get(), index, name);
    const std::vector<std::uint8_t> bytes = read_entry(opened.get(), index, a.size + 1, a.who);
    if (bytes.size() != a.size)
        refuse(a.who, "does not unpack to the size that the archive says");
    return parse_npy(bytes, a.who);
}

named_arrays parse_npz(const std::vector<std::uint8_t> &file, const std::string &name) {
    named_arrays arrays = described_npz(file, name);
    for (std::size_t i = 0; i < arrays.size(); i++)
        arrays[i].second = unpacked(file, i, name);
    return arrays;
}

std::string npz_text(const named_arrays &arrays) {
    constexpr zip_uint16_t first_day = 1 << 5 | 1; // 1 January 1980, the first that an archive can name
    const auto fail = [](const std::string &why) {
        throw error(status::runtime_error, "an .npz file cannot be made: " + why);
    };
    zip_failure failure;
    zip_source_t *bytes = zip_source_buffer_create(nullptr, 0, 0, failure);
    if (!bytes)
        fail(failure.text());
    const std::unique_ptr<zip_source_t, decltype(&zip_source_free)> kept(bytes, zip_source_free);
    zip_source_keep(bytes);
    archive made(zip_open_from_source(bytes, ZIP_TRUNCATE, failure), zip_discard);
    if (!made) {
        zip_source_free(bytes);
        fail(failure.text());
    }
    std::vector<std::string> files; // read when the archive is closed
    for (const auto &[name, a] : arrays)
        files.push_back(npy_text(a));
    for (std::size_t i = 0; i < files.size(); i++) {
        zip_source_t *content = zip_source_buffer(made.get(), files[i].data(), files[i].size(), 0);
        const zip_int64_t index =
            content ? zip_file_add(made.get(), entry_name(arrays[i].first).c_str(), content, ZIP_FL_ENC_UTF_8)
                    : -1;
        if (index < 0) {
            zip_source_free(content);
            fail(zip_strerror(made.get()));
        }
        zip_set_file_compression(made.get(), static_cast<zip_uint64_t>(index), ZIP_CM_STORE, 0);
        zip_file_set_dostime(made.get(), static_cast<zip_uint64_t>(index), 0, first_day, 0);
    }
    if (zip_close(made.get()) != 0)
        fail(zip_strerror(made.get()));
    made.release();

    std::string text;
    zip_stat_t facts;
    if (zip_source_stat(bytes, &facts) != 0 || zip_source_open(bytes) != 0)
        fail("its bytes cannot be read back");
    text.resize(facts.size);
    zip_source_read(bytes, text.data(), text.size());
    zip_source_close(bytes);
    return text;
}

} // namespace octet::tools
