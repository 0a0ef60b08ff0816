#include "genesis/recovery.hpp"

#include "base/codec.hpp"
#include "base/crypto/hash.hpp"
#include "base/crypto/typed_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <set>
#include <sstream>
#include <tuple>

namespace genesis {

namespace {

using base::Errc;
using base::fail;
using base::crypto::KeyType;
using base::crypto::PublicKey;

constexpr std::string_view kTitle = "BoR recovery 2";
constexpr std::size_t kSignaturesMax = 1'024;
constexpr std::size_t kAnswersMax = 2 * chain::kProducersMax;
// How deep members' authorities may name each other.
constexpr int kDepthMax = 6;
constexpr std::uint32_t kVersionsApart = 100;

base::Result<void> read_hash(const std::string& text, base::Hash256& hash) {
    const auto bytes = base::from_hex(text);
    if (!bytes) return fail(bytes.error());
    auto read = base::to_hash<32>(*bytes);
    if (!read) return fail(Errc::malformed, "64 hexadecimal digits are needed");
    hash = *read;
    return {};
}

template <class Number>
base::Result<void> read_number(const std::string& text, Number& number) {
    const char* const end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, number);
    if (read.ec == std::errc() && read.ptr == end) return {};
    return fail(Errc::malformed, "a number is needed");
}

// Name, signing key and vote key, from the word `first` on.
base::Result<void> read_entry(const std::vector<std::string>& words,
                              std::size_t first,
                              chain::Schedule& schedule) {
    const auto name = chain::Name::from_string(words[first]);
    if (!name) return fail(name.error());
    const auto signing = base::crypto::read_public_key(words[first + 1]);
    if (!signing) return fail(signing.error());
    const auto vote = base::crypto::read_public_key(words[first + 2]);
    if (!vote) return fail(vote.error());
    if (schedule.entries.size() >= chain::kProducersMax) {
        return fail(Errc::malformed, fmt::format("more than {} validators", chain::kProducersMax));
    }
    schedule.entries.push_back({*name, *signing, *vote});
    return {};
}

// The lines of one schedule follow each other.
base::Result<void> read_replaced(const std::vector<std::string>& words, Recovery& recovery) {
    std::uint32_t version = 0;
    if (auto read = read_number(words[1], version); !read) return read;
    if (recovery.replaced.empty() || recovery.replaced.back().version != version) {
        if (recovery.replaced.size() == 2) return fail(Errc::malformed, "a third schedule");
        recovery.replaced.push_back({version, {}});
    }
    return read_entry(words, 2, recovery.replaced.back());
}

base::Result<void> read_certificate(const std::string& word, Recovery& recovery) {
    const auto bytes = base::from_hex(word);
    if (!bytes) return fail(bytes.error());
    auto certificate = chain::unpack<chain::Certificate>(*bytes, "certificate");
    if (!certificate) return fail(certificate.error());
    recovery.certificate = *std::move(certificate);
    return {};
}

base::Result<void> read_answer(const std::vector<std::string>& words, Recovery& recovery) {
    RecoveryAnswer answer;
    const auto key = base::crypto::read_public_key(words[1]);
    if (!key) return fail(key.error());
    answer.key = *key;
    if (auto read = read_number(words[2], answer.slot); !read) return read;
    if (auto read = read_hash(words[3], answer.block); !read) return read;
    const auto signature = base::crypto::Signature::from_string(words[4]);
    if (!signature) return fail(signature.error());
    answer.signature = *signature;
    if (recovery.answers.size() >= kAnswersMax) {
        return fail(Errc::malformed, fmt::format("more than {} answers", kAnswersMax));
    }
    recovery.answers.push_back(answer);
    return {};
}

base::Result<void> read_retime(const std::vector<std::string>& words, Recovery& recovery) {
    chain::Retime retime;
    if (auto read = read_hash(words[1], retime.from); !read) return read;
    if (auto read = read_number(words[2], retime.first); !read) return read;
    const auto time = chain::TimePoint::from_string(words[3]);
    if (!time) return fail(time.error());
    retime.time = *time;
    if (recovery.retimes.size() >= chain::kRetimesMax) {
        return fail(Errc::malformed, fmt::format("more than {} retimes", chain::kRetimesMax));
    }
    recovery.retimes.push_back(retime);
    return {};
}

base::Result<void> read_member(const std::vector<std::string>& words, Recovery& recovery) {
    const auto name = chain::Name::from_string(words[1]);
    if (!name) return fail(name.error());
    const auto bytes = base::from_hex(words[2]);
    if (!bytes) return fail(bytes.error());
    auto authority = chain::unpack<chain::Authority>(*bytes, "authority");
    if (!authority) return fail(authority.error());
    if (recovery.members.size() >= kRecoveryMembersMax) {
        return fail(Errc::malformed, fmt::format("more than {} members", kRecoveryMembersMax));
    }
    recovery.members.push_back({*name, *std::move(authority)});
    return {};
}

base::Result<void> read_signature(const std::string& word, Recovery& recovery) {
    const auto signature = base::crypto::Signature::from_string(word);
    if (!signature) return fail(signature.error());
    if (recovery.signatures.size() >= kSignaturesMax) {
        return fail(Errc::malformed, fmt::format("more than {} signatures", kSignaturesMax));
    }
    recovery.signatures.push_back(*signature);
    return {};
}

using Words = const std::vector<std::string>&;

// A line of the file: its verb, the words that follow, and what reads it.
struct Line {
    std::string_view verb;
    std::string_view arguments;
    base::Result<void> (*read)(Words, Recovery&);
};

constexpr std::array kLines{
    Line{"chain", "ID", [](Words w, Recovery& r) { return read_hash(w[1], r.chain_id); }},
    Line{"from", "ID", [](Words w, Recovery& r) { return read_hash(w[1], r.reset.from); }},
    Line{"version",
         "NUMBER",
         [](Words w, Recovery& r) { return read_number(w[1], r.reset.schedule.version); }},
    Line{"gives-up-final",
         "",
         [](Words, Recovery& r) {
             r.reset.gives_up_final = true;
             return base::Result<void>();
         }},
    Line{"validator",
         "NAME KEY KEY",
         [](Words w, Recovery& r) { return read_entry(w, 1, r.reset.schedule); }},
    Line{"replaces", "VERSION NAME KEY KEY", read_replaced},
    Line{"certificate", "HEX", [](Words w, Recovery& r) { return read_certificate(w[1], r); }},
    Line{"answer", "KEY SLOT ID SIG", read_answer},
    Line{"retime", "ID SLOT TIME", read_retime},
    Line{"member", "NAME AUTHORITY", read_member},
    Line{"signature", "SIG", [](Words w, Recovery& r) { return read_signature(w[1], r); }},
};

std::size_t size_of(const Line& line) {
    if (line.arguments.empty()) return 1;
    return 2 + static_cast<std::size_t>(std::ranges::count(line.arguments, ' '));
}

base::Result<void> read_line(Words words, Recovery& recovery) {
    const auto line = std::ranges::find(kLines, words[0], &Line::verb);
    if (line != kLines.end() && words.size() == size_of(*line)) {
        return line->read(words, recovery);
    }
    std::string expected;
    for (const Line& each : kLines) {
        expected += expected.empty() ? "expected " : ", ";
        expected += each.verb;
        if (!each.arguments.empty()) expected += fmt::format(" {}", each.arguments);
    }
    return fail(Errc::malformed, expected);
}

// The members whose authority these keys satisfy. Authorities that name each other are followed
// kDepthMax deep, one level more in each round, so that every authority is looked at once a round,
// however they are nested.
class Signers {
  public:
    Signers(const std::vector<RecoveryMember>& members, const std::set<PublicKey>& keys)
        : members_(members), keys_(keys) {
        for (int depth = 0; depth <= kDepthMax && follow(); ++depth) {
        }
    }

