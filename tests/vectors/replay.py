#!/usr/bin/env python3
"""Replays recorded HTTP cases against any Antelope-compatible node or wallet. Python's library only.

usage:
  replay.py setup --url URL --contracts DIR             build the chain state (on a fresh chain)
  replay.py run   --url URL [--api-url URL] [--terse-url URL] [--wallet-url URL]
                  [--token FILE] [--cases DIR ...] [--only TEXT] [--strict] [--failures-only]
Cases run in the order of their number. Transactions are built and signed here for the chain at URL.
A case whose request has "build" gets a fresh body, one with "template" gets its {{placeholders}}
filled in, any other is sent as recorded, those of an operator with the token in FILE. A case whose
service has no URL is not applicable; a case listed in DEVIATIONS.md may differ. Exit status 0: no
case failed.
"""
import argparse
import http.client
import json
import os
import re
import socket
import struct
import sys
import time
import urllib.parse
import zlib

import antelope
from antelope import Key, from_base58, pack_bytes, pack_list, sha256, signature_text
from compare import compare

HERE = os.path.dirname(os.path.abspath(__file__))
BODY_BYTES_MAX = 2097152
OPERATORS = ('/v1/producer/', '/v1/net/', '/v1/db_size/')
PREACTIVATE_FEATURE = '0ec7e080177b2c02b278d5088611686b49d739925a92d9bfcacd7fc6b74053bd'


# ---------------------------------------------------------------- HTTP

def answer_of(response):
    raw = response.read()
    try:
        value = json.loads(raw)
    except ValueError:
        value = {'$text': raw.decode('utf-8', 'replace')}
    return response.status, value


def connection(url):
    parts = urllib.parse.urlsplit(url)
    if parts.scheme != 'unix':
        return http.client.HTTPConnection(parts.hostname, parts.port, timeout=40)
    made = http.client.HTTPConnection('localhost', timeout=40)
    made.sock = socket.socket(socket.AF_UNIX)
    made.sock.connect(parts.path)
    return made


def http_call(url, method, path, body=None, headers=None):
    if body is not None and len(body) > BODY_BYTES_MAX:
        return oversized(url, method, path, len(body))
    link = connection(url)
    try:
        try:
            link.request(method, path, body=body, headers=headers or {})
        except (BrokenPipeError, ConnectionResetError):
            pass    # The server may answer 413 before it has read all.
        return answer_of(link.getresponse())
    finally:
        link.close()


def oversized(url, method, path, size):
    """Announces a body of this size: a server may refuse from the header alone, or close."""
    parts = urllib.parse.urlsplit(url)
    with socket.create_connection((parts.hostname, parts.port), timeout=10) as link:
        head = '%s %s HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n\r\n'
        link.sendall((head % (method, path, parts.netloc, size)).encode())
        try:
            response = http.client.HTTPResponse(link, method=method)
            response.begin()
            return answer_of(response)
        except (http.client.HTTPException, ConnectionResetError):
            return 0, {'$closed': True}


# ---------------------------------------------------------------- requests

def tampered(how, labels, signatures, digest):
    """The signatures, spoiled as a case wants them."""
    def raw():
        return from_base58(signatures[0][len('SIG_K1_'):])[:65]
    if how == 'same_signature_twice':
        return signatures * 2
    if how == 'two_signatures_one_key':
        return signatures + [Key.of(labels[0]).sign(digest, salt=b'2')]
    if how == 'bad_checksum':
        return [signatures[0][:-1] + ('1' if signatures[0][-1] != '1' else '2')]
    if how == 'bad_prefix':
        return ['SIG_XX_' + signatures[0][7:]]
    if how == 'not_base58':
        return ['SIG_K1_0OIl' + signatures[0][11:]]
    if how == 'bad_recovery':
        return [signature_text('K1', bytes([99]) + raw()[1:])]
    if how == 'zero_signature':
        return [signature_text('K1', bytes([31]) + bytes(64))]
    if how == 'r1_zero_signature':
        return [signature_text('R1', bytes([31]) + bytes(64))]
    if how == 'other_digest':
        return [Key.of(label).sign(sha256(b'x')) for label in labels]
    return signatures


