// The broker's contract: leaders, in-sync replicas, reassignments and anchors; a model of the
// rules, and every refusal with its text.
#include "base/rng.hpp"
#include "bps_ledger.hpp"

#include <algorithm>
#include <array>

namespace {

using support::BpsLedger;
using namespace chain::literals;  // NOLINT(google-build-using-namespace): for names.

constexpr int kBrokers = 4;
constexpr int kNobody = -1;

// What the replication rules say of one partition, written from their model and not from the
// contract. Each function says whether the action is taken.
struct Model {
    struct Broker {
        int boot = 1;
        int generation = 1;
        int log = 0;
        int start = 0;
        bool fenced = false;
    };
    std::array<Broker, kBrokers + 1> brokers{};
    std::vector<int> replicas{1, 2, 3};
    std::array<int, kBrokers + 1> isr{kNobody, 1, 1, 1, kNobody};
    std::vector<int> target{};
    std::size_t before = 0;
    int leader = 1;
    int leader_boot = 1;
    int leader_epoch = 1;
    int partition_epoch = 1;
    int break_epoch = 0;
    std::size_t minimum = 2;

    [[nodiscard]] const Broker& of(int id) const {
        return brokers.at(static_cast<std::size_t>(id));
    }
    [[nodiscard]] int& member(int id) { return isr.at(static_cast<std::size_t>(id)); }
    [[nodiscard]] bool counts(int id) { return member(id) >= 0 && member(id) == of(id).generation; }
    [[nodiscard]] std::size_t counting() {
        std::size_t count = 0;
        for (int id = 1; id <= kBrokers; ++id)
            count += counts(id) ? 1U : 0U;
        return count;
    }
    [[nodiscard]] std::size_t least() const {
        const std::size_t all = target.empty() ? replicas.size() : std::min(before, target.size());
        return std::min(minimum, all);
    }
    [[nodiscard]] bool is_replica(int id) const {
        return std::find(replicas.begin(), replicas.end(), id) != replicas.end();
    }
    [[nodiscard]] bool live() const {
        return leader >= 0 && !of(leader).fenced && of(leader).boot == leader_boot;
    }
    [[nodiscard]] int pick(int except) {
        for (const int id : replicas) {
            if (id != except && !of(id).fenced && counts(id)) return id;
        }
        return kNobody;
    }
    void lead(int id) {
        leader = id;
        leader_boot = id < 0 ? 0 : of(id).boot;
        ++leader_epoch;
        ++partition_epoch;
    }
    void become(std::vector<int> kept) {
        replicas = std::move(kept);
        for (int id = 1; id <= kBrokers; ++id) {
            if (!is_replica(id)) member(id) = kNobody;
        }
        target.clear();
        before = 0;
        if (leader >= 0 && !is_replica(leader)) lead(pick(kNobody));
    }
    void finish() {
        if (target.empty()) return;
        for (const int id : target) {
            if (!counts(id)) return;
        }
        become(target);
    }

