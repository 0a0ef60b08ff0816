// bor-node: one node of a BoR network.
#include "base/crypto/secret.hpp"
#include "node/machine/processor.hpp"
#include "node/node.hpp"
#include "node/service_manager.hpp"
#include "node/verify_chain.hpp"

#include <sys/prctl.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <exception>
#include <iostream>
#include <memory>
#include <optional>
#include <pthread.h>
#include <string>
#include <vector>

namespace {

int complain(const base::Error& error) {
    std::cerr << "bor-node: " << error.detail << '\n';
    return EXIT_FAILURE;
}

// The signals that end the node, SIGHUP, and SIGUSR1 of the node itself; blocked in all threads and
// waited for here.
sigset_t handled_signals() {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
    sigaddset(&signals, SIGUSR1);
    return signals;
}

// Before anybody waits for signals.
bool is_told_to_end() {
    sigset_t pending;
    if (sigpending(&pending) != 0) return false;
    return sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1;
}

sigset_t block_signals() {
    const sigset_t signals = handled_signals();
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    std::signal(SIGPIPE, SIG_IGN);  // A client that went away is an error of its socket.
    return signals;
}

// A shell allows 1,024 open files; the database, peers, clients and a broker's logs may need more.
void raise_file_limit() {
    constexpr rlim_t kFiles = 65'536;  // As the unit of the package has it.
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= kFiles) return;
    limit.rlim_cur = std::min(limit.rlim_max, kFiles);
    (void)::setrlimit(RLIMIT_NOFILE, &limit);
}

// Keys are in it: they have memory of their own, there is no core file, and no other process of
// this user can read it (spec 10). False: keys may be swapped out.
bool keep_memory_private() {
    // For the keys of 20,000 sessions of TLS, as many as the broker takes (ListenerOptions).
    constexpr std::size_t kSecretBytes = std::size_t{4} << 20;
    const rlimit none{0, 0};
    (void)::setrlimit(RLIMIT_CORE, &none);
    (void)::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    return base::crypto::make_secret_area(kSecretBytes);
}

// Until a signal ends it. Nothing: the node goes on, opened anew with another state.
std::optional<int> serve_once(const node::Options& options,
                              node::Logging& log,
                              const sigset_t& signals) {
    const base::Log main_log(log, "main");
    auto opened = node::Node::open(options, log, is_told_to_end);
    if (!opened && is_told_to_end()) {
        main_log.info("stopped while it opened: {}", opened.error().detail);
        return EXIT_SUCCESS;
    }
    if (!opened) return complain(opened.error());
    const std::unique_ptr<node::Node> node = std::move(*opened);
    if (auto started = node->start(); !started) return complain(started.error());
    for (const std::string& address : node->addresses()) {
        main_log.info("serving address={}", address);
    }
    node::tell_service_manager("READY=1");
    int signal = SIGHUP;
    while (signal == SIGHUP || (signal == SIGUSR1 && !node->has_new_state())) {
        sigwait(&signals, &signal);
        if (signal == SIGHUP) node->reload();
    }
    if (signal == SIGUSR1) {
        node->stop();
        auto taken = node->take_new_state();
        if (!taken) main_log.error("the old state stays: {}", taken.error().detail);
        return std::nullopt;
    }
    main_log.info("stopping signal={}", signal);
    node::tell_service_manager("STOPPING=1");
    node->stop();
    main_log.info("stopped");
    return EXIT_SUCCESS;
}

int serve(node::Options options, node::Logging& log) {
    const sigset_t signals = block_signals();
    while (true) {
        const std::optional<int> code = serve_once(options, log, signals);
        if (code) return *code;
        options.snapshot.clear();        // The state is above genesis.
        options.accept_amnesia = false;  // The operator's word was of the first start.
    }
}

int run(const std::vector<std::string>& arguments) {
    auto command = node::read_options(arguments);
    if (!command) return complain(command.error());
    if (!command->text.empty()) {
        std::cout << command->text;
        return EXIT_SUCCESS;
    }
    const std::string lacking = node::unsupported_processor();
    if (!lacking.empty()) {
        return complain(
            {base::Errc::unavailable,
             "this processor lacks " + lacking + "; contracts need x86-64-v2 (SSE4.2 and POPCNT)"});
    }
    const bool is_locked = keep_memory_private();
    raise_file_limit();
    const node::Options& options = command->options;
    auto log = node::Logging::open({options.log_file, options.log_level, options.log_json});
    if (!log) return complain(log.error());
    if (!is_locked) {
        base::Log(**log, "main")
            .warn("keys may be swapped out: raise the limit on locked memory (ulimit -l) to 8192");
    }
    if (options.verify_chain) {
        auto verified = node::verify_chain(options, base::Log(**log, "verify"));
        if (!verified) return complain(verified.error());
        std::cout << *verified << '\n';
        return EXIT_SUCCESS;
    }
    return serve(options, **log);
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run({argv + 1, argv + argc});
    } catch (const std::exception& error) {
        std::cerr << "bor-node: " << error.what() << '\n';
        return EXIT_FAILURE;
    }
}