    [[nodiscard]] bool contains(const chain::Name& name) const { return satisfied_.contains(name); }
    [[nodiscard]] std::size_t looked_at() const { return looked_at_; }

  private:
    // False: nobody was added.
    bool follow() {
        std::set<chain::Name> more;
        for (const RecoveryMember& member : members_) {
            if (satisfied_.contains(member.name)) continue;
            ++looked_at_;
            if (satisfy(member.authority)) more.insert(member.name);
        }
        const bool is_more = !more.empty();
        satisfied_.merge(more);
        return is_more;
    }
    [[nodiscard]] bool satisfy(const chain::Authority& authority) const {
        std::uint64_t weight = 0;
        for (const auto& each : authority.keys) {
            if (keys_.contains(each.key)) weight += each.weight;
        }
        for (const auto& each : authority.accounts) {
            if (satisfied_.contains(each.permission.actor)) weight += each.weight;
        }
        return weight >= authority.threshold;
    }

    const std::vector<RecoveryMember>& members_;
    const std::set<PublicKey>& keys_;
    std::set<chain::Name> satisfied_;
    std::size_t looked_at_ = 0;
};

base::Result<void> check_schedule(const chain::Schedule& schedule) {
    std::set<chain::Name> names;
    std::set<PublicKey> keys;
    for (const chain::ScheduleEntry& entry : schedule.entries) {
        const bool is_k1 =
            entry.signing_key.type == KeyType::k1 && entry.vote_key.type == KeyType::k1;
        if (!is_k1) return fail(Errc::invalid, "keys of validators are K1 keys");
        if (!names.insert(entry.producer).second) {
            return fail(Errc::invalid, entry.producer.to_string() + " is named twice");
        }
        for (const PublicKey& key : std::set{entry.signing_key, entry.vote_key}) {
            if (keys.insert(key).second) continue;
            return fail(Errc::invalid, "two validators have the key " + key.to_string());
        }
    }
    return {};
}

base::Result<void> check_retimes(const std::vector<chain::Retime>& retimes) {
    const auto is_out_of_order = [](const chain::Retime& a, const chain::Retime& b) {
        return a.first >= b.first;
    };
    const bool is_ordered = std::ranges::adjacent_find(retimes, is_out_of_order) == retimes.end();
    if (!is_ordered) return fail(Errc::invalid, "the slots of the recovery's retimes do not grow");
    for (const chain::Retime& retime : retimes) {
        if (retime.first == 0 || retime.first > chain::kSlotMax) {
            return fail(Errc::invalid, fmt::format("a retime of slot {}", retime.first));
        }
        const std::int64_t seconds = retime.time.microseconds / 1'000'000;
        if (seconds <= 0 || seconds > std::numeric_limits<std::uint32_t>::max()) {
            return fail(Errc::invalid, "a retime to " + retime.time.to_string());
        }
    }
    return {};
}

// So that who follows one recovery refuses another one from the same block, and no schedule that
// was proposed comes to be in force by its number.
base::Result<void> check_version(const Recovery& recovery) {
    const chain::Schedule& schedule = recovery.reset.schedule;
    if (schedule.entries.empty()) return {};
    const std::uint32_t version = version_after(recovery.replaced, schedule.entries);
    if (schedule.version == version) return {};
    return fail(Errc::invalid,
                fmt::format("the recovery's schedule has version {}, that of its validators is {}",
                            schedule.version,
                            version));
}

// One answer is good, and tells of nothing above the block.
base::Result<void> check_answer(const Recovery& recovery, const RecoveryAnswer& answer) {
    const std::string key = answer.key.to_string();
    if (!base::crypto::verify(
            answer.key, answer.signature, answer_digest(answer, recovery.chain_id))) {
        return fail(Errc::invalid, "the answer of " + key + " is not signed by it");
    }
    const chain::Slot highest = recovery.certificate ? recovery.certificate->data.slot : 0;
    const bool is_same = answer.block == recovery.reset.from;
    if (answer.slot < highest || (answer.slot == highest && is_same)) return {};
    return fail(Errc::invalid,
                fmt::format("{} holds a certificate of slot {}, the recovery begins from block {} "
                            "of slot {}; make it from the highest, or leave the answer out",
                            key,
                            answer.slot,
                            base::to_hex(recovery.reset.from.view()),
                            highest));
}

base::Result<void> check_count(const Recovery& recovery, const chain::Schedule& schedule) {
    const std::size_t needed = schedule.entries.size() - schedule.quorum() + 1;
    std::set<PublicKey> keys;
    for (const RecoveryAnswer& answer : recovery.answers)
        keys.insert(answer.key);
    const auto count = static_cast<std::size_t>(std::ranges::count_if(
        schedule.entries,
        [&](const chain::ScheduleEntry& entry) { return keys.contains(entry.vote_key); }));
    if (count >= needed) return {};
    return fail(Errc::invalid,
                fmt::format("{} of {} validators of schedule {} have answered, {} must ('bor-cli "
                            "recover answer'); with fewer, what was shown as final may be given "
                            "up: --give-up-final",
                            count,
                            schedule.entries.size(),
                            schedule.version,
                            needed));
}

}  // namespace

