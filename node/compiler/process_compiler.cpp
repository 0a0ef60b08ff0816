#include "node/compiler/process_compiler.hpp"

#include "base/crypto/hash.hpp"
#include "node/compiler/child.hpp"
#include "node/compiler/loaded_code.hpp"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <system_error>
#include <thread>
#include <unistd.h>

namespace node {

namespace {

namespace fs = std::filesystem;
namespace vm = chain::vm;

constexpr std::size_t kQueueMax = 256;
constexpr std::size_t kFailedMax = 10'000;  // Remembered, so as not to try again.
constexpr std::size_t kFilesMax = 4'000;    // Kept on disk from one start to the next.
constexpr std::chrono::seconds kQuickLimit{10};
constexpr std::chrono::seconds kOptimisedLimit{180};

// (module (func (export "apply") (param i64 i64 i64)) ...) as the rewriter would give it, with
// the three counters; apply adds its arguments up in "fuel".
constexpr auto kProbe = std::to_array<std::uint8_t>(
    {0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00, 0x01, 0x07, 0x01, 0x60, 0x03, 0x7e, 0x7e,
     0x7e, 0x00, 0x03, 0x02, 0x01, 0x00, 0x06, 0x10, 0x03, 0x7e, 0x01, 0x42, 0x00, 0x0b, 0x7e,
     0x01, 0x42, 0x00, 0x0b, 0x7f, 0x01, 0x41, 0x00, 0x0b, 0x07, 0x1f, 0x04, 0x05, 0x61, 0x70,
     0x70, 0x6c, 0x79, 0x00, 0x00, 0x04, 0x66, 0x75, 0x65, 0x6c, 0x03, 0x00, 0x05, 0x73, 0x74,
     0x61, 0x63, 0x6b, 0x03, 0x01, 0x04, 0x74, 0x72, 0x61, 0x70, 0x03, 0x02, 0x0a, 0x0e, 0x01,
     0x0c, 0x00, 0x20, 0x00, 0x20, 0x01, 0x7c, 0x20, 0x02, 0x7c, 0x24, 0x00, 0x0b});

std::string_view name_of(vm::Tier tier) {
    return tier == vm::Tier::quick ? "quick" : "optimised";
}

bool write_file(const fs::path& path, base::ByteView bytes) {
    std::ofstream out(path, std::ios::binary | std::ios::trunc);
    out.write(reinterpret_cast<const char*>(bytes.data()),
              static_cast<std::streamsize>(bytes.size()));
    return static_cast<bool>(out.flush());
}

fs::path default_helper() {
    std::error_code failed;
    const fs::path self = fs::read_symlink("/proc/self/exe", failed);
    return self.parent_path() / "bor-wasm-compile";
}

}  // namespace

class ProcessCompiler::State {
  public:
    State(const Options& options, const base::Log& log) : options_(options), log_(log) {
        if (options_.helper.empty()) options_.helper = default_helper();
        std::error_code failed;
        fs::create_directories(options_.directory, failed);
        fs::permissions(options_.directory, fs::perms::owner_all, failed);
        remove_leftovers();
        probe();
        if (has_quick_ || has_optimised_) {
            worker_ = std::thread([this] { work(); });
        }
    }

    ~State() {
        {
            const std::lock_guard lock(mutex_);
            stopping_ = true;
        }
        wake_.notify_all();
        if (worker_.joinable()) worker_.join();
    }

    void request(const base::Hash256& key, base::ByteView module);
    std::unique_ptr<vm::NativeCode> load(const base::Hash256& key, vm::Tier than);
    void wait_idle();

    bool has_optimised_ = false;
    std::string reason_;
    std::atomic<std::uint64_t> generation_{0};

  private:
    struct Job {
        base::Hash256 key;
        base::Bytes module;
    };

