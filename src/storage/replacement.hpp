#pragma once // SPDX-License-Identifier: Apache-2.0

// Files that are written as a whole: beside their place under no name, then put there by renaming. Whoever
// opens the path meanwhile, or has it mapped, sees the old file or the new one; several writers of one path
// each put a whole file there, and the last one stays. Every file that the library or the command writes as a
// whole is written here.
//
// Only a regular file is replaced, and a new one is made only where nothing is: a directory, a device or a
// pipe is refused. Where the path is a symbolic link, the file that it names is replaced and the link stays,
// as where a shell writes to it. The new file has the permissions of the old one.

#include <cstddef>
#include <string>

namespace octet::storage {

/// Throws octet::error, a sentence that begins with the path, where no file of this path can be made or
/// replaced: status invalid_arguments where something else than a regular file is there, runtime_error with
/// the system's reason. Changes nothing.
void require_replaceable(const std::string &path);

class replacement {
public:
    /// Throws as `require_replaceable` does.
    explicit replacement(const std::string &path);
    /// Without `commit` nothing is left of it.
    ~replacement();
    replacement(const replacement &) = delete;
    replacement &operator=(const replacement &) = delete;

    /// Throw octet::error with status runtime_error, e.g. where the disk is full.
    ///@{
    void write(const void *bytes, std::size_t size);
    void write(const std::string &text) { write(text.data(), text.size()); }
    void commit(); ///< the bytes reach the disk, then the path
    ///@}

private:
    void open_in(const std::string &folder);
    std::string new_name() const;

    std::string path_;   ///< as it was given, for messages
    std::string target_; ///< behind links
    std::string name_;   ///< name of the unfinished file; empty: none yet
    int mode_ = -1;      ///< mode of the file that was there; -1: none
    int file_ = -1;
};

/// Writes a file of these bytes; throws as `replacement` does.
void replace_file(const std::string &path, const void *bytes, std::size_t size);

} // namespace octet::storage