class Session:
    """What one run knows: the chain's id, the bodies sent, the answers, captured values."""

    def __init__(self, url, contracts=None, token=''):
        self.url, self.contracts, self.token = url, contracts, token
        self.bodies, self.responses, self.captured, self.chain = {}, {}, {}, None

    def post(self, path, body=None):
        return http_call(self.url, 'POST', path, json.dumps(body) if body is not None else None)[1]

    def info(self):
        return self.post('/v1/chain/get_info')

    def chain_id(self):
        if not self.chain:
            self.chain = self.info()['chain_id']
        return self.chain

    def with_contracts(self, hex_text):
        """Puts the files of {{wasm:NAME}} and {{abi:NAME}} in, length prefixed."""
        def file_of(match):
            kind, name = match.groups()
            path = os.path.join(self.contracts, name, name + '.' + kind)
            if kind == 'abi':
                with open(path, encoding='utf-8') as file:
                    return pack_bytes(antelope.pack_abi(json.load(file))).hex()
            with open(path, 'rb') as file:
                return pack_bytes(file.read()).hex()
        return re.sub(r'\{\{(wasm|abi):([^}]*)\}\}', file_of, hex_text)

    def transaction(self, recipe):
        """The recipe's transaction with a reference block and an expiration of now."""
        recipe, info = dict(recipe), self.info()
        at = 'head_block' if recipe.pop('ref', 'head') == 'head' else 'last_irreversible_block'
        expiration = antelope.seconds(info['head_block_time']) + recipe.pop('expire_in', 60)
        prefix = bytes.fromhex(info[at + '_id'])[8:12]
        made = {'expiration': antelope.time_text(expiration),
                'ref_block_num': info[at + '_num'] & 0xffff,
                'ref_block_prefix': struct.unpack('<I', prefix)[0],
                'max_net_usage_words': 0, 'max_cpu_usage_ms': 0, 'delay_sec': 0,
                'context_free_actions': [], 'actions': [], 'transaction_extensions': []}
        made.update(json.loads(json.dumps(recipe)))
        for action in made['actions'] + made['context_free_actions']:
            for key in ('data', 'data_hex'):
                if isinstance(action.get(key), str):
                    action[key] = self.with_contracts(action[key])
        return made

    def build(self, recipe):
        """A body from {transaction, context_free_data, sign, compression, form, tamper, ...}."""
        if 'reuse' in recipe:
            return self.bodies[recipe['reuse']]
        if 'list' in recipe:
            return [self.build(each) for each in recipe['list']]
        trx = self.transaction(recipe['transaction'])
        free = [bytes.fromhex(data) for data in recipe.get('context_free_data', [])]
        how, labels = recipe.get('tamper', ''), recipe.get('sign', [])
        packed = antelope.pack_transaction(trx)
        packed_free = pack_list(pack_bytes, free) if free else b''
        digest = sha256(bytes.fromhex(recipe.get('chain_id', self.chain_id())) + packed
                        + (sha256(packed_free) if free else bytes(32)))
        signatures = [Key.of(label).sign(digest, canonical=how != 'non_canonical')
                      for label in labels]
        signatures = tampered(how, labels, signatures, digest)
        if recipe.get('form', 'packed') == 'packed':
            body = self.packed_form(recipe, packed, packed_free, signatures)
        else:
            body = self.json_form(recipe, trx, free, signatures)
        if 'params' in recipe:
            body = {**recipe['params'], 'transaction': body}
        if 'keys' in recipe:
            body = {'transaction': body, 'available_keys': recipe['keys']}
        return body

    @staticmethod
    def packed_form(recipe, packed, packed_free, signatures):
        compression, how = recipe.get('compression', 'none'), recipe.get('tamper', '')
        if compression in ('zlib', 1):
            packed = zlib.compress(packed, 9)
            packed_free = zlib.compress(packed_free, 9) if packed_free else b''
        if how == 'zlib_named_but_plain':
            compression = 'zlib'
        if how == 'truncated':
            packed = packed[:-5]
        if how == 'trailing_bytes':
            packed += b'\1\2\3'
        return {'signatures': signatures, 'compression': compression,
                'packed_context_free_data': packed_free.hex(), 'packed_trx': packed.hex()}

    @staticmethod
    def json_form(recipe, trx, free, signatures):
        for action in trx['actions'] + trx['context_free_actions']:
            action.pop('data_hex', None)
        data = [each.hex() for each in free]
        if recipe['form'] == 'bare':
            return trx
        if recipe['form'] == 'json':
            return {'signatures': signatures, 'compression': recipe.get('compression', 'none'),
                    'context_free_data': data, 'transaction': trx}
        return {**trx, 'signatures': signatures, 'context_free_data': data}

    def fill(self, value):
        """Replaces {{placeholders}}."""
        if isinstance(value, dict):
            return {key: self.fill(each) for key, each in value.items()}
        if isinstance(value, list):
            return [self.fill(each) for each in value]
        if not isinstance(value, str):
            return value
        whole = re.fullmatch(r'\{\{(.*)\}\}', value)
        if whole:
            return self.placeholder(whole.group(1))
        return re.sub(r'\{\{(.*?)\}\}', lambda match: str(self.placeholder(match.group(1))), value)

    def placeholder(self, text):
        kind, _, argument = text.partition(':')
        if kind == 'var':
            return self.captured.get(argument)
        if kind == 'chain_id':
            return self.chain_id()
        if kind in ('head_num', 'head_id'):
            return self.info()['head_block_' + kind[5:]]
        if kind == 'head_num_text':
            return str(self.info()['head_block_num'])
        if kind in ('lib_num', 'lib_id'):
            return self.info()['last_irreversible_block_' + kind[4:]]
        if kind == 'id_of':
            return self.post('/v1/chain/get_block_info', {'block_num': int(argument)}).get('id')
        if kind == 'tx':
            return self.responses[argument].get('transaction_id')
        if kind == 'tx_block':
            return self.responses[argument]['processed']['block_num']
        if kind == 'abi_hash':
            return self.post('/v1/chain/get_raw_abi', {'account_name': argument}).get('abi_hash')
        raise KeyError(text)

    def data_of(self, case):
        request = case['request']
        if 'body_repeat' in request:
            letters, times = request['body_repeat']
            return letters * times
        if 'body_text' in request:
            return request['body_text']
        time.sleep(request.get('wait', 0))
        if 'build' in request:
            body = self.build(request['build'])
        elif 'template' in request:
            body = self.fill(request['template'])
        else:
            body = request.get('body')
        self.bodies[case['name']] = body
        return None if body is None else json.dumps(body, separators=(',', ':'))

    def headers_of(self, request):
        """Those of the case, and the token, or the one that the case has instead."""
        headers, token = dict(request.get('headers') or {}), request.get('token', self.token)
        if token and request['path'].startswith(OPERATORS):
            headers['Authorization'] = 'Bearer ' + token
        return headers

    def send(self, url, case):
        request, data = case['request'], self.data_of(case)
        status, value = http_call(url, request['method'], self.fill(request['path']), data,
                                  self.headers_of(request))
        self.responses[case['name']] = value if isinstance(value, dict) else {'$value': value}
        if 'capture' in case and status < 300:
            self.captured[case['capture']] = value
        return status, value