base::Bytes answer_bytes(const RecoveryAnswer& answer, const chain::ChainId& chain_id) {
    base::Writer out;
    out.hash(chain_id);
    base::crypto::encode(out, answer.key);
    out.u64(answer.slot);
    out.hash(answer.block);
    return out.take();
}

base::Hash256 answer_digest(const RecoveryAnswer& answer, const chain::ChainId& chain_id) {
    base::Writer out;
    out.raw(base::as_bytes(kAnswerPrefix));
    out.raw(answer_bytes(answer, chain_id));
    return base::crypto::sha256(out.view());
}

base::Hash256 Recovery::id() const {
    base::Writer out;
    out.raw(base::as_bytes(kTitle));
    out.hash(chain_id);
    out.hash(reset.from);
    chain::encode(out, reset.schedule);
    out.boolean(reset.gives_up_final);
    chain::encode_list(out, replaced);
    chain::encode_list(out, retimes);
    chain::encode_list(out, members);
    return base::crypto::sha256(out.view());
}

base::Result<Recovery> recovery_from_text(std::string_view text) {
    std::istringstream lines{std::string(text)};
    std::string line;
    if (!std::getline(lines, line) || line != kTitle) {
        return fail(Errc::malformed, fmt::format("line 1: expected '{}'", kTitle));
    }
    Recovery recovery;
    for (std::size_t number = 2; std::getline(lines, line); ++number) {
        std::istringstream stream(line);
        std::vector<std::string> words;
        for (std::string word; stream >> word;)
            words.push_back(std::move(word));
        if (words.empty()) continue;
        if (auto read = read_line(words, recovery); !read) {
            return fail(Errc::malformed, fmt::format("line {}: {}", number, read.error().detail));
        }
    }
    return recovery;
}

