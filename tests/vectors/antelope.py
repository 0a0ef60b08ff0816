"""Antelope's keys, signatures and packed forms: what replaying needs, with Python's library only.

For tests: the arithmetic leaks its secrets by its timing, and the private keys are public.
"""
import calendar
import hashlib
import struct
import time

BASE58 = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'
NAME_LETTERS = '.12345abcdefghijklmnopqrstuvwxyz'
DEVELOPMENT_KEY = '5KQwrPbwdL6PhXujxW37FSSQZ1JiwsST4cqQzDeyXtP79zkvFD3'


class Curve:
    """y^2 = x^3 + ax + b modulo p, with a generator of order n. A point is (x, y), or None: zero."""

    def __init__(self, p, a, n, generator):
        self.p, self.a, self.n, self.generator = p, a, n, generator

    def add(self, left, right):
        if left is None:
            return right
        if right is None:
            return left
        p = self.p
        if left[0] == right[0]:
            if (left[1] + right[1]) % p == 0:
                return None
            slope = (3 * left[0] * left[0] + self.a) * pow(2 * left[1], -1, p) % p
        else:
            slope = (right[1] - left[1]) * pow(right[0] - left[0], -1, p) % p
        x = (slope * slope - left[0] - right[0]) % p
        return x, (slope * (left[0] - x) - left[1]) % p

    def multiply(self, factor):
        total, addend = None, self.generator
        while factor:
            if factor & 1:
                total = self.add(total, addend)
            addend = self.add(addend, addend)
            factor >>= 1
        return total


K1 = Curve(2**256 - 2**32 - 977, 0,
           0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141,
           (0x79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798,
            0x483ada7726a3c4655da4fbfc0e1108a8fd17b448a68554199c47d08ffb10d4b8))
R1 = Curve(0xffffffff00000001000000000000000000000000ffffffffffffffffffffffff, -3,
           0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551,
           (0x6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296,
            0x4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5))


def sha256(data):
    return hashlib.sha256(data).digest()


def ripemd160(data):
    return hashlib.new('ripemd160', data).digest()


def to_base58(data):
    number, text = int.from_bytes(data, 'big'), ''
    while number:
        number, digit = divmod(number, 58)
        text = BASE58[digit] + text
    return '1' * (len(data) - len(data.lstrip(b'\0'))) + text