    bool start(int id, int start_id, bool keeps_start, bool keeps_log) {
        Broker& row = brokers.at(static_cast<std::size_t>(id));
        if (!keeps_log) row.log += 100;
        if (!keeps_log || !keeps_start) ++row.generation;
        ++row.boot;
        row.start = start_id;
        row.fenced = false;
        return true;
    }
    bool elect() {
        if (live()) return false;
        const int next = pick(kNobody);
        if (next < 0) {
            if (leader < 0) return false;
            lead(kNobody);
            return true;
        }
        lead(next);
        for (std::size_t i = replicas.size(); i > 0; --i) {
            const int id = replicas[i - 1];
            if (member(id) < 0 || id == leader) continue;
            if (!counts(id) || (of(id).fenced && counting() > least())) member(id) = kNobody;
        }
        return true;
    }
    bool alter(int from, int boot, int epoch, int at, const std::array<int, kBrokers + 1>& wanted) {
        if (from != leader || epoch != leader_epoch || boot != leader_boot) return false;
        if (at != partition_epoch || wanted.at(static_cast<std::size_t>(leader)) < 0) return false;
        std::size_t size = 0;
        bool gone = false;
        for (int id = 1; id <= kBrokers; ++id) {
            const int generation = wanted.at(static_cast<std::size_t>(id));
            if (generation < 0) {
                gone = gone || counts(id);
                continue;
            }
            ++size;
            if (!is_replica(id)) return false;
            const bool stays = counts(id) && member(id) == generation;
            if (!stays && (of(id).fenced || of(id).generation != generation)) return false;
        }
        if (size < least() && gone) return false;
        isr = wanted;
        ++partition_epoch;
        finish();
        return true;
    }
    bool prefer(int from, int epoch) {
        const int first = replicas.front();
        if (first == leader || !live() || !counts(first) || of(first).fenced) return false;
        if (from != leader || epoch != leader_epoch) return false;
        lead(first);
        return true;
    }
    bool resign(int from, int epoch) {
        if (from != leader || epoch != leader_epoch) return false;
        const int next = pick(from);
        if (next < 0) return false;
        lead(next);
        return true;
    }
    bool reassign(const std::vector<int>& to) {
        if (to.empty()) return cancel();
        if (!target.empty()) return false;
        before = replicas.size();
        target = to;
        for (const int id : to) {
            if (!is_replica(id)) replicas.push_back(id);
        }
        finish();
        return true;
    }
    bool cancel() {
        if (target.empty()) return false;
        std::vector<int> kept(replicas.begin(),
                              replicas.begin() + static_cast<std::ptrdiff_t>(before));
        std::size_t staying = 0;
        for (const int id : kept)
            staying += counts(id) ? 1U : 0U;
        if (staying < counting() && staying < least()) return false;
        become(std::move(kept));
        return true;
    }
    bool unclean() {
        if (live() || pick(kNobody) >= 0) return false;
        int next = kNobody;
        for (const int id : replicas) {
            if (next < 0 && !of(id).fenced && id != leader) next = id;
        }
        if (next < 0 && leader >= 0 && !of(leader).fenced) next = leader;
        if (next < 0) return false;
        lead(next);
        isr.fill(kNobody);
        member(next) = of(next).generation;
        break_epoch = leader_epoch;
        return true;
    }

    [[nodiscard]] std::string row() {
        std::string text = R"({"topic":1,"partition":0,"replicas":[)";
        for (const int id : replicas) {
            text += (id == replicas.front() ? "" : ",") + (R"({"broker":)" + std::to_string(id)) +
                    ",\"generation\":" + std::to_string(member(id)) + "}";
        }
        text += R"(],"target":[)";
        for (const int id : target)
            text += (id == target.front() ? "" : ",") + std::to_string(id);
        const auto field = [&](const char* name, auto value) {
            text += ",\"" + std::string(name) + "\":" + std::to_string(value);
        };
        text += "]";
        field("replicas_before", before);
        field("leader", leader);
        field("leader_boot", leader_boot);
        field("leader_epoch", leader_epoch);
        field("partition_epoch", partition_epoch);
        field("break_epoch", break_epoch);
        field("log_start", 0);
        return text + "}";
    }
};

std::string number(int value) {
    return std::to_string(value);
}
std::string list(const std::vector<int>& ids) {
    std::string text;
    for (const int id : ids)
        text += (text.empty() ? "" : ",") + number(id);
    return "[" + text + "]";
}
std::string members(const std::array<int, kBrokers + 1>& isr) {
    std::string text;
    for (int id = 1; id <= kBrokers; ++id) {
        const int generation = isr.at(static_cast<std::size_t>(id));
        if (generation < 0) continue;
        text += (text.empty() ? "" : ",") + ("{'broker':" + number(id)) +
                ",'generation':" + number(generation) + "}";
    }
    return "[" + text + "]";
}

// The model and the contract side by side.
class Pair {
  public:
    explicit Pair(std::uint64_t seed) : rng_(seed) {
        ledger_.create("broker4"_n);
        ledger_.must("bps", "addbroker", "{'broker':4,'account':'broker4'}");
        ledger_.must("broker4", "regbroker", BpsLedger::start(4, 1, 14, "", 4));
        ledger_.make_topic(2);
        for (int id = 1; id <= kBrokers; ++id) {
            model_.brokers.at(static_cast<std::size_t>(id)).log = id;
            model_.brokers.at(static_cast<std::size_t>(id)).start = 10 + id;
        }
    }
    void step() {
        const std::string done = change();
        ledger_.next_block();
        INFO(done);
        REQUIRE(ledger_.partition_row().dump() == model_.row());
        for (int id = 1; id <= kBrokers; ++id) {
            const auto row = ledger_.broker_row(id);
            REQUIRE(row["generation"] == model_.of(id).generation);
            REQUIRE(row["fenced"] == (model_.of(id).fenced ? 1 : 0));
            REQUIRE(row["replicas"] == (model_.is_replica(id) ? 1 : 0));
        }
        ++(model_.live() ? live_ : dead_);
    }
    [[nodiscard]] int taken() const { return taken_; }
    [[nodiscard]] int live() const { return live_; }
    [[nodiscard]] int dead() const { return dead_; }

