#include "node/machine/machine.hpp"

#include "base/check.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <fcntl.h>
#include <string>
#include <system_error>
#include <unistd.h>

namespace node {

namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kWasmPage = 64UL * 1024;
// Any 32-bit address plus any 32-bit offset, and an access at its end.
constexpr std::size_t kMemoryBytes = (8UL << 30U) + kWasmPage;

// Since Linux 6.3: the file can never be started as a program. Pages of it can be mapped as
// executable all the same, also where vm.memfd_noexec is 2. Debian 12's headers lack the name.
constexpr unsigned kNoExecSeal = 0x0008U;

template <typename Number>
constexpr Number round_up(Number value, Number unit) {
    return (value + unit - 1) / unit * unit;
}

// Closes a file at the end of a scope.
class Descriptor : base::Pinned {
  public:
    explicit Descriptor(int value) : value_(value) {}
    ~Descriptor() {
        const int reason = errno;
        if (value_ >= 0) ::close(value_);
        errno = reason;  // Of what failed before.
    }
    [[nodiscard]] int get() const { return value_; }

  private:
    int value_;
};

int make_file() {
    constexpr unsigned kFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    const int file = ::memfd_create("bor-contract", kFlags | kNoExecSeal);
    if (file >= 0 || errno != EINVAL) return file;
    return ::memfd_create("bor-contract", kFlags);  // An older kernel.
}

bool write_all(int file, base::ByteView bytes) {
    while (!bytes.empty()) {
        const ::ssize_t written = ::write(file, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return false;
        bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
    return true;
}

}  // namespace

// The pages of one file in memory, which nobody can write to any more.
class ContractMachine::MappedCode final : public Code {
  public:
    MappedCode(std::byte* begin, std::size_t bytes) : begin_(begin), bytes_(bytes) {}
    ~MappedCode() override { CHECK(::munmap(begin_, bytes_) == 0); }
    [[nodiscard]] const std::byte* begin() const override { return begin_; }

  private:
    std::byte* begin_;
    std::size_t bytes_;
};

ContractMachine::Reservation::~Reservation() {
    release();
}

bool ContractMachine::Reservation::reserve(std::size_t bytes) {
    CHECK(begin_ == nullptr);
    void* const made =
        ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made == MAP_FAILED) return false;
    begin_ = static_cast<std::byte*>(made);
    bytes_ = bytes;
    return true;
}

void ContractMachine::Reservation::release() {
    if (begin_ != nullptr) CHECK(::munmap(begin_, bytes_) == 0);
    begin_ = nullptr;
}

std::unique_ptr<chain::vm::Machine::Code> ContractMachine::publish(base::ByteView code) {
    CHECK(!code.empty());
    const Descriptor file(make_file());
    if (file.get() < 0) {
        remember("file in memory");
        return nullptr;
    }
    // Written through the file and not through a second mapping: then there is no address at
    // all at which the code can be changed, and the seals say that there will be none.
    // FUTURE_WRITE and not WRITE, with which kernels before 6.7 refuse every shared mapping.
    constexpr int kSeals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE;
    if (!write_all(file.get(), code) || ::fcntl(file.get(), F_ADD_SEALS, kSeals) != 0) {
        remember("memory for code");
        return nullptr;
    }
    const std::size_t bytes = round_up(code.size(), kPage);
    // Shared: with the seal, not even mprotect can make it writable.
    void* const begin = ::mmap(nullptr, bytes, PROT_READ | PROT_EXEC, MAP_SHARED, file.get(), 0);
    if (begin == MAP_FAILED) {
        remember("executable memory");
        return nullptr;
    }
    return std::make_unique<MappedCode>(static_cast<std::byte*>(begin), bytes);
}

const chain::vm::Machine::Room* ContractMachine::room(std::size_t below, std::size_t stack) {
    if (room_.memory != nullptr) {
        CHECK(below <= below_ && stack <= stack_bytes_);
        return &room_;
    }
    CHECK(below >= sizeof(std::int64_t) && stack > 0);
    Room made;
    if (!reserve_memory(below, made) || !reserve_stack(stack, made)) {
        remember("address space for contracts");
        memory_.release();
        stack_.release();
        return nullptr;
    }
    below_ = below;
    stack_bytes_ = stack;
    const std::lock_guard lock(stop_mutex_);
    room_ = made;
    if (stopped_) store_stop(kStopLimit);
    return &room_;
}

bool ContractMachine::reserve_memory(std::size_t below, Room& made) {
    // One page without access lies under what is below, and what aligning leaves.
    const std::size_t under = round_up(below, kPage);
    const std::size_t bytes = kPage + under + kWasmPage + kMemoryBytes;
    if (!memory_.reserve(bytes)) return false;
    // A core file would have gigabytes of holes. It is as good with them, so this may fail.
    (void)::madvise(memory_.begin(), bytes, MADV_DONTDUMP);
    const auto begin = reinterpret_cast<std::uintptr_t>(memory_.begin());
    made.memory = memory_.begin() + (round_up(begin + kPage + under, kWasmPage) - begin);
    return ::mprotect(made.memory - under, under, PROT_READ | PROT_WRITE) == 0;
}

bool ContractMachine::reserve_stack(std::size_t stack, Room& made) {
    const std::size_t bytes = round_up(stack, kPage);
    if (!stack_.reserve(kPage + bytes + kPage)) return false;
    made.stack_end = stack_.begin() + kPage + bytes;
    return ::mprotect(made.stack_end - bytes, bytes, PROT_READ | PROT_WRITE) == 0;
}

bool ContractMachine::grant(std::uint64_t bytes) {
    CHECK(room_.memory != nullptr && bytes <= kMemoryBytes);
    if (bytes <= granted_) return true;
    const std::uint64_t wanted = round_up<std::uint64_t>(bytes, kPage);
    if (::mprotect(room_.memory + granted_, wanted - granted_, PROT_READ | PROT_WRITE) != 0) {
        remember("memory for contracts");
        return false;
    }
    granted_ = wanted;
    return true;
}

void ContractMachine::stop() {
    const std::lock_guard lock(stop_mutex_);
    stopped_ = true;
    store_stop(kStopLimit);
}

bool ContractMachine::is_stopped() const {
    return stopped_;
}

void ContractMachine::clear_stop() {
    const std::lock_guard lock(stop_mutex_);
    stopped_ = false;
    store_stop(0);
}

// With the lock. The word is read by compiled code, without one.
void ContractMachine::store_stop(std::int64_t value) const {
    if (room_.memory == nullptr) return;
    auto* const word = reinterpret_cast<std::int64_t*>(room_.memory - sizeof(std::int64_t));
    std::atomic_ref(*word).store(value, std::memory_order_release);
}

void ContractMachine::remember(std::string_view what) {
    const int reason = errno;
    reason_ = "no " + std::string(what) + ": " + std::generic_category().message(reason);
}

}  // namespace node
