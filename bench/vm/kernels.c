#include "kernels.h"

#ifdef __wasm__
void tell(uint64_t value) __attribute__((import_module("env"), import_name("tell")));
#define SHOWN __attribute__((visibility("default"), export_name("apply")))
SHOWN void apply(uint64_t receiver, uint64_t code, uint64_t action) {
    (void)receiver;
    (void)code;
    run_kernel(action);
}
#endif

#define APART __attribute__((noinline))

static uint32_t next(uint32_t* state) {
    *state = *state * 1664525U + 1013904223U;
    return *state;
}

static void multiply(void) {
    uint64_t x = 88172645463325252U;
    for (uint32_t i = 0; i < 5000000; ++i) {
        x *= 6364136223846793005U;
        x ^= x >> 29;
        x += i;
    }
    tell(x);
}

// SHA-256's compression with other constants.

static uint32_t rounds_of[64];
static uint8_t text[4096];

static inline uint32_t turned(uint32_t x, int by) {
    return x >> by | x << (32 - by);
}

static APART void compress(uint32_t* hash, const uint8_t* block) {
    uint32_t w[64];
    for (int i = 0; i < 16; ++i) {
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
               (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    }
    for (int i = 16; i < 64; ++i) {
        const uint32_t low = turned(w[i - 15], 7) ^ turned(w[i - 15], 18) ^ w[i - 15] >> 3;
        const uint32_t high = turned(w[i - 2], 17) ^ turned(w[i - 2], 19) ^ w[i - 2] >> 10;
        w[i] = w[i - 16] + low + w[i - 7] + high;
    }
    uint32_t a = hash[0], b = hash[1], c = hash[2], d = hash[3];
    uint32_t e = hash[4], f = hash[5], g = hash[6], h = hash[7];
    for (int i = 0; i < 64; ++i) {
        const uint32_t one = h + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) +
                             ((e & f) ^ (~e & g)) + rounds_of[i] + w[i];
        const uint32_t two =
            (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
        h = g;
        g = f;
        f = e;
        e = d + one;
        d = c;
        c = b;
        b = a;
        a = one + two;
    }
    hash[0] += a;
    hash[1] += b;
    hash[2] += c;
    hash[3] += d;
    hash[4] += e;
    hash[5] += f;
    hash[6] += g;
    hash[7] += h;
}

static void sha256(void) {
    uint32_t state = 1;
    uint32_t hash[8];
    for (int i = 0; i < 8; ++i)
        hash[i] = next(&state);
    for (int i = 0; i < 64; ++i)
        rounds_of[i] = next(&state);
    for (int i = 0; i < 4096; ++i)
        text[i] = (uint8_t)(i * 7);
    for (int round = 0; round < 96; ++round) {
        for (int i = 0; i < 4096; i += 64)
            compress(hash, text + i);
    }
    for (int i = 0; i < 8; ++i)
        tell(hash[i]);
}

enum { kNumbers = 100000 };
static uint32_t numbers[kNumbers];

static APART void sort(uint32_t* all, int32_t low, int32_t high) {
    while (low < high) {
        const uint32_t middle = all[(low + high) / 2];
        int32_t i = low;
        int32_t j = high;
        while (i <= j) {
            while (all[i] < middle)
                ++i;
            while (all[j] > middle)
                --j;
            if (i > j) break;
            const uint32_t kept = all[i];
            all[i++] = all[j];
            all[j--] = kept;
        }
        if (j - low < high - i) {
            sort(all, low, j);
            low = i;
        } else {
            sort(all, i, high);
            high = j;
        }
    }
}

static void sort_numbers(void) {
    uint32_t state = 12345;
    for (int i = 0; i < kNumbers; ++i)
        numbers[i] = next(&state);
    sort(numbers, 0, kNumbers - 1);
    uint64_t sum = 0;
    for (int i = 0; i < kNumbers; ++i)
        sum = sum * 31 + numbers[i];
    tell(sum);
}

struct Body {
    double x, y, z, vx, vy, vz, mass;
};
static struct Body bodies[5];

static void step(void) {
    for (int i = 0; i < 5; ++i) {
        for (int j = i + 1; j < 5; ++j) {
            const double dx = bodies[i].x - bodies[j].x;
            const double dy = bodies[i].y - bodies[j].y;
            const double dz = bodies[i].z - bodies[j].z;
            const double square = dx * dx + dy * dy + dz * dz;
            const double pull = 0.01 / (square * __builtin_sqrt(square));
            bodies[i].vx -= dx * bodies[j].mass * pull;
            bodies[i].vy -= dy * bodies[j].mass * pull;
            bodies[i].vz -= dz * bodies[j].mass * pull;
            bodies[j].vx += dx * bodies[i].mass * pull;
            bodies[j].vy += dy * bodies[i].mass * pull;
            bodies[j].vz += dz * bodies[i].mass * pull;
        }
    }
    for (int i = 0; i < 5; ++i) {
        bodies[i].x += 0.01 * bodies[i].vx;
        bodies[i].y += 0.01 * bodies[i].vy;
        bodies[i].z += 0.01 * bodies[i].vz;
    }
}

static void planets(void) {
    for (int i = 0; i < 5; ++i) {
        const double at = i * 5.5;
        bodies[i] = (struct Body){at,
                                  at * 0.4 - 3,
                                  0.3 - at * 0.05,
                                  0.5 - i * 0.25,
                                  i * 0.7,
                                  0.01 * i,
                                  i == 0 ? 39.5 : 0.04 / (i + 1)};
    }
    for (int i = 0; i < 20000; ++i)
        step();
    for (int i = 0; i < 5; ++i) {
        uint64_t bits;
        __builtin_memcpy(&bits, &bodies[i].x, 8);
        tell(bits);
    }
}

enum { kCopied = 65536 };
static uint8_t from[kCopied];
static uint8_t to[kCopied];

static void copy(void) {
    for (int i = 0; i < kCopied; ++i)
        from[i] = (uint8_t)(i * 3);
    for (int round = 0; round < 80; ++round) {
        const volatile uint8_t* source = from;
        volatile uint8_t* target = to;
        for (int i = 0; i < kCopied; ++i)
            target[i] = source[i];
        from[round] ^= to[round + 1];
    }
    uint64_t sum = 0;
    for (int i = 0; i < kCopied; ++i)
        sum = sum * 31 + to[i];
    tell(sum);
}

static uint8_t program[1024];

static void interpret(void) {
    uint32_t state = 7;
    for (int i = 0; i < 1024; ++i)
        program[i] = (uint8_t)(next(&state) >> 28);
    uint64_t a = 1;
    uint64_t b = 3;
    for (uint32_t i = 0; i < 3000000; ++i) {
        switch (program[i & 1023]) {
            case 0:
                a += b;
                break;
            case 1:
                a ^= b << 3;
                break;
            case 2:
                b = a * 5;
                break;
            case 3:
                a -= 7;
                break;
            case 4:
                b ^= a >> 5;
                break;
            case 5:
                a = a * 3 + 1;
                break;
            case 6:
                b += i;
                break;
            case 7:
                a |= 1;
                break;
            case 8:
                a = ~a;
                break;
            case 9:
                b -= a;
                break;
            case 10:
                a += b & 0xff;
                break;
            case 11:
                b *= 9;
                break;
            case 12:
                a ^= a >> 17;
                break;
            case 13:
                b |= 4;
                break;
            case 14:
                a -= b;
                break;
            default:
                b = ~b;
        }
    }
    tell(a);
    tell(b);
}

static APART uint32_t fibonacci(uint32_t n) {
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

static APART uint64_t deep(uint32_t left, uint64_t x) {
    if (left == 0) return x;
    return deep(left - 1, x * 3 + left) + left;
}

static void recursion(void) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < 10000; ++i)
        sum += deep(200, i);
    tell(sum);
}