  private:
    int below(int bound) { return static_cast<int>(rng_.below(static_cast<std::uint64_t>(bound))); }
    bool chance(int percent) { return below(100) < percent; }
    int any_broker() { return 1 + below(kBrokers); }

    std::string push(bool expected,
                     const std::string& actor,
                     const std::string& action,
                     const std::string& arguments) {
        const std::string refusal = ledger_.act(actor, action, arguments);
        INFO(actor << ' ' << action << ' ' << arguments << ": " << refusal);
        INFO(model_.row());
        REQUIRE(refusal.empty() == expected);
        taken_ += expected ? 1 : 0;
        return actor + ' ' + action + ' ' + arguments;
    }
    std::string change() {
        switch (below(12)) {
            case 0:
                return start();
            case 1:
                return fence();
            case 2:
                return alive();
            case 3:
            case 4:
                return push(
                    model_.elect(), "alice", "elect", "{'partitions':[{'topic':1,'partition':0}]}");
            case 5:
            case 6:
            case 7:
                return alter();
            case 8:
                return hand_over();
            case 9:
            case 10:
                return reassign();
            default:
                return owner();
        }
    }
    std::string start() {
        const int id = any_broker();
        const bool keeps_start = chance(80);
        const bool keeps_log = chance(90);
        const int earlier = model_.of(id).start;
        const int boot = model_.of(id).boot + 1;
        ++starts_;
        const bool taken = model_.start(id, starts_, keeps_start, keeps_log);
        return push(
            taken,
            BpsLedger::account_of(id),
            "regbroker",
            BpsLedger::start(
                id, boot, starts_, keeps_start ? "5," + number(earlier) : "5", model_.of(id).log));
    }
    std::string fence() {
        const int id = any_broker();
        const int by = any_broker();
        if (id == by || model_.of(id).fenced || model_.of(by).fenced) return "no fence";
        ledger_.fence(by, id);
        model_.brokers.at(static_cast<std::size_t>(id)).fenced = true;
        return number(by) + " fences " + number(id);
    }
    std::string alive() {
        const int id = any_broker();
        model_.brokers.at(static_cast<std::size_t>(id)).fenced = false;
        return push(true,
                    BpsLedger::account_of(id),
                    "alive",
                    BpsLedger::broker(id) + ",'boot':" + number(model_.of(id).boot) + "}");
    }
    std::string alter() {
        const int from = model_.leader >= 0 && chance(95) ? model_.leader : any_broker();
        const int boot = model_.of(from).boot;
        const int epoch = model_.leader_epoch - (chance(5) ? 1 : 0);
        const int at = model_.partition_epoch - (chance(5) ? 1 : 0);
        std::array<int, kBrokers + 1> wanted{};
        wanted.fill(kNobody);
        for (int id = 1; id <= kBrokers; ++id) {
            if (!chance(id == from ? 98 : model_.is_replica(id) ? 65 : 5)) continue;
            const int stale = chance(5) ? 1 : 0;
            const int present = model_.of(id).generation;
            wanted.at(static_cast<std::size_t>(id)) = chance(10) && model_.member(id) >= 0
                                                          ? model_.member(id)
                                                          : std::max(1, present - stale);
        }
        return push(model_.alter(from, boot, epoch, at, wanted),
                    BpsLedger::account_of(from),
                    "alterisr",
                    BpsLedger::broker(from) + ",'boot':" + number(boot) +
                        ",'topic':1,'partition':0,'leader_epoch':" + number(epoch) +
                        ",'partition_epoch':" + number(at) + ",'isr':" + members(wanted) + "}");
    }
    std::string hand_over() {
        const int from = model_.leader >= 0 && chance(90) ? model_.leader : any_broker();
        const int epoch = model_.leader_epoch - (chance(5) ? 1 : 0);
        const std::string arguments =
            BpsLedger::broker(from) + ",'topic':1,'partition':0,'epoch':" + number(epoch) + "}";
        const bool prefers = chance(50);
        const bool taken = prefers ? model_.prefer(from, epoch) : model_.resign(from, epoch);
        return push(taken, BpsLedger::account_of(from), prefers ? "prefer" : "resign", arguments);
    }
    std::string reassign() {
        std::vector<int> to;
        for (int tries = below(4); tries > 0; --tries) {
            const int id = any_broker();
            if (std::find(to.begin(), to.end(), id) == to.end()) to.push_back(id);
        }
        return push(model_.reassign(to),
                    "alice",
                    "reassign",
                    "{'by':'alice','topic':1,'partition':0,'target':" + list(to) + "}");
    }
    std::string owner() {
        if (chance(50)) {
            return push(model_.unclean(), "alice", "unclean", "{'topic':1,'partition':0}");
        }
        model_.minimum = 1 + static_cast<std::size_t>(below(3));
        return push(true,
                    "alice",
                    "altertopic",
                    "{'by':'alice','topic':1,'settings':[{'name':'min.insync.replicas','value':'" +
                        std::to_string(model_.minimum) + "'}]}");
    }

