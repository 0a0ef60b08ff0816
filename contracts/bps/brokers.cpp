// Brokers: their starts, and who is fenced because nobody reaches it.
#include "bps.hpp"

#include <algorithm>

namespace bps {

namespace {

bool is_host_letter(char letter) {
    return letter > ' ' && letter <= '~' && letter != '"' && letter != '\\';
}

void check_listeners(int32_t broker, const std::vector<Listener>& listeners) {
    require(!listeners.empty() && listeners.size() <= kListenersMax,
            "broker {} has 1 to {} listeners, not {}",
            broker,
            kListenersMax,
            listeners.size());
    for (const Listener& each : listeners) {
        require(
            each.protocol == "PLAINTEXT" || each.protocol == "SSL" ||
                each.protocol == "SASL_PLAINTEXT" || each.protocol == "SASL_SSL",
            "the protocol of a listener is one of PLAINTEXT SSL SASL_PLAINTEXT SASL_SSL, not '{}'",
            shown(each.protocol));
        require(!each.host.empty() && each.host.size() <= kHostBytesMax &&
                    std::all_of(each.host.begin(), each.host.end(), is_host_letter),
                "the host of a listener has 1 to {} printable ASCII letters, not '{}'",
                kHostBytesMax,
                shown(each.host));
        require(each.port > 0, "the port of a listener is 1 to 65535, not 0");
    }
}

void forget_suspicion(Broker& row) {
    row.suspected_at = 0;
    row.covered_at = 0;
    row.called_at = 0;
    row.producers = 0;
    row.schedule = 0;
}

// Where this block stands among the producers, of whom at most (size - 1) / 3 are dishonest.
struct Turn {
    std::size_t place = 0;   // Of this block's producer in the schedule.
    std::size_t needed = 0;  // One more producer than may be dishonest.
    uint64_t schedule = 0;   // Another number for another schedule.
    uint32_t second = 0;     // A second of blocks.
};

Turn turn_of(const Slots& slots) {
    const std::vector<Name> producers = active_producers();
    check(!producers.empty() && producers.size() <= 128, "the schedule has no producers");
    const int64_t now_ms = current_time_point().microseconds / 1000;
    require(slots.initial_ms <= now_ms,
            "slot 0 is at {} ms, after this block at {} ms: push setslots with what the genesis "
            "file says",
            slots.initial_ms,
            now_ms);
    const auto slot = static_cast<uint64_t>(now_ms - slots.initial_ms) / slots.interval_ms;
    const Bytes packed = pack(std::tie(producers, slots));
    const Checksum256 digest = sha256({packed.data(), packed.size()});
    Turn turn;
    turn.place = (slot / slots.repetitions) % producers.size();
    turn.needed = (producers.size() - 1) / 3 + 1;
    std::memcpy(&turn.schedule, digest.bytes.data(), sizeof(turn.schedule));
    turn.second = (999 + slots.interval_ms) / slots.interval_ms;
    return turn;
}

std::size_t count_of(uint128_t bits) {
    return static_cast<std::size_t>(__builtin_popcountll(static_cast<uint64_t>(bits)) +
                                    __builtin_popcountll(static_cast<uint64_t>(bits >> 64)));
}

// Fails unless this transaction refers to the block of the suspicion or a later one. A broker
// refers to final blocks only, so this is how it says that it saw the suspicion as final.
void check_reference(const Broker& row) {
    const auto reference = static_cast<uint16_t>(host::tapos_block_num());
    const uint32_t since = host::get_block_num() - row.suspected_at;
    const auto after = static_cast<uint16_t>(reference - row.suspected_at);
    require(since > 0 && after < since,
            "broker {} was suspected in block {}: fence it in a transaction that refers to a final "
            "block from there on, not to one that ends in {}",
            row.id,
            row.suspected_at,
            reference);
}

}  // namespace

// Says what the genesis file says, by which producers are told apart.
void Bps::setslots(const Slots& slots) {
    require_auth(self());
    require(10 <= slots.interval_ms && slots.interval_ms <= 5'000,
            "the interval of blocks is 10 to 5000 ms, not {}",
            slots.interval_ms);
    require(1 <= slots.repetitions && slots.repetitions <= 1'000,
            "a producer has 1 to 1000 slots in a row, not {}",
            slots.repetitions);
    require(
        slots.initial_ms >= 0, "slot 0 is at 0 ms since 1970 or later, not {}", slots.initial_ms);
    SlotsRow(self(), self().value).set(slots, self());
}

// Lets an account be a broker. An id is above all that were used before, so that a generation of
// one broker is never taken for that of another.
void Bps::addbroker(int32_t broker, Name account) {
    require_auth(self());
    require(is_account(account), "there is no account {}: create it first", account);
    give_out([&](Ids& ids) {
        require(broker > ids.broker && broker < INT32_MAX,
                "ids of brokers are never used again: choose one above {}, not {}",
                ids.broker,
                broker);
        ids.broker = broker;
    });
    Brokers(self(), self().value).emplace(self(), [&](Broker& row) {
        row.id = broker;
        row.account = account;
    });
}

// Removes a broker that has no replicas.
void Bps::rmbroker(int32_t broker) {
    Brokers brokers(self(), self().value);
    const auto row = get_broker(brokers, broker);
    if (!has_auth(self())) require_auth(row->account);
    require(row->replicas == 0,
            "broker {} has {} replicas: drain it and reassign them first",
            broker,
            row->replicas);
    brokers.erase(row);
}

// A draining broker gets no new replicas.
void Bps::drain(int32_t broker, bool draining) {
    Brokers brokers(self(), self().value);
    const auto row = get_broker(brokers, broker);
    if (!has_auth(self())) require_auth(row->account);
    require(row->draining != draining,
            "broker {}{}",
            broker,
            draining ? " is draining already" : " is not draining");
    brokers.modify(row, kSamePayer, [&](Broker& each) { each.draining = draining; });
}

// A start: voids the broker's leaderships, since they are of another boot, and unfences it. A log
// directory that is not the one of the last start gets a new generation, so that what it was in
// ISR for counts nowhere.
void Bps::regbroker(const Start& start) {
    Brokers brokers(self(), self().value);
    const auto row = get_broker(brokers, start.broker);
    require_auth(row->account);
    require(start.boot > row->boot,
            "broker {} has started with boot {} already: start it again with a higher one than {}",
            start.broker,
            row->boot,
            start.boot);
    require(start.start_id != 0, "start id 0 means none: draw another one");
    require(start.earlier.size() <= kStartsMax,
            "a log directory keeps at most {} start ids, not {}",
            kStartsMax,
            start.earlier.size());
    check_listeners(start.broker, start.listeners);
    require(start.node_key.type == KeyType::r1, "the key of a node is an R1 key: give that one");
    const bool is_first = row->boot == 0;
    const bool is_same =
        row->log_id == start.log_id &&
        std::find(start.earlier.begin(), start.earlier.end(), row->start_id) != start.earlier.end();
    require(row->generation < INT32_MAX,
            "broker {} has had its last generation: add another broker",
            start.broker);
    brokers.modify(row, row->account, [&](Broker& each) {
        if (is_first || !is_same) ++each.generation;
        each.boot = start.boot;
        each.start_id = start.start_id;
        each.log_id = start.log_id;
        each.node_key = start.node_key;
        each.listeners = start.listeners;
        each.fenced = false;
        forget_suspicion(each);
    });
}

// Says that these brokers cannot be reached. They answer with `alive`, or may be fenced.
void Bps::suspect(int32_t by, const std::vector<int32_t>& suspects) {
    Brokers brokers(self(), self().value);
    const auto caller = own_broker(brokers, by);
    require(!caller->fenced, "broker {} is fenced itself: push alive first", by);
    require(!suspects.empty() && suspects.size() <= kListMax,
            "1 to {} brokers are suspected at once, not {}",
            kListMax,
            suspects.size());
    const uint32_t now = now_seconds();
    // A clock that was set back by a recovery keeps nobody waiting.
    const uint32_t since = now - caller->suspects_at;
    require(now < caller->suspects_at || since >= kSuspectSeconds,
            "broker {} suspected others {} s ago: wait until {} s have passed",
            by,
            since,
            kSuspectSeconds);
    bool changed = false;
    for (const int32_t id : suspects) {
        require(id != by, "broker {} cannot suspect itself: leave it out", by);
        const auto row = get_broker(brokers, id);
        if (row->fenced || row->suspected_at != 0) continue;
        brokers.modify(row, kSamePayer, [](Broker& each) {
            forget_suspicion(each);
            each.suspected_at = host::get_block_num();
        });
        changed = true;
    }
    require(changed, "all of these brokers are suspected or fenced already: wait for the outcome");
    brokers.modify(caller, kSamePayer, [&](Broker& each) { each.suspects_at = now; });
}

// The answer to a suspicion; unfences, too.
void Bps::alive(int32_t broker, uint32_t boot) {
    Brokers brokers(self(), self().value);
    const auto row = own_broker(brokers, broker);
    require(row->boot == boot,
            "broker {} has started with boot {}: an answer of boot {} does not count",
            broker,
            row->boot,
            boot);
    brokers.modify(row, kSamePayer, [](Broker& each) {
        each.fenced = false;
        forget_suspicion(each);
    });
}

// Pushed once the suspicion is final, then once a block until the broker is fenced. The first call
// starts the clock. The broker is fenced by a call that comes 2 s of blocks after, when calls were
// in blocks of more producers than may be dishonest, those of the first second and the present
// block not counted: so neither a halt nor dishonest producers keep an answer out.
void Bps::fence(int32_t by, int32_t broker) {
    require(by != broker, "broker {} cannot fence itself: drain it", by);
    Brokers brokers(self(), self().value);
    require(!own_broker(brokers, by)->fenced, "broker {} is fenced itself: push alive first", by);
    const auto row = get_broker(brokers, broker);
    require(!row->fenced, "broker {} is fenced already", broker);
    require(row->suspected_at != 0,
            "broker {} is not suspected: it may have answered; push suspect first",
            broker);
    const SlotsRow slots(self(), self().value);
    require(slots.exists(), "whose a block is is unknown: {} must push setslots first", self());
    const Turn turn = turn_of(slots.get());
    const uint32_t height = host::get_block_num();
    require(row->called_at != height,
            "fence was pushed for broker {} in this block already: push it in the next one",
            broker);
    if (row->covered_at == 0) {
        check_reference(*row);
        return brokers.modify(row, kSamePayer, [&](Broker& each) {
            each.covered_at = height;
            each.called_at = height;
            each.schedule = turn.schedule;
        });
    }
    const uint128_t seen = row->schedule == turn.schedule ? row->producers : 0;
    if (height - row->covered_at >= 2 * turn.second && count_of(seen) >= turn.needed) {
        return brokers.modify(row, kSamePayer, [](Broker& each) {
            each.fenced = true;
            forget_suspicion(each);
        });
    }
    require(height - row->covered_at >= turn.second,
            "broker {} has until block {} to answer: fence it from block {} on, once a block",
            broker,
            row->covered_at + 2 * turn.second,
            row->covered_at + turn.second);
    const uint128_t after = seen | uint128_t{1} << turn.place;
    require(after != row->producers || row->schedule != turn.schedule,
            "broker {} has until block {} to answer, and calls must be in blocks of {} producers, "
            "so far of {}: fence it in a block of another one",
            broker,
            row->covered_at + 2 * turn.second,
            turn.needed,
            count_of(seen));
    brokers.modify(row, kSamePayer, [&](Broker& each) {
        each.called_at = height;
        each.producers = after;
        each.schedule = turn.schedule;
    });
}

// The first of a block of producer ids that nobody else has. The broker finds it in its row.
int64_t Bps::leaseids(int32_t broker, uint32_t boot) {
    Brokers brokers(self(), self().value);
    const auto row = own_broker(brokers, broker);
    require(row->boot == boot,
            "broker {} has started with boot {}: boot {} gets no producer ids",
            broker,
            row->boot,
            boot);
    int64_t first = 0;
    give_out([&](Ids& ids) {
        require(ids.next_producer <= kLeasableIds - kLeasedIds, "all producer ids are given out");
        first = ids.next_producer;
        ids.next_producer += kLeasedIds;
    });
    brokers.modify(row, kSamePayer, [&](Broker& each) { each.first_id = first; });
    return first;
}

// Each of these accounts gets a number of its own. An account that has one is passed over, since
// several brokers may ask for it at once, and so is a name that is no account.
void Bps::addidspaces(int32_t broker, const std::vector<Name>& accounts) {
    const Name payer = own_broker(Brokers(self(), self().value), broker)->account;
    require(!accounts.empty() && accounts.size() <= kListMax,
            "1 to {} accounts get producer ids at once, not {}",
            kListMax,
            accounts.size());
    IdSpaces spaces(self(), self().value);
    give_out([&](Ids& ids) {
        for (const Name& account : accounts) {
            if (!is_account(account) || spaces.found(spaces.find(account.value))) continue;
            require(ids.id_space < kIdSpacesMax, "all {} tenants have producer ids", kIdSpacesMax);
            ++ids.id_space;
            spaces.emplace(payer, [&](IdSpace& row) { row = {account, ids.id_space}; });
        }
    });
}

}  // namespace bps
