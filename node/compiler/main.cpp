// bor-wasm-compile: turns one rewritten contract into a shared object. The node starts it for
// each module, because WABT's C writer may die and a C compiler may take all the memory there is.
//
//   usage: bor-wasm-compile quick|optimised <compiler> <module.wasm> <result.so>
//
// Writes <result.so>.c beside the result, sets limits, and becomes the compiler.
#include "node/compiler/c_text.hpp"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iterator>
#include <string>
#include <unistd.h>
#include <vector>

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif
#else
constexpr bool kSanitized = false;
#endif

constexpr rlim_t kMemoryBytes = rlim_t{2} << 30U;
constexpr rlim_t kCpuSeconds = 120;
constexpr rlim_t kFileBytes = rlim_t{256} << 20U;

void limit(decltype(RLIMIT_AS) what, rlim_t to) {
    const rlimit both{to, to};
    (void)setrlimit(what, &both);
}

std::vector<std::string> command_of(const std::string& mode,
                                    const std::string& compiler,
                                    const std::string& source,
                                    const std::string& result) {
    if (mode == "quick") return {compiler, "-w", "-shared", "-nostdlib", "-o", result, source};
    // No -march: the code must be the same work on every machine. No contraction of a*b+c.
    return {compiler,
            "-w",
            "-Werror=implicit-function-declaration",
            "-std=gnu11",
            "-O2",
            "-fPIC",
            "-shared",
            "-nostdlib",
            "-fvisibility=hidden",
            "-ffp-contract=off",
            "-fno-strict-aliasing",
            "-fno-math-errno",
            "-o",
            result,
            source};
}

int run(const std::vector<std::string>& args) {
    const std::string& mode = args[1];
    std::ifstream in(args[3], std::ios::binary);
    const std::string wasm{std::istreambuf_iterator<char>(in), {}};
    const base::Result<std::string> text = node::c_text_of(base::as_bytes(wasm));
    if (!text) {
        fmt::print(stderr, "{}\n", text.error().detail);
        return 2;
    }
    const std::string source = args[4] + ".c";
    std::ofstream(source, std::ios::binary) << *text;
    std::vector<std::string> command = command_of(mode, args[2], source, args[4]);
    std::vector<char*> argv;
    argv.reserve(command.size() + 1);
    for (std::string& word : command)
        argv.push_back(word.data());
    argv.push_back(nullptr);
    limit(RLIMIT_AS, kMemoryBytes);
    execv(argv[0], argv.data());
    fmt::print(stderr, "{} cannot be started\n", args[2]);
    return 3;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 5) {
        fmt::print(
            stderr,
            "usage: bor-wasm-compile quick|optimised <compiler> <module.wasm> <result.so>\n");
        return 1;
    }
    try {
        // The work must not outlive the node that wanted it.
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (!kSanitized) limit(RLIMIT_AS, kMemoryBytes);
        limit(RLIMIT_CPU, kCpuSeconds);
        limit(RLIMIT_FSIZE, kFileBytes);
        limit(RLIMIT_CORE, 0);
        return run({argv, argv + argc});
    } catch (const std::exception& error) {
        fmt::print(stderr, "bor-wasm-compile: {}\n", error.what());
        return 4;
    }
}