    base::Rng rng_;
    BpsLedger ledger_;
    Model model_;
    int starts_ = 100;
    int taken_ = 0;
    int live_ = 0;
    int dead_ = 0;
};

std::string alter(int boot, int epoch, int at, const std::string& isr) {
    return "{'broker':1,'boot':" + number(boot) +
           ",'topic':1,'partition':0,'leader_epoch':" + number(epoch) +
           ",'partition_epoch':" + number(at) + ",'isr':[" + isr + "]}";
}
std::string member(int id, int generation = 1) {
    return "{'broker':" + number(id) + ",'generation':" + number(generation) + "}";
}
const std::string kElect = "{'partitions':[{'topic':1,'partition':0}]}";

}  // namespace

TEST_CASE("bps: the contract does what the replication model does, action for action") {
    int taken = 0;
    int live = 0;
    int dead = 0;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        INFO("seed " << seed);
        Pair pair(seed);
        for (int i = 0; i < 150; ++i)
            pair.step();
        taken += pair.taken();
        live += pair.live();
        dead += pair.dead();
    }
    INFO("taken " << taken << ", live " << live << ", dead " << dead);
    CHECK(taken > 1'000);
    CHECK(live > 300);
    CHECK(dead > 300);
}

TEST_CASE("bps: ISR is changed by the leader, and not below the minimum") {
    BpsLedger ledger;
    ledger.make_topic(2);
    const std::string all = member(1) + "," + member(2) + "," + member(3);
    const auto refusal = [&](const std::string& arguments) {
        return ledger.act("broker1", "alterisr", arguments);
    };
    CHECK(ledger.act("broker2", "alterisr", alter(1, 1, 1, all)) == "missing authority of broker1");
    CHECK(refusal(alter(1, 2, 1, all)) ==
          "partition 0 of topic 1 is led by broker 1 in epoch 1, not by 1 in 2: read the final "
          "state again");
    CHECK(refusal(alter(2, 1, 1, all)) == "broker 1 was elected with boot 1: boot 2 leads nothing");
    CHECK(refusal(alter(1, 1, 0, all)) ==
          "partition 0 of topic 1 has partition epoch 1, not 0: read the final state again");
    CHECK(refusal(alter(1, 1, 1, member(2))) ==
          "the leader, broker 1, is not among the proposed members: it resigns instead");
    CHECK(refusal(alter(1, 1, 1, all + "," + member(2))) ==
          "broker 2 is proposed twice: name it once");
    CHECK(refusal(alter(1, 1, 1, all + "," + member(4))) ==
          "broker 4 is no replica of this partition: leave it out");
    CHECK(refusal(alter(1, 1, 1, member(1) + "," + member(2, 2))) ==
          "broker 2 has generation 1, not 2: propose that one");
    CHECK(refusal(alter(1, 1, 1, member(1))) ==
          "this takes a member away and leaves 1, fewer than 2 (min.insync.replicas): keep more");
    std::string many = member(1);
    for (int i = 0; i < 14; ++i)
        many += "," + member(1);
    CHECK(refusal(alter(1, 1, 1, many)) == "at most 14 members are proposed, not 15");
    CHECK(refusal(alter(1, 1, 1, member(1) + "," + member(2))).empty());
    CHECK(ledger.partition_text() == "leader 1 epoch 1/2 isr 1,2");
    ledger.fence(1, 3);
    CHECK(refusal(alter(1, 1, 2, all)) == "broker 3 is fenced and cannot join: wait for its alive");
}