# ---------------------------------------------------------------- commands

def activates_features(step):
    """The steps of setup that a chain with all its features from the first block leaves out."""
    return step['name'] in ('setup/preactivate', 'setup/features') or \
        'eosio.bios.170' in json.dumps(step)


def setup(options):
    session = Session(options.url, options.contracts, token_of(options.token))
    features = session.post('/v1/chain/get_activated_protocol_features', {'limit': 100})
    active = PREACTIVATE_FEATURE in json.dumps(features).lower()
    with open(os.path.join(options.cases[0], 'setup.json'), encoding='utf-8') as file:
        steps = json.load(file)
    for step in steps:
        if active and activates_features(step):
            continue
        status, value = session.send(options.url, step)
        if status >= 300:
            print('not ok %s: %s %s' % (step['name'], status, json.dumps(value)[:2000]))
            return 1
        time.sleep(step.get('pause', 0))
    print('%d steps' % len(steps))
    return 0


def case_files(folders):
    paths = [os.path.join(folder, kind) for folder in folders for kind in ('http', 'own', 'wallet')]
    files = [os.path.join(path, name) for path in paths if os.path.isdir(path)
             for name in os.listdir(path) if name.endswith('.json')]
    return sorted(files, key=os.path.basename)


def token_of(path):
    if not path:
        return ''
    with open(path, encoding='utf-8') as file:
        return file.read().split()[0]


