// An action for each group of host functions, whose console and return value tell what the host
// did. expected.json has what some of them must print.
#include "database.hpp"
#include "hashing.hpp"
#include "numbers.hpp"

namespace {

using namespace bor;  // NOLINT(google-build-using-namespace): the contract's own language.

int32_t half_of(int32_t value) {
    return value / 2;
}
int32_t twice(int32_t value) {
    return value * 2;
}
using Function = int32_t (*)(int32_t);
constexpr Function kFunctions[] = {half_of, twice};  // NOLINT: a table for indirect calls.

// As deep as told, with 64 bytes of the stack at each level.
__attribute__((noinline)) uint32_t descend(uint32_t depth) {
    volatile uint32_t frame[16] = {depth};
    if (depth != 0) frame[depth % 16] = descend(depth - 1);
    return frame[depth % 16] + 1;
}

class Intrinsics : public Contract {
  public:
    using Contract::Contract;

    // Database.
    void db(uint8_t kind) { database::run(self().value, kind); }
    void dbfail(uint8_t kind) { database::fail(self().value, kind); }

    // Hashes and keys.
    void hashes(const std::string& data) { hashing::all(data); }
    void badhash(const std::string& data, uint8_t kind) { hashing::wrong(data, kind); }
    PublicKey recover(const Checksum256& digest, const Signature& signature) {
        const PublicKey key = recover_key(digest, signature);
        assert_recover_key(digest, signature, key);
        return key;
    }
    void assertkey(const Checksum256& digest, const Signature& signature, const PublicKey& key) {
        assert_recover_key(digest, signature, key);
    }
    void k1recover(const Bytes& signature, const Bytes& digest, uint32_t size) {
        hashing::k1_recover(signature, digest, size);
    }
    void blake2(uint32_t rounds,
                const Bytes& state,
                const Bytes& message,
                const Bytes& t0,
                const Bytes& t1,
                bool final_block,
                uint32_t size) {
        hashing::blake({rounds, state, message, t0, t1, final_block}, size);
    }
    void modexp(const Bytes& base, const Bytes& exponent, const Bytes& modulus, uint32_t size) {
        hashing::modular_power(base, exponent, modulus, size);
    }
    void altbn(uint8_t kind, const Bytes& left, const Bytes& right) {
        hashing::curve(kind, left, right);
    }
    void bls(uint8_t kind, const Bytes& left, const Bytes& right, uint32_t size) {
        hashing::bls(kind, left, right, size);
    }

    // Numbers.
    void bigint(int128_t a, int128_t b, uint32_t shift) { numbers::integers(a, b, shift); }
    void quad(long double a, long double b) { numbers::quads(a, b); }
    void convert(long double quad, double x) { numbers::conversions(quad, x); }
    void floats(double x, double y) { numbers::floats(x, y); }

    // Console.
    void prints() {
        const auto large = int128_t{1} << 100;
        print("text ", std::string_view("with\0zero", 9), " ", 'c', " ", true, "\n");
        print(int64_t{-5}, " ", uint64_t{UINT64_MAX}, " ", -large, " ", uint128_t{0} - 1, "\n");
        print("alice"_n, " ", Name(UINT64_MAX), " ", Name(), ".\n");
        print(Asset{-12345, Symbol("SYS", 4)}, " ", Asset{7, Symbol("X", 0)}, "\n");
        print(Bytes{'\0', '\x7f', '\xff'}, "\n");
    }
    void printfloat(double x) {
        print(static_cast<float>(x), " ", x, " ", static_cast<long double>(x), "\n");
    }

    // The action and its transaction.
    void actioninfo(const std::string& text) {
        char part[4] = {};
        const uint32_t copied = host::read_action_data(part, sizeof(part));
        print("receiver ",
              current_receiver(),
              " code ",
              first_receiver(),
              " sender ",
              get_sender(),
              "\n");
        print("size ", host::action_data_size(), " ", host::read_action_data(nullptr, 0));
        print(" copied ", copied, " ", Bytes(part, part + sizeof(part)), " ", text, "\n");
    }
    void trxinfo() {
        const Bytes packed = current_transaction();
        const auto transaction = unpack<Transaction>(packed);
        print("same size ", packed.size() == host::read_transaction(nullptr, 0), "\n");
        print("expiration ", transaction.header.expiration.seconds == host::expiration(), "\n");
        const auto number = static_cast<uint16_t>(host::tapos_block_num());
        const auto prefix = static_cast<uint32_t>(host::tapos_block_prefix());
        print("tapos ", number == transaction.header.ref_block_num);
        print(" ", prefix == transaction.header.ref_block_prefix, "\n");
        print("actions ", transaction.actions.size(), " ", transaction.context_free_actions.size());
        const auto first = transaction_action(false, 0);
        print(" ", first && first->name == transaction.actions[0].name, "\n");
        print("beyond ", host::get_action(1, 99, nullptr, 0), "\n");
        char part[4] = {};
        print("part ", host::read_transaction(part, sizeof(part)), "\n");
    }
    // For context-free actions.
    void cfd(uint32_t index) {
        const auto data = context_free_data(index);
        if (!data) print("none\n");
        if (data) print(*data, "\n");
    }