def from_base58(text):
    number = 0
    for letter in text:
        number = number * 58 + BASE58.index(letter)
    data = number.to_bytes((number.bit_length() + 7) // 8, 'big')
    return b'\0' * (len(text) - len(text.lstrip('1'))) + data


def signature_text(kind, compact):
    return 'SIG_%s_' % kind + to_base58(compact + ripemd160(compact + kind.encode())[:4])


def is_canonical(compact):
    """Whether r and s are the positive numbers that nodeos insists on."""
    return all(not compact[at] & 0x80 and (compact[at] != 0 or compact[at + 1] & 0x80)
               for at in (1, 33))


class Key:
    """The label 'eosio' is the public development key; any other the private key
    sha256('key:' + label), on R1 when the label begins with r1."""
    cache = {}

    def __init__(self, label):
        self.kind = 'R1' if label.startswith('r1') else 'K1'
        self.curve = R1 if self.kind == 'R1' else K1
        self.secret = from_base58(DEVELOPMENT_KEY)[1:33] if label == 'eosio' \
            else sha256(b'key:' + label.encode())
        x, y = self.curve.multiply(int.from_bytes(self.secret, 'big'))
        self.point = bytes([2 + (y & 1)]) + x.to_bytes(32, 'big')

    @staticmethod
    def of(label):
        if label not in Key.cache:
            Key.cache[label] = Key(label)
        return Key.cache[label]

    def sign_compact(self, digest, canonical=True, salt=b''):
        """A signature of 65 bytes: deterministic, and another one for another salt."""
        n, attempt = self.curve.n, 0
        while True:
            nonce = sha256(self.secret + digest + salt + attempt.to_bytes(4, 'big'))
            k = int.from_bytes(nonce, 'big') % n
            attempt += 1
            x, y = self.curve.multiply(k)
            r, odd = x % n, y & 1
            s = pow(k, -1, n) * (int.from_bytes(digest, 'big')
                                 + r * int.from_bytes(self.secret, 'big')) % n
            if s > n // 2:
                s, odd = n - s, odd ^ 1
            compact = bytes([31 + odd]) + r.to_bytes(32, 'big') + s.to_bytes(32, 'big')
            if is_canonical(compact) == canonical:
                return compact

    def sign(self, digest, **options):
        return signature_text(self.kind, self.sign_compact(digest, **options))


# Packed forms.

def name_value(text):
    value = 0
    for i, letter in enumerate(text.ljust(13, '.')):
        digit = NAME_LETTERS.index(letter)
        value |= digit << (59 - 5 * i) if i < 12 else digit & 15
    return value


def pack_varuint(number):
    data = b''
    while number > 127:
        data += bytes([number & 127 | 128])
        number >>= 7
    return data + bytes([number])


def pack_name(text):
    return struct.pack('<Q', name_value(text))


def pack_bytes(data):
    return pack_varuint(len(data)) + data


def pack_text(text):
    return pack_bytes(text.encode())


def pack_list(pack, items):
    return pack_varuint(len(items)) + b''.join(pack(item) for item in items)


def pack_abi(abi):
    def texts(*keys):
        return lambda entry: b''.join(pack_text(entry[key]) for key in keys)

    def struct_of(entry):
        return (pack_text(entry['name']) + pack_text(entry['base'])
                + pack_list(texts('name', 'type'), entry['fields']))

    def action(entry):
        return (pack_name(entry['name']) + pack_text(entry['type'])
                + pack_text(entry['ricardian_contract']))

    def table(entry):
        return (pack_name(entry['name']) + pack_text(entry['index_type'])
                + pack_list(pack_text, entry['key_names']) + pack_list(pack_text, entry['key_types'])
                + pack_text(entry['type']))

    def error(entry):
        return struct.pack('<Q', entry['error_code']) + pack_text(entry['error_msg'])

    def variant(entry):
        return pack_text(entry['name']) + pack_list(pack_text, entry['types'])

    def result(entry):
        return pack_name(entry['name']) + pack_text(entry['result_type'])

    return (pack_text(abi['version'])
            + pack_list(texts('new_type_name', 'type'), abi.get('types', []))
            + pack_list(struct_of, abi.get('structs', []))
            + pack_list(action, abi.get('actions', []))
            + pack_list(table, abi.get('tables', []))
            + pack_list(texts('id', 'body'), abi.get('ricardian_clauses', []))
            + pack_list(error, abi.get('error_messages', []))
            + pack_varuint(0)
            + pack_list(variant, abi.get('variants') or [])
            + pack_list(result, abi.get('action_results') or []))


def pack_action(action):
    def level(entry):
        return pack_name(entry['actor']) + pack_name(entry['permission'])
    data = bytes.fromhex(action.get('data_hex', action['data']))
    return (pack_name(action['account']) + pack_name(action['name'])
            + pack_list(level, action['authorization']) + pack_bytes(data))


def pack_transaction(trx):
    def extension(entry):
        return struct.pack('<H', entry[0]) + pack_bytes(bytes.fromhex(entry[1]))
    return (struct.pack('<IHI', seconds(trx['expiration']), trx['ref_block_num'],
                        trx['ref_block_prefix'])
            + pack_varuint(trx['max_net_usage_words']) + bytes([trx['max_cpu_usage_ms']])
            + pack_varuint(trx['delay_sec'])
            + pack_list(pack_action, trx['context_free_actions'])
            + pack_list(pack_action, trx['actions'])
            + pack_list(extension, trx['transaction_extensions']))


def seconds(text):
    return calendar.timegm(time.strptime(text[:19], '%Y-%m-%dT%H:%M:%S'))


def time_text(value):
    return time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(value))
