#pragma once

#include <cstddef>
#include <cstdint>

// The host functions of an Antelope chain, with the names and signatures that Leap 5.0.3 registers.
// They are what a contract may import; everything else in this folder is built on them.
//
// Lengths and pointers are 32-bit. A pointer with a length is read (const) or written by the host.
// Functions that fill a buffer return the size they would need when the length is zero.
// What compilers call by themselves (128-bit integers, long double) is in builtins.hpp.

#define BOR_HOST(name) __attribute__((import_module("env"), import_name(#name))) name
#define BOR_HOST_AS(name, local) __attribute__((import_module("env"), import_name(#name))) local

namespace bor {

using uint128_t = unsigned __int128;
using int128_t = __int128;

namespace host {

extern "C" {

// The action.
uint32_t BOR_HOST(action_data_size)();
uint32_t BOR_HOST(read_action_data)(void* data, uint32_t size);
uint64_t BOR_HOST(current_receiver)();
uint64_t BOR_HOST(get_sender)();
void BOR_HOST(set_action_return_value)(const void* data, uint32_t size);
void BOR_HOST(send_inline)(const char* action, uint32_t size);
void BOR_HOST(send_context_free_inline)(const char* action, uint32_t size);

// Authorization. A check function returns 1 or 0, a require function fails the transaction.
void BOR_HOST(require_auth)(uint64_t account);
void BOR_HOST(require_auth2)(uint64_t account, uint64_t permission);
int32_t BOR_HOST(has_auth)(uint64_t account);
void BOR_HOST(require_recipient)(uint64_t account);
int32_t BOR_HOST(is_account)(uint64_t account);
uint32_t BOR_HOST(get_code_hash)(uint64_t account, uint32_t version, char* out, uint32_t size);
int32_t BOR_HOST(check_transaction_authorization)(const char* transaction,
                                                  uint32_t transaction_size,
                                                  const char* keys,
                                                  uint32_t keys_size,
                                                  const char* levels,
                                                  uint32_t levels_size);
int32_t BOR_HOST(check_permission_authorization)(uint64_t account,
                                                 uint64_t permission,
                                                 const char* keys,
                                                 uint32_t keys_size,
                                                 const char* levels,
                                                 uint32_t levels_size,
                                                 uint64_t delay_us);
int64_t BOR_HOST(get_permission_last_used)(uint64_t account, uint64_t permission);
int64_t BOR_HOST(get_account_creation_time)(uint64_t account);

// The transaction.
uint32_t BOR_HOST(read_transaction)(char* out, uint32_t size);
uint32_t BOR_HOST(transaction_size)();
uint32_t BOR_HOST(expiration)();
int32_t BOR_HOST(tapos_block_num)();
int32_t BOR_HOST(tapos_block_prefix)();
int32_t BOR_HOST(get_action)(uint32_t type, uint32_t index, char* out, uint32_t size);
int32_t BOR_HOST(get_context_free_data)(uint32_t index, char* out, uint32_t size);
void BOR_HOST(send_deferred)(const uint128_t* sender_id,
                             uint64_t payer,
                             const char* transaction,
                             uint32_t size,
                             uint32_t replace_existing);
int32_t BOR_HOST(cancel_deferred)(const uint128_t* sender_id);

// The block. Times are microseconds since 1970.
uint64_t BOR_HOST(current_time)();
uint64_t BOR_HOST(publication_time)();
uint32_t BOR_HOST(get_block_num)();
int32_t BOR_HOST(get_active_producers)(uint64_t* producers, uint32_t size);
int32_t BOR_HOST(is_feature_activated)(const void* feature_digest);

// Failing and stopping.
[[noreturn]] void BOR_HOST_AS(abort, host_abort)();
void BOR_HOST(eosio_assert)(uint32_t test, const char* message);
void BOR_HOST(eosio_assert_message)(uint32_t test, const char* message, uint32_t size);
void BOR_HOST(eosio_assert_code)(uint32_t test, uint64_t code);
[[noreturn]] void BOR_HOST(eosio_exit)(int32_t code);

// The console.
void BOR_HOST(prints)(const char* text);
void BOR_HOST(prints_l)(const char* text, uint32_t size);
void BOR_HOST(printi)(int64_t value);
void BOR_HOST(printui)(uint64_t value);
void BOR_HOST(printi128)(const int128_t* value);
void BOR_HOST(printui128)(const uint128_t* value);
void BOR_HOST(printsf)(float value);
void BOR_HOST(printdf)(double value);
void BOR_HOST(printqf)(const long double* value);
void BOR_HOST(printn)(uint64_t name);
void BOR_HOST(printhex)(const void* data, uint32_t size);

// Hashes and keys. Digests are 20, 32 or 64 bytes; the assert functions fail on a difference.
void BOR_HOST(sha1)(const char* data, uint32_t size, void* digest);
void BOR_HOST(sha256)(const char* data, uint32_t size, void* digest);
void BOR_HOST(sha512)(const char* data, uint32_t size, void* digest);
void BOR_HOST(ripemd160)(const char* data, uint32_t size, void* digest);
void BOR_HOST(assert_sha1)(const char* data, uint32_t size, const void* digest);
void BOR_HOST(assert_sha256)(const char* data, uint32_t size, const void* digest);
void BOR_HOST(assert_sha512)(const char* data, uint32_t size, const void* digest);
void BOR_HOST(assert_ripemd160)(const char* data, uint32_t size, const void* digest);
int32_t BOR_HOST(recover_key)(const void* digest,
                              const char* signature,
                              uint32_t signature_size,
                              char* key,
                              uint32_t key_size);
void BOR_HOST(assert_recover_key)(const void* digest,
                                  const char* signature,
                                  uint32_t signature_size,
                                  const char* key,
                                  uint32_t key_size);
void BOR_HOST(sha3)(const char* data, uint32_t size, char* out, uint32_t out_size, int32_t keccak);
int32_t BOR_HOST(k1_recover)(const char* signature,
                             uint32_t signature_size,
                             const char* digest,
                             uint32_t digest_size,
                             char* key,
                             uint32_t key_size);
int32_t BOR_HOST(blake2_f)(uint32_t rounds,
                           const char* state,
                           uint32_t state_size,
                           const char* message,
                           uint32_t message_size,
                           const char* t0,
                           uint32_t t0_size,
                           const char* t1,
                           uint32_t t1_size,
                           int32_t final_block,
                           char* out,
                           uint32_t out_size);
int32_t BOR_HOST(mod_exp)(const char* base,
                          uint32_t base_size,
                          const char* exponent,
                          uint32_t exponent_size,
                          const char* modulus,
                          uint32_t modulus_size,
                          char* out,
                          uint32_t out_size);
int32_t BOR_HOST(alt_bn128_add)(const char* left,
                                uint32_t left_size,
                                const char* right,
                                uint32_t right_size,
                                char* out,
                                uint32_t out_size);
int32_t BOR_HOST(alt_bn128_mul)(const char* point,
                                uint32_t point_size,
                                const char* scalar,
                                uint32_t scalar_size,
                                char* out,
                                uint32_t out_size);
int32_t BOR_HOST(alt_bn128_pair)(const char* pairs, uint32_t pairs_size);

// BLS12-381, points in affine form: 96 bytes on G1, 192 on G2. 0 is success.
int32_t BOR_HOST(bls_g1_add)(const char* left,
                             uint32_t left_size,
                             const char* right,
                             uint32_t right_size,
                             char* out,
                             uint32_t out_size);
int32_t BOR_HOST(bls_g2_add)(const char* left,
                             uint32_t left_size,
                             const char* right,
                             uint32_t right_size,
                             char* out,
                             uint32_t out_size);
int32_t BOR_HOST(bls_g1_weighted_sum)(const char* points,
                                      uint32_t points_size,
                                      const char* scalars,
                                      uint32_t scalars_size,
                                      uint32_t count,
                                      char* out,
                                      uint32_t out_size);
int32_t BOR_HOST(bls_g2_weighted_sum)(const char* points,
                                      uint32_t points_size,
                                      const char* scalars,
                                      uint32_t scalars_size,
                                      uint32_t count,
                                      char* out,
                                      uint32_t out_size);
int32_t BOR_HOST(bls_pairing)(const char* g1_points,
                              uint32_t g1_size,
                              const char* g2_points,
                              uint32_t g2_size,
                              uint32_t count,
                              char* out,
                              uint32_t out_size);
int32_t BOR_HOST(bls_g1_map)(const char* element, uint32_t size, char* out, uint32_t out_size);
int32_t BOR_HOST(bls_g2_map)(const char* element, uint32_t size, char* out, uint32_t out_size);
int32_t BOR_HOST(bls_fp_mod)(const char* number, uint32_t size, char* out, uint32_t out_size);
int32_t BOR_HOST(bls_fp_mul)(const char* left,
                             uint32_t left_size,
                             const char* right,
                             uint32_t right_size,
                             char* out,
                             uint32_t out_size);
int32_t BOR_HOST(bls_fp_exp)(const char* base,
                             uint32_t base_size,
                             const char* exponent,
                             uint32_t exponent_size,
                             char* out,
                             uint32_t out_size);

// For privileged accounts.
int32_t BOR_HOST(is_privileged)(uint64_t account);
void BOR_HOST(set_privileged)(uint64_t account, int32_t is_privileged);
void BOR_HOST(get_resource_limits)(uint64_t account, int64_t* ram, int64_t* net, int64_t* cpu);
void BOR_HOST(set_resource_limits)(uint64_t account, int64_t ram, int64_t net, int64_t cpu);
int64_t BOR_HOST(set_proposed_producers)(const char* schedule, uint32_t size);
int64_t BOR_HOST(set_proposed_producers_ex)(uint64_t format, const char* schedule, uint32_t size);
uint32_t BOR_HOST(get_blockchain_parameters_packed)(char* out, uint32_t size);
void BOR_HOST(set_blockchain_parameters_packed)(const char* parameters, uint32_t size);
uint32_t BOR_HOST(get_parameters_packed)(const char* ids,
                                         uint32_t ids_size,
                                         char* out,
                                         uint32_t size);
void BOR_HOST(set_parameters_packed)(const char* parameters, uint32_t size);
uint32_t BOR_HOST(get_wasm_parameters_packed)(char* out, uint32_t size, uint32_t max_version);
void BOR_HOST(set_wasm_parameters_packed)(const char* parameters, uint32_t size);
void BOR_HOST(preactivate_feature)(const void* feature_digest);
int32_t BOR_HOST(is_feature_active)(int64_t feature);
void BOR_HOST(activate_feature)(int64_t feature);

// Memory as the host does it. memcpy fails when the ranges overlap.
void* BOR_HOST_AS(memcpy, host_memcpy)(void* to, const void* from, uint32_t size);
void* BOR_HOST_AS(memmove, host_memmove)(void* to, const void* from, uint32_t size);
int32_t BOR_HOST_AS(memcmp, host_memcmp)(const void* left, const void* right, uint32_t size);
void* BOR_HOST_AS(memset, host_memset)(void* to, int32_t value, uint32_t size);

// The primary index. Iterators below -1 are end iterators of a table, -1 is none.
int32_t BOR_HOST(db_store_i64)(
    uint64_t scope, uint64_t table, uint64_t payer, uint64_t id, const void* data, uint32_t size);
void BOR_HOST(db_update_i64)(int32_t iterator, uint64_t payer, const void* data, uint32_t size);
void BOR_HOST(db_remove_i64)(int32_t iterator);
int32_t BOR_HOST(db_get_i64)(int32_t iterator, void* data, uint32_t size);
int32_t BOR_HOST(db_next_i64)(int32_t iterator, uint64_t* primary);
int32_t BOR_HOST(db_previous_i64)(int32_t iterator, uint64_t* primary);
int32_t BOR_HOST(db_find_i64)(uint64_t code, uint64_t scope, uint64_t table, uint64_t id);
int32_t BOR_HOST(db_lowerbound_i64)(uint64_t code, uint64_t scope, uint64_t table, uint64_t id);
int32_t BOR_HOST(db_upperbound_i64)(uint64_t code, uint64_t scope, uint64_t table, uint64_t id);
int32_t BOR_HOST(db_end_i64)(uint64_t code, uint64_t scope, uint64_t table);

// The secondary indexes. All five kinds have the same ten functions; of the 256-bit kind the key
// is an array of two 128-bit words with its length in words.
#define BOR_KEY(type) const type* secondary
#define BOR_KEY_OUT(type) type* secondary
#define BOR_KEY256(type) const type *secondary, uint32_t words
#define BOR_KEY256_OUT(type) type *secondary, uint32_t words
#define BOR_INDEX(kind, type, key, key_out)                                                \
    int32_t BOR_HOST(db_##kind##_store)(                                                   \
        uint64_t scope, uint64_t table, uint64_t payer, uint64_t id, key(type));           \
    void BOR_HOST(db_##kind##_update)(int32_t iterator, uint64_t payer, key(type));        \
    void BOR_HOST(db_##kind##_remove)(int32_t iterator);                                   \
    int32_t BOR_HOST(db_##kind##_next)(int32_t iterator, uint64_t * primary);              \
    int32_t BOR_HOST(db_##kind##_previous)(int32_t iterator, uint64_t * primary);          \
    int32_t BOR_HOST(db_##kind##_find_primary)(                                            \
        uint64_t code, uint64_t scope, uint64_t table, key_out(type), uint64_t primary);   \
    int32_t BOR_HOST(db_##kind##_find_secondary)(                                          \
        uint64_t code, uint64_t scope, uint64_t table, key(type), uint64_t * primary);     \
    int32_t BOR_HOST(db_##kind##_lowerbound)(                                              \
        uint64_t code, uint64_t scope, uint64_t table, key_out(type), uint64_t * primary); \
    int32_t BOR_HOST(db_##kind##_upperbound)(                                              \
        uint64_t code, uint64_t scope, uint64_t table, key_out(type), uint64_t * primary); \
    int32_t BOR_HOST(db_##kind##_end)(uint64_t code, uint64_t scope, uint64_t table);

BOR_INDEX(idx64, uint64_t, BOR_KEY, BOR_KEY_OUT)
BOR_INDEX(idx128, uint128_t, BOR_KEY, BOR_KEY_OUT)
BOR_INDEX(idx256, uint128_t, BOR_KEY256, BOR_KEY256_OUT)
BOR_INDEX(idx_double, double, BOR_KEY, BOR_KEY_OUT)
BOR_INDEX(idx_long_double, long double, BOR_KEY, BOR_KEY_OUT)

#undef BOR_INDEX
#undef BOR_KEY
#undef BOR_KEY_OUT
#undef BOR_KEY256
#undef BOR_KEY256_OUT

}  // extern "C"

}  // namespace host
}  // namespace bor
