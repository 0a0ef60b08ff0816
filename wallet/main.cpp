// bor-wallet: keeps keys and signs with them, for clients of keosd.
#include "wallet/daemon.hpp"
#include "wallet/secret.hpp"

#include <fmt/format.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <malloc.h>
#include <new>
#include <system_error>
#include <unistd.h>

// Requests and answers with passwords and keys pass through buffers of the HTTP server and the
// JSON library, which do not wipe them. So this program wipes all memory that it gives back.
// NOLINTBEGIN(cppcoreguidelines-no-malloc,cppcoreguidelines-owning-memory)
void* operator new(std::size_t bytes) {
    void* memory = std::malloc(bytes == 0 ? 1 : bytes);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}

void operator delete(void* memory) noexcept {
    if (memory == nullptr) return;
    explicit_bzero(memory, malloc_usable_size(memory));
    std::free(memory);
}

void operator delete(void* memory, std::size_t /*bytes*/) noexcept {
    operator delete(memory);
}
// NOLINTEND(cppcoreguidelines-no-malloc,cppcoreguidelines-owning-memory)

namespace {

// Starts the program anew, in the same process, with all libraries bound at the start. Otherwise
// the loader binds a function when it is first called, and saves the vector registers on the stack
// meanwhile, where the piece of a secret that was last copied through them stays.
void bind_libraries_now(char** argv) {
    constexpr const char* kVariable = "LD_BIND_NOW";
    // The loader takes the variable away from programs with privileges of their own.
    if (getauxval(AT_SECURE) != 0) return;
    const char* set = std::getenv(kVariable);
    if (set != nullptr && *set != '\0') return;
    std::error_code failed;
    const auto program = std::filesystem::read_symlink("/proc/self/exe", failed);
    if (failed || setenv(kVariable, "1", 1) != 0) return;
    // Where this fails, it goes on: the program's own calls are bound by its link options.
    execv(program.c_str(), argv);
}

// Blocks the signals that end the program, for all threads, so that main can wait for them.
sigset_t block_ending_signals() {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    return signals;
}

int run(const wallet::Options& options) {
    wallet::StderrLog sink;
    const base::Log log(sink, "wallet");
    if (!wallet::protect_process()) {
        log.warn("keys may be swapped out: raise the limit on locked memory (ulimit -l) to 8192");
    }
    const sigset_t signals = block_ending_signals();
    wallet::Daemon daemon(options, log, [] { kill(getpid(), SIGTERM); });
    if (const auto started = daemon.start(); !started) {
        fmt::print(stderr, "bor-wallet: {}\n", started.error().detail);
        return EXIT_FAILURE;
    }
    log.info("keeping the wallets in {}", options.wallet_dir);
    int signal = 0;
    sigwait(&signals, &signal);
    log.info("ending");
    return EXIT_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) {
    bind_libraries_now(argv);
    umask(S_IRWXG | S_IRWXO);
    const auto options = wallet::read_options(argc, argv);
    if (!options) {
        fmt::print(stderr, "bor-wallet: {}\n", options.error().detail);
        return EXIT_FAILURE;
    }
    if (!options->text.empty()) {
        fmt::print("{}", options->text);
        return EXIT_SUCCESS;
    }
    return run(*options);
}
