// The broker's contract: brokers, topics and rights; every refusal with its text.
#include "base/crypto/keys.hpp"
#include "bps_ledger.hpp"

namespace {

using support::BpsLedger;
using namespace chain::literals;  // NOLINT(google-build-using-namespace): for names.

const std::string kAssign = ",'assignment':[{'brokers':[1,2,3]}]}";

std::string make(const std::string& name,
                 const std::string& settings = "",
                 const std::string& by = "alice",
                 const std::string& owner = "alice") {
    return "{'by':'" + by + "','owner':'" + owner + "','name':'" + name + "','settings':[" +
           settings + "]" + kAssign;
}
std::string setting(const std::string& name, const std::string& value) {
    return "{'name':'" + name + "','value':'" + value + "'}";
}
std::string grant(const std::string& terms,
                  const std::string& by = "alice",
                  const std::string& owner = "alice") {
    return "{'by':'" + by + "','owner':'" + owner + "','terms':{" + terms + "}}";
}
const std::string kBobProduces =
    "'resource':0,'prefixed':false,'name':'t','account':'bob','permission':'','operation':0,"
    "'first':0,'last':0";
std::string assign(const std::string& brokers, const std::string& name = "x") {
    return "{'by':'alice','owner':'alice','name':'" + name +
           "','settings':[],'assignment':[{'brokers':[" + brokers + "]}]}";
}

}  // namespace

TEST_CASE("bps: a start raises boot, and generation when the directory is not the last start's") {
    BpsLedger ledger;
    CHECK(ledger.broker_row(1)["generation"] == 1);
    const auto begin = [&](int boot, int start_id, const std::string& earlier, int log_id) {
        ledger.must("broker1", "regbroker", BpsLedger::start(1, boot, start_id, earlier, log_id));
        return ledger.broker_row(1)["generation"].dump();
    };
    CHECK(begin(2, 12, "11", 1) == "1");
    CHECK(begin(3, 13, "12,7", 1) == "1");
    CHECK(begin(7, 14, "12", 1) == "2");  // A directory of before the last start.
    CHECK(begin(8, 15, "14", 2) == "3");  // A copy of the directory.
    CHECK(begin(9, 16, "", 2) == "4");    // A directory without a start.
    CHECK(ledger.broker_row(1)["boot"] == 9);
    CHECK(ledger.broker_row(1)["start_id"] == "16");
    CHECK(ledger.broker_row(1)["fenced"] == 0);
}

