#include "base/crypto/typed_keys.hpp"
#include "cli/files.hpp"
#include "cli/output.hpp"
#include "consensus/certificate.hpp"
#include "genesis/recovery_answers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <set>
#include <thread>

// More than a third of the validators are lost for ever: a new first schedule, from the block of
// the highest certificate that those hold who are left. Or what is final is dated ahead of the
// clock: other times for the slots that come (spec 04).

namespace cli {

namespace {

using base::Errc;
using base::fail;

base::Result<genesis::Recovery> read_recovery(const std::string& path) {
    const auto text = read_file(path);
    if (!text) return fail(text.error());
    auto recovery = genesis::recovery_from_text(*text);
    if (!recovery) return fail(Errc::malformed, path + ": " + recovery.error().detail);
    return recovery;
}

// "NAME=KEY" or "NAME=KEY,VOTEKEY".
base::Result<chain::ScheduleEntry> read_validator(const std::string& text) {
    const std::size_t equals = text.find('=');
    const std::size_t comma = text.find(',', equals);
    if (equals == std::string::npos) {
        return fail(Errc::invalid, fmt::format("'{}': NAME=KEY or NAME=KEY,VOTEKEY", text));
    }
    const auto name = chain::Name::from_string(text.substr(0, equals));
    if (!name) return fail(name.error());
    const auto key = base::crypto::read_public_key(text.substr(equals + 1, comma - equals - 1));
    if (!key) return fail(key.error());
    chain::ScheduleEntry entry{*name, *key, *key};
    if (comma == std::string::npos) return entry;
    const auto vote_key = base::crypto::read_public_key(text.substr(comma + 1));
    if (!vote_key) return fail(vote_key.error());
    entry.vote_key = *vote_key;
    return entry;
}

// As get_account shows it.
base::Result<chain::Authority> read_authority(const Json& json) {
    chain::Authority authority;
    authority.threshold = static_cast<std::uint32_t>(number_of(json, "threshold"));
    for (const Json& each : list_of(json, "keys")) {
        const auto key = base::crypto::PublicKey::from_string(text_of(each, "key"));
        if (!key) return fail(key.error());
        authority.keys.push_back({*key, static_cast<std::uint16_t>(number_of(each, "weight"))});
    }
    for (const Json& each : list_of(json, "accounts")) {
        const Json& permission = member_of(each, "permission");
        const auto actor = chain::Name::from_string(text_of(permission, "actor"));
        const auto name = chain::Name::from_string(text_of(permission, "permission"));
        if (!actor || !name) return fail(Errc::malformed, "an authority with a wrong name");
        authority.accounts.push_back(
            {{*actor, *name}, static_cast<std::uint16_t>(number_of(each, "weight"))});
    }
    for (const Json& each : list_of(json, "waits")) {
        authority.waits.push_back({static_cast<std::uint32_t>(number_of(each, "wait_sec")),
                                   static_cast<std::uint16_t>(number_of(each, "weight"))});
    }
    return authority;
}

// Who must sign: the members in the final state of the node, with their active permissions.
base::Result<std::vector<genesis::RecoveryMember>> read_members(const std::string& url,
                                                                const Json& validators) {
    std::vector<genesis::RecoveryMember> members;
    for (const Json& each : list_of(validators, "members")) {
        const std::string text = text_of(each, "name");
        const auto name = chain::Name::from_string(text);
        if (!name) return fail(name.error());
        const auto account =
            call(url, "/v1/chain/get_account?state=final", Json{{"account_name", text}});
        if (!account) return fail(account.error());
        for (const Json& permission : list_of(*account, "permissions")) {
            if (text_of(permission, "perm_name") != "active") continue;
            auto authority = read_authority(member_of(permission, "required_auth"));
            if (!authority) return fail(authority.error());
            members.push_back({*name, *std::move(authority)});
        }
    }
    std::ranges::sort(members, {}, &genesis::RecoveryMember::name);
    return members;
}

// The retimes that the chain has already: a node that begins from genesis needs them, too.
base::Result<std::vector<chain::Retime>> read_retimes(const Json& validators) {
    std::vector<chain::Retime> retimes;
    for (const Json& each : list_of(validators, "retimes")) {
        const auto from = hash_of(each, "from");
        const auto time = chain::TimePoint::from_string(text_of(each, "time"));
        if (!from || !time) return fail(Errc::malformed, "a retime without block or time");
        retimes.push_back({*from, number_of(each, "slot"), *time});
    }
    return retimes;
}

// The next slot begins now, by the clock of this machine; its number is above those of all blocks
// that may have been made already.
base::Result<chain::Retime> new_retime(const Session& session, const chain::BlockId& from) {
    constexpr std::uint64_t kSlotsApart = 1'000;
    const auto finality = call(session.url, "/v1/bor/finality", Json());
    if (!finality) return fail(finality.error());
    const auto dated =
        chain::TimePoint::from_string(text_of(member_of(*finality, "final"), "timestamp"));
    if (!dated) return fail(dated.error());
    const auto now = std::chrono::duration_cast<std::chrono::seconds>(
        std::chrono::system_clock::now().time_since_epoch());
    const chain::TimePoint time{now.count() * 1'000'000};
    constexpr std::int64_t kWorthIt = 10'000'000;  // Less passes while members sign.
    if (dated->microseconds <= time.microseconds + kWorthIt) {
        return fail(
            Errc::invalid,
            fmt::format("the final block is dated {}, this machine's clock shows {}: only a "
                        "chain that is dated ahead of the clock is given other times",
                        dated->to_string(),
                        time.to_string()));
    }
    const std::uint64_t head = number_of(member_of(*finality, "head"), "slot");
    return chain::Retime{from, head + kSlotsApart, time};
}

genesis::CheckCertificate verifier(const chain::ChainId& chain_id) {
    return [&chain_id](const auto& certificate, const auto& schedules) {
        return consensus::verify(certificate, schedules, chain_id);
    };
}

base::Result<genesis::Recovery> read_answers(const std::vector<std::string>& paths) {
    if (paths.empty()) {
        return fail(Errc::invalid,
                    "--answer FILE is needed, of each validator that is left ('bor-cli -u "
                    "unix:///PATH recover answer FILE'); with --give-up-final too, of at least one "
                    "node that has the chain, since its block, members and validators are in it");
    }
    std::vector<genesis::AnswerFile> files;
    for (const std::string& path : paths) {
        auto answer = read_recovery(path);
        if (!answer) return answer;
        files.push_back({path, *std::move(answer)});
    }
    return genesis::merge_answer_files(files);
}

// With enough answers nothing is to be given up, and who follows the recovery should not be told
// so.
base::Result<void> check_giving_up(const genesis::Recovery& recovery) {
    genesis::Recovery without = recovery;
    without.reset.gives_up_final = false;
    if (!genesis::check_answers(without, verifier(recovery.chain_id))) return {};
    return fail(Errc::invalid,
                fmt::format("--give-up-final is for when too few have answered; these {} are "
                            "enough, nothing that is final is given up: leave it out",
                            recovery.answers.size()));
}

// A new first schedule.
base::Result<genesis::Recovery> begin_anew(const Arguments& arguments) {
    auto recovery = read_answers(arguments.all("answer"));
    if (!recovery) return recovery;
    chain::ScheduleReset& reset = recovery->reset;
    reset.gives_up_final = arguments.has("give-up-final");
    for (const std::string& text : arguments.all("validator")) {
        auto entry = read_validator(text);
        if (!entry) return fail(entry.error());
        reset.schedule.entries.push_back(*std::move(entry));
    }
    reset.schedule.version = genesis::version_after(recovery->replaced, reset.schedule.entries);
    auto good = genesis::check_answers(*recovery, verifier(recovery->chain_id));
    if (good) good = genesis::check_keys(*recovery);
    if (good && reset.gives_up_final) good = check_giving_up(*recovery);
    if (!good) return fail(good.error());
    return recovery;
}

// As it is at the final block of the node that is asked.
base::Result<genesis::Recovery> go_on(const Session& session) {
    const auto info = call(session.url, "/v1/chain/get_info", Json());
    if (!info) return fail(info.error());
    const auto validators = call(session.url, "/v1/bor/validators?state=final", Json());
    if (!validators) return fail(validators.error());
    genesis::Recovery recovery;
    auto retimes = read_retimes(*validators);
    if (!retimes) return fail(retimes.error());
    recovery.retimes = *std::move(retimes);
    const auto chain_id = hash_of(*info, "chain_id");
    const auto from = hash_of(*info, "last_irreversible_block_id");
    if (!chain_id || !from) return fail(Errc::malformed, "get_info names no final block");
    recovery.chain_id = *chain_id;
    recovery.reset.from = *from;
    auto members = read_members(session.url, *validators);
    if (!members) return fail(members.error());
    recovery.members = *std::move(members);
    return recovery;
}

// What no node could use is found before members sign it.
base::Result<void> check_whole(const genesis::Recovery& recovery) {
    if (auto good = genesis::check_content(recovery, verifier(recovery.chain_id)); !good) {
        return good;
    }
    return genesis::check_keys(recovery);
}

// Names that were mistyped would leave the chain without those validators.
void note_strangers(const genesis::Recovery& recovery) {
    std::set<chain::Name> known;
    for (const genesis::RecoveryMember& member : recovery.members)
        known.insert(member.name);
    for (const chain::Schedule& schedule : recovery.replaced) {
        for (const chain::ScheduleEntry& entry : schedule.entries)
            known.insert(entry.producer);
    }
    for (const chain::ScheduleEntry& entry : recovery.reset.schedule.entries) {
        if (known.contains(entry.producer)) continue;
        fmt::print(
            "note: validator {} is no member of this chain, and was no validator: is the "
            "name right?\n",
            entry.producer.to_string());
    }
}

// A file that has signatures is not made anew.
base::Result<void> check_unsigned(const std::string& path) {
    std::error_code error;
    if (!std::filesystem::exists(path, error)) return {};
    const auto there = read_recovery(path);
    if (!there || there->signatures.empty()) return {};
    return fail(
        Errc::invalid,
        fmt::format("{} is a recovery with {} signatures: choose another name, or remove it",
                    path,
                    there->signatures.size()));
}

base::Result<void> recover_make(const Session& session, const Arguments& arguments) {
    const bool is_new_schedule = !arguments.all("validator").empty();
    if (!is_new_schedule && !arguments.has("retime")) {
        return fail(Errc::invalid,
                    "--validator NAME=KEY is needed, once for each validator that goes on, with a "
                    "new key for each ('bor-cli key create --vote'); or --retime, where only the "
                    "time is wrong");
    }
    if (!is_new_schedule && (arguments.has("give-up-final") || arguments.has("answer"))) {
        return fail(Errc::invalid,
                    "--answer and --give-up-final are for a new schedule, which --validator "
                    "NAME=KEY names; --retime alone gives up nothing");
    }
    auto recovery = is_new_schedule ? begin_anew(arguments) : go_on(session);
    if (!recovery) return fail(recovery.error());
    if (arguments.has("retime")) {
        auto retime = new_retime(session, recovery->reset.from);
        if (!retime) return fail(retime.error());
        recovery->retimes.push_back(*retime);
        fmt::print("slot {} begins at {}, by the clock of this machine\n",
                   retime->first,
                   retime->time.to_string());
    }
    if (auto good = check_whole(*recovery); !good) return good;
    const std::string file = arguments.at("file");
    if (auto good = check_unsigned(file); !good) return good;
    if (auto done = write_file(file, genesis::to_text(*recovery)); !done) return done;
    note_strangers(*recovery);
    fmt::print("{}: recovery {} from block {}, to be signed by the members\n",
               file,
               base::to_hex(recovery->id().view()),
               chain::height_of(recovery->reset.from));
    return {};
}

// Whether blocks become final now: as long as the last one is recent, it is waited for the next.
base::Result<void> check_standing(const Session& session) {
    constexpr std::int64_t kRecentMicroseconds = 10'000'000;
    constexpr auto kLookAgainAfter = std::chrono::milliseconds(200);
    std::optional<std::uint64_t> first;
    while (true) {
        const auto finality = call(session.url, "/v1/bor/finality", Json());
        if (!finality) return fail(finality.error());
        const Json& final = member_of(*finality, "final");
        const auto now = chain::TimePoint::from_string(text_of(*finality, "time"));
        const auto dated = chain::TimePoint::from_string(text_of(final, "timestamp"));
        if (!now || !dated) return fail(Errc::malformed, "the node does not tell its final block");
        const std::uint64_t height = number_of(final, "block_num");
        if (first && height > *first) {
            return fail(Errc::invalid,
                        fmt::format("block {} has just become final: there is nothing to recover, "
                                    "and a validator that answers is lost for this chain; with "
                                    "--chain-is-alive it answers all the same",
                                    height));
        }
        first = height;
        const std::int64_t age = now->microseconds - dated->microseconds;
        if (age < 0 || age > kRecentMicroseconds) return {};
        std::this_thread::sleep_for(kLookAgainAfter);
    }
}

base::Result<void> recover_answer(const Session& session, const Arguments& arguments) {
    // The node that is looked at must be the one that answers.
    Session there = session;
    there.url = session.operator_url;
    const auto info = call(there.url, "/v1/chain/get_info", Json());
    if (!info) return fail(info.error());
    if (!arguments.has("yes")) {
        return fail(Errc::invalid,
                    "the validator that answers signs nothing more with its keys, for ever; with "
                    "--yes it does");
    }
    if (!arguments.has("chain-is-alive")) {
        if (auto standing = check_standing(there); !standing) return standing;
    }
    const std::string file = arguments.at("file");
    // Once the node has answered it is too late to find that the answer goes nowhere.
    if (auto good = try_to_write(file); !good) return good;
    const auto made = operator_call(
        there, "/v1/bor/answer_recovery", Json{{"chain_id", text_of(*info, "chain_id")}});
    if (!made) return fail(made.error());
    const std::string text = text_of(*made, "answer");
    const auto answer = genesis::recovery_from_text(text);
    if (!answer) return fail(answer.error());
    if (auto done = write_file(file, text); !done) return done;
    fmt::print("{}: block {} has the highest certificate here\n",
               file,
               chain::height_of(answer->reset.from));
    for (const genesis::RecoveryAnswer& each : answer->answers)
        fmt::print("{} has answered and signs nothing more\n", each.key.to_string());
    if (answer->answers.empty()) fmt::print("no validator's key with a whole journal is here\n");
    return {};
}

// What members sign.
void describe(const genesis::Recovery& recovery) {
    fmt::print("recovery {} from block {}\n",
               base::to_hex(recovery.id().view()),
               base::to_hex(recovery.reset.from.view()));
    if (recovery.reset.gives_up_final)
        fmt::print("it GIVES UP blocks that may have been shown as final\n");
    if (!recovery.answers.empty())
        fmt::print("{} validators have answered\n", recovery.answers.size());
    for (const chain::ScheduleEntry& entry : recovery.reset.schedule.entries) {
        fmt::print("validator {} {} {}\n",
                   entry.producer.to_string(),
                   entry.signing_key.to_string(),
                   entry.vote_key.to_string());
    }
    for (const chain::Retime& retime : recovery.retimes)
        fmt::print("slot {} begins at {}\n", retime.first, retime.time.to_string());
}

// Whether the key is one of a member, and has not signed yet.
base::Result<void> check_signer(const genesis::Recovery& recovery, const std::string& text) {
    const auto key = base::crypto::PublicKey::from_string(text);
    if (!key) return fail(Errc::invalid, fmt::format("'{}' is no public key", text));
    std::string members;
    bool is_of_member = false;
    for (const genesis::RecoveryMember& member : recovery.members) {
        members += (members.empty() ? "" : ", ") + member.name.to_string();
        is_of_member |= std::ranges::find(member.authority.keys, *key, &chain::KeyWeight::key) !=
                        member.authority.keys.end();
    }
    if (!is_of_member) {
        return fail(Errc::invalid,
                    fmt::format("{} is no key of a member ({}); 'bor-cli get account MEMBER' shows "
                                "whose active permission has which",
                                text,
                                members));
    }
    if (genesis::signing_keys(recovery).contains(*key)) {
        return fail(Errc::invalid, fmt::format("{} has signed it already", text));
    }
    return {};
}

base::Result<void> recover_sign(const Session& session, const Arguments& arguments) {
    const std::string file = arguments.at("file");
    auto recovery = read_recovery(file);
    if (!recovery) return fail(recovery.error());
    const std::string id = base::to_hex(recovery->id().view());
    describe(*recovery);
    note_strangers(*recovery);
    if (auto good = check_whole(*recovery); !good) return good;
    if (auto good = check_signer(*recovery, arguments.at("key")); !good) return good;
    const auto signed_by_key =
        call(session.wallet_url, "/v1/wallet/sign_digest", Json::array({id, arguments.at("key")}));
    if (!signed_by_key) return fail(signed_by_key.error());
    const auto signature = base::crypto::Signature::from_string(
        signed_by_key->is_string() ? signed_by_key->get<std::string>() : std::string());
    if (!signature) return fail(signature.error());
    recovery->signatures.push_back(*signature);
    if (auto done = write_file(file, genesis::to_text(*recovery)); !done) return done;
    fmt::print("{}: {} of {} members have signed, {} must\n",
               file,
               genesis::signers_of(*recovery).size(),
               recovery->members.size(),
               genesis::signers_needed(*recovery));
    return {};
}

base::Result<void> recover_check(const Session& /*session*/, const Arguments& arguments) {
    auto recovery = read_recovery(arguments.at("file"));
    if (!recovery) return fail(recovery.error());
    const auto text = read_file(arguments.at("genesis"));
    if (!text) return fail(text.error());
    const auto genesis = genesis::from_json(*text);
    if (!genesis) return fail(genesis.error());
    describe(*recovery);
    note_strangers(*recovery);
    const std::vector<chain::Name> signers = genesis::signers_of(*recovery);
    for (const genesis::RecoveryMember& member : recovery->members) {
        const bool has_signed = std::ranges::find(signers, member.name) != signers.end();
        fmt::print("{} {}\n", has_signed ? "signed by" : "not by", member.name.to_string());
    }
    const chain::ChainId chain_id = genesis->chain_id();
    if (auto good = genesis::check(*recovery, chain_id, verifier(chain_id)); !good) return good;
    if (auto good = genesis::check_keys(*recovery); !good) return good;
    for (const std::string& each : genesis::changed_members(*recovery, *genesis)) {
        fmt::print(
            "note: {}; that is right if the chain changed it since ('bor-cli member list')\n",
            each);
    }
    if (signers.size() > 1 && genesis::signing_keys(*recovery).size() == 1) {
        fmt::print("note: one key has signed for {} members, whose authority it has\n",
                   signers.size());
    }
    for (const chain::ScheduleEntry& entry : recovery->reset.schedule.entries) {
        fmt::print("on the node of {}: signature-provider = {}=KEY:file:FILE or WALLET:SOCKET\n",
                   entry.producer.to_string(),
                   entry.signing_key.to_string());
    }
    fmt::print(
        "good. On every node: copy it to DATA_DIR/{}, and start with\n"
        "recover-from = {}\n",
        genesis::kRecoveryFile,
        base::to_hex(recovery->id().view()));
    return {};
}

}  // namespace

void add_recover_commands(std::vector<Command>& commands) {
    commands.push_back({"recover answer",
                        "Write what the node that is asked over its Unix socket (--dir DIR, or "
                        "--url unix:///PATH) knows; its validator signs nothing more",
                        {{"file", "where to write it"}},
                        {{"yes", 0, "", "its keys sign nothing more, for ever"},
                         {"chain-is-alive", 0, "", "also while blocks become final"}},
                        recover_answer});
    commands.push_back(
        {"recover make",
         "Write a new first schedule, from the answers of the validators that are left, or other "
         "times",
         {{"file", "where to write it"}},
         {{"validator", 0, "NAME=KEY[,VOTEKEY]", "with a key that never signed; once for each"},
          {"answer", 0, "FILE", "of 'recover answer'; once for each validator that is left"},
          {"give-up-final", 0, "", "too few have answered: what was final may be given up"},
          {"retime", 0, "", "the next slot begins now: the chain is dated ahead of the clock"}},
         recover_make});
    commands.push_back({"recover sign",
                        "Sign it with a key of a member, which the wallet has",
                        {{"file", "the file of 'recover make'"}, {"key", "public key"}},
                        {},
                        recover_sign});
    commands.push_back(
        {"recover check",
         "Say who has signed it, and what to do with it",
         {{"file", "the file of 'recover make'"}, {"genesis", "the chain's genesis file"}},
         {},
         recover_check});
}

}  // namespace cli
