#include "cli/command.hpp"

#include <fmt/format.h>

#include <set>

namespace cli {

namespace {

std::string options_of(const std::vector<Option>& options) {
    std::string text;
    for (const Option& option : options)
        text += fmt::format(" --{}", option.name);
    return text;
}

// Words that complete the command line so far, found by the words typed before the last one.
base::Result<void> bash(const Session& /*session*/, const Arguments& /*arguments*/) {
    fmt::print("{}",
               "# Bash completion for bor-cli; made by: bor-cli completion bash\n"
               "_bor_cli() {\n"
               "  local last=\"${COMP_WORDS[COMP_CWORD]}\" path='' word words=''\n"
               "  for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
               "    case \"$path $word\" in\n");
    std::set<std::string> paths;
    for (const Command& command : all_commands()) {
        const std::string name(command.name);
        for (std::size_t end = name.find(' '); end != std::string::npos;
             end = name.find(' ', end + 1)) {
            paths.insert(" " + name.substr(0, end));
        }
        paths.insert(" " + name);
    }
    for (const std::string& path : paths)
        fmt::print("      '{}') path='{}' ;;\n", path, path);
    fmt::print("    esac\n  done\n  case \"$path\" in\n");
    std::set<std::string> groups{""};
    for (const std::string& path : paths) {
        if (const std::size_t end = path.rfind(' '); end != 0) groups.insert(path.substr(0, end));
    }
    for (const std::string& group : groups) {
        std::string next;
        for (const std::string& path : paths) {
            if (!path.starts_with(group + " ")) continue;
            const std::string rest = path.substr(group.size() + 1);
            if (rest.find(' ') == std::string::npos) next += " " + rest;
        }
        fmt::print("    '{}') words='{}' ;;\n", group, next.empty() ? next : next.substr(1));
    }
    for (const Command& command : all_commands()) {
        fmt::print(
            "    ' {}') words=\"$words{} --help\" ;;\n", command.name, options_of(command.options));
    }
    fmt::print("  esac\n  [[ -z $path ]] && words=\"$words{} --help\"\n",
               options_of(global_options()));
    fmt::print("{}",
               "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$last\")\n"
               "  if [[ ${#COMPREPLY[@]} -eq 0 ]]; then\n"
               "    mapfile -t COMPREPLY < <(compgen -f -- \"$last\")\n"
               "  fi\n"
               "}\n"
               "complete -F _bor_cli bor-cli\n");
    return {};
}

}  // namespace

void add_completion_commands(std::vector<Command>& commands) {
    commands.push_back({"completion bash",
                        "Print a script for bash; load it with: source <(bor-cli completion bash)",
                        {},
                        {},
                        bash});
}

}  // namespace cli