def why_not_applicable(case, url, options):
    if not url:
        return 'no URL for the service ' + case['service']
    if 'token' in case['request'] and not options.token:
        return 'no --token, so that perhaps the node asks for none'
    return None


def listed_deviations(path):
    """{case name: reason} from the lines "* `name`: reason" of DEVIATIONS.md."""
    if not os.path.exists(path):
        return {}
    with open(path, encoding='utf-8') as file:
        return dict(re.findall(r'^\* `([^`]+)`: (.+)$', file.read(), re.MULTILINE))


def differences(session, case, url, options):
    def ask(where, *answer):
        try:
            status, value = session.send(where, case)
            return compare(case, status, value, *answer, strict=options.strict)
        except (OSError, http.client.HTTPException, KeyError, TypeError, ValueError) as error:
            return ['%s: %s' % (type(error).__name__, error)]

    def attempt(*words):
        found = ask(*words)
        # What a case waits for may come late on a busy machine: it waits again.
        for _ in range(9 if 'wait' in case['request'] else 0):
            found = found and ask(*words)
        return found
    found = attempt(url)
    if options.terse_url and case['service'] != 'wallet' and 'response_terse' in case \
            and 'reuse' not in json.dumps(case['request']):
        found += ['terse ' + each
                  for each in attempt(options.terse_url, 'response_terse', 'status_terse')]
    return found


def run(options):
    session = Session(options.url, token=token_of(options.token))
    urls = {'wallet': options.wallet_url, 'chain': options.url, 'second': options.api_url}
    deviations = listed_deviations(os.path.join(HERE, 'DEVIATIONS.md'))
    counts = {'passed': 0, 'deviations': 0, 'not applicable': 0, 'failed': 0}
    unknown = set(deviations)
    for path in case_files(options.cases):
        with open(path, encoding='utf-8') as file:
            case = json.load(file)
        name, url = case['name'], urls[case['service']]
        unknown.discard(name)
        if options.only not in name:
            continue
        reason = why_not_applicable(case, url, options)
        found = [] if reason else differences(session, case, url, options)
        if reason:
            outcome, line = 'not applicable', 'n/a %s: %s' % (name, reason)
        elif found and name in deviations:
            outcome, line = 'deviations', 'deviates %s: %s' % (name, deviations[name])
        elif found:
            outcome, line = 'failed', '\n    '.join(['not ok ' + name] + found[:8])
        else:
            note = ' (listed as a deviation, yet agrees)' if name in deviations else ''
            outcome, line = 'passed', 'ok ' + name + note
        counts[outcome] += 1
        if outcome == 'failed' or not options.failures_only:
            print(line, flush=True)
    for name in sorted(unknown):
        print('not ok DEVIATIONS.md lists %s, which is no case' % name)
    print(', '.join('%d %s' % (count, what) for what, count in counts.items()))
    return 1 if counts['failed'] or unknown else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('what', choices=['setup', 'run'])
    for option in ('--url', '--terse-url', '--api-url', '--wallet-url', '--contracts', '--token'):
        parser.add_argument(option)
    parser.add_argument('--cases', nargs='+', default=[HERE])
    parser.add_argument('--only', default='')
    parser.add_argument('--strict', action='store_true')
    parser.add_argument('--failures-only', action='store_true')
    options = parser.parse_args()
    return setup(options) if options.what == 'setup' else run(options)


if __name__ == '__main__':
    sys.exit(main())