TEST_CASE("bps: a leader that is fenced or starts again is replaced by elect") {
    BpsLedger ledger;
    ledger.make_topic(1);
    const std::string nothing =
        "each of these partitions has a live leader, or no replica that could be one: nothing is "
        "to do";
    CHECK(ledger.act("bob", "elect", kElect) == nothing);
    CHECK(ledger.act("bob", "elect", "{'partitions':[]}") ==
          "1 to 128 partitions are elected for at once, not 0");
    CHECK(ledger.act("bob", "elect", "{'partitions':[{'topic':9,'partition':0}]}") == nothing);
    ledger.must("broker1", "regbroker", BpsLedger::start(1, 2, 21, "11", 1));
    ledger.must("bob", "elect", kElect);
    CHECK(ledger.partition_text() == "leader 1 epoch 2/2 isr 1,2,3");
    ledger.fence(2, 1);
    ledger.must("bob", "elect", kElect);
    CHECK(ledger.partition_text() == "leader 2 epoch 3/3 isr 2,3");
    CHECK(ledger.act("broker1", "resign", "{'broker':1,'topic':1,'partition':0,'epoch':3}") ==
          "partition 0 of topic 1 is led by broker 2 in epoch 3, not by 1 in 3: read the final "
          "state again");
    CHECK(ledger.act("broker2", "prefer", "{'broker':2,'topic':1,'partition':0,'epoch':3}") ==
          "broker 1 is not in sync, or fenced: wait until it is");
    ledger.must("broker2", "resign", "{'broker':2,'topic':1,'partition':0,'epoch':3}");
    CHECK(ledger.partition_text() == "leader 3 epoch 4/4 isr 2,3");
    ledger.must("broker1", "alive", "{'broker':1,'boot':2}");
    ledger.must("broker3",
                "alterisr",
                "{'broker':3,'boot':1,'topic':1,'partition':0,'leader_epoch':4,'partition_epoch':4,"
                "'isr':[" +
                    member(1) + "," + member(3) + "]}");
    ledger.must("broker3", "prefer", "{'broker':3,'topic':1,'partition':0,'epoch':4}");
    CHECK(ledger.partition_text() == "leader 1 epoch 5/6 isr 1,3");
    CHECK(ledger.act("broker1", "prefer", "{'broker':1,'topic':1,'partition':0,'epoch':5}") ==
          "broker 1 is the preferred leader already");
    ledger.must("broker1", "alterisr", alter(2, 5, 6, member(1)));
    CHECK(ledger.act("broker1", "resign", "{'broker':1,'topic':1,'partition':0,'epoch':5}") ==
          "no other member of ISR could lead: broker 1 must stay");
}

TEST_CASE("bps: a leader that started again does not prefer") {
    BpsLedger ledger;
    ledger.make_topic(1);
    ledger.must("broker1", "resign", "{'broker':1,'topic':1,'partition':0,'epoch':1}");
    ledger.must("broker2", "regbroker", BpsLedger::start(2, 2, 22, "12", 2));
    CHECK(ledger.act("broker2", "prefer", "{'broker':2,'topic':1,'partition':0,'epoch':2}") ==
          "broker 2 is fenced, or has started again since it was elected: push elect");
}

TEST_CASE("bps: only the owner elects uncleanly, and only when nobody else can lead") {
    BpsLedger ledger;
    ledger.make_topic(1);
    const std::string id = "{'topic':1,'partition':0}";
    CHECK(ledger.act("bob", "unclean", id) == "missing authority of alice");
    CHECK(ledger.act("alice", "unclean", id) ==
          "partition 0 of topic 1 has a leader, or a member of ISR that can be one: push elect, "
          "which loses nothing");
    ledger.must("broker1", "alterisr", alter(1, 1, 1, member(1)));
    ledger.must("broker1", "regbroker", BpsLedger::start(1, 2, 21, "", 9));
    ledger.must("bob", "elect", kElect);
    CHECK(ledger.partition_text() == "leader -1 epoch 2/3 isr 1");
    ledger.fence(1, 2);
    ledger.fence(1, 3);
    ledger.must("alice", "unclean", id);
    CHECK(ledger.partition_text() == "leader 1 epoch 3/4 isr 1");
    CHECK(ledger.partition_row()["break_epoch"] == 3);
}

