#include "cli/bps_client.hpp"

#include "cli/bps_token.hpp"
#include "cli/network_broker.hpp"
#include "cli/network_run.hpp"
#include "cli/output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <optional>
#include <utility>

namespace cli {

namespace {

using base::Errc;
using base::fail;

constexpr std::uint64_t kPatienceDefault = 10;  // Seconds.
constexpr std::uint64_t kPatienceMax = 600;
constexpr std::uint32_t kTokenSeconds = 600;  // Of one that is made on the way; renewed in time.

constexpr std::string_view kTls = "SSL";  // Or SASL_SSL.

bool is_loopback(std::string_view host) {
    return host == "localhost" || host == "[::1]" || host == "::1" || host.starts_with("127.");
}

// HOST and PORT of "HOST:PORT", "[ADDRESS]:PORT"; nothing: it is neither.
std::optional<std::string_view> host_of(std::string_view address) {
    const std::size_t colon = address.rfind(':');
    if (colon == std::string_view::npos || colon == 0) return std::nullopt;
    const std::string_view host = address.substr(0, colon);
    if (host.find(':') != std::string_view::npos && !host.starts_with('[')) return std::nullopt;
    std::uint16_t port = 0;
    const char* const end = address.data() + address.size();
    const auto [stop, error] = std::from_chars(address.data() + colon + 1, end, port);
    if (error != std::errc() || stop != end || port == 0) return std::nullopt;
    return host;
}

std::string address_of(const std::string& host, const std::string& port) {
    const bool is_bare = host.find(':') != std::string::npos && !host.starts_with('[');
    return is_bare ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

bool wants_tls(const Arguments& arguments) {
    return std::ranges::any_of(std::array{"tls", "tls-ca", "cert"},
                               [&](std::string_view option) { return arguments.has(option); });
}

base::Result<Bootstrap> find_brokers(const Session& session, const Arguments& arguments) {
    if (arguments.has("broker")) return bootstrap_of(arguments.all("broker"), wants_tls(arguments));
    const auto rows = bps_rows(session, arguments, "brokers");
    if (!rows) {
        return fail(rows.error().code,
                    rows.error().detail + "; --broker HOST:PORT does without the chain");
    }
    return bootstrap_of_rows(*rows, wants_tls(arguments));
}

// Of --tls-ca, else of the network that `network up` made here; empty: the system's.
std::string authority_file(const Session& session, const Arguments& arguments) {
    if (arguments.has("tls-ca")) return arguments.get("tls-ca");
    const std::filesystem::path own = dir_of(session) / kAuthorityFile;
    std::error_code error;
    return std::filesystem::exists(own, error) ? own.string() : "";
}

KafkaToken kafka_token(BpsToken token) {
    const std::string principal = token.principal();
    return {.text = std::move(token.text),
            .principal = principal,
            .expires_ms = std::int64_t{token.terms.claims.expires_at} * 1'000};
}

// Of --as or --token-file; neither: nobody.
base::Result<std::function<base::Result<KafkaToken>()>> login_of(const Session& session,
                                                                 const Arguments& arguments) {
    if (arguments.has("as") && arguments.has("token-file")) {
        return fail(Errc::invalid, "--as makes a token and --token-file has one: give one of them");
    }
    if (arguments.has("token-file")) {
        return [file = arguments.get("token-file")]() -> base::Result<KafkaToken> {
            auto token = read_token(file);
            if (!token) return fail(token.error());
            return kafka_token(*std::move(token));
        };
    }
    if (!arguments.has("as")) return std::function<base::Result<KafkaToken>()>();
    auto wish = token_wish(arguments.get("as"));
    if (!wish) return fail(wish.error());
    wish->seconds = kTokenSeconds;
    return [session, wish = *std::move(wish)]() -> base::Result<KafkaToken> {
        auto token = sign_token(session, wish);
        if (!token) return fail(token.error());
        return kafka_token(*std::move(token));
    };
}

// Who asks, as a grant names it; empty: the broker's bps-anonymous, or a certificate says.
std::string who_asks(const Arguments& arguments) {
    const std::string as = arguments.get("as");
    if (!as.empty()) return as.find('@') == std::string::npos ? as + "@active" : as;
    const auto token = arguments.has("token-file") ? read_token(arguments.get("token-file"))
                                                   : fail(Errc::not_found, "");
    return token ? token->principal() : "";
}

constexpr std::string_view kNobody = "you come without login: --as ACCOUNT@PERMISSION has one";

// A broker answers alike where there is no such topic and where it may not be used; the chain
// tells.
std::string explain_topic(const Session& session,
                          const Arguments& arguments,
                          const AskedOf& asked) {
    const auto row = bps_topic(session, arguments, asked.topic);
    if (!row && row.error().code == Errc::not_found) {
        return fmt::format("{}; 'bor-cli bps topic create' makes one", row.error().detail);
    }
    const std::string owner = row ? text_of(*row, "owner") : "OWNER";
    const std::string who = who_asks(arguments);
    if (who.empty()) {
        return fmt::format(
            "whom the broker takes you for lacks the right '{}' on the topic '{}' of "
            "{}; {}",
            asked.right,
            asked.topic,
            owner,
            kNobody);
    }
    return fmt::format(
        "{} lacks the right '{}' on the topic '{}' of {}, or its token does; {} gives it by: "
        "bor-cli "
        "bps grant {} {} {} {}",
        who,
        asked.right,
        asked.topic,
        owner,
        owner,
        owner,
        asked.topic,
        who,
        asked.right);
}

std::string explain_group(const Arguments& arguments, const AskedOf& asked) {
    const std::string who = who_asks(arguments);
    return fmt::format(
        "the group '{}' is another tenant's{}; that one shares it by: bor-cli bps grant OWNER {} "
        "{} "
        "{} --group",
        asked.group,
        who.empty() ? fmt::format(", and {}", kNobody) : "",
        asked.group,
        who.empty() ? "ACCOUNT@PERMISSION" : who,
        asked.right);
}

// The broker serves nobody, or another one has it.
bool is_for_now(rd_kafka_resp_err_t code) {
    constexpr std::array kCodes = {RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE,
                                   RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION,
                                   RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE,
                                   RD_KAFKA_RESP_ERR_NOT_COORDINATOR};
    return std::ranges::find(kCodes, code) != kCodes.end();
}

bool is_unreachable(rd_kafka_resp_err_t code) {
    constexpr std::array kCodes = {RD_KAFKA_RESP_ERR__TRANSPORT,
                                   RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN,
                                   RD_KAFKA_RESP_ERR__RESOLVE,
                                   RD_KAFKA_RESP_ERR__TIMED_OUT,
                                   RD_KAFKA_RESP_ERR__MSG_TIMED_OUT,
                                   RD_KAFKA_RESP_ERR__WAIT_COORD,
                                   RD_KAFKA_RESP_ERR__SSL};
    return std::ranges::find(kCodes, code) != kCodes.end();
}

}  // namespace

std::vector<Option> with_client_options(std::vector<Option> own) {
    const std::vector<Option> shared{
        {"as", 0, "ACCOUNT[@PERMISSION]", "log in as it, with a token that the wallet signs"},
        {"token-file", 0, "FILE", "log in with this token, of 'bps token'"},
        {"broker", 0, "HOST:PORT", "where to begin; several times (default: what the chain says)"},
        {"tls", 0, "", "use TLS on this machine, too"},
        {"tls-ca",
         0,
         "FILE",
         "who signed the broker's certificate (default: ca.pem of the network's folder, else the "
         "system's)"},
        {"cert", 0, "FILE", "the client's certificate, a login by itself"},
        {"cert-key", 0, "FILE", "its key"},
        {"timeout", 0, "SECONDS", "patience with a broker, 1 to 600 (default: 10)"},
        bps_contract_option()};
    own.insert(own.end(), shared.begin(), shared.end());
    return own;
}

base::Result<Bootstrap> bootstrap_of(const std::vector<std::string>& addresses, bool wants_tls) {
    Bootstrap found{.brokers = fmt::format("{}", fmt::join(addresses, ",")), .is_tls = wants_tls};
    for (const std::string& address : addresses) {
        const auto host = host_of(address);
        if (!host) {
            return fail(
                Errc::invalid,
                fmt::format("--broker {}: HOST:PORT is needed, such as 127.0.0.1:9092", address));
        }
        found.is_tls = found.is_tls || !is_loopback(*host);
    }
    return found;
}

base::Result<Bootstrap> bootstrap_of_rows(const Json& brokers, bool wants_tls) {
    std::vector<std::string> with_tls;
    std::vector<std::string> without;
    for (const Json& broker : brokers) {
        if (number_of(broker, "boot") == 0 || number_of(broker, "fenced") != 0) continue;
        for (const Json& each : list_of(broker, "listeners")) {
            auto& list = text_of(each, "protocol").ends_with(kTls) ? with_tls : without;
            list.push_back(address_of(text_of(each, "host"), shown(each, "port")));
        }
    }
    // Those without TLS are on this machine, if they are anywhere.
    const bool is_tls = wants_tls || without.empty();
    const auto& list = is_tls ? with_tls : without;
    if (!list.empty()) {
        return Bootstrap{.brokers = fmt::format("{}", fmt::join(list, ",")), .is_tls = is_tls};
    }
    return fail(Errc::not_found,
                fmt::format("no broker of the chain is up{}: 'bor-cli bps brokers' shows them; "
                            "--broker HOST:PORT names one",
                            is_tls && !without.empty() ? " with TLS" : ""));
}

base::Result<KafkaSettings> client_settings(const Session& session, const Arguments& arguments) {
    const auto patience = arguments.number("timeout", kPatienceDefault, 1, kPatienceMax);
    if (!patience) return fail(patience.error());
    if (arguments.has("cert") != arguments.has("cert-key")) {
        return fail(Errc::invalid, "--cert and --cert-key belong together: give both");
    }
    auto login = login_of(session, arguments);
    if (!login) return fail(login.error());
    const auto where = find_brokers(session, arguments);
    if (!where) return fail(where.error());
    return KafkaSettings{.brokers = where->brokers,
                         .is_tls = where->is_tls,
                         .ca_file = authority_file(session, arguments),
                         .certificate_file = arguments.get("cert"),
                         .key_file = arguments.get("cert-key"),
                         .make_token = *std::move(login),
                         .patience = std::chrono::seconds(*patience)};
}

base::Error explained(const Session& session,
                      const Arguments& arguments,
                      const KafkaError& error,
                      const AskedOf& asked) {
    switch (error.code) {
        case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
        case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
        case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
            return {Errc::invalid, explain_topic(session, arguments, asked)};
        case RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED:
            return {Errc::invalid, explain_group(arguments, asked)};
        case RD_KAFKA_RESP_ERR_GROUP_ID_NOT_FOUND:
            return {Errc::not_found,
                    fmt::format("there is no group '{}'; 'bor-cli bps groups' shows all that you "
                                "may see",
                                asked.group)};
        case RD_KAFKA_RESP_ERR_NON_EMPTY_GROUP:
        case RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID:
            return {Errc::invalid,
                    fmt::format("the group '{}' has members: stop them first ('bor-cli bps groups "
                                "show {}' names them)",
                                asked.group,
                                asked.group)};
        case RD_KAFKA_RESP_ERR_POLICY_VIOLATION:
            return {Errc::invalid,
                    fmt::format("a quota is used up: 'bor-cli bps quotas' shows all ({})",
                                error.reason)};
        case RD_KAFKA_RESP_ERR__AUTHENTICATION:
        case RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED:
            return {Errc::invalid, fmt::format("no login: {}", error.reason)};
        default:
            break;
    }
    if (is_for_now(error.code)) {
        return {
            Errc::unavailable,
            fmt::format("the broker says: {}; 'bor-cli doctor', asked of the broker's node, says "
                        "why",
                        error.reason)};
    }
    if (!is_unreachable(error.code)) return {Errc::invalid, "the broker says: " + error.reason};
    // A broker closes the connection of who asks before a login.
    const bool may_want_login = who_asks(arguments).empty() && !arguments.has("cert") &&
                                error.reason.find("isconnected") != std::string::npos;
    if (error.reason.find("certificate verify failed") != std::string::npos) {
        return {Errc::invalid,
                fmt::format("{}: a broker's certificate is not signed by whom this command trusts; "
                            "--tls-ca FILE names who signed it, such as ca.pem of the folder where "
                            "'bor-cli network up --broker-host' ran",
                            error.reason)};
    }
    return {Errc::unavailable,
            fmt::format("no answer from a broker: {}; is one up ('bor-cli bps brokers')?{}",
                        error.reason,
                        may_want_login ? fmt::format(" If it wants a login: {}", kNobody) : "")};
}

}  // namespace cli