std::string to_text(const Recovery& recovery) {
    std::string text = fmt::format("{}\nchain {}\nfrom {}\nversion {}\n",
                                   kTitle,
                                   base::to_hex(recovery.chain_id.view()),
                                   base::to_hex(recovery.reset.from.view()),
                                   recovery.reset.schedule.version);
    if (recovery.reset.gives_up_final) text += "gives-up-final\n";
    const auto line = [&](const std::string& verb, const chain::ScheduleEntry& entry) {
        text += fmt::format("{} {} {} {}\n",
                            verb,
                            entry.producer.to_string(),
                            entry.signing_key.to_string(),
                            entry.vote_key.to_string());
    };
    for (const chain::ScheduleEntry& entry : recovery.reset.schedule.entries)
        line("validator", entry);
    for (const chain::Schedule& schedule : recovery.replaced) {
        for (const chain::ScheduleEntry& entry : schedule.entries)
            line(fmt::format("replaces {}", schedule.version), entry);
    }
    for (const chain::Retime& retime : recovery.retimes) {
        text += fmt::format("retime {} {} {}\n",
                            base::to_hex(retime.from.view()),
                            retime.first,
                            retime.time.to_string());
    }
    for (const RecoveryMember& member : recovery.members) {
        text += fmt::format(
            "member {} {}\n", member.name.to_string(), base::to_hex(chain::pack(member.authority)));
    }
    if (recovery.certificate) {
        text += fmt::format("certificate {}\n", base::to_hex(chain::pack(*recovery.certificate)));
    }
    for (const RecoveryAnswer& answer : recovery.answers) {
        text += fmt::format("answer {} {} {} {}\n",
                            answer.key.to_string(),
                            answer.slot,
                            base::to_hex(answer.block.view()),
                            answer.signature.to_string());
    }
    for (const auto& signature : recovery.signatures)
        text += fmt::format("signature {}\n", signature.to_string());
    return text;
}

