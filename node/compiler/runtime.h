// What stands before a contract's code as WABT's C writer wrote it: our own small runtime in
// place of wasm-rt. It needs no header and no library of the machine, has no signal handler,
// and checks every access to memory. It is text for the contract's compiler (tcc or gcc), not
// a header of this program; bor-wasm-compile puts it in front. A change that alters the
// meaning of compiled code needs a new number in NativeVersion (chain/vm/compiler.hpp).

typedef unsigned char u8, uint8_t;
typedef signed char s8, int8_t;
typedef unsigned short u16, uint16_t;
typedef short s16, int16_t;
typedef unsigned int u32, uint32_t;
typedef int s32, int32_t;
typedef unsigned long u64, uint64_t, size_t;
typedef long s64, int64_t;
typedef float f32;
typedef double f64;
#define WASM_RT_CORE_TYPES_DEFINED
#define bool _Bool
#define true 1
#define false 0
#define NULL ((void*)0)
#define assert(condition) ((void)0)
#define offsetof(type, member) ((size_t) & ((type*)0)->member)

#ifdef __TINYC__
#define LIKELY(x) (x)
#define UNLIKELY(x) (x)
#define BOR_UNALIGNED
#else
#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define BOR_UNALIGNED __attribute__((aligned(1), may_alias))
#endif
#define BOR_EXPORT __attribute__((visibility("default")))

// Same layout as chain::vm::NativeHost.
typedef struct {
    void* self;
    u8* memory;
    u8* dirty;
    int (*call)(void* self, u32 host, const u64* args, u64* result);
    void (*resized)(void* self, u64 bytes);
    f64 (*round)(int how, f64 value);
    f32 (*round_single)(int how, f32 value);
} bor_host;

// Nothing outside this file knows the addresses of these, so that the compiler may keep them
// in registers across stores to linear memory.
static const bor_host* bor_h;
static u8* bor_memory;
static u8* bor_dirty;
static u64 bor_bytes;

// Traps leave by longjmp, over frames of this file only. The values are chain::vm::Trap's.
static u64 bor_jump[64] __attribute__((aligned(16)));
int _setjmp(void*)
#ifndef __TINYC__
    __attribute__((returns_twice))
#endif
    ;
void longjmp(void*, int) __attribute__((noreturn));
enum {
    BOR_UNREACHABLE = 1,
    BOR_OOB = 2,
    BOR_DIV_BY_ZERO = 3,
    BOR_INT_OVERFLOW = 4,
    BOR_INVALID_CONVERSION = 5,
    BOR_CALL_INDIRECT = 6,
    BOR_HOST_STOP = 10
};
static void __attribute__((noinline, noreturn, cold)) bor_trap(int reason) {
    longjmp(bor_jump, reason);
}
#define TRAP(reason) (bor_trap(BOR_##reason), 0)
#define UNREACHABLE TRAP(UNREACHABLE)
#define FUNC_PROLOGUE
#define FUNC_EPILOGUE

// Linear memory.
typedef struct {
    u32 pages, max_pages;
} wasm_rt_memory_t;

static void wasm_rt_allocate_memory(wasm_rt_memory_t* memory, u32 pages, u32 max_pages) {
    memory->pages = pages;
    memory->max_pages = max_pages;
}
static void wasm_rt_free_memory(wasm_rt_memory_t* memory) {}
static u32 wasm_rt_grow_memory(wasm_rt_memory_t* memory, u32 more) {
    const u32 before = memory->pages;
    if (more > memory->max_pages - before) return (u32)-1;
    memory->pages = before + more;
    bor_bytes = (u64)memory->pages << 16;
    bor_h->resized(bor_h->self, bor_bytes);
    return before;
}