TEST_CASE("bps: brokers are admitted by the contract's account, and leave when they hold nothing") {
    BpsLedger ledger;
    CHECK(ledger.act("alice", "addbroker", "{'broker':4,'account':'alice'}") ==
          "missing authority of bps");
    CHECK(ledger.act("bps", "addbroker", "{'broker':3,'account':'alice'}") ==
          "ids of brokers are never used again: choose one above 3, not 3");
    CHECK(ledger.act("bps", "addbroker", "{'broker':4,'account':'nobody'}") ==
          "there is no account nobody: create it first");
    CHECK(ledger.act("broker1", "regbroker", BpsLedger::start(2, 2, 1, "", 1)) ==
          "missing authority of broker2");
    CHECK(ledger.act("broker1", "regbroker", BpsLedger::start(9, 2, 1, "", 1)) ==
          "there is no broker 9: bps must push addbroker first");
    CHECK(ledger.act("broker1", "regbroker", BpsLedger::start(1, 1, 1, "", 1)) ==
          "broker 1 has started with boot 1 already: start it again with a higher one than 1");
    CHECK(ledger.act("broker1", "regbroker", BpsLedger::start(1, 2, 0, "", 1)) ==
          "start id 0 means none: draw another one");
    std::string many = "1";
    for (int i = 0; i < 16; ++i)
        many += ",1";
    CHECK(ledger.act("broker1", "regbroker", BpsLedger::start(1, 2, 1, many, 1)) ==
          "a log directory keeps at most 16 start ids, not 17");
    const auto listening = [&](const std::string& listeners) {
        std::string text = BpsLedger::start(1, 2, 1, "", 1);
        text = text.substr(0, text.find("'listeners'")) + "'listeners':[" + listeners + "]}";
        return ledger.act("broker1", "regbroker", text);
    };
    CHECK(listening("") == "broker 1 has 1 to 4 listeners, not 0");
    CHECK(listening("{'protocol':'UDP','host':'a','port':1}") ==
          "the protocol of a listener is one of PLAINTEXT SSL SASL_PLAINTEXT SASL_SSL, not 'UDP'");
    CHECK(listening("{'protocol':'SSL','host':'a b','port':1}") ==
          "the host of a listener has 1 to 255 printable ASCII letters, not 'a b'");
    CHECK(listening("{'protocol':'SSL','host':'a','port':0}") ==
          "the port of a listener is 1 to 65535, not 0");
    std::string start = BpsLedger::start(1, 2, 1, "", 1);
    const std::string r1 = BpsLedger::node_key(base::crypto::KeyType::r1);
    start.replace(start.find(r1), r1.size(), BpsLedger::node_key(base::crypto::KeyType::k1));
    CHECK(ledger.act("broker1", "regbroker", start) ==
          "the key of a node is an R1 key: give that one");

    CHECK(ledger.act("alice", "drain", "{'broker':1,'draining':true}") ==
          "missing authority of broker1");
    ledger.must("bps", "drain", "{'broker':1,'draining':true}");
    CHECK(ledger.act("broker1", "drain", "{'broker':1,'draining':true}") ==
          "broker 1 is draining already");
    CHECK(ledger.act("alice", "createtopic", assign("2,1")) ==
          "broker 1 is draining: choose another one");
    ledger.must("broker1", "drain", "{'broker':1,'draining':false}");
    ledger.make_topic();
    CHECK(ledger.broker_row(1)["replicas"] == 1);
    CHECK(ledger.act("bps", "rmbroker", "{'broker':1}") ==
          "broker 1 has 1 replicas: drain it and reassign them first");
    ledger.must("alice", "deletetopic", "{'by':'alice','topic':1}");
    CHECK(ledger.act("alice", "rmbroker", "{'broker':1}") == "missing authority of broker1");
    ledger.must("broker1", "rmbroker", "{'broker':1}");
    CHECK(ledger.broker_row(1).is_null());
}

