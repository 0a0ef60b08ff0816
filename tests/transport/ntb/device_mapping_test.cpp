#include "transport/ntb/device_mapping.hpp"

#include "transport/descriptor.hpp"

#include <catch2/catch.hpp>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <unistd.h>
#include <vector>

namespace tests {

using transport::Descriptor;
using transport::ntb::DeviceMapping;

namespace {

constexpr std::size_t kBytes = std::size_t{2} << 20;

// Memory that goes when it is cut off, as a device's does when that is removed.
struct Removable {
    Removable() : file(memfd_create("removable", MFD_CLOEXEC)) {
        REQUIRE(ftruncate(file.get(), kBytes) == 0);
    }
    [[nodiscard]] void* map() const {
        void* const begin =
            mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
        REQUIRE(begin != MAP_FAILED);
        return begin;
    }
    void remove() const { REQUIRE(ftruncate(file.get(), 0) == 0); }

    Descriptor file;
};

std::unique_ptr<DeviceMapping> mapping_of(const Removable& removable) {
    auto mapping = DeviceMapping::create(removable.map(), kBytes);
    REQUIRE(mapping);
    return std::move(*mapping);
}

// Whether a process that does this lives on.
bool survives(const std::function<void()>& act) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        const rlimit no_core{};
        setrlimit(RLIMIT_CORE, &no_core);
        act();
        _exit(0);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

TEST_CASE("memory of a device that is removed reads as zeros, and says so") {
    const Removable gone;
    const Removable stays;
    const auto lost = mapping_of(gone);
    const auto kept = mapping_of(stays);
    std::ranges::fill(lost->bytes(), std::byte{7});
    std::ranges::fill(kept->bytes(), std::byte{8});
    gone.remove();
    CHECK_FALSE(lost->is_lost());  // Nobody has touched it.
    CHECK(lost->bytes()[kBytes - 1] == std::byte{0});
    CHECK(lost->is_lost());
    CHECK(std::ranges::count(lost->bytes(), std::byte{0}) == kBytes);
    lost->bytes()[5] = std::byte{9};
    CHECK(lost->bytes()[5] == std::byte{9});
    CHECK_FALSE(kept->is_lost());
    CHECK(std::ranges::count(kept->bytes(), std::byte{8}) == kBytes);
}

TEST_CASE("other memory that goes ends a process as before") {
    const Removable ours;
    const auto mapping = mapping_of(ours);
    const Removable foreign;
    void* const begin = foreign.map();
    auto* const bytes = static_cast<volatile std::byte*>(begin);
    foreign.remove();
    CHECK_FALSE(survives([&] { bytes[0] = std::byte{1}; }));
    ours.remove();
    CHECK(survives([&] { mapping->bytes()[0] = std::byte{1}; }));
    munmap(begin, kBytes);
}

TEST_CASE("a mapping's place is free again when it ends") {
    const Removable removable;
    for (int round = 0; round < 3; ++round) {
        std::vector<std::unique_ptr<DeviceMapping>> all;
        for (std::size_t i = 0; i < DeviceMapping::kMost; ++i)
            all.push_back(mapping_of(removable));
        const auto refused = DeviceMapping::create(removable.map(), kBytes);
        REQUIRE_FALSE(refused);
        CHECK_THAT(refused.error().detail, Catch::Contains("64 times"));
    }
}

}  // namespace tests
