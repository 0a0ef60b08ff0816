// Secrets: wiped when they go, in memory that is neither swapped nor dumped.
#include "wallet/secret.hpp"

#include <catch2/catch.hpp>
#include <openssl/crypto.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <sstream>

using namespace wallet;

namespace {

// The kernel's flags of the mapping around `address`, from /proc/self/smaps.
std::string flags_of(const void* address) {
    const auto wanted = reinterpret_cast<std::uintptr_t>(address);
    std::ifstream maps("/proc/self/smaps");
    std::string line;
    bool inside = false;
    while (std::getline(maps, line)) {
        std::uintptr_t start = 0;
        std::uintptr_t end = 0;
        char dash = 0;
        std::istringstream head(line);
        if (head >> std::hex >> start >> dash >> end && dash == '-') {
            inside = start <= wanted && wanted < end;
        } else if (inside && line.starts_with("VmFlags:")) {
            return line + " ";
        }
    }
    return {};
}

}  // namespace

TEST_CASE("secrets lie in an area that is not dumped, and locked where allowed") {
    const bool is_locked = protect_process();
    const SecretBytes secret(32, std::byte{7});
    CHECK(CRYPTO_secure_allocated(secret.data()) == 1);
    const std::string flags = flags_of(secret.data());
    CHECK_THAT(flags, Catch::Contains(" dd "));
    CHECK((flags.find(" lo ") != std::string::npos) == is_locked);
    rlimit core{};
    REQUIRE(getrlimit(RLIMIT_CORE, &core) == 0);
    CHECK(core.rlim_cur == 0);
    CHECK(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0);
}

TEST_CASE("memory of secrets is wiped when it is given back") {
    static_cast<void>(protect_process());
    const std::byte* where = nullptr;
    {
        const SecretBytes secret(256, std::byte{0xA5});
        where = secret.data();
    }
    // The area stays mapped; OpenSSL keeps two pointers of its own in free pieces.
    const auto left = std::count(where, where + 256, std::byte{0xA5});
    CHECK(left < 16);
}

TEST_CASE("keys of a wallet lie in the area") {
    static_cast<void>(protect_process());
    Keys keys;
    const auto key = base::crypto::PrivateKey::generate(base::crypto::KeyType::k1);
    keys.emplace(key.public_key(), key);
    CHECK(CRYPTO_secure_allocated(keys.begin()->second.secret().data()) == 1);
}

TEST_CASE("texts are wiped in place") {
    std::string text(100, 's');
    const char* where = text.data();
    wipe(text);
    CHECK(text.empty());
    CHECK(std::count(where, where + 100, 's') == 0);

    SecretText first(std::string(8, 's'));
    SecretText second(std::move(first));
    CHECK(second.view() == "ssssssss");
    // NOLINTNEXTLINE(bugprone-use-after-move,clang-analyzer-cplusplus.Move): that is the point.
    CHECK(first.view().empty());
    first = std::move(second);
    CHECK(first.view() == "ssssssss");
}
