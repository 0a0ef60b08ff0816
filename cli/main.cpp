// bor-cli: everything a person does with BoR from a shell.
#include "cli/command.hpp"

#include <csignal>

int main(int argc, char** argv) {
    // A reader that went away (| head) ends the output, not the program with a signal.
    std::signal(SIGPIPE, SIG_IGN);
    return cli::run({argv + 1, argv + argc});
}
