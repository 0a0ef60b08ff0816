#pragma once

#include "base/pinned.hpp"

#include <cstdlib>
#include <filesystem>
#include <string>

// A directory that is there for one test.
class TemporaryDirectory : base::Pinned {
  public:
    TemporaryDirectory() {
        std::string pattern = (std::filesystem::temp_directory_path() / "bor_test_XXXXXX").string();
        if (::mkdtemp(pattern.data()) == nullptr) std::abort();
        path_ = pattern;
    }
    ~TemporaryDirectory() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }

    [[nodiscard]] std::string operator/(const std::string& name) const {
        return path_ + "/" + name;
    }
    [[nodiscard]] const std::string& path() const { return path_; }

  private:
    std::string path_;
};