std::optional<chain::ScheduleReset> reset_of(const Recovery& recovery) {
    if (recovery.reset.schedule.entries.empty()) return std::nullopt;
    chain::ScheduleReset reset = recovery.reset;
    reset.record = base::to_bytes(base::as_bytes(to_text(recovery)));
    return reset;
}

base::Result<Recovery> merge_answers(const std::vector<Recovery>& all) {
    for (const Recovery& each : all) {
        if (each.chain_id == all.front().chain_id) continue;
        return fail(Errc::invalid,
                    fmt::format("the answers are of two chains, {} and {}",
                                base::to_hex(all.front().chain_id.view()),
                                base::to_hex(each.chain_id.view())));
    }
    const auto rank = [](const Recovery& answer) {
        const chain::Slot slot = answer.certificate ? answer.certificate->data.slot : 0;
        return std::tuple(slot, answer.replaced.size(), chain::height_of(answer.reset.from));
    };
    Recovery best = *std::ranges::max_element(all, {}, rank);
    if (best.replaced.empty()) {
        return fail(Errc::not_found,
                    fmt::format("none of these nodes has block {} of slot {}, of which there is a "
                                "certificate: answers of others are needed; where no validator "
                                "has it any more, start those that name it once with "
                                "--accept-amnesia and ask them again, or leave their answers out, "
                                "with --give-up-final",
                                base::to_hex(best.reset.from.view()),
                                std::get<0>(rank(best))));
    }
    best.answers.clear();
    for (const Recovery& each : all) {
        for (const RecoveryAnswer& answer : each.answers) {
            const bool is_new = std::ranges::find(best.answers, answer.key, &RecoveryAnswer::key) ==
                                best.answers.end();
            if (is_new) best.answers.push_back(answer);
        }
    }
    return best;
}

std::uint32_t version_after(const std::vector<chain::Schedule>& replaced,
                            const std::vector<chain::ScheduleEntry>& entries) {
    base::Writer out;
    chain::encode_list(out, entries);
    const base::Hash256 hash = base::crypto::sha256(out.view());
    const auto tag = std::to_integer<std::uint32_t>(hash.bytes[0]) << 8U |
                     std::to_integer<std::uint32_t>(hash.bytes[1]);
    return replaced.back().version + kVersionsApart + tag;
}

std::set<PublicKey> signing_keys(const Recovery& recovery) {
    const base::Hash256 id = recovery.id();
    std::set<PublicKey> keys;
    for (const auto& signature : recovery.signatures) {
        if (auto key = base::crypto::recover(signature, id)) keys.insert(*key);
    }
    return keys;
}