    // Accounts and permissions.
    void auth(Name account) {
        print("account ", is_account(account), " auth ", has_auth(account), "\n");
        require_auth(account);
        require_auth(PermissionLevel{account, "active"_n});
    }
    bool permitted(const PermissionLevel& wanted,
                   const std::vector<PublicKey>& keys,
                   const std::vector<PermissionLevel>& levels,
                   uint64_t delay_us) {
        return is_permission_satisfied(wanted, keys, levels, delay_us);
    }
    bool trxpermitted(const Bytes& transaction,
                      const std::vector<PublicKey>& keys,
                      const std::vector<PermissionLevel>& levels) {
        return is_transaction_authorized(transaction, keys, levels);
    }
    int64_t lastused(Name account, Name permission) {
        return host::get_permission_last_used(account.value, permission.value);
    }
    int64_t created(Name account) { return host::get_account_creation_time(account.value); }
    Bytes codehash(Name account) {
        Bytes out(host::get_code_hash(account.value, 0, nullptr, 0));
        host::get_code_hash(account.value, 0, out.data(), out.size());
        return out;
    }

    // The block.
    void block() {
        const auto now = static_cast<uint64_t>(current_time_point().microseconds);
        print("published ", host::publication_time() <= now);
        print(" number ", host::get_block_num() > 0);
        print(" producers ", !active_producers().empty(), "\n");
    }
    bool feature(const Checksum256& digest) { return is_feature_activated(digest); }

    // For a privileged account.
    void preactivate(const Checksum256& digest) { preactivate_feature(digest); }
    // The oldest functions of features, which have had no meaning for long.
    void oldfeature(bool activate) {
        print(host::is_feature_active(1), "\n");
        if (activate) host::activate_feature(1);
    }
    void limits(Name account) {
        const ResourceLimits now = resource_limits(account);
        print("privileged ", is_privileged(account), " ", now.ram_bytes, " ", now.net_weight);
        print(" ", now.cpu_weight, "\n");
    }
    void setlimits(Name account, int64_t ram, int64_t net, int64_t cpu) {
        set_resource_limits(account, ResourceLimits{ram, net, cpu});
    }
    void setpriv(Name account, bool is_priv) { set_privileged(account, is_priv); }
    // Reads every parameter and sets it to what it is.
    void params() {
        const BlockchainParameters parameters = blockchain_parameters();
        set_blockchain_parameters(parameters);
        print("authority depth ", parameters.max_authority_depth);
        Bytes packed(host::get_wasm_parameters_packed(nullptr, 0, 0));
        host::get_wasm_parameters_packed(packed.data(), packed.size(), 0);
        host::set_wasm_parameters_packed(packed.data(), packed.size());
        print(" wasm ", packed.size());
        const Bytes wanted = pack(std::vector<VarUint32>{17});
        Bytes limit(host::get_parameters_packed(wanted.data(), wanted.size(), nullptr, 0));
        host::get_parameters_packed(wanted.data(), wanted.size(), limit.data(), limit.size());
        host::set_parameters_packed(limit.data(), limit.size());
        print(" return value ", limit, "\n");
    }
    int64_t producers(const Bytes& schedule, bool legacy) {
        return legacy ? host::set_proposed_producers(schedule.data(), schedule.size())
                      : host::set_proposed_producers_ex(1, schedule.data(), schedule.size());
    }

    // Other actions and transactions.
    void sendinline(uint32_t depth) {
        print("depth ", depth, "\n");
        if (depth == 0) return;
        make_action(self(), "sendinline"_n, {self(), "active"_n}, depth - 1).send();
    }
    void sendcfa(const std::string& text) {
        Action{self(), "actioninfo"_n, {}, pack(text)}.send_context_free();
    }
    void notify(Name first, Name second) { require_recipient(first, second, first); }
    void deferred() { Transaction().send_deferred(1, self()); }
    int32_t canceldefer() {
        const uint128_t sender_id = 1;
        return host::cancel_deferred(&sender_id);
    }

    // The host's memory functions.
    void memory() {
        char area[] = "0123456789";
        host::host_memcpy(area, area + 5, 3);
        host::host_memmove(area + 1, area, 8);
        host::host_memset(area + 9, 'x', 1);
        print(static_cast<const char*>(area), " ", host::host_memcmp("ab", "ac", 2));
        print(" ", host::host_memcmp("ab", "aa", 2), " ", host::host_memcmp("ab", "ab", 2), "\n");
    }
    void overlap() {
        char area[] = "0123456789";
        host::host_memcpy(area + 1, area, 5);
        check(false, "the host let it pass");
    }
    // Prints the number of pages before and after.
    void grow(uint32_t pages) {
        const auto before = static_cast<int32_t>(__builtin_wasm_memory_grow(0, pages));
        print(before, " ", __builtin_wasm_memory_size(0), "\n");
    }

