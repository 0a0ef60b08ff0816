// What tenants may use of each broker (spec 08, "Who is who"), from a shell.
#include "cli/bps_contract.hpp"
#include "cli/output.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace cli {

using base::Errc;
using base::fail;

namespace {

struct Bound {
    const char* option;
    const char* field;  // Of the row.
    const char* help;
};

constexpr std::array<Bound, 6> kBounds = {
    {{"bytes-in", "bytes_in", "that clients send a broker in a second"},
     {"bytes-out", "bytes_out", "that a broker sends them in a second"},
     {"connections", "connections", "of clients to a broker"},
     {"partitions", "partitions", "of all topics"},
     {"groups", "groups", "of consumers at a broker"},
     {"stored-bytes", "stored_bytes", "of the records of all topics on a broker"}}};

// Every tenant without a quota of its own; no name of an account.
constexpr std::string_view kOthers = "all-others";

std::string account_of(const Arguments& arguments) {
    const std::string account = arguments.at("account");
    return account == kOthers ? "" : account;
}

base::Result<void> quotas(const Session& session, const Arguments& arguments) {
    const auto rows = bps_rows(session, arguments, "quotas");
    if (!rows) return fail(rows.error());
    if (session.json) return print_json(*rows);
    std::string line = fmt::format("{:<13}", "account");
    for (const Bound& bound : kBounds)
        line += fmt::format(" {:>14}", bound.option);
    fmt::print("{}\n", line);
    for (const Json& row : *rows) {
        const std::string account = text_of(row, "account");
        line = fmt::format("{:<13}", account.empty() ? kOthers : std::string_view(account));
        for (const Bound& bound : kBounds) {
            const std::string value = shown(row, bound.field);
            line += fmt::format(" {:>14}", value == "-1" ? "-" : value);
        }
        fmt::print("{}\n", line);
    }
    return {};
}

base::Result<void> set_quota(const Session& session, const Arguments& arguments) {
    Json quota = {{"account", account_of(arguments)}};
    bool is_any = false;
    for (const Bound& bound : kBounds) {
        quota[bound.field] = -1;
        if (!arguments.has(bound.option)) continue;
        is_any = true;
        const auto number = whole_number(fmt::format("a bound for --{}", bound.option),
                                         arguments.get(bound.option),
                                         0,
                                         std::numeric_limits<std::int64_t>::max());
        if (!number) return fail(number.error());
        quota[bound.field] = *number;
    }
    if (!is_any) {
        return fail(Errc::invalid,
                    "a quota without a bound bounds nothing: name one, as --bytes-in 1000000, or "
                    "take the quota back with 'bor-cli bps quota remove'");
    }
    return send_bps(session, arguments, "setquota", bps_contract(arguments), quota);
}

base::Result<void> remove_quota(const Session& session, const Arguments& arguments) {
    return send_bps(session,
                    arguments,
                    "delquota",
                    bps_contract(arguments),
                    {{"account", account_of(arguments)}});
}

}  // namespace

void add_bps_quota_commands(std::vector<Command>& commands) {
    const Positional account{"account",
                             "the tenant; 'all-others': those without a quota of their own"};
    std::vector<Option> bounds;
    bounds.reserve(kBounds.size());
    for (const Bound& bound : kBounds)
        bounds.push_back({bound.option, 0, "COUNT", bound.help});
    commands.push_back({"bps quotas",
                        "Show what tenants may use; -: without bound",
                        {},
                        {bps_contract_option()},
                        quotas});
    commands.push_back({"bps quota set",
                        "Bound what a tenant may use, in place of what was bounded before; by the "
                        "contract's account",
                        {account},
                        with_bps_options(bounds),
                        set_quota});
    commands.push_back({"bps quota remove",
                        "Take a tenant's quota back; by the contract's account",
                        {account},
                        with_bps_options({}),
                        remove_quota});
}

}  // namespace cli