typedef uint64_t (*Function)(uint64_t);
static uint64_t triple(uint64_t x) {
    return x * 3;
}
static uint64_t more(uint64_t x) {
    return x + 11;
}
static uint64_t mixed(uint64_t x) {
    return x ^ x >> 7;
}
static uint64_t less(uint64_t x) {
    return x - 5;
}
static Function functions[4] = {triple, more, mixed, less};

static void indirect(void) {
    uint64_t x = 1;
    for (uint32_t i = 0; i < 3000000; ++i)
        x = ((volatile Function*)functions)[x >> 3 & 3](x);
    tell(x);
}

enum { kWords = 65536 };
static uint64_t words[kWords];

static void random_accesses(void) {
    uint64_t sum = 0;
    uint32_t state = 1;
    for (int i = 0; i < kWords; ++i)
        words[i] = 0;
    for (uint32_t i = 0; i < 2000000; ++i) {
        const uint32_t at = next(&state) >> 16;
        words[at] += sum + i;
        sum ^= words[at * 7 & (kWords - 1)];
    }
    tell(sum);
}

void run_kernel(uint64_t which) {
    switch (which) {
        case kernel_multiply:
            multiply();
            break;
        case kernel_sha256:
            sha256();
            break;
        case kernel_sort:
            sort_numbers();
            break;
        case kernel_planets:
            planets();
            break;
        case kernel_copy:
            copy();
            break;
        case kernel_switch:
            interpret();
            break;
        case kernel_fibonacci:
            tell(fibonacci(28));
            break;
        case kernel_recursion:
            recursion();
            break;
        case kernel_indirect:
            indirect();
            break;
        case kernel_random:
            random_accesses();
            break;
        default:
            break;
    }
}