#define DEFINE_LOAD(name, stored, widened, result)                                   \
    typedef stored name##_t BOR_UNALIGNED;                                           \
    static inline result name(const wasm_rt_memory_t* memory, u64 at) {              \
        if (UNLIKELY(at + sizeof(stored) > bor_bytes)) TRAP(OOB);                    \
        return (result)(widened) * (name##_t*)(bor_memory + at);                     \
    }
// A store marks the block of its first byte; that it may reach into the next is known.
#define DEFINE_STORE(name, stored, given)                                            \
    typedef stored name##_t BOR_UNALIGNED;                                           \
    static inline void name(const wasm_rt_memory_t* memory, u64 at, given value) {   \
        if (UNLIKELY(at + sizeof(stored) > bor_bytes)) TRAP(OOB);                    \
        *(name##_t*)(bor_memory + at) = (stored)value;                               \
        bor_dirty[at >> 12] = 1;                                                     \
    }
DEFINE_LOAD(i32_load, u32, u32, u32)
DEFINE_LOAD(i64_load, u64, u64, u64)
DEFINE_LOAD(f32_load, f32, f32, f32)
DEFINE_LOAD(f64_load, f64, f64, f64)
DEFINE_LOAD(i32_load8_s, s8, s32, u32)
DEFINE_LOAD(i64_load8_s, s8, s64, u64)
DEFINE_LOAD(i32_load8_u, u8, u32, u32)
DEFINE_LOAD(i64_load8_u, u8, u64, u64)
DEFINE_LOAD(i32_load16_s, s16, s32, u32)
DEFINE_LOAD(i64_load16_s, s16, s64, u64)
DEFINE_LOAD(i32_load16_u, u16, u32, u32)
DEFINE_LOAD(i64_load16_u, u16, u64, u64)
DEFINE_LOAD(i64_load32_s, s32, s64, u64)
DEFINE_LOAD(i64_load32_u, u32, u64, u64)
DEFINE_STORE(i32_store, u32, u32)
DEFINE_STORE(i64_store, u64, u64)
DEFINE_STORE(f32_store, f32, f32)
DEFINE_STORE(f64_store, f64, f64)
DEFINE_STORE(i32_store8, u8, u32)
DEFINE_STORE(i32_store16, u16, u32)
DEFINE_STORE(i64_store8, u8, u64)
DEFINE_STORE(i64_store16, u16, u64)
DEFINE_STORE(i64_store32, u32, u64)

// The table. The rewriter made types unique, so that numbering them is enough.
typedef void (*wasm_rt_function_ptr_t)(void);
typedef struct {
    u32 func_type;
    wasm_rt_function_ptr_t func;
    void* module_instance;
} wasm_rt_funcref_t;
typedef struct {
    wasm_rt_funcref_t* data;
    u32 size;
} wasm_rt_funcref_table_t;
typedef struct {
    u32 func_type_index;
    wasm_rt_function_ptr_t func;
    size_t module_offset;
} wasm_elem_segment_expr_t;

static wasm_rt_funcref_t bor_table[BOR_TABLE_SIZE];
static u32 bor_types;
#define wasm_rt_register_func_type(...) (++bor_types)

static void wasm_rt_allocate_funcref_table(wasm_rt_funcref_table_t* table, u32 size, u32 max) {
    table->data = bor_table;
    table->size = size;
}
static void wasm_rt_free_funcref_table(wasm_rt_funcref_table_t* table) {}
static void funcref_table_init(wasm_rt_funcref_table_t* table,
                               const wasm_elem_segment_expr_t* elements,
                               u32 count,
                               u32 to,
                               u32 from,
                               u32 many,
                               void* instance,
                               const u32* types) {
    for (u32 i = 0; i < many; i++) {
        wasm_rt_funcref_t* out = &table->data[to + i];
        out->func_type = types[elements[from + i].func_type_index];
        out->func = elements[from + i].func;
        out->module_instance = (char*)instance + elements[from + i].module_offset;
    }
}
#define CALL_INDIRECT(table, type, number, at, ...)                                        \
    (LIKELY((at) < table.size && table.data[at].func &&                                    \
            table.data[at].func_type == func_types[number]) ||                             \
         TRAP(CALL_INDIRECT),                                                              \
     ((type)table.data[at].func)(__VA_ARGS__))

// Integers.
#ifdef __TINYC__
static int bor_popcount(u64 x) {
    int bits = 0;
    for (; x; x &= x - 1) bits++;
    return bits;
}
static int bor_clz(u64 x, int width) {
    int zeros = 0;
    for (u64 bit = (u64)1 << (width - 1); bit && !(x & bit); bit >>= 1) zeros++;
    return zeros;
}
static int bor_ctz(u64 x, int width) {
    int zeros = 0;
    for (; zeros < width && !(x & 1); x >>= 1) zeros++;
    return zeros;
}
#define I32_CLZ(x) bor_clz((x), 32)
#define I64_CLZ(x) bor_clz((x), 64)
#define I32_CTZ(x) bor_ctz((x), 32)
#define I64_CTZ(x) bor_ctz((x), 64)
#define I32_POPCNT(x) bor_popcount(x)
#define I64_POPCNT(x) bor_popcount(x)
#else
#define I32_CLZ(x) ((x) ? __builtin_clz(x) : 32)
#define I64_CLZ(x) ((x) ? __builtin_clzl(x) : 64)
#define I32_CTZ(x) ((x) ? __builtin_ctz(x) : 32)
#define I64_CTZ(x) ((x) ? __builtin_ctzl(x) : 64)
#define I32_POPCNT(x) (__builtin_popcount(x))
#define I64_POPCNT(x) (__builtin_popcountl(x))
#endif

#define BOR_DEFINE_SIGNED(bits)                                                \
    static inline u##bits I##bits##_DIV_S(u##bits x, u##bits y) {              \
        if (UNLIKELY(y == 0)) TRAP(DIV_BY_ZERO);                               \
        if (UNLIKELY(x == (u##bits)1 << (bits - 1) && y == (u##bits)-1)) {     \
            TRAP(INT_OVERFLOW);                                                \
        }                                                                      \
        return (u##bits)((s##bits)x / (s##bits)y);                             \
    }                                                                          \
    static inline u##bits I##bits##_REM_S(u##bits x, u##bits y) {              \
        if (UNLIKELY(y == 0)) TRAP(DIV_BY_ZERO);                               \
        if (UNLIKELY(y == (u##bits)-1)) return 0;                              \
        return (u##bits)((s##bits)x % (s##bits)y);                             \
    }
BOR_DEFINE_SIGNED(32)
BOR_DEFINE_SIGNED(64)
#define DIV_U(x, y) (UNLIKELY((y) == 0) ? TRAP(DIV_BY_ZERO) : ((x) / (y)))
#define REM_U(x, y) (UNLIKELY((y) == 0) ? TRAP(DIV_BY_ZERO) : ((x) % (y)))
#define I32_ROTL(x, y) (((x) << ((y)&31)) | ((x) >> ((32 - (y)) & 31)))
#define I64_ROTL(x, y) (((x) << ((y)&63)) | ((x) >> ((64 - (y)) & 63)))
#define I32_ROTR(x, y) (((x) >> ((y)&31)) | ((x) << ((32 - (y)) & 31)))
#define I64_ROTR(x, y) (((x) >> ((y)&63)) | ((x) << ((64 - (y)) & 63)))

// Floating point. Which NaN comes out does not matter: the rewriter makes it canonical.
#define FMIN(x, y)                       \
    ((x) != (x)             ? (x)        \
     : (y) != (y)           ? (y)        \
     : (x) == 0 && (y) == 0 ? (1 / (x) < 0 ? (x) : (y)) \
     : (x) < (y)            ? (x)        \
                            : (y))
#define FMAX(x, y)                       \
    ((x) != (x)             ? (x)        \
     : (y) != (y)           ? (y)        \
     : (x) == 0 && (y) == 0 ? (1 / (x) < 0 ? (y) : (x)) \
     : (x) > (y)            ? (x)        \
                            : (y))
static inline f64 wasm_quiet(f64 x) { return x; }
static inline f32 wasm_quietf(f32 x) { return x; }
static inline f64 wasm_ceil(f64 x) { return bor_h->round(0, x); }
static inline f64 wasm_floor(f64 x) { return bor_h->round(1, x); }
static inline f64 wasm_trunc(f64 x) { return bor_h->round(2, x); }
static inline f64 wasm_nearbyint(f64 x) { return bor_h->round(3, x); }
static inline f64 wasm_sqrt(f64 x) { return bor_h->round(4, x); }
static inline f32 wasm_ceilf(f32 x) { return bor_h->round_single(0, x); }
static inline f32 wasm_floorf(f32 x) { return bor_h->round_single(1, x); }
static inline f32 wasm_truncf(f32 x) { return bor_h->round_single(2, x); }
static inline f32 wasm_nearbyintf(f32 x) { return bor_h->round_single(3, x); }
static inline f32 wasm_sqrtf(f32 x) { return bor_h->round_single(4, x); }

// `low` and `high` are the exclusive bounds of what fits; for -2^63 there is no such number
// in floating point, hence `least`.
#define BOR_DEFINE_TRUNC(name, from, to, inside, convert)  \
    static inline to name(from x) {                        \
        if (UNLIKELY(x != x)) TRAP(INVALID_CONVERSION);    \
        if (UNLIKELY(!(inside))) TRAP(INT_OVERFLOW);       \
        return (to)(convert);                              \
    }
#define BOR_TWO_63 9223372036854775808.0
#define BOR_UNSIGNED(type) \
    (x < (type)BOR_TWO_63 ? (u64)(s64)x : (u64)(s64)(x - (type)BOR_TWO_63) ^ ((u64)1 << 63))
BOR_DEFINE_TRUNC(I32_TRUNC_S_F32, f32, u32, x >= -2147483648.0f && x < 2147483648.0f, (s32)x)
BOR_DEFINE_TRUNC(I32_TRUNC_S_F64, f64, u32, x > -2147483649.0 && x < 2147483648.0, (s32)x)
BOR_DEFINE_TRUNC(I32_TRUNC_U_F32, f32, u32, x > -1.0f && x < 4294967296.0f, (s64)x)
BOR_DEFINE_TRUNC(I32_TRUNC_U_F64, f64, u32, x > -1.0 && x < 4294967296.0, (s64)x)
BOR_DEFINE_TRUNC(
    I64_TRUNC_S_F32, f32, u64, x >= -(f32)BOR_TWO_63 && x < (f32)BOR_TWO_63, (s64)x)
BOR_DEFINE_TRUNC(I64_TRUNC_S_F64, f64, u64, x >= -BOR_TWO_63 && x < BOR_TWO_63, (s64)x)
BOR_DEFINE_TRUNC(
    I64_TRUNC_U_F32, f32, u64, x > -1.0f && x < 18446744073709551616.0f, BOR_UNSIGNED(f32))
BOR_DEFINE_TRUNC(
    I64_TRUNC_U_F64, f64, u64, x > -1.0 && x < 18446744073709551616.0, BOR_UNSIGNED(f64))

#define DEFINE_REINTERPRET(name, from, to) \
    static inline to name(from x) {        \
        union {                            \
            from before;                   \
            to after;                      \
        } bits;                            \
        bits.before = x;                   \
        return bits.after;                 \
    }
DEFINE_REINTERPRET(f32_reinterpret_i32, u32, f32)
DEFINE_REINTERPRET(i32_reinterpret_f32, f32, u32)
DEFINE_REINTERPRET(f64_reinterpret_i64, u64, f64)
DEFINE_REINTERPRET(i64_reinterpret_f64, f64, u64)

static void bor_call(u32 host, const u64* args, u64* result) {
    if (UNLIKELY(!bor_h->call(bor_h->self, host, args, result))) bor_trap(BOR_HOST_STOP);
}