TEST_CASE("bps: replicas move once all the new ones are in sync") {
    BpsLedger ledger;
    ledger.create("broker4"_n);
    ledger.must("bps", "addbroker", "{'broker':4,'account':'broker4'}");
    ledger.must("broker4", "regbroker", BpsLedger::start(4, 1, 14, "", 4));
    ledger.make_topic(2);
    const auto reassign = [&](const std::string& target, const std::string& by = "alice") {
        return ledger.act(by,
                          "reassign",
                          "{'by':'" + by + "','topic':1,'partition':0,'target':[" + target + "]}");
    };
    CHECK(reassign("4", "bob") ==
          "alice has not delegated reassign to bob: sign as alice, or let it push delegate");
    CHECK(reassign("") == "no reassignment is on its way: give a target");
    ledger.must("broker4", "drain", "{'broker':4,'draining':true}");
    CHECK(reassign("4,1") == "broker 4 is draining: choose another one");
    ledger.must("broker4", "drain", "{'broker':4,'draining':false}");
    CHECK(reassign("4,3", "bps").empty());
    CHECK(ledger.broker_row(4)["replicas"] == 1);
    CHECK(reassign("1") == "a reassignment is on its way: take it back with an empty target first");
    CHECK(reassign("").empty());
    CHECK(ledger.broker_row(4)["replicas"] == 0);
    CHECK(reassign("4,3").empty());
    ledger.must("broker1", "alterisr", alter(1, 1, 1, member(1) + "," + member(4)));
    CHECK(reassign("") ==
          "taking it back leaves 1 members of ISR, fewer than 2 (min.insync.replicas): wait until "
          "more are in sync");
    ledger.must(
        "broker1", "alterisr", alter(1, 1, 2, member(1) + "," + member(3) + "," + member(4)));
    CHECK(ledger.partition_text() == "leader 4 epoch 2/4 isr 4,3");
    CHECK(ledger.broker_row(1)["replicas"] == 0);
    CHECK(ledger.broker_row(2)["replicas"] == 0);
}

TEST_CASE("bps: anchors go on from the last, by the leader of the epoch") {
    BpsLedger ledger;
    ledger.make_topic(1);
    const auto anchor = [&](int epoch, int from, int to, int log_start = 0, int topic = 1) {
        return "{'topic':" + number(topic) + ",'partition':0,'epoch':" + number(epoch) +
               ",'from':" + number(from) + ",'to':" + number(to) + ",'root':'" +
               std::string(64, '1') + "','chain':'" + std::string(64, '2') +
               "','log_start':" + number(log_start) + "}";
    };
    const auto send = [&](const std::string& anchors, int broker = 1) {
        return ledger.act(BpsLedger::account_of(broker),
                          "anchor",
                          BpsLedger::broker(broker) + ",'anchors':[" + anchors + "]}");
    };
    const auto last = [&] { return ledger.json_row("anchors"_n, std::uint64_t{1} << 32U); };
    const std::string none =
        "none of these anchors goes on from the last one in an epoch that broker 1 leads: read the "
        "final state again";
    CHECK(send("") == "1 to 128 anchors come at once, not 0");
    CHECK(send(anchor(1, 0, 0)) ==
          "an anchor goes from 0 or more to more than that, not from 0 to 0");
    CHECK(send(anchor(1, 0, 5, 6)) == "a log starts between 0 and the anchor's end 5, not at 6");
    CHECK(send(anchor(1, 1, 5)) == none);
    CHECK(send(anchor(2, 0, 5)) == none);
    CHECK(send(anchor(1, 0, 5, 0, 9)) == none);
    CHECK(send(anchor(1, 0, 5), 2).starts_with("none of these anchors"));
    // What is not the sender's holds up nothing.
    CHECK(send(anchor(1, 0, 5, 0, 9) + "," + anchor(1, 0, 5) + "," + anchor(1, 5, 8, 3)).empty());
    CHECK(last()["to"] == 8);
    CHECK(send(anchor(1, 8, 9, 2)) == none);  // A log does not start earlier than it did.
    CHECK(send(anchor(1, 5, 9, 3)) == none);
    ledger.must("broker1", "alterisr", alter(1, 1, 1, member(1)));
    ledger.must("broker1", "regbroker", BpsLedger::start(1, 2, 21, "", 1));
    ledger.must("bob", "elect", kElect);
    ledger.must("alice", "unclean", "{'topic':1,'partition':0}");
    CHECK(last()["to"] == 0);
    CHECK(ledger.partition_row()["leader"] == 1);
    CHECK(send(anchor(3, 7, 9, 2)).empty());
    CHECK(last()["from"] == 7);
    CHECK(send(anchor(3, 8, 10, 2)) == none);
}
