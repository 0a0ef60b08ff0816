#include "cli/interrupts.hpp"

#include <sys/signalfd.h>

#include <csignal>
#include <unistd.h>

namespace cli {

namespace {

sigset_t asked_signals() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    return set;
}

}  // namespace

Interrupts::Interrupts() {
    const sigset_t set = asked_signals();
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    descriptor_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

Interrupts::~Interrupts() {
    // One that nobody has read yet would end the program before it says what it did.
    if (!came()) give_back();
    if (descriptor_ >= 0) ::close(descriptor_);
}

void Interrupts::give_back() {
    const sigset_t set = asked_signals();
    pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

bool Interrupts::came() {
    signalfd_siginfo info{};
    if (!came_ && ::read(descriptor_, &info, sizeof(info)) == sizeof(info)) {
        came_ = true;
        give_back();
    }
    return came_;
}

}  // namespace cli
