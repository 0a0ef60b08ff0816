#pragma once

#include "base/result.hpp"

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace cli {

// A program of ours: beside bor-cli itself, so that a build never runs an installed one.
[[nodiscard]] std::filesystem::path program_path(const std::string& name);

// Starts a program in a session of its own, detached, with its output appended to `log`.
// unavailable: it cannot be started; says why.
[[nodiscard]] base::Result<pid_t> start_detached(const std::vector<std::string>& words,
                                                 const std::filesystem::path& log);

// Whether a process runs whose command line begins with this program: pids are used again.
[[nodiscard]] bool is_running(pid_t pid, const std::string& program);

// The process of this program that works on this data directory, whoever started it: it holds the
// file `lock` there, or names the directory in its command line. `noted` is looked at first; its
// number may be another's by now. 0: there is none.
[[nodiscard]] pid_t process_on(const std::filesystem::path& data_dir,
                               const std::string& program,
                               pid_t noted);

// SIGTERM, then SIGKILL when it is still there after `patience`. False: it had to be killed.
bool stop_process(pid_t pid, const std::string& program, std::chrono::seconds patience);

// A TCP port of 127.0.0.1 that nobody listens on now; whether this one is so.
[[nodiscard]] base::Result<std::uint16_t> free_port();
[[nodiscard]] bool is_free_port(std::uint16_t port);

}  // namespace cli