TEST_CASE("bps: a suspected broker answers, or is fenced after two seconds of blocks") {
    BpsLedger ledger;
    ledger.next_block();
    const std::string call = "{'by':1,'broker':2}";
    CHECK(ledger.act("broker1", "fence", call) ==
          "broker 2 is not suspected: it may have answered; push suspect first");
    ledger.must("broker1", "suspect", "{'by':1,'brokers':[2,3]}");
    const std::string at = std::to_string(ledger.height());
    CHECK(ledger.broker_row(2)["suspected_at"] == ledger.height());
    CHECK(ledger.act("broker1", "fence", call) ==
          "broker 2 was suspected in block " + at +
              ": fence it in a transaction that refers to a final block from there on, not to one "
              "that ends in " +
              std::to_string(ledger.height() - 1));
    ledger.must("broker3", "alive", "{'broker':3,'boot':1}");
    CHECK(ledger.broker_row(3)["suspected_at"] == 0);
    ledger.next_block();
    ledger.must("broker1", "fence", call);
    const std::uint32_t covered = ledger.height();
    ledger.next_block();
    CHECK(ledger.act("broker1", "fence", call) ==
          "broker 2 has until block " + std::to_string(covered + 4) +
              " to answer: fence it from block " + std::to_string(covered + 2) +
              " on, once a block");
    ledger.next_block(1'000);  // A halt counts for nothing.
    ledger.must("broker1", "fence", call);
    ledger.next_block();
    CHECK(ledger.act("broker1", "fence", call) ==
          "broker 2 has until block " + std::to_string(covered + 4) +
              " to answer, and calls must be in blocks of 1 producers, so far of 1: fence it in a "
              "block of another one");
    ledger.next_block();
    ledger.must("broker1", "fence", call);
    CHECK(ledger.broker_row(2)["fenced"] == 1);
    CHECK(ledger.act("broker1", "fence", call) == "broker 2 is fenced already");
    CHECK(ledger.act("broker2", "fence", "{'by':2,'broker':1}") ==
          "broker 2 is fenced itself: push alive first");
    CHECK(ledger.act("broker2", "suspect", "{'by':2,'brokers':[1]}") ==
          "broker 2 is fenced itself: push alive first");
    CHECK(ledger.act("broker2", "alive", "{'broker':2,'boot':2}") ==
          "broker 2 has started with boot 1: an answer of boot 2 does not count");
    ledger.must("broker2", "alive", "{'broker':2,'boot':1}");
    CHECK(ledger.broker_row(2)["fenced"] == 0);
}

TEST_CASE("bps: neither one producer of four nor one second fences a broker") {
    BpsLedger ledger({"eosio"_n, "prod1"_n, "prod2"_n, "prod3"_n});
    ledger.next_block();
    ledger.must("broker1", "suspect", "{'by':1,'brokers':[2]}");
    ledger.next_block();
    const std::string call = "{'by':1,'broker':2}";
    ledger.must("broker1", "fence", call);
    // Blocks by one producer only, every fourth slot.
    for (int i = 0; i < 2; ++i)
        ledger.next_block(4);
    ledger.must("broker1", "fence", call);
    for (int i = 0; i < 5; ++i) {
        ledger.next_block(4);
        CHECK(ledger.act("broker1", "fence", call)
                  .ends_with("calls must be in blocks of 2 producers, so far of 1: fence it in a "
                             "block of another "
                             "one"));
    }
    ledger.next_block(5);
    ledger.must("broker1", "fence", call);  // Counted, not yet fenced: its producer might censor.
    CHECK(ledger.act("broker3", "fence", "{'by':3,'broker':2}") ==
          "fence was pushed for broker 2 in this block already: push it in the next one");
    CHECK(ledger.broker_row(2)["fenced"] == 0);
    ledger.next_block();
    ledger.must("broker1", "fence", call);
    CHECK(ledger.broker_row(2)["fenced"] == 1);
}

TEST_CASE("bps: suspicions are bounded") {
    BpsLedger ledger;
    ledger.next_block();
    CHECK(ledger.act("broker1", "suspect", "{'by':2,'brokers':[1]}") ==
          "missing authority of broker2");
    CHECK(ledger.act("broker1", "suspect", "{'by':1,'brokers':[]}") ==
          "1 to 128 brokers are suspected at once, not 0");
    CHECK(ledger.act("broker1", "suspect", "{'by':1,'brokers':[2,1]}") ==
          "broker 1 cannot suspect itself: leave it out");
    ledger.must("broker1", "suspect", "{'by':1,'brokers':[2]}");
    ledger.next_block(6);
    CHECK(ledger.act("broker1", "suspect", "{'by':1,'brokers':[3]}") ==
          "broker 1 suspected others 3 s ago: wait until 10 s have passed");
    ledger.next_block(14);
    CHECK(ledger.act("broker1", "suspect", "{'by':1,'brokers':[2]}") ==
          "all of these brokers are suspected or fenced already: wait for the outcome");
    CHECK(ledger.act("broker1", "fence", "{'by':1,'broker':1}") ==
          "broker 1 cannot fence itself: drain it");
    ledger.must("bps", "addbroker", "{'broker':4,'account':'alice'}");
    CHECK(ledger.act("alice", "alive", "{'broker':4,'boot':0}") ==
          "broker 4 has not started: push regbroker first");
}

TEST_CASE("bps: whose blocks are is told by the contract's account") {
    BpsLedger ledger;
    const auto slots = [&](const std::string& initial, int interval, int repetitions) {
        return ledger.act("bps",
                          "setslots",
                          "{'initial_ms':" + initial +
                              ",'interval_ms':" + std::to_string(interval) +
                              ",'repetitions':" + std::to_string(repetitions) + "}");
    };
    CHECK(slots("0", 9, 1) == "the interval of blocks is 10 to 5000 ms, not 9");
    CHECK(slots("0", 500, 0) == "a producer has 1 to 1000 slots in a row, not 0");
    CHECK(slots("-1", 500, 1) == "slot 0 is at 0 ms since 1970 or later, not -1");
    CHECK(ledger.act("alice", "setslots", "{'initial_ms':0,'interval_ms':500,'repetitions':1}") ==
          "missing authority of bps");
    CHECK(slots("1900000000000", 500, 1).empty());
    ledger.next_block();
    ledger.must("broker1", "suspect", "{'by':1,'brokers':[2]}");
    ledger.next_block();
    CHECK(ledger.act("broker1", "fence", "{'by':1,'broker':2}") ==
          "slot 0 is at 1900000000000 ms, after this block at 1800000002000 ms: push setslots with "
          "what the genesis file says");
}

TEST_CASE("bps: producer ids are leased in blocks of a thousand, to the present start only") {
    BpsLedger ledger;
    const auto lease = [&](int id) {
        const auto trace =
            ledger.run(BpsLedger::account_of(id), "leaseids", BpsLedger::broker(id) + ",'boot':1}");
        BpsLedger::require_success(trace);
        return base::to_hex(trace.action_traces.at(0).return_value);
    };
    CHECK(lease(1) == "0000000000000000");
    CHECK(lease(2) == "e803000000000000");
    CHECK(lease(1) == "d007000000000000");
    CHECK(ledger.broker_row(1)["first_id"] == 2'000);
    CHECK(ledger.act("broker1", "leaseids", "{'broker':1,'boot':2}") ==
          "broker 1 has started with boot 1: boot 2 gets no producer ids");
}

TEST_CASE("bps: each tenant has one number for its producer ids, whichever broker asks") {
    BpsLedger ledger;
    CHECK(
        ledger.act("broker1", "addidspaces", "{'broker':1,'accounts':['alice','nobody']}").empty());
    CHECK(ledger.act("broker2", "addidspaces", "{'broker':2,'accounts':['bob','alice']}").empty());
    CHECK(ledger.json_row("idspaces"_n, "alice"_n.value)["number"] == 1);
    CHECK(ledger.json_row("idspaces"_n, "bob"_n.value)["number"] == 2);
    CHECK(ledger.json_row("idspaces"_n, "nobody"_n.value).is_null());
    CHECK(ledger.act("broker1", "addidspaces", "{'broker':1,'accounts':[]}") ==
          "1 to 128 accounts get producer ids at once, not 0");
    CHECK_FALSE(ledger.act("alice", "addidspaces", "{'broker':1,'accounts':['carol']}").empty());
}

TEST_CASE("bps: topics are made, altered, grown and deleted, and all their RAM comes back") {
    BpsLedger ledger;
    const auto trace = ledger.run("alice", "createtopic", make("a.b-c_D9"));
    BpsLedger::require_success(trace);
    CHECK(base::to_hex(trace.action_traces.at(0).return_value) == "01000000");
    std::int64_t held = 0;
    const auto book = [&](const chain::TransactionTrace& of) {
        BpsLedger::require_success(of);
        for (const auto& delta : of.action_traces.at(0).account_ram_deltas) {
            if (delta.account == "alice"_n) held += delta.delta;
        }
    };
    book(trace);
    CHECK(held > 0);
    CHECK(ledger.partition_text() == "leader 1 epoch 1/1 isr 1,2,3");
    CHECK(ledger.json_row("topics"_n, 1)["owner"] == "alice");
    CHECK(ledger.json_row("tenants"_n, "alice"_n.value)["partitions"] == 1);
    book(ledger.run("alice", "addparts", "{'by':'alice','topic':1" + kAssign));
    CHECK(ledger.json_row("topics"_n, 1)["partitions"] == 2);
    book(ledger.run("alice",
                    "altertopic",
                    "{'by':'alice','topic':1,'settings':[" + setting("retention.ms", "-1") + "]}"));
    CHECK(ledger.json_row("topics"_n, 1)["settings"].dump() ==
          R"([{"name":"retention.ms","value":"-1"}])");
    const auto delete_by = [](const std::string& by) {
        return "{'by':'" + by + "','topic':1,'starts':[{'partition':0,'offset':5}]}";
    };
    CHECK(
        ledger.act("alice", "deleterecs", delete_by("alice")) ==
        "alice is not the account of the broker that leads partition 0, which alone knows how far "
        "its records go: use DeleteRecords of Kafka's clients");
    const auto delegate = [&](int broker) {
        ledger.must("alice",
                    "delegate",
                    "{'owner':'alice','broker':" + std::to_string(broker) +
                        ",'actions':['deleterecs'],'prefix':'','until':'" +
                        chain::TimePointSec{ledger.now() + 60}.to_string() + "'}");
    };
    delegate(2);
    CHECK(ledger.act("broker2", "deleterecs", delete_by("broker2")) ==
          "broker2 is not the account of the broker that leads partition 0, which alone knows how "
          "far its records go: use DeleteRecords of Kafka's clients");
    delegate(1);
    ledger.must("broker1", "deleterecs", delete_by("broker1"));
    CHECK(ledger.partition_row()["log_start"] == 5);
    for (const std::string broker : {"broker1", "broker2"})
        ledger.must("alice", "undelegate", "{'owner':'alice','account':'" + broker + "'}");
    book(ledger.run("alice", "deletetopic", "{'by':'alice','topic':1}"));
    CHECK(held == 0);
    CHECK(ledger.partition_row().is_null());
    CHECK(ledger.json_row("tenants"_n, "alice"_n.value).is_null());
    CHECK(ledger.broker_row(1)["replicas"] == 0);
    ledger.must("alice", "createtopic", make("a.b-c_D9"));
    CHECK(ledger.json_row("topics"_n, 2)["name"] == "a.b-c_D9");
}

TEST_CASE("bps: topics are refused") {
    BpsLedger ledger;
    const auto named = [&](const std::string& name) {
        return ledger.act("alice", "createtopic", make(name));
    };
    CHECK(named("") == "'' is no name of a topic: choose another one");
    CHECK(named(".") == "'.' is no name of a topic: choose another one");
    CHECK(named("..") == "'..' is no name of a topic: choose another one");
    CHECK(named("a b") ==
          "the name 'a b' has at 1 what is none of a-z A-Z 0-9 . _ -: choose another one");
    CHECK(named(std::string(249, 'a')).empty());
    CHECK(named(std::string(250, 'a')) == "the name '" + std::string(64, 'a') +
                                              "...' has 250 bytes, more than 249: choose a shorter "
                                              "one");
    CHECK(named(std::string(249, 'a')) == "the topic '" + std::string(249, 'a') +
                                              "' exists: choose another name, or ask its owner");
    CHECK(named("__x") ==
          "names that begin with '__' belong to bps, not to alice: choose another one than '__x'");
    CHECK(ledger.act("bps", "createtopic", make("__x", "", "bps", "bps")).empty());
    CHECK(ledger.act("bob", "createtopic", make("x", "", "bob")) ==
          "alice has not delegated createtopic to bob: sign as alice, or let it push delegate");
    CHECK(ledger.act("bob", "createtopic", make("x")) == "missing authority of alice");

    CHECK(ledger.act("alice", "createtopic", assign("")) ==
          "a partition has 1 to 7 replicas, not 0");
    CHECK(ledger.act("alice", "createtopic", assign("1,2,1")) ==
          "broker 1 is named twice among the replicas of a partition: name it once");
    CHECK(ledger.act("alice", "createtopic", assign("1,9")) ==
          "there is no broker 9 that has started: choose another one");
    std::string none = assign("1");
    none.replace(none.find("'assignment'"), std::string::npos, "'assignment':[]}");
    CHECK(ledger.act("alice", "createtopic", none) ==
          "a topic has 1 to 256 partitions, and 'x' would have 0: ask for fewer, or for some");
    CHECK(ledger.act("alice", "altertopic", "{'by':'alice','topic':77,'settings':[]}") ==
          "there is no topic with id 77: it may be deleted");
    ledger.must("alice", "createtopic", make("x"));
    const std::string id =
        std::to_string(ledger.json_row("ids"_n, "ids"_n.value)["topic"].get<int>());
    ledger.must("alice",
                "delegate",
                "{'owner':'alice','broker':1,'actions':['deleterecs'],'prefix':'','until':'" +
                    chain::TimePointSec{ledger.now() + 60}.to_string() + "'}");
    const auto deleted = [&](const std::string& starts) {
        return ledger.act("broker1",
                          "deleterecs",
                          "{'by':'broker1','topic':" + id + ",'starts':[" + starts + "]}");
    };
    CHECK(deleted("") == "records are deleted in 1 to 256 partitions at once, not 0");
    CHECK(deleted("{'partition':0,'offset':0}") ==
          "the records of partition 0 begin at 0 already: ask for more than to begin at 0");
    CHECK(deleted("{'partition':1,'offset':1}") ==
          "there is no partition 1 of topic " + id + ": it may be deleted");
    ledger.next_block();
    for (const int each : {2, 3})
        ledger.fence(1, each);
    CHECK(ledger.act("alice", "createtopic", assign("2,3", "y")) ==
          "every broker of partition 0 is fenced: choose another one, or wait for its alive");
}

TEST_CASE("bps: the largest topic fits a transaction, and a larger one is refused") {
    BpsLedger ledger;
    const auto topic = [](std::size_t partitions) {
        std::string text = "{'by':'alice','owner':'alice','name':'x','settings':[],'assignment':[";
        for (std::size_t i = 0; i < partitions; ++i)
            text += std::string(i == 0 ? "" : ",") + "{'brokers':[1,2,3]}";
        return text + "]}";
    };
    CHECK(ledger.act("alice", "createtopic", topic(257)) ==
          "a topic has 1 to 256 partitions, and 'x' would have 257: ask for fewer, or for some");
    const auto made = ledger.run("alice", "createtopic", topic(256));
    BpsLedger::require_success(made);
    CHECK(made.receipt->cpu_usage_us < 20'000);
    CHECK(ledger.broker_row(3)["replicas"] == 256);
    CHECK(ledger.act("alice", "addparts", "{'by':'alice','topic':1" + kAssign) ==
          "a topic has 1 to 256 partitions, and 'x' would have 257: ask for fewer, or for some");
    const auto gone = ledger.run("alice", "deletetopic", "{'by':'alice','topic':1}");
    BpsLedger::require_success(gone);
    CHECK(gone.receipt->cpu_usage_us < 20'000);
    CHECK(ledger.json_row("tenants"_n, "alice"_n.value).is_null());
}

TEST_CASE("bps: settings are those that the broker carries out") {
    BpsLedger ledger;
    const auto refusal = [&](const std::string& settings) {
        return ledger.act("alice", "createtopic", make("x", settings));
    };
    CHECK(refusal(setting("unclean.leader.election.enable", "true")) ==
          "the setting 'unclean.leader.election.enable' is not one that the broker carries out: "
          "leave it out");
    CHECK(refusal(setting("cleanup.policy", "shred")) ==
          "cleanup.policy is one of |delete|compact|compact,delete|delete,compact|, not 'shred'");
    CHECK(refusal(setting("cleanup.policy", "")).starts_with("cleanup.policy is one of"));
    CHECK(refusal(setting("cleanup.policy", "delete|compact")).starts_with("cleanup.policy is"));
    CHECK(refusal(setting("min.insync.replicas", "8")) ==
          "min.insync.replicas is a number from 1 to 7, not '8'");
    for (const char* number : {"", "-", "01", "-0", "1e3", "+1", "9223372036854775808", " 1"}) {
        CHECK(refusal(setting("retention.ms", number)) ==
              "retention.ms is a number from -1 to 9223372036854775807, not '" +
                  std::string(number) + "'");
    }
    CHECK(refusal(setting("flush.ms", "1") + "," + setting("flush.ms", "1")) ==
          "the setting flush.ms is given twice: give it once");
    std::string many = setting("flush.ms", "1");
    for (int i = 0; i < 14; ++i)
        many += "," + setting("flush.ms", "1");
    CHECK(refusal(many) == "a topic has at most 14 settings, not 15");
    CHECK(refusal(
              setting("retention.ms", "9223372036854775807") + "," +
              setting("retention.bytes", "-1") + "," + setting("cleanup.policy", "compact,delete") +
              "," + setting("compression.type", "zstd") + "," +
              setting("message.timestamp.type", "LogAppendTime") + "," +
              setting("max.message.bytes", "1048588") + "," +
              setting("segment.bytes", "134217728") + "," + setting("segment.ms", "60000") + "," +
              setting("flush.messages", "1") + "," + setting("flush.ms", "1") + "," +
              setting("bor.acks", "request") + "," + setting("bor.max.stale.ms", "60000") + "," +
              setting("min.insync.replicas", "2") + "," + setting("delete.retention.ms", "0"))
              .empty());
}

TEST_CASE("bps: quotas bound what a tenant has on chain") {
    BpsLedger ledger;
    const auto quota = [&](const std::string& account, const std::string& partitions) {
        return ledger.act("bps",
                          "setquota",
                          "{'account':'" + account +
                              "','bytes_in':-1,'bytes_out':-1,'connections':-1,'partitions':" +
                              partitions + ",'groups':-1,'stored_bytes':-1}");
    };
    CHECK(quota("nobody", "1") == "there is no account nobody: create it first");
    CHECK(quota("alice", "-2") == "a quota is -1 (none) or more, not -2");
    CHECK(ledger.act("alice",
                     "setquota",
                     "{'account':'alice','bytes_in':-1,'bytes_out':-1,'connections':-1,"
                     "'partitions':-1,'groups':-1,'stored_bytes':-1}") ==
          "missing authority of bps");
    CHECK(quota("", "1").empty());
    ledger.must("alice", "createtopic", make("x"));
    CHECK(ledger.act("alice", "createtopic", make("y")) ==
          "alice would have 2 partitions, more than its limit of 1: delete some, or ask bps for a "
          "larger quota");
    CHECK(quota("alice", "2").empty());
    ledger.must("alice", "createtopic", make("y"));
    CHECK(quota("alice", "0").empty());
    ledger.must("alice", "deletetopic", "{'by':'alice','topic':1}");
    ledger.must("bps", "delquota", "{'account':'alice'}");
    CHECK(ledger.act("bps", "delquota", "{'account':'alice'}") ==
          "'alice' has no quota of its own");
}

TEST_CASE("bps: a reserved prefix keeps names for its owner") {
    BpsLedger ledger;
    const auto reserve = [&](const std::string& owner, const std::string& prefix) {
        return ledger.act(owner, "reserve", "{'owner':'" + owner + "','prefix':'" + prefix + "'}");
    };
    CHECK(reserve("alice", "sales.") ==
          "a prefix that alice reserves alone begins with 'alice.', unlike 'sales.': choose such a "
          "one, or let bps sign, too");
    CHECK(reserve("alice", "alicex.").starts_with("a prefix that alice reserves alone"));
    CHECK(reserve("alice", "alice") ==
          "a reserved prefix has 2 to 64 letters, the last of them . - or _, unlike 'alice'");
    CHECK(reserve("alice", "alice.").empty());
    CHECK(reserve("alice", "alice.") == "the prefix 'alice.' is reserved already, by alice");
    CHECK(reserve("alice", "alice.orders-").empty());
    CHECK(ledger.act("bob", "createtopic", make("alice.orders-1", "", "bob", "bob")) ==
          "names that begin with 'alice.orders-' belong to alice: choose another one than "
          "'alice.orders-1', or ask its owner");
    ledger.must("alice", "createtopic", make("alice.orders-1"));
    CHECK(ledger.act("bob", "createtopic", make("alice-x", "", "bob", "bob")).empty());
    // The contract's account may give any prefix away; its owner signs, too.
    chain::Action given{.account = "bps"_n,
                        .name = "reserve"_n,
                        .authorization = {{"bps"_n, "active"_n}, {"bob"_n, "active"_n}},
                        .data = support::Arguments().name("bob"_n).text("alice.b.")};
    BpsLedger::require_success(ledger.push(given));
    CHECK(ledger.act("alice", "createtopic", make("alice.b.c"))
              .starts_with("names that begin with 'alice.b.' belong to bob"));
    CHECK(reserve("alice", "alice.b.c.") ==
          "'alice.b.c.' lies in 'alice.b.' of bob: let bps sign, too");
    CHECK(ledger.act("bob", "unreserve", "{'owner':'bob','prefix':'alice.'}") ==
          "bob has not reserved 'alice.'");
    ledger.must("bob", "unreserve", "{'owner':'bob','prefix':'alice.b.'}");
    CHECK(ledger.json_row("tenants"_n, "bob"_n.value)["rows"] == 0);
}

TEST_CASE("bps: grants are given, changed and revoked by their owner") {
    BpsLedger ledger;
    ledger.must("alice", "grant", grant(kBobProduces));
    CHECK(ledger.json_row("grants"_n, 1, "alice"_n)["account"] == "bob");
    std::string later = kBobProduces;
    later.replace(later.find("'last':0"), 8, "'last':9");
    ledger.must("alice", "grant", grant(later));
    CHECK(ledger.json_row("grants"_n, 1, "alice"_n)["last"] == 9);
    CHECK(ledger.json_row("tenants"_n, "alice"_n.value)["rows"] == 1);

    const auto refusal = [&](const std::string& from, const std::string& to) {
        std::string terms = kBobProduces;
        terms.replace(terms.find(from), from.size(), to);
        return ledger.act("alice", "grant", grant(terms));
    };
    CHECK(refusal("'resource':0", "'resource':2") == "a resource is 0 (topic) or 1 (group), not 2");
    CHECK(refusal("'operation':0", "'operation':3") ==
          "an operation is 0 (produce), 1 (consume) or 2 (admin), not 3");
    CHECK(refusal("'resource':0", "'resource':1") ==
          "nothing is produced to a group: grant 1 (consume) or 2 (admin)");
    CHECK(refusal("'name':'t'", "'name':''") == "'' is no name of a topic: choose another one");
    CHECK(refusal("'account':'bob'", "'account':'nobody'") ==
          "there is no account nobody: create it first, or grant to another one");
    CHECK(refusal("'last':0", "'last':1") ==
          "a grant from height 0 to 1 never holds at height 2 or above: choose a later end, or 0 "
          "for none");
    CHECK(ledger.act("bob", "grant", grant(kBobProduces)) == "missing authority of alice");
    CHECK(ledger.act("bob", "revoke", "{'by':'bob','owner':'alice','grants':[1]}") ==
          "alice has not delegated revoke to bob: sign as alice, or let it push delegate");
    CHECK(ledger.act("alice", "revoke", "{'by':'alice','owner':'alice','grants':[]}") ==
          "1 to 128 grants are revoked at once, not 0");
    CHECK(ledger.act("alice", "revoke", "{'by':'alice','owner':'alice','grants':[1,1]}") ==
          "alice has no grant 1: it may be revoked already");
    ledger.must("alice", "revoke", "{'by':'alice','owner':'alice','grants':[1]}");
    CHECK(ledger.json_row("tenants"_n, "alice"_n.value).is_null());
    ledger.must("alice", "grant", grant(kBobProduces));
    CHECK(ledger.json_row("grants"_n, 2, "alice"_n)["name"] == "t");
}

TEST_CASE("bps: a broker does what an owner delegated to it, at its own expense") {
    BpsLedger ledger;
    const auto delegate = [&](const std::string& actions, std::uint32_t until, int broker = 1) {
        // 2027-01-15T08:00:00 is the ledger's beginning.
        return ledger.act("alice",
                          "delegate",
                          "{'owner':'alice','broker':" + std::to_string(broker) + ",'actions':[" +
                              actions + "],'prefix':'a.','until':'" +
                              chain::TimePointSec{until}.to_string() + "'}");
    };
    const std::uint32_t end = ledger.now() + 2;
    CHECK(delegate("'unclean'", end) == "unclean is not delegated: the owner signs it itself");
    CHECK(delegate("", end) == "1 to 8 actions are delegated, not 0");
    CHECK(delegate("'grant'", end, 9) == "there is no broker 9: bps must push addbroker first");
    CHECK(delegate("'grant'", ledger.now()) ==
          "a delegation until " + std::to_string(ledger.now()) + " s is over at " +
              std::to_string(ledger.now()) + " s: choose a later end");
    CHECK(delegate("'createtopic','deletetopic'", end).empty());

    const auto trace = ledger.run("broker1", "createtopic", make("a.b", "", "broker1"));
    BpsLedger::require_success(trace);
    for (const auto& delta : trace.action_traces.at(0).account_ram_deltas) {
        CHECK(delta.account == "broker1"_n);
    }
    CHECK(ledger.json_row("topics"_n, 1)["owner"] == "alice");
    CHECK(ledger.act("broker1", "createtopic", make("b", "", "broker1")) ==
          "the delegation of alice to broker1 is for names that begin with 'a.', not for 'b'");
    CHECK(ledger.act("broker1", "altertopic", "{'by':'broker1','topic':1,'settings':[]}") ==
          "the delegation of alice to broker1 does not name altertopic: let alice delegate with "
          "it");
    ledger.next_block(6);
    CHECK(ledger.act("broker1", "deletetopic", "{'by':'broker1','topic':1}") ==
          "the delegation of alice to broker1 ended at " + std::to_string(end) +
              " s: let alice delegate again");
    CHECK(delegate("'deletetopic'", ledger.now() + 9).empty());
    ledger.must("broker1", "deletetopic", "{'by':'broker1','topic':1}");
    ledger.must("broker1", "rmbroker", "{'broker':1}");
    CHECK(ledger.act("broker1", "createtopic", make("a.c", "", "broker1")) ==
          "broker1 is the account of broker 1 no more: alice must delegate to another one");
    CHECK(ledger.act("alice", "undelegate", "{'owner':'alice','account':'bob'}") ==
          "alice has delegated nothing to bob");
    ledger.must("alice", "undelegate", "{'owner':'alice','account':'broker1'}");
    CHECK(ledger.json_row("tenants"_n, "alice"_n.value).is_null());
}