    // Ends of an action.
    void exit(int32_t code) {
        print("before");
        host::eosio_exit(code);
    }
    void fail(const std::string& message) { check(false, message); }
    void failtext() { check(false, "a text that ends with a zero"); }
    void failcode(uint64_t code) { check(false, code); }
    void abort() { host::host_abort(); }
    // Traps of the machine, and pointers that the host must refuse.
    void trap(uint8_t kind, int32_t number, double real) {
        const auto value = static_cast<uint32_t>(number);
        if (kind == 0) __builtin_trap();
        if (kind == 1) print(100 / number);
        if (kind == 2) print(INT32_MIN / number);
        if (kind == 3) print(*reinterpret_cast<volatile uint32_t*>(value));
        if (kind == 4) print(__builtin_wasm_trunc_s_i32_f64(real));
        if (kind == 5) print(kFunctions[value](21));
        if (kind == 6) print(reinterpret_cast<int64_t (*)(int64_t)>(value)(1));
        if (kind == 7) host::prints(reinterpret_cast<const char*>(value));
        if (kind == 8) host::prints_l(reinterpret_cast<const char*>(value), 16);
        if (kind == 9) host::sha256("", 0, reinterpret_cast<void*>(value));
        if (kind == 10) host::prints_l("text", value);
        print("\n");
    }
    uint32_t recurse(uint32_t depth) { return descend(depth); }
    uint64_t loop(uint64_t rounds) {
        uint64_t value = 1;
        for (uint64_t i = 0; i < rounds; ++i)
            value = value * 6364136223846793005U + i;
        return value;
    }
};

}  // namespace

extern "C" void apply(uint64_t receiver, uint64_t code, uint64_t action) {
    Dispatcher<Intrinsics> to(receiver, code, action);
    to.on<&Intrinsics::db>("db"_n).on<&Intrinsics::dbfail>("dbfail"_n);
    to.on<&Intrinsics::hashes>("hashes"_n).on<&Intrinsics::badhash>("badhash"_n);
    to.on<&Intrinsics::recover>("recover"_n).on<&Intrinsics::assertkey>("assertkey"_n);
    to.on<&Intrinsics::k1recover>("k1recover"_n).on<&Intrinsics::blake2>("blake2"_n);
    to.on<&Intrinsics::modexp>("modexp"_n).on<&Intrinsics::altbn>("altbn"_n);
    to.on<&Intrinsics::bls>("bls"_n);
    to.on<&Intrinsics::bigint>("bigint"_n).on<&Intrinsics::quad>("quad"_n);
    to.on<&Intrinsics::convert>("convert"_n).on<&Intrinsics::floats>("floats"_n);
    to.on<&Intrinsics::prints>("prints"_n).on<&Intrinsics::printfloat>("printfloat"_n);
    to.on<&Intrinsics::actioninfo>("actioninfo"_n).on<&Intrinsics::trxinfo>("trxinfo"_n);
    to.on<&Intrinsics::cfd>("cfd"_n).on<&Intrinsics::auth>("auth"_n);
    to.on<&Intrinsics::permitted>("permitted"_n).on<&Intrinsics::trxpermitted>("trxpermitted"_n);
    to.on<&Intrinsics::lastused>("lastused"_n).on<&Intrinsics::created>("created"_n);
    to.on<&Intrinsics::codehash>("codehash"_n).on<&Intrinsics::block>("block"_n);
    to.on<&Intrinsics::feature>("feature"_n).on<&Intrinsics::limits>("limits"_n);
    to.on<&Intrinsics::setlimits>("setlimits"_n).on<&Intrinsics::setpriv>("setpriv"_n);
    to.on<&Intrinsics::preactivate>("preactivate"_n);
    to.on<&Intrinsics::oldfeature>("oldfeature"_n);
    to.on<&Intrinsics::params>("params"_n).on<&Intrinsics::producers>("producers"_n);
    to.on<&Intrinsics::sendinline>("sendinline"_n).on<&Intrinsics::sendcfa>("sendcfa"_n);
    to.on<&Intrinsics::notify>("notify"_n).on<&Intrinsics::deferred>("deferred"_n);
    to.on<&Intrinsics::canceldefer>("canceldefer"_n).on<&Intrinsics::memory>("memory"_n);
    to.on<&Intrinsics::overlap>("overlap"_n).on<&Intrinsics::grow>("grow"_n);
    to.on<&Intrinsics::exit>("exit"_n).on<&Intrinsics::fail>("fail"_n);
    to.on<&Intrinsics::failtext>("failtext"_n).on<&Intrinsics::failcode>("failcode"_n);
    to.on<&Intrinsics::abort>("abort"_n).on<&Intrinsics::trap>("trap"_n);
    to.on<&Intrinsics::recurse>("recurse"_n).on<&Intrinsics::loop>("loop"_n);
}