    [[nodiscard]] fs::path path_of(const base::Hash256& key, vm::Tier tier) const {
        return options_.directory /
               fmt::format(
                   "{}-{}-{}.so", base::to_hex(key.bytes), vm::kNativeVersion, name_of(tier));
    }
    std::string fresh_name(std::string_view kind) {
        return (options_.directory / fmt::format("tmp-{}-{}-{}", getpid(), ++names_, kind))
            .string();
    }
    void remove_leftovers() const;
    void probe();
    std::string try_out(vm::Tier tier);
    std::string compile(const Job& job, vm::Tier tier);
    void work();
    void finish(const Job& job, vm::Tier tier);

    Options options_;
    base::Log log_;
    std::atomic<std::uint64_t> names_{0};
    std::atomic<bool> stopping_{false};
    bool has_quick_ = false;
    std::mutex mutex_;  // Guards what follows.
    std::condition_variable wake_;
    std::condition_variable idle_;
    std::deque<Job> quick_;
    std::deque<Job> optimised_;
    std::set<base::Hash256> known_;  // Requested and not done, or failed.
    bool busy_ = false;
    std::thread worker_;
};

// Temporary files of a process that was killed, and objects beyond the bound, oldest first.
void ProcessCompiler::State::remove_leftovers() const {
    std::error_code failed;
    std::multimap<fs::file_time_type, fs::path> objects;
    for (const fs::directory_entry& entry : fs::directory_iterator(options_.directory, failed)) {
        const std::string name = entry.path().filename().string();
        std::error_code ignored;
        if (name.starts_with("tmp-") || name.starts_with("cc")) {
            fs::remove(entry.path(), ignored);
        } else if (name.ends_with(".so")) {
            objects.emplace(entry.last_write_time(ignored), entry.path());
        }
    }
    for (auto it = objects.begin(); objects.size() > kFilesMax; it = objects.erase(it)) {
        fs::remove(it->second, failed);
    }
}

void ProcessCompiler::State::probe() {
    const std::string slow = try_out(vm::Tier::optimised);
    has_optimised_ = slow.empty();
    reason_ = slow;
    if (!has_optimised_) log_.warn("contracts cannot be compiled: {}", slow);
    const std::string fast = try_out(vm::Tier::quick);
    has_quick_ = fast.empty();
    if (!has_quick_) log_.info("contracts are not compiled by tcc first: {}", fast);
}

// Compiles the probe, runs it, and looks at what it did. Returns the reason of a failure.
std::string ProcessCompiler::State::try_out(vm::Tier tier) {
    const auto* bytes = reinterpret_cast<const std::byte*>(kProbe.data());
    Job job{{}, {bytes, bytes + kProbe.size()}};
    job.key = base::crypto::sha256(job.module);
    std::error_code ignored;
    fs::remove(path_of(job.key, tier), ignored);
    std::string failure = compile(job, tier);
    if (!failure.empty()) return failure;
    const auto code = load_code(path_of(job.key, tier).string(), fresh_name("load.so"), tier);
    if (!code) return code.error().detail;
    const vm::NativeHost host{};
    (*code)->reset(host, 0);
    const vm::Trap trap = (*code)->apply({.receiver = 1, .code = 20, .action = 300});
    return trap == vm::Trap::none && (*code)->fuel() == 321 ? "" : "compiled code computes wrongly";
}

// Leaves the object in its place, whole or not at all. Returns the reason of a failure.
std::string ProcessCompiler::State::compile(const Job& job, vm::Tier tier) {
    const bool quick = tier == vm::Tier::quick;
    const std::string wasm = fresh_name("module.wasm");
    const std::string result = fresh_name("result.so");
    if (!write_file(wasm, job.module)) return wasm + " cannot be written";
    const ChildEnd end = run_child({options_.helper.string(),
                                    std::string(name_of(tier)),
                                    (quick ? options_.quick : options_.optimised).string(),
                                    wasm,
                                    result},
                                   options_.directory.string(),
                                   fresh_name("log"),
                                   quick ? kQuickLimit : kOptimisedLimit,
                                   stopping_);
    std::error_code failed;
    fs::remove(wasm, failed);
    fs::remove(result + ".c", failed);
    if (end.ok) {
        fs::rename(result, path_of(job.key, tier), failed);
        if (!failed) return {};
    }
    const std::string why = end.ok ? failed.message() : end.text;
    fs::remove(result, failed);
    return why.empty() ? "the compiler failed without a word" : why;
}

void ProcessCompiler::State::request(const base::Hash256& key, base::ByteView module) {
    if (!worker_.joinable()) return;
    std::error_code ignored;
    const bool has_best = fs::exists(path_of(key, vm::Tier::optimised), ignored) || !has_optimised_;
    const bool has_fast = fs::exists(path_of(key, vm::Tier::quick), ignored) || !has_quick_;
    if (has_best && (has_fast || has_optimised_)) return;
    {
        const std::lock_guard lock(mutex_);
        if (known_.contains(key) || quick_.size() + optimised_.size() >= kQueueMax) return;
        if (known_.size() >= kFailedMax) return;
        known_.insert(key);
        (has_fast ? optimised_ : quick_).push_back({key, base::to_bytes(module)});
    }
    wake_.notify_one();
}

void ProcessCompiler::State::work() {
    std::unique_lock lock(mutex_);
    while (!stopping_) {
        if (quick_.empty() && optimised_.empty()) {
            idle_.notify_all();
            wake_.wait(lock);
            continue;
        }
        const vm::Tier tier = quick_.empty() ? vm::Tier::optimised : vm::Tier::quick;
        std::deque<Job>& queue = quick_.empty() ? optimised_ : quick_;
        Job job = std::move(queue.front());
        queue.pop_front();
        busy_ = true;
        lock.unlock();
        finish(job, tier);
        lock.lock();
        busy_ = false;
        if (tier == vm::Tier::quick && has_optimised_) optimised_.push_back(std::move(job));
    }
}

void ProcessCompiler::State::finish(const Job& job, vm::Tier tier) {
    const std::string failure = compile(job, tier);
    if (failure.empty()) {
        generation_.fetch_add(1);
        if (tier == vm::Tier::optimised) {
            std::error_code ignored;
            fs::remove(path_of(job.key, vm::Tier::quick), ignored);
            const std::lock_guard lock(mutex_);
            known_.erase(job.key);
        }
        return;
    }
    log_.warn("contract code {} is not compiled ({}): {}",
              base::to_hex(job.key.bytes),
              name_of(tier),
              failure);
}

std::unique_ptr<vm::NativeCode> ProcessCompiler::State::load(const base::Hash256& key,
                                                             vm::Tier than) {
    for (const vm::Tier tier : {vm::Tier::optimised, vm::Tier::quick}) {
        if (tier <= than) break;
        const fs::path path = path_of(key, tier);
        std::error_code failed;
        if (!fs::exists(path, failed)) continue;
        auto code = load_code(path.string(), fresh_name("load.so"), tier);
        if (code) return std::move(*code);
        log_.warn("compiled code is thrown away: {}", code.error().detail);
        fs::remove(path, failed);
    }
    return nullptr;
}

void ProcessCompiler::State::wait_idle() {
    std::unique_lock lock(mutex_);
    if (!worker_.joinable()) return;
    idle_.wait(lock, [this] { return quick_.empty() && optimised_.empty() && !busy_; });
}

ProcessCompiler::ProcessCompiler(const Options& options, const base::Log& log)
    : state_(std::make_unique<State>(options, log)) {}

ProcessCompiler::~ProcessCompiler() = default;

bool ProcessCompiler::available() const {
    return state_->has_optimised_;
}

std::string ProcessCompiler::reason() const {
    return state_->reason_;
}

void ProcessCompiler::request(const base::Hash256& key, base::ByteView module) {
    state_->request(key, module);
}

std::uint64_t ProcessCompiler::generation() const {
    return state_->generation_.load();
}

std::unique_ptr<vm::NativeCode> ProcessCompiler::load(const base::Hash256& key, vm::Tier than) {
    return state_->load(key, than);
}

void ProcessCompiler::wait_idle() {
    state_->wait_idle();
}

}  // namespace node
