#!/usr/bin/env python3
"""Writes expected.json: actions of the contract intrinsics on an account of that name, and what they
must do. The numbers come from Python's own arithmetic and hashes, not from any chain.

usage: make_expected.py [--check]      --check: exit status 1 when expected.json is another one
An entry: {name, action, data (hex), and console, result (hex) or error}. A console or result that is
absent is not compared. error: {code, message}, parts that are absent are not compared.
"""
import hashlib
import json
import os
import struct
import sys
from fractions import Fraction

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', '..', 'vectors'))
from antelope import K1, Key, name_value, pack_bytes, pack_text, ripemd160, sha256  # noqa: E402

ENTRIES = []
CRYPTO_ERROR = {'code': 3230001, 'message': 'hash mismatch'}
WASM_ERROR = {'code': 3070002}


def entry(name, action, data=b'', **expected):
    ENTRIES.append({'name': name, 'action': action, 'data': data.hex(), **expected})


def u8(*values):
    return bytes(values)


def u32(value):
    return struct.pack('<I', value)


def lines(*texts):
    return ''.join(text + '\n' for text in texts)


# ---------------------------------------------------------------- hashes

def keccak_f(state):
    def rotate(value, by):
        return (value << by | value >> (64 - by)) & (2**64 - 1) if by else value
    register = 1
    for _ in range(24):
        columns = [state[x] ^ state[x + 5] ^ state[x + 10] ^ state[x + 15] ^ state[x + 20]
                   for x in range(5)]
        for i in range(25):
            state[i] ^= columns[(i + 4) % 5] ^ rotate(columns[(i + 1) % 5], 1)
        x, y, current = 1, 0, state[1]
        for t in range(24):
            x, y = y, (2 * x + 3 * y) % 5
            current, state[x + 5 * y] = \
                state[x + 5 * y], rotate(current, (t + 1) * (t + 2) // 2 % 64)
        for row in range(0, 25, 5):
            old = state[row:row + 5]
            for x in range(5):
                state[row + x] = old[x] ^ (~old[(x + 1) % 5] & old[(x + 2) % 5])
        for bit in range(7):
            if register & 1:
                state[0] ^= 1 << ((1 << bit) - 1)
            register = (register << 1 ^ (register >> 7) * 0x171) & 0xff
    return state


def sponge(data, suffix):
    """Keccak of 256 bits: suffix 1 as Ethereum has it, 6 is SHA3."""
    rate = 136
    data += bytes([suffix]) + bytes(-(len(data) + 1) % rate)
    data = data[:-1] + bytes([data[-1] | 0x80])
    state = [0] * 25
    for at in range(0, len(data), rate):
        for i, word in enumerate(struct.unpack('<17Q', data[at:at + rate])):
            state[i] ^= word
        keccak_f(state)
    return struct.pack('<4Q', *state[:4])


def hashes():
    assert sponge(b'abc', 6) == hashlib.sha3_256(b'abc').digest()
    for name, text in (('empty', b''), ('abc', b'abc'), ('long', b'a' * 1000)):
        entry('hashes ' + name, 'hashes', pack_bytes(text), console=lines(
            'sha1=' + hashlib.sha1(text).hexdigest(), 'sha256=' + sha256(text).hex(),
            'sha512=' + hashlib.sha512(text).hexdigest(), 'ripemd160=' + ripemd160(text).hex(),
            'sha3=' + sponge(text, 6).hex(), 'keccak=' + sponge(text, 1).hex()))
    for kind, name in enumerate(('sha1', 'sha256', 'sha512', 'ripemd160')):
        entry('wrong ' + name, 'badhash', pack_text('abc') + u8(kind), error=CRYPTO_ERROR)


def keys():
    digest = sha256(b'a message')
    for label in ('alice', 'r1alice'):
        key = Key.of(label)
        kind = u8(key.kind == 'R1')
        signature = kind + key.sign_compact(digest)
        entry('recover ' + label, 'recover', digest + signature, result=(kind + key.point).hex())
        entry('another key than ' + label, 'assertkey',
              digest + signature + kind + Key.of(label + '2').point, error={'code': 3230001})
    key = Key.of('alice')
    compact = key.sign_compact(digest)
    x, y = K1.multiply(int.from_bytes(key.secret, 'big'))
    point = b'\x04' + x.to_bytes(32, 'big') + y.to_bytes(32, 'big')

    def recovered(name, signature, of, console):
        data = pack_bytes(signature) + pack_bytes(of) + u32(65)
        entry('k1_recover ' + name, 'k1recover', data, console=console + '\n')
    untouched = '-1 ' + 'ee' * 65
    recovered('of a key', compact, digest, '0 ' + point.hex())
    recovered('short signature', compact[:64], digest, untouched)
    recovered('short digest', compact, digest[:31], untouched)
    recovered('recovery id', bytes([99]) + compact[1:], digest, untouched)


BLAKE_IV = [0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
            0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179]
BLAKE_SIGMA = ['0123456789abcdef', 'ea489fd61c02b753', 'b8c052fdae367194', '7931dcbe265a40f8',
               '905724afe1bc683d', '2c6a0b834d75fe19', 'c51fed4a0763928b', 'db7ec13950f4862a',
               '6fe9b308c2d714a5', 'a2847615fb9e3cd0']


def blake_f(rounds, state, message, t0, t1, final):
    mask = 2**64 - 1
    work = state + BLAKE_IV
    work[12] ^= t0
    work[13] ^= t1
    if final:
        work[14] ^= mask

    def mix(a, b, c, d, x, y):
        for addend, first, second in ((x, 32, 24), (y, 16, 63)):
            work[a] = work[a] + work[b] + addend & mask
            work[d] ^= work[a]
            work[d] = (work[d] >> first | work[d] << (64 - first)) & mask
            work[c] = work[c] + work[d] & mask
            work[b] ^= work[c]
            work[b] = (work[b] >> second | work[b] << (64 - second)) & mask
    for turn in range(rounds):
        order = [int(digit, 16) for digit in BLAKE_SIGMA[turn % 10]]
        for i in range(8):
            a = i % 4
            b, c, d = ((a, a, a) if i < 4 else ((a + 1) % 4, (a + 2) % 4, (a + 3) % 4))
            mix(a, 4 + b, 8 + c, 12 + d, message[order[2 * i]], message[order[2 * i + 1]])
    return [state[i] ^ work[i] ^ work[i + 8] for i in range(8)]


def blake():
    state = [BLAKE_IV[0] ^ 0x01010040] + BLAKE_IV[1:]
    message = list(struct.unpack('<16Q', b'abc' + bytes(125)))
    out = blake_f(12, list(state), message, 3, 0, True)
    assert struct.pack('<8Q', *out) == hashlib.blake2b(b'abc').digest()
    packed_state, packed_message = struct.pack('<8Q', *state), struct.pack('<16Q', *message)

    def compressed(name, rounds, final, size=64, of=packed_state, t0=8):
        data = (u32(rounds) + pack_bytes(of) + pack_bytes(packed_message)
                + pack_bytes(struct.pack('<Q', 3)[:t0]) + pack_bytes(bytes(8)) + u8(final)
                + u32(size))
        if size < 64 or len(of) != 64 or t0 != 8:
            console = '-1 ' + 'ee' * size
        else:
            result = blake_f(rounds, list(state), message, 3, 0, final)
            console = '0 ' + struct.pack('<8Q', *result).hex()
        entry('blake2_f ' + name, 'blake2', data, console=console + '\n')
    compressed('abc', 12, True)
    compressed('not the last block', 12, False)
    compressed('one round', 1, True)
    compressed('no round', 0, True)
    compressed('short state', 12, True, of=packed_state[:63])
    compressed('short counter', 12, True, t0=7)
    compressed('short result', 12, True, size=63)


def modular_powers():
    def power(name, base, exponent, modulus, size):
        parts = [part.to_bytes(max(1, (part.bit_length() + 7) // 8), 'big')
                 for part in (base, exponent, modulus)]
        data = b''.join(pack_bytes(part) for part in parts) + u32(size)
        if size < len(parts[2]):
            console = '-1 ' + 'ee' * size
        else:
            result = pow(base, exponent, modulus).to_bytes(len(parts[2]), 'big')
            console = '0 ' + result.hex() + 'ee' * (size - len(result))
        entry('mod_exp ' + name, 'modexp', data, console=console + '\n')
    prime = 2**256 - 2**32 - 977
    power('small', 5, 3, 13, 1)
    power('of a prime', 3, prime - 1, prime, 32)
    power('large', 7**80, 65537, 2**255 - 19, 32)
    power('even modulus', 3, 2**64 - 1, 2**100, 13)
    power('exponent zero', 12345, 0, 977, 2)
    power('modulus one', 5, 3, 1, 1)
    power('short result', 3, 5, prime, 31)


# ---------------------------------------------------------------- numbers

def round_to(value, bits, exponent_bits):
    """The IEEE 754 number nearest to a fraction, ties to even, as an integer of its bits."""
    sign, value = int(value < 0), abs(value)
    bias = 2**(exponent_bits - 1) - 1
    mantissa_bits = bits - exponent_bits - 1
    if value == 0:
        return 0
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    if Fraction(2)**exponent > value:
        exponent -= 1
    scaled = value / Fraction(2)**(exponent - mantissa_bits)
    mantissa = scaled.numerator // scaled.denominator
    rest = scaled - mantissa
    if rest > Fraction(1, 2) or rest == Fraction(1, 2) and mantissa & 1:
        mantissa += 1
    if mantissa == 2**(mantissa_bits + 1):
        mantissa, exponent = mantissa // 2, exponent + 1
    assert -bias < exponent <= bias, 'subnormal and infinite results are not made here'
    return sign << (bits - 1) | (exponent + bias) << mantissa_bits | mantissa - 2**mantissa_bits


def quad(value):
    return round_to(Fraction(value), 128, 15).to_bytes(16, 'little')


def double(value):
    return round_to(Fraction(value), 64, 11).to_bytes(8, 'little')


def single(value):
    return round_to(Fraction(value), 32, 8).to_bytes(4, 'little')


def single_value(value):
    return Fraction(struct.unpack('<f', single(value))[0])


def from_quad(data):
    bits = int.from_bytes(data, 'little')
    mantissa, exponent = bits & (2**112 - 1) | 2**112, bits >> 112 & 0x7fff
    value = 0 if bits << 1 & (2**128 - 1) == 0 else Fraction(mantissa) * Fraction(2)**(exponent - 16383 - 112)
    return -value if bits >> 127 else Fraction(value)


def truncated_division(a, b):
    quotient = abs(a) // abs(b)
    return -quotient if (a < 0) != (b < 0) else quotient


def bool_list(*values):
    return ' '.join('true' if value else 'false' for value in values)


def big_integers():
    full = 2**128

    def show(label, value, size=16):
        return label + '=' + (value % 2**(8 * size)).to_bytes(size, 'little').hex()
    cases = [(7, 2, 3), (-7, 2, 64), (7, -2, 127), (2**100 + 12345, 2**40 - 1, 70),
             (-(2**126), 3, 1), (-1, -1, 0), (123456789 * 10**20, 987654321, 100)]
    for a, b, shift in cases:
        ua, ub = a % full, b % full
        quotient = truncated_division(a, b)
        left = ua << shift
        entry('128 bits %d %d %d' % (a, b, shift), 'bigint',
              ua.to_bytes(16, 'little') + ub.to_bytes(16, 'little') + u32(shift), console=lines(
                  show('mul', a * b), show('div', quotient), show('mod', a - quotient * b),
                  show('udiv', ua // ub), show('umod', ua % ub), show('shl', left),
                  show('shr', ua >> shift), show('sar', a >> shift),
                  show('shl of the host', left), 'to double=' + double(a).hex(),
                  'unsigned to double=' + double(ua).hex(), 'signed %d unsigned %d' % (a, ua)))


def quads():
    third = from_quad(quad(Fraction(1, 3)))
    cases = [(Fraction(3, 2), Fraction(9, 4)), (Fraction(1), Fraction(3)), (Fraction(-7), Fraction(10)),
             (third, Fraction(2)**60 + third), (Fraction(10)**30, -Fraction(10)**-20),
             (Fraction(5), Fraction(5)), (Fraction(12345678901234567890123), Fraction(1, 1024))]
    for a, b in cases:
        a, b = from_quad(quad(a)), from_quad(quad(b))
        negative = bytearray(quad(a))
        negative[15] ^= 0x80
        entry('quad %s %s' % (a, b), 'quad', quad(a) + quad(b), console=lines(
            'add=' + quad(a + b).hex(), 'sub=' + quad(a - b).hex(), 'mul=' + quad(a * b).hex(),
            'div=' + quad(a / b).hex(), 'neg=' + negative.hex(),
            'compare ' + bool_list(a == b, a != b, a < b, a <= b, a > b, a >= b)
            + ' %d false' % ((a > b) - (a < b)),
            'to double=' + double(a).hex(), 'to float=' + single(a).hex()))


def conversions():
    for value in (Fraction(0), Fraction(1), Fraction(5, 2), Fraction(2**31 - 1),
                  Fraction(1000001, 8)):
        whole = value.numerator // value.denominator
        rounded = single_value(value)
        short = rounded.numerator // rounded.denominator

        def show(label, size, number=whole):
            return label + '=' + number.to_bytes(size, 'little').hex()
        entry('conversions of %s' % value, 'convert', quad(value) + double(value), console=lines(
            show('i32', 4), show('i64', 8), show('i128', 16), show('u32', 4), show('u64', 8),
            show('u128', 16), show('f64 i128', 16), show('f64 u128', 16),
            show('f32 i128', 16, short), show('f32 u128', 16, short),
            'from f64=' + quad(value).hex(), 'from f32=' + quad(rounded).hex(),
            'from i32=' + quad(whole).hex(), 'from u32=' + quad(whole).hex(),
            'from i64=' + quad(whole).hex(), 'from u64=' + quad(whole).hex(),
            'i32 to f64=' + double(whole).hex()))


# ---------------------------------------------------------------- the rest

def database():
    entry('db primary', 'db', u8(0), console=lines(
        'none: -1 -1 -1', 'store: 0 1 2', 'find: 1 -2', 'lowerbound: 1 1 -2', 'upperbound: 1 2 -2',
        'next: 1=20 -2=20 -1=20', 'previous: 2=30 0=10 -1=10', 'get: 2 tw. 0', 'update: 32',
        'remove: 1', 'empty: -1 -1'))
    # The lowest key is of id 2, the next of 3, the highest of 1; iterators count in the order of
    # storing: 0 is the highest, 1 the lowest, 2 the middle one.
    script = lines(
        'none: -1 -1 -1 77', 'store: 0 1 2', 'find: 2=3 -2=3', 'primary: 0 true -2 true',
        'lowerbound: 2=3 true', 'upperbound: 0=1 true -2=1', 'next: 2=3 -2=3', 'previous: 0=1 -1=1',
        'update: 0=1 1=2', 'empty: -1')
    for kind, name in enumerate(('idx64', 'idx128', 'idx256', 'idx_double', 'idx_long_double'), 1):
        entry('db ' + name, 'db', u8(kind), console=script)
    for kind in range(16):
        entry('db misuse %d' % kind, 'dbfail', u8(kind), error={})


def console():
    entry('prints', 'prints', console=lines(
        'text with\0zero c true', '-5 %d %d %d' % (2**64 - 1, -2**100, 2**128 - 1),
        'alice zzzzzzzzzzzzj .', '-1.2345 SYS 7 X', '007fff'))


def action_and_transaction():
    text = pack_text('some text')
    entry('actioninfo', 'actioninfo', text, console=lines(
        'receiver intrinsics code intrinsics sender ',
        'size %d %d copied 4 %s some text' % (len(text), len(text), text[:4].hex())))
    # These want to be the only action of a transaction without context-free ones.
    entry('trxinfo', 'trxinfo', console=lines(
        'same size true', 'expiration true', 'tapos true true', 'actions 1 0 true', 'beyond -1',
        'part 4'))
    entry('send_inline', 'sendinline', u32(2), console='depth 2\n')
    entry('cancel_deferred', 'canceldefer', result='00000000')
    entry('is_feature_activated', 'feature', bytes(32), result='00')
    account = struct.pack('<Q', name_value('nobody'))
    entry('auth of nobody', 'auth', account, error={'code': 3090004})


def memory():
    entry('memory', 'memory', console='556734567x -1 1 0\n')
    entry('overlap', 'overlap', error={})
    entry('grow', 'grow', u32(3), console='1 4\n')
    entry('grow to the limit', 'grow', u32(527), console='1 528\n')
    entry('grow beyond the limit', 'grow', u32(528), console='-1 1\n')
    entry('grow beyond 4 GiB', 'grow', u32(2**32 - 1), console='-1 1\n')
    for depth in (0, 1, 50):
        entry('recurse %d' % depth, 'recurse', u32(depth), result=u32(depth + 1).hex())
    entry('recurse beyond the stack', 'recurse', u32(200), error=WASM_ERROR)
    value = 1
    for i in range(1000):
        value = (value * 6364136223846793005 + i) % 2**64
    entry('loop', 'loop', struct.pack('<Q', 1000), result=struct.pack('<Q', value).hex())


def ends():
    entry('exit', 'exit', u32(0), console='before')
    entry('fail', 'fail', pack_text('a reason'),
          error={'code': 3050003, 'message': 'assertion failure with message: a reason'})
    entry('failtext', 'failtext', error={
        'code': 3050003, 'message': 'assertion failure with message: a text that ends with a zero'})
    entry('failcode', 'failcode', struct.pack('<Q', 42),
          error={'code': 3050004, 'message': 'assertion failure with error code: 42'})
    entry('abort', 'abort', error={'code': 3050008, 'message': 'abort() called'})

    def trap(name, kind, number=0, real=0.0, **expected):
        entry('trap ' + name, 'trap', u8(kind) + struct.pack('<id', number, real), **expected)
    trap('unreachable', 0, error=WASM_ERROR)
    trap('divide by zero', 1, 0, error=WASM_ERROR)
    trap('divide', 1, 7, console='14\n')
    trap('divide overflow', 2, -1, error=WASM_ERROR)
    trap('load beyond memory', 3, 65536, error=WASM_ERROR)
    trap('load across the end', 3, 65533, error=WASM_ERROR)
    trap('load at the end', 3, 65532, console='0\n')
    trap('truncate', 4, 0, -2.9, console='-2\n')
    trap('truncate too large', 4, 0, 2147483648.0, error=WASM_ERROR)
    trap('truncate NaN', 4, 0, float('nan'), error=WASM_ERROR)
    trap('indirect call', 5, 1, console='42\n')
    trap('indirect call of another type', 6, 1, error=WASM_ERROR)
    trap('indirect call beyond the table', 6, 100000, error=WASM_ERROR)
    trap('text beyond memory', 7, -1, error={})
    trap('range beyond memory', 8, 65530, error={})
    trap('result beyond memory', 9, 65530, error={})
    trap('size beyond memory', 10, -1, error={})


def main():
    for part in (hashes, keys, blake, modular_powers, big_integers, quads, conversions, database,
                 console, action_and_transaction, memory, ends):
        part()
    text = '[\n' + ',\n'.join(json.dumps(each) for each in ENTRIES) + '\n]\n'
    path = os.path.join(HERE, 'expected.json')
    if '--check' in sys.argv:
        with open(path, encoding='utf-8') as file:
            return int(file.read() != text)
    with open(path, 'w', encoding='utf-8') as file:
        file.write(text)
    print('%d entries' % len(ENTRIES))
    return 0


if __name__ == '__main__':
    sys.exit(main())
