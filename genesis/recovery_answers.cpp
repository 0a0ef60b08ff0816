#include "genesis/recovery_answers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace genesis {

namespace {

using base::Errc;
using base::fail;
using base::crypto::PublicKey;

std::string block_text(const Recovery& recovery) {
    return fmt::format("block {} ({})",
                       chain::height_of(recovery.reset.from),
                       base::to_hex(recovery.reset.from.view()).substr(0, 16));
}

bool is_replaced(const Recovery& recovery, const PublicKey& vote_key) {
    return std::ranges::any_of(recovery.replaced, [&](const chain::Schedule& schedule) {
        return std::ranges::find(schedule.entries, vote_key, &chain::ScheduleEntry::vote_key) !=
               schedule.entries.end();
    });
}

// What a node writes into one file: its certificate, and what its keys say of that.
base::Result<void> check_file(const AnswerFile& file) {
    const Recovery& said = file.recovery;
    const auto changed = [&](const std::string& what) {
        return fail(Errc::invalid,
                    fmt::format("{}: {}: the file was changed; take what 'bor-cli recover answer' "
                                "writes, as it is",
                                file.name,
                                what));
    };
    if (said.certificate && said.certificate->data.block_id != said.reset.from) {
        return changed("its certificate is of another block than it begins from");
    }
    const chain::Slot slot = said.certificate ? said.certificate->data.slot : 0;
    for (const RecoveryAnswer& answer : said.answers) {
        const std::string key = answer.key.to_string();
        if (!base::crypto::verify(
                answer.key, answer.signature, answer_digest(answer, said.chain_id))) {
            return changed("the answer of " + key + " is not signed by it");
        }
        if (answer.slot != slot || answer.block != said.reset.from) {
            return changed("the answer of " + key + " is of another certificate");
        }
    }
    return {};
}

// An answer of a key that votes in none of them binds nobody.
base::Result<void> check_answering(const AnswerFile& file, const Recovery& merged) {
    const auto& answers = file.recovery.answers;
    const bool counts =
        answers.empty() || std::ranges::any_of(answers, [&](const RecoveryAnswer& answer) {
            return is_replaced(merged, answer.key);
        });
    if (counts) return {};
    return fail(Errc::invalid,
                fmt::format("{}: {} votes in no schedule that is in force at {}, so its answer "
                            "counts for nobody (an old key?): leave the file out, and ask the node "
                            "that has the validator's present key",
                            file.name,
                            answers.front().key.to_string(),
                            block_text(merged)));
}

// The name of a member that the two do not have alike; empty: they agree.
std::string other_member(const std::vector<RecoveryMember>& a,
                         const std::vector<RecoveryMember>& b) {
    for (const auto& [some, others] : {std::pair(&a, &b), std::pair(&b, &a)}) {
        for (const RecoveryMember& member : *some) {
            if (std::ranges::find(*others, member) == others->end()) return member.name.to_string();
        }
    }
    return {};
}

// Nodes that have a block have one state of it. Members and schedules seldom change, so those of
// two blocks side by side are compared, too.
base::Result<void> check_same(const AnswerFile& file, const AnswerFile& other) {
    const Recovery& a = file.recovery;
    const Recovery& b = other.recovery;
    if (a.replaced.empty() || b.replaced.empty()) return {};  // One does not have its block.
    std::string what;
    if (const std::string name = other_member(a.members, b.members); !name.empty()) {
        what = fmt::format("the member {} is not the same in both", name);
    } else if (a.replaced != b.replaced) {
        what = "they name other validators ('replaces')";
    } else if (a.retimes != b.retimes) {
        what = "they name other times ('retime')";
    }
    if (what.empty()) return {};
    const std::string cause =
        a.reset.from == b.reset.from
            ? "one of the two was changed"
            : fmt::format(
                  "one begins from {}, the other from {}, and one of the two was changed, "
                  "or that changed in between",
                  block_text(a),
                  block_text(b));
    return fail(Errc::invalid,
                fmt::format("{} and {}: {}: {}; ask both nodes again ('bor-cli recover answer'), "
                            "and leave out the file that is wrong",
                            file.name,
                            other.name,
                            what,
                            cause));
}

}  // namespace

base::Result<Recovery> merge_answer_files(const std::vector<AnswerFile>& files) {
    std::vector<Recovery> all;
    for (const AnswerFile& file : files) {
        if (auto good = check_file(file); !good) return fail(good.error());
        all.push_back(file.recovery);
    }
    auto merged = merge_answers(all);
    if (!merged) return merged;
    for (const AnswerFile& file : files) {
        if (auto good = check_answering(file, *merged); !good) return fail(good.error());
        if (auto good = check_same(files.front(), file); !good) return fail(good.error());
    }
    // A node answers with keys of a schedule that was proposed, too.
    std::erase_if(merged->answers,
                  [&](const RecoveryAnswer& answer) { return !is_replaced(*merged, answer.key); });
    return merged;
}

base::Result<void> check_keys(const Recovery& recovery) {
    for (const RecoveryAnswer& answer : recovery.answers) {
        if (is_replaced(recovery, answer.key)) continue;
        return fail(Errc::invalid,
                    fmt::format("the answer of {}: that key votes in no schedule that is replaced; "
                                "make the recovery without it",
                                answer.key.to_string()));
    }
    std::set<PublicKey> old;
    for (const chain::Schedule& schedule : recovery.replaced) {
        for (const chain::ScheduleEntry& entry : schedule.entries) {
            old.insert(entry.signing_key);
            old.insert(entry.vote_key);
        }
    }
    for (const chain::ScheduleEntry& entry : recovery.reset.schedule.entries) {
        for (const PublicKey& key : {entry.signing_key, entry.vote_key}) {
            if (!old.contains(key)) continue;
            return fail(Errc::invalid,
                        fmt::format("validator {}: the key {} is of the schedule that is replaced, "
                                    "and may have signed what is given up: make a new one "
                                    "('bor-cli key create --vote --journal DATA_DIR --file FILE')",
                                    entry.producer.to_string(),
                                    key.to_string()));
        }
    }
    return {};
}

std::vector<std::string> changed_members(const Recovery& recovery, const Genesis& genesis) {
    std::vector<std::string> said;
    for (const RecoveryMember& member : recovery.members) {
        const auto born = std::ranges::find(genesis.members, member.name, &Member::name);
        if (born == genesis.members.end()) {
            said.push_back(member.name.to_string() + " is no member in the genesis file");
        } else if (born->authority != member.authority) {
            said.push_back(member.name.to_string() + " has another authority in the genesis file");
        }
    }
    for (const Member& member : genesis.members) {
        const bool is_named =
            std::ranges::find(recovery.members, member.name, &RecoveryMember::name) !=
            recovery.members.end();
        if (!is_named) {
            said.push_back(member.name.to_string() + " is a member in the genesis file, not here");
        }
    }
    return said;
}

}  // namespace genesis
