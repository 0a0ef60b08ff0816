#include "cli/recoveries.hpp"

#include "node/snapshots/recovery_file.hpp"

#include <fmt/format.h>

namespace cli {

std::vector<Option> recovery_options() {
    return {
        {"recover-from",
         0,
         "ID",
         "of a recovery that the chain went through; several are possible"},
        {"recovery", 0, "FILE", "of one of these that set the time back; several are possible"}};
}

base::Result<Recoveries> recoveries_of(const Arguments& arguments) {
    Recoveries recoveries;
    for (const std::string& text : arguments.all("recover-from")) {
        const auto id = node::recovery_id_from(text);
        if (!id) return base::fail(id.error());
        recoveries.ids.push_back(*id);
    }
    for (const std::string& file : arguments.all("recovery"))
        recoveries.files.emplace_back(file);
    if (recoveries.files.empty() || !recoveries.ids.empty()) return recoveries;
    return base::fail(
        base::Errc::invalid,
        fmt::format("--recovery {} needs --recover-from ID, by which you confirm it: the id "
                    "that 'bor-cli recover check' prints",
                    recoveries.files.front().string()));
}

}  // namespace cli
