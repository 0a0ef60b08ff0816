#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace wallet::tests {

// A fresh directory that goes with the test.
class Scratch {
  public:
    Scratch() {
        std::string name = (std::filesystem::temp_directory_path() / "bor-wallet-XXXXXX").string();
        path_ = mkdtemp(name.data());
    }
    ~Scratch() { std::filesystem::remove_all(path_); }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;

    [[nodiscard]] const std::string& path() const { return path_; }
    [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }

    // Of mode 0600.
    void write(const std::string& name, const std::string& text) const {
        using std::filesystem::perms;
        std::ofstream(file(name), std::ios::binary) << text;
        std::filesystem::permissions(file(name), perms::owner_read | perms::owner_write);
    }
    [[nodiscard]] std::string read(const std::string& name) const {
        std::ifstream in(file(name), std::ios::binary);
        return {std::istreambuf_iterator<char>(in), {}};
    }

  private:
    std::string path_;
};

}  // namespace wallet::tests
