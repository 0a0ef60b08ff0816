// Files with secrets: whose modes are taken, and what is told of those that are not.
#include "node/disk/secret_file.hpp"

#include "base/bytes.hpp"

#include <catch2/catch.hpp>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>

namespace {

// A file of this mode, until the end of the test.
class SecretFile {
  public:
    explicit SecretFile(const std::string& text, unsigned mode = 0600) {
        std::ofstream(path_) << text;
        set_mode(mode);
    }
    ~SecretFile() { std::filesystem::remove(path_); }
    SecretFile(const SecretFile&) = delete;
    SecretFile& operator=(const SecretFile&) = delete;

    void set_mode(unsigned mode) const { REQUIRE(::chmod(path_.c_str(), mode) == 0); }
    [[nodiscard]] const std::string& path() const { return path_; }

  private:
    std::string path_ =
        (std::filesystem::temp_directory_path() / ("bor-secret-" + std::to_string(::getpid())))
            .string();
};

}  // namespace

TEST_CASE("a secret that others can get at is refused by name") {
    const SecretFile file("secret");
    for (const unsigned mode : {0600U, 0400U, 0700U}) {
        file.set_mode(mode);
        CHECK(node::read_secret_file(file.path(), 10).has_value());
    }
    for (const unsigned mode : {0640U, 0644U, 0604U, 0620U, 0602U, 0660U, 0601U}) {
        CAPTURE(mode);
        file.set_mode(mode);
        const auto refused = node::read_secret_file(file.path(), 10);
        REQUIRE_FALSE(refused.has_value());
        CHECK(refused.error().code == base::Errc::invalid);
        CHECK(refused.error().detail.find("type chmod 0600 " + file.path()) != std::string::npos);
    }
    file.set_mode(0600);
    CHECK(node::read_secret_file(file.path(), 5).error().code == base::Errc::malformed);
    CHECK(node::read_secret_file(file.path() + "-not", 5).error().code == base::Errc::not_found);
    CHECK(node::read_secret_file("/", 5).error().code == base::Errc::invalid);
    const std::string pipe = file.path() + "-pipe";
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    CHECK(node::read_secret_file(pipe, 5).error().code == base::Errc::invalid);
    std::filesystem::remove(pipe);
}

TEST_CASE("root gives a secret to a group, and nobody else gives one") {
    if (::geteuid() != 0) {
        WARN("skipped: only root can give a file away");
        return;
    }
    constexpr ::uid_t kService = 12'345;
    constexpr ::uid_t kOther = 12'346;
    const SecretFile file("secret", 0640);
    REQUIRE(::chown(file.path().c_str(), 0, kService) == 0);
    const auto read_as_service = [&] {
        REQUIRE(::setegid(kService) == 0);
        REQUIRE(::seteuid(kService) == 0);
        auto read = node::read_secret_file(file.path(), 10);
        REQUIRE(::seteuid(0) == 0);
        REQUIRE(::setegid(0) == 0);
        return read;
    };
    CHECK(read_as_service().has_value());
    file.set_mode(0644);
    CHECK(read_as_service().error().detail.find("type chmod 0640 ") != std::string::npos);
    file.set_mode(0640);
    REQUIRE(::chown(file.path().c_str(), kOther, kService) == 0);
    CHECK(read_as_service().error().detail.find("type chown 12345 ") != std::string::npos);
}

TEST_CASE("a token is the first word of its file") {
    for (const char* text :
         {"0123456789abcdef", " \t\n0123456789abcdef\r\n", "0123456789abcdef more"})
        CHECK(node::read_token("option", SecretFile(text).path()).value() == "0123456789abcdef");
    for (const char* text : {"", "\n", "0123456789abcde", "0123456789 abcdef"}) {
        const auto refused = node::read_token("option", SecretFile(text).path());
        REQUIRE_FALSE(refused.has_value());
        CHECK(refused.error().detail.starts_with("option: the token in "));
        CHECK(refused.error().detail.find("'openssl rand -hex 32'") != std::string::npos);
    }
    const auto open = node::read_token("option", SecretFile("0123456789abcdef", 0644).path());
    REQUIRE_FALSE(open.has_value());
    CHECK(open.error().detail.starts_with("option: "));
}

TEST_CASE("a private key is the first word of its file") {
    const auto key = base::crypto::PrivateKey::generate(base::crypto::KeyType::r1);
    const std::string text = key.to_string();
    for (const std::string& written : {text, "\n " + text + "\r\n", text + " mine"}) {
        const auto read = node::read_key_file(SecretFile(written).path());
        REQUIRE(read.has_value());
        CHECK(read->to_string() == text);
    }
    for (const std::string& written : {std::string(), std::string("\n"), text.substr(1)}) {
        const auto refused = node::read_key_file(SecretFile(written).path());
        REQUIRE_FALSE(refused.has_value());
        CHECK(refused.error().detail.ends_with(" holds no private key"));
        CHECK(refused.error().detail.find(text.substr(10)) == std::string::npos);
    }
    CHECK_FALSE(node::read_key_file(SecretFile(text, 0644).path()).has_value());
}