std::vector<chain::Name> signers_of(const Recovery& recovery, std::size_t* looked_at) {
    const std::set<PublicKey> keys = signing_keys(recovery);
    const Signers signers(recovery.members, keys);
    std::vector<chain::Name> names;
    for (const RecoveryMember& member : recovery.members) {
        if (signers.contains(member.name)) names.push_back(member.name);
    }
    if (looked_at != nullptr) *looked_at = signers.looked_at();
    return names;
}

base::Result<void> check_answers(const Recovery& recovery,
                                 const CheckCertificate& check_certificate) {
    if (recovery.reset.schedule.entries.empty()) return {};
    if (recovery.replaced.empty()) {
        return fail(Errc::invalid, "the recovery does not say which schedule it replaces");
    }
    if (recovery.certificate) {
        if (recovery.certificate->data.block_id != recovery.reset.from) {
            return fail(Errc::invalid, "the recovery's certificate is of another block");
        }
        chain::ScheduleState schedules = chain::first_schedules(recovery.replaced.front());
        if (recovery.replaced.size() == 2) {
            schedules.proposed = std::make_shared<const chain::Schedule>(recovery.replaced[1]);
            schedules.proposed_at = schedules.pending_since = 1;
        }
        if (auto good = check_certificate(*recovery.certificate, schedules); !good) return good;
    }
    for (const RecoveryAnswer& answer : recovery.answers) {
        if (auto good = check_answer(recovery, answer); !good) return good;
    }
    if (recovery.reset.gives_up_final) return {};
    for (const chain::Schedule& schedule : recovery.replaced) {
        if (auto good = check_count(recovery, schedule); !good) return good;
    }
    return {};
}

base::Result<void> check_members(const std::vector<RecoveryMember>& members) {
    const auto is_out_of_order = [](const RecoveryMember& a, const RecoveryMember& b) {
        return a.name >= b.name;
    };
    if (members.empty()) return fail(Errc::invalid, "the recovery names no member");
    if (members.size() > kRecoveryMembersMax) {
        return fail(Errc::invalid,
                    fmt::format("the recovery names {} members, at most {} are possible",
                                members.size(),
                                kRecoveryMembersMax));
    }
    if (std::ranges::adjacent_find(members, is_out_of_order) == members.end()) return {};
    return fail(Errc::invalid, "the recovery's members are not in ascending order, each once");
}

base::Result<void> check_content(const Recovery& recovery,
                                 const CheckCertificate& check_certificate) {
    if (recovery.reset.schedule.entries.empty() && recovery.retimes.empty()) {
        return fail(Errc::invalid, "a validator, or another time, is needed");
    }
    if (auto good = check_schedule(recovery.reset.schedule); !good) return good;
    if (auto good = check_retimes(recovery.retimes); !good) return good;
    if (auto good = check_members(recovery.members); !good) return good;
    if (auto good = check_answers(recovery, check_certificate); !good) return good;
    return check_version(recovery);
}

std::size_t signers_needed(const Recovery& recovery) {
    return recovery.members.size() * 2 / 3 + 1;
}

base::Result<void> check(const Recovery& recovery,
                         const chain::ChainId& chain_id,
                         const CheckCertificate& check_certificate) {
    if (recovery.chain_id != chain_id) {
        return fail(Errc::invalid,
                    fmt::format("the recovery is of chain {}, not of {}",
                                base::to_hex(recovery.chain_id.view()),
                                base::to_hex(chain_id.view())));
    }
    if (auto good = check_content(recovery, check_certificate); !good) return good;
    const std::size_t needed = signers_needed(recovery);
    const std::vector<chain::Name> signers = signers_of(recovery);
    if (signers.size() >= needed) return {};
    return fail(Errc::invalid,
                fmt::format("{} of {} members have signed the recovery, {} must ('bor-cli recover "
                            "sign')",
                            signers.size(),
                            recovery.members.size(),
                            needed));
}

}  // namespace genesis
