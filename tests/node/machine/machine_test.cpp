// What contracts run on: code that runs and cannot be changed, memory that ends where it was
// granted to, guard pages, stops from another thread, and what happens where the system forbids
// something. What must end a process, or binds it for ever, happens in a child.

#include "node/machine/machine.hpp"

#include "node/machine/processor.hpp"

#include <catch2/catch.hpp>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <array>
#include <bit>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

using node::ContractMachine;

constexpr std::uint64_t kReserved = (8ULL << 30U) + 65'536;
constexpr std::size_t kBelow = 10'000;
constexpr std::size_t kStack = 300'000;

// mov eax, number; ret
base::Bytes returns(unsigned char number) {
    return {std::byte{0xB8}, std::byte{number}, {}, {}, {}, std::byte{0xC3}};
}

template <typename Function>
Function* as_function(const chain::vm::Machine::Code& code) {
    return std::bit_cast<Function*>(code.begin());
}

int call(const chain::vm::Machine::Code& code) {
    return as_function<int()>(code)();
}

struct Mapping {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    std::string access;  // Like "r-xs".
    std::string name;
};

std::vector<Mapping> mappings() {
    std::vector<Mapping> out;
    std::ifstream file("/proc/self/maps");
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        Mapping next;
        char dash = 0;
        std::string skipped;
        words >> std::hex >> next.begin >> dash >> next.end >> next.access;
        words >> skipped >> skipped >> skipped >> next.name;
        out.push_back(std::move(next));
    }
    REQUIRE(out.size() > 3);
    return out;
}

// The mapping that `address` lies in; empty: none.
Mapping mapping_at(const void* address) {
    const auto wanted = reinterpret_cast<std::uintptr_t>(address);
    for (const Mapping& each : mappings()) {
        if (each.begin <= wanted && wanted < each.end) return each;
    }
    return {};
}

std::string access_at(const void* address) {
    return mapping_at(address).access;
}

std::size_t code_mappings() {
    std::size_t count = 0;
    for (const Mapping& each : mappings()) {
        if (each.name.find("bor-contract") != std::string::npos) ++count;
    }
    return count;
}

