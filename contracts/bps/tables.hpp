// The rows of the broker's contract, and the limits of what is in them.
//
// A broker reads all rows once, at its start, and then the changes of each final block. Rows that
// change often are therefore apart from those that change seldom (anchors from partitions), and a
// row that brokers change keeps its size, since its owner, who pays for it, does not sign then.
#pragma once

#include "text.hpp"

#include <optional>
#include <vector>

namespace bps {

inline constexpr std::size_t kNameBytesMax = 249;   // Of a topic or group, as Kafka has it.
inline constexpr std::size_t kPrefixBytesMax = 64;  // Of a reserved prefix.
inline constexpr std::size_t kReplicasMax = 7;      // Of a partition.
inline constexpr std::size_t kPartitionsMax = 256;  // Of a topic: one action makes or erases all.
inline constexpr std::size_t kListMax = 128;        // Of what else one action changes.
inline constexpr std::size_t kStartsMax = 16;       // Start ids that a log directory keeps.
inline constexpr std::size_t kListenersMax = 4;
inline constexpr std::size_t kHostBytesMax = 255;
inline constexpr std::size_t kJtiBytesMax = 64;
inline constexpr std::size_t kDelegatedActionsMax = 16;
inline constexpr uint32_t kTenantRowsMax = 10'000;         // Grants, prefixes, keys and so on.
inline constexpr uint32_t kTenantTopicsMax = 10'000;       // Where no quota says otherwise,
inline constexpr uint32_t kTenantPartitionsMax = 10'000;   // as here.
inline constexpr uint32_t kRevokedSeconds = 25 * 3600;     // A token lives 24 h at most.
inline constexpr uint32_t kSuspectSeconds = 10;            // Between two suspicions by one broker.
inline constexpr int64_t kLeasedIds = 1'000;               // Producer ids in a lease.
inline constexpr int64_t kLeasableIds = int64_t{1} << 40;  // The low bits of producer ids.
inline constexpr uint32_t kIdSpacesMax = (1U << 23) - 1;   // The others: the account's number.

inline constexpr int32_t kNobody = -1;
inline constexpr int32_t kOutside = -1;  // The generation of a replica that is not in ISR.

struct Listener {
    std::string protocol;  // PLAINTEXT or SSL.
    std::string host;
    uint16_t port = 0;
    BOR_FIELDS(protocol, host, port)
};

// Who may be asked for partitions. Scope: the contract.
struct Broker {
    int32_t id = 0;
    Name account;
    PublicKey node_key;
    std::vector<Listener> listeners;
    uint32_t boot = 0;  // Number of its last start; 0: it has never started.
    uint128_t start_id = 0;
    uint128_t log_id = 0;
    int32_t generation = 0;  // Rises when the log directory is not the one of the last start.
    bool draining = false;   // It gets no new replicas.
    bool fenced = true;
    uint32_t replicas = 0;      // Of all partitions, those on their way included.
    int64_t first_id = -1;      // The last producer ids that it leased begin here.
    uint32_t suspects_at = 0;   // When it suspected others last, in seconds.
    uint32_t suspected_at = 0;  // In which block it was suspected; 0: it is not.
    uint32_t covered_at = 0;    // In which block the suspicion was said to be final; 0: none.
    uint32_t called_at = 0;     // In which block `fence` was pushed last for it; 0: none.
    uint128_t producers = 0;    // Of blocks since, one bit for each place in the schedule,
    uint64_t schedule = 0;      // which this names.
    [[nodiscard]] uint64_t primary_key() const { return static_cast<uint64_t>(id); }
    BOR_FIELDS(id,
               account,
               node_key,
               listeners,
               boot,
               start_id,
               log_id,
               generation,
               draining,
               fenced,
               replicas,
               first_id,
               suspects_at,
               suspected_at,
               covered_at,
               called_at,
               producers,
               schedule)
};

struct Setting {
    std::string name;
    std::string value;
    BOR_FIELDS(name, value)
};

// Scope: the contract. An id is never used again.
struct Topic {
    uint32_t id = 0;
    std::string name;
    Name owner;
    uint32_t partitions = 0;
    std::vector<Setting> settings;
    [[nodiscard]] uint64_t primary_key() const { return id; }
    [[nodiscard]] Checksum256 by_name() const { return sha256(name); }
    [[nodiscard]] uint64_t by_owner() const { return owner.value; }
    BOR_FIELDS(id, name, owner, partitions, settings)
};

inline uint64_t partition_key(uint32_t topic, uint32_t partition) {
    return uint64_t{topic} << 32 | partition;
}

struct Replica {
    int32_t broker = 0;
    int32_t generation = kOutside;  // With which the broker is in ISR.
    BOR_FIELDS(broker, generation)
};

// Scope: the contract.
struct Partition {
    uint32_t topic = 0;
    uint32_t partition = 0;
    std::vector<Replica> replicas;  // The first is the preferred leader.
    std::vector<int32_t> target;    // Of a reassignment on its way; empty: none.
    uint8_t replicas_before = 0;    // How many of `replicas` there were before it.
    int32_t leader = kNobody;
    uint32_t leader_boot = 0;
    int32_t leader_epoch = 0;
    int32_t partition_epoch = 0;
    int32_t break_epoch = 0;  // The leader epoch of the last unclean election; 0: none.
    int64_t log_start = 0;    // Records below were deleted by the owner.
    [[nodiscard]] uint64_t primary_key() const { return partition_key(topic, partition); }
    BOR_FIELDS(topic,
               partition,
               replicas,
               target,
               replicas_before,
               leader,
               leader_boot,
               leader_epoch,
               partition_epoch,
               break_epoch,
               log_start)
};

// The last anchor of each partition. Scope: the contract.
struct Anchor {
    uint32_t topic = 0;
    uint32_t partition = 0;
    int32_t epoch = 0;
    int64_t from = 0;
    int64_t to = 0;         // 0: there is none, or an unclean election has voided it.
    Checksum256 root;       // Of the leaves of [from, to).
    Checksum256 chain;      // After the record before `to`.
    int64_t log_start = 0;  // Of the leader.
    [[nodiscard]] uint64_t primary_key() const { return partition_key(topic, partition); }
    BOR_FIELDS(topic, partition, epoch, from, to, root, chain, log_start)
};

enum class Resource : uint8_t { topic = 0, group = 1 };
enum class Operation : uint8_t { produce = 0, consume = 1, admin = 2 };

// What is allowed to whom on which names.
struct Terms {
    Resource resource = Resource::topic;
    bool prefixed = false;  // `name` is the beginning of names; empty: of all.
    std::string name;
    Name account;
    Name permission;  // Empty: any.
    Operation operation = Operation::produce;
    uint32_t first = 0;  // Block heights at which it holds.
    uint32_t last = 0;   // 0: no end.
    BOR_FIELDS(resource, prefixed, name, account, permission, operation, first, last)
};

// What an owner allows on its own topics and groups; of no effect on those of others. Scope: the
// owner.
struct Grant {
    Terms terms;
    uint64_t id = 0;
    [[nodiscard]] uint64_t primary_key() const { return id; }
    // All but the heights: two grants never differ in these alone.
    [[nodiscard]] Checksum256 by_content() const {
        const Bytes packed = pack(std::tie(terms.resource,
                                           terms.prefixed,
                                           terms.name,
                                           terms.account,
                                           terms.permission,
                                           terms.operation));
        return sha256({packed.data(), packed.size()});
    }
    BOR_FIELDS(terms, id)
};

// Topics whose names begin so belong to this owner. Scope: the contract.
struct Prefix {
    uint64_t id = 0;
    Name owner;
    std::string prefix;
    [[nodiscard]] uint64_t primary_key() const { return id; }
    [[nodiscard]] Checksum256 by_prefix() const { return sha256(prefix); }
    [[nodiscard]] uint64_t by_owner() const { return owner.value; }
    BOR_FIELDS(id, owner, prefix)
};

// What a broker may do in an owner's name. Scope: the owner.
struct Delegation {
    Name account;  // The broker's.
    int32_t broker = 0;
    std::vector<Name> actions;
    std::string prefix;  // Of the topics' names; empty: all.
    TimePointSec until;
    [[nodiscard]] uint64_t primary_key() const { return account.value; }
    BOR_FIELDS(account, broker, actions, prefix, until)
};

// A client certificate's key and who logs in with it. Scope: the contract.
struct Cert {
    uint64_t id = 0;
    Checksum256 hash;  // SHA-256 of the key's 33 bytes.
    Name account;
    Name permission;
    [[nodiscard]] uint64_t primary_key() const { return id; }
    [[nodiscard]] Checksum256 by_hash() const { return hash; }
    [[nodiscard]] uint64_t by_account() const { return account.value; }
    BOR_FIELDS(id, hash, account, permission)
};

// A token that holds no more. Scope: its account.
struct Revocation {
    uint64_t key = 0;  // The first eight bytes of SHA-256 of `jti`.
    std::string jti;
    TimePointSec until;  // The token is expired by itself then.
    [[nodiscard]] uint64_t primary_key() const { return key; }
    [[nodiscard]] uint64_t by_until() const { return until.seconds; }
    BOR_FIELDS(key, jti, until)
};

// Tokens of the account that were issued before this time hold no more. Scope: the contract.
struct NotBefore {
    Name account;
    TimePointSec time;
    [[nodiscard]] uint64_t primary_key() const { return account.value; }
    BOR_FIELDS(account, time)
};

// The key to which topic keys are sealed for an account. Scope: the contract.
struct SealKey {
    Name account;
    Checksum256 key;       // X25519.
    uint32_t version = 0;  // The height of the block that set it, so that none comes twice.
    [[nodiscard]] uint64_t primary_key() const { return account.value; }
    BOR_FIELDS(account, key, version)
};

// What a tenant may use of each broker; -1: no limit. Scope: the contract. The row of the empty
// name is for tenants without one.
struct Quota {
    Name account;
    int64_t bytes_in = -1;   // A second.
    int64_t bytes_out = -1;  // A second.
    int64_t connections = -1;
    int64_t partitions = -1;  // In all; the contract itself refuses more.
    int64_t groups = -1;
    int64_t stored_bytes = -1;
    [[nodiscard]] uint64_t primary_key() const { return account.value; }
    BOR_FIELDS(account, bytes_in, bytes_out, connections, partitions, groups, stored_bytes)
};

// What a tenant has. Scope: the contract. Goes when all is zero.
struct Tenant {
    Name account;
    uint32_t topics = 0;
    uint32_t partitions = 0;
    uint32_t rows = 0;
    [[nodiscard]] uint64_t primary_key() const { return account.value; }
    BOR_FIELDS(account, topics, partitions, rows)
};

// The account's producer ids have this number above their low 40 bits. Scope: the contract.
struct IdSpace {
    Name account;
    uint32_t number = 0;
    [[nodiscard]] uint64_t primary_key() const { return account.value; }
    BOR_FIELDS(account, number)
};

// What was given out last. Nothing of it comes twice.
struct Ids {
    int32_t broker = kNobody;
    uint32_t topic = 0;
    uint64_t row = 0;  // Of grants, prefixes and certs.
    int64_t next_producer = 0;
    uint32_t id_space = 0;
    BOR_FIELDS(broker, topic, row, next_producer, id_space)
};

// What the genesis file says and a contract cannot see: whose a block is.
struct Slots {
    int64_t initial_ms = 0;  // The time of slot 0, since 1970.
    uint32_t interval_ms = 0;
    uint32_t repetitions = 0;
    BOR_FIELDS(initial_ms, interval_ms, repetitions)
};

using Brokers = MultiIndex<"brokers"_n, Broker>;
using Topics = MultiIndex<"topics"_n,
                          Topic,
                          Index<"byname"_n, &Topic::by_name>,
                          Index<"byowner"_n, &Topic::by_owner>>;
using Partitions = MultiIndex<"partitions"_n, Partition>;
using Anchors = MultiIndex<"anchors"_n, Anchor>;
using Grants = MultiIndex<"grants"_n, Grant, Index<"bycontent"_n, &Grant::by_content>>;
using Prefixes = MultiIndex<"prefixes"_n,
                            Prefix,
                            Index<"byprefix"_n, &Prefix::by_prefix>,
                            Index<"byowner"_n, &Prefix::by_owner>>;
using Delegations = MultiIndex<"delegations"_n, Delegation>;
using Certs = MultiIndex<"certs"_n,
                         Cert,
                         Index<"byhash"_n, &Cert::by_hash>,
                         Index<"byaccount"_n, &Cert::by_account>>;
using Revocations = MultiIndex<"revoked"_n, Revocation, Index<"byuntil"_n, &Revocation::by_until>>;
using NotBefores = MultiIndex<"notbefore"_n, NotBefore>;
using SealKeys = MultiIndex<"sealkeys"_n, SealKey>;
using Quotas = MultiIndex<"quotas"_n, Quota>;
using Tenants = MultiIndex<"tenants"_n, Tenant>;
using IdSpaces = MultiIndex<"idspaces"_n, IdSpace>;
using IdsRow = Singleton<"ids"_n, Ids>;
using SlotsRow = Singleton<"slots"_n, Slots>;

}  // namespace bps