// What a child ended with that ran `action`: what that returned, or minus a signal.
template <typename Action>
int in_child(Action action) {
    (void)std::fflush(nullptr);
    const ::pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        // Not Catch's, nor a sanitizer's.
        for (const int each : {SIGSEGV, SIGBUS, SIGABRT}) {
            (void)std::signal(each, SIG_DFL);
        }
        const rlimit no_core{};
        (void)::setrlimit(RLIMIT_CORE, &no_core);
        ::_exit(action());
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

// Whether reading and writing the byte ends a process.
bool faults(std::byte* address) {
    volatile std::byte* const byte = address;
    const int read = in_child([byte] {
        (void)*byte;
        return 0;
    });
    const int written = in_child([byte] {
        *byte = std::byte{1};
        return 0;
    });
    REQUIRE(read == written);
    REQUIRE((read == 0 || read == -SIGSEGV));
    return read != 0;
}

// A sanitizer has terabytes of addresses for itself.
rlim_t address_bytes() {
    std::ifstream statm("/proc/self/statm");
    rlim_t pages = 0;
    statm >> pages;
    return pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace

TEST_CASE("published code runs, and is unmapped with its object") {
    ContractMachine machine;
    REQUIRE(code_mappings() == 0);
    auto first = machine.publish(returns(42));
    auto second = machine.publish(returns(7));
    REQUIRE(first != nullptr);
    REQUIRE(second != nullptr);
    CHECK(call(*first) == 42);
    CHECK(call(*second) == 7);
    CHECK(code_mappings() == 2);
    first.reset();
    CHECK(code_mappings() == 1);
    CHECK(call(*second) == 7);
    second.reset();
    CHECK(code_mappings() == 0);
    CHECK(machine.reason().empty());
}

TEST_CASE("code of many pages is whole") {
    ContractMachine machine;
    base::Bytes code(1'500'000, std::byte{0x90});  // nop
    const base::Bytes end = returns(5);
    code.insert(code.end(), end.begin(), end.end());
    const auto published = machine.publish(code);
    REQUIRE(published != nullptr);
    CHECK(call(*published) == 5);
    CHECK(base::equal({published->begin(), code.size()}, code));
}

TEST_CASE("no page is writable and executable, and code cannot be made writable") {
    ContractMachine machine;
    const auto code = machine.publish(returns(42));
    REQUIRE(code != nullptr);
    REQUIRE(machine.room(kBelow, kStack) != nullptr);
    for (const Mapping& each : mappings()) {
        INFO(each.name);
        CHECK((each.access[1] != 'w' || each.access[2] != 'x'));
    }
    CHECK(access_at(code->begin()) == "r-xs");
    auto* const begin = std::bit_cast<std::byte*>(code->begin());
    volatile std::byte* const first = begin;
    CHECK(in_child([first] {
              *first = std::byte{0xCC};
              return 0;
          }) == -SIGSEGV);
    CHECK(::mprotect(begin, 4096, PROT_READ | PROT_WRITE) == -1);
    CHECK(call(*code) == 42);
    // The file is closed: nothing is left to write through.
    CHECK(in_child([] {
              for (int file = 3; file < 1024; ++file) {
                  std::array<char, 64> name{};
                  const std::string link = "/proc/self/fd/" + std::to_string(file);
                  if (::readlink(link.c_str(), name.data(), name.size() - 1) <= 0) continue;
                  if (std::string(name.data()).find("bor-contract") != std::string::npos) return 1;
              }
              return 0;
          }) == 0);
}

TEST_CASE("code outlives its machine") {
    std::unique_ptr<chain::vm::Machine::Code> code;
    {
        ContractMachine machine;
        code = machine.publish(returns(7));
    }
    REQUIRE(code);
    CHECK(call(*code) == 7);
}

TEST_CASE("linear memory ends where it was granted to, and the reservation is 8 GiB and 64 KiB") {
    ContractMachine machine;
    const auto* const room = machine.room(kBelow, kStack);
    REQUIRE(room != nullptr);
    REQUIRE(machine.room(kBelow, kStack) == room);
    REQUIRE(machine.room(8, 1) == room);
    std::byte* const memory = room->memory;
    CHECK(reinterpret_cast<std::uintptr_t>(memory) % 65'536 == 0);

    CHECK(faults(memory));
    CHECK(machine.grant(0));
    CHECK(faults(memory));
    CHECK(machine.grant(65'536));
    CHECK_FALSE(faults(memory));
    CHECK_FALSE(faults(memory + 65'535));
    CHECK(faults(memory + 65'536));
    CHECK(access_at(memory + 65'536) == "---p");
    CHECK(access_at(memory + kReserved - 1) == "---p");
    CHECK(faults(memory + kReserved - 1));

    memory[65'535] = std::byte{7};
    CHECK(machine.grant(528ULL * 65'536));
    CHECK(machine.grant(1));  // Never fewer.
    CHECK(memory[65'535] == std::byte{7});
    CHECK(memory[65'536] == std::byte{0});
    CHECK_FALSE(faults(memory + 528ULL * 65'536 - 1));
    CHECK(faults(memory + 528ULL * 65'536));
}

TEST_CASE("what lies below the memory is there, zero and guarded") {
    ContractMachine machine;
    const auto* const room = machine.room(kBelow, kStack);
    REQUIRE(room != nullptr);
    for (std::size_t offset = 1; offset <= kBelow; ++offset) {
        REQUIRE(*(room->memory - offset) == std::byte{0});
    }
    CHECK_FALSE(faults(room->memory - kBelow));
    CHECK(faults(room->memory - 12'288 - 1));
    CHECK(access_at(room->memory - 12'288 - 1) == "---p");
}

TEST_CASE("the stack has a guard page under it and one above") {
    ContractMachine machine;
    const auto* const room = machine.room(kBelow, kStack);
    REQUIRE(room != nullptr);
    std::byte* const end = room->stack_end;
    CHECK(reinterpret_cast<std::uintptr_t>(end) % 4096 == 0);
    CHECK_FALSE(faults(end - 1));
    CHECK_FALSE(faults(end - kStack));
    constexpr std::size_t kPages = (kStack + 4095) / 4096 * 4096;
    // A guard of its own, not what happens to lie there.
    CHECK(mapping_at(end).end == reinterpret_cast<std::uintptr_t>(end) + 4096);
    for (std::byte* const guard : {end, end + 4095, end - kPages - 1, end - kPages - 4096}) {
        CHECK(faults(guard));
        CHECK(access_at(guard) == "---p");
    }
}

TEST_CASE("everything is unmapped with the machine") {
    std::byte* memory = nullptr;
    std::byte* stack = nullptr;
    {
        ContractMachine machine;
        const auto* const room = machine.room(kBelow, kStack);
        REQUIRE(room != nullptr);
        REQUIRE(machine.grant(65'536));
        memory = room->memory;
        stack = room->stack_end - 1;
    }
    CHECK(access_at(memory).empty());
    CHECK(access_at(memory + (1ULL << 32U)).empty());
    CHECK(access_at(stack).empty());
}

TEST_CASE("another thread stops a run, and the stop stays until it is cleared") {
    ContractMachine machine;
    const auto* const room = machine.room(kBelow, kStack);
    REQUIRE(room != nullptr);
    const auto* const word = reinterpret_cast<const std::int64_t*>(room->memory - 8);
    CHECK_FALSE(machine.is_stopped());
    REQUIRE(*word == 0);
    // again: cmp qword [rdi - 8], 0; je again; ret
    base::Bytes loop;
    for (const int each : {0x48, 0x83, 0x7F, 0xF8, 0x00, 0x74, 0xF9, 0xC3}) {
        loop.push_back(static_cast<std::byte>(each));
    }
    const auto code = machine.publish(loop);
    REQUIRE(code != nullptr);
    std::thread timer([&machine] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        machine.stop();
    });
    as_function<void(std::byte*)> (*code)(room->memory);
    timer.join();
    CHECK(machine.is_stopped());
    CHECK(*word == chain::vm::Machine::kStopLimit);
    as_function<void(std::byte*)> (*code)(room->memory);  // The next one too.
    machine.clear_stop();
    CHECK_FALSE(machine.is_stopped());
    CHECK(*word == 0);
}

TEST_CASE("a stop before there is a room holds in it") {
    ContractMachine machine;
    bool cleared = false;
    SECTION("stopped") {}
    SECTION("stopped and cleared") {
        cleared = true;
    }
    machine.stop();
    if (cleared) machine.clear_stop();
    CHECK(machine.is_stopped() == !cleared);
    const auto* const room = machine.room(kBelow, kStack);
    REQUIRE(room != nullptr);
    const auto* const word = reinterpret_cast<const std::int64_t*>(room->memory - 8);
    CHECK(*word == (cleared ? 0 : chain::vm::Machine::kStopLimit));
}

TEST_CASE("a stop while the room is made is not lost") {
    for (int round = 0; round < 200; ++round) {
        ContractMachine machine;
        std::thread timer([&machine] { machine.stop(); });
        const auto* const room = machine.room(kBelow, kStack);
        timer.join();
        REQUIRE(room != nullptr);
        const auto* const word = reinterpret_cast<const std::int64_t*>(room->memory - 8);
        REQUIRE(*word == chain::vm::Machine::kStopLimit);
    }
}

TEST_CASE("without address space there is no room, and a reason; with it again there is one") {
    CHECK(in_child([] {
              ContractMachine machine;
              rlimit limit{};
              if (::getrlimit(RLIMIT_AS, &limit) != 0) return 1;
              const rlimit small{1ULL << 32U, limit.rlim_max};
              if (::setrlimit(RLIMIT_AS, &small) != 0) return 2;
              if (machine.room(kBelow, kStack) != nullptr) return 3;
              if (machine.reason() != "no address space for contracts: Cannot allocate memory") {
                  return 4;
              }
              machine.stop();
              if (::setrlimit(RLIMIT_AS, &limit) != 0) return 5;
              const auto* const room = machine.room(kBelow, kStack);
              if (room == nullptr) return 6;
              return *(room->memory - 1) == std::byte{0x7F} ? 0 : 7;
          }) == 0);
}

TEST_CASE("a room that fails half way is given back") {
    CHECK(in_child([] {
              ContractMachine machine;
              constexpr std::size_t kTerabytes = 1ULL << 42U;
              const rlimit limit{address_bytes() + (1ULL << 40U), RLIM_INFINITY};
              if (::setrlimit(RLIMIT_AS, &limit) != 0) return 1;
              if (machine.room(kBelow, kTerabytes) != nullptr) return 2;
              return machine.room(kBelow, kStack) != nullptr ? 0 : 3;
          }) == 0);
}

TEST_CASE("code is published where a process may never make memory executable") {
    constexpr int kSetMdwe = 65;   // PR_SET_MDWE, since Linux 6.3.
    constexpr int kSkipped = 100;  // The kernel does not know it.
    const int result = in_child([] {
        if (::prctl(kSetMdwe, 1, 0, 0, 0) != 0) return kSkipped;
        void* const page =
            ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (page == MAP_FAILED) return 1;
        if (::mprotect(page, 4096, PROT_READ | PROT_EXEC) == 0) return 2;
        ContractMachine machine;
        const auto code = machine.publish(returns(42));
        if (code == nullptr) return 3;
        if (machine.room(kBelow, kStack) == nullptr || !machine.grant(65'536)) return 4;
        return call(*code);
    });
    if (result == kSkipped) {
        WARN("no PR_SET_MDWE in this kernel");
    } else {
        CHECK(result == 42);
    }
}

TEST_CASE("without a file more there is no code, and a reason") {
    CHECK(in_child([] {
              ContractMachine machine;
              const rlimit none{3, 3};
              if (::setrlimit(RLIMIT_NOFILE, &none) != 0) return 1;
              if (machine.publish(returns(1)) != nullptr) return 2;
              return machine.reason() == "no file in memory: Too many open files" ? 0 : 3;
          }) == 0);
}

TEST_CASE("what a processor lacks is named") {
    CHECK(node::unsupported_processor().empty());  // This test runs on one that is new enough.
    CHECK(node::missing_features({}) == "SSE3, SSSE3, CX16, SSE4.1, SSE4.2, POPCNT, LAHF");
    constexpr std::uint32_t kAll = 1U | 1U << 9U | 1U << 13U | 1U << 19U | 1U << 20U | 1U << 23U;
    CHECK(node::missing_features({.basic_ecx = kAll, .extended_ecx = 1}).empty());
    CHECK(node::missing_features({.basic_ecx = kAll & ~(1U << 19U), .extended_ecx = 1}) ==
          "SSE4.1");
    CHECK(node::missing_features({.basic_ecx = kAll & ~(1U << 23U)}) == "POPCNT, LAHF");
}
