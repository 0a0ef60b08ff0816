#!/usr/bin/env python3
"""A contract that loops, against four validators with real processes: its transaction is sent to each
of the four, again and again, and all are killed in between. Finality goes on without a gap of more than
a second; each node executes it once in all its lives; it ends FAILED, with its reason, everywhere. And
unsigned dry runs of it, 20 at once: each ends after max-transaction-time, and others are still served.

usage: poison.py --build BUILD_DIR [--only NAME]
"""
import argparse
import hashlib
import json
import multiprocessing
import shutil
import signal
import sys
import threading
import time
import urllib.error
import urllib.request

from doctor import Network, wait_for

LOOPER = 'looper'
GAP_MAX = 1.0           # Seconds without a new final block.
RUN_MAX = 0.15          # max-transaction-time.
ONCE = 'is not executed again'

# (module (func (export "apply") (param i64 i64 i64) (loop (br 0))))
LOOP = bytes.fromhex('0061736d01000000'          # Magic and version.
                     '0107016003' '7e7e7e' '00'  # A type: three i64, no result.
                     '03020100'                  # A function of it,
                     '070901' '056170706c79' '0000'  # exported as apply,
                     '0a09010700' '03400c000b' '0b')  # which loops.


class Poisoned(Network):
    def up(self):
        self.cli('network', 'up', '-n', '4', '--open', '--block-interval', '500')
        for each in self.validators():
            with open('/proc/%d/cmdline' % each['pid'], 'rb') as f:
                self.commands[each['name']] = [word.decode() for word in f.read().split(b'\0') if word]

    def names(self):
        return list(self.commands)

    def post(self, name, path, body=None, patience=30):
        data = json.dumps(body if body is not None else {}).encode()
        request = urllib.request.Request(self.of(name)['http'] + path, data=data, method='POST')
        try:
            with urllib.request.urlopen(request, timeout=patience) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            return json.load(error)

    def set_up(self):
        with open(self.dir + '/network.json', encoding='utf-8') as f:
            key = json.load(f)['system_key']['public']
        with open(self.dir + '/loop.wasm', 'wb') as f:
            f.write(LOOP)
        self.cli('create', 'account', 'eosio', LOOPER, key)
        self.cli('set', 'code', LOOPER, self.dir + '/loop.wasm')

    def poison(self, unsigned=False):
        action = {'account': LOOPER, 'name': 'spin', 'data': '',
                  'authorization': [] if unsigned else [{'actor': LOOPER, 'permission': 'active'}]}
        options = ['-s'] if unsigned else []
        packed = self.cli('push', 'transaction', json.dumps({'actions': [action]}),
                          '-d', '-t', '-x', '600', *options)
        return json.loads(packed)

    def count_runs(self, name, transaction):
        with open(self.of(name)['log'], encoding='utf-8', errors='replace') as f:
            return sum(1 for line in f if ONCE in line and transaction in line)


class Finality:
    """The longest time without a new final block at any of the nodes, since reset()."""

    def __init__(self, net):
        self.net, self.is_over = net, False
        self.reset()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def reset(self):
        self.height, self.gap, self.last = 0, 0.0, time.monotonic()

    def run(self):
        while not self.is_over:
            for name in self.net.names():
                try:
                    info = self.net.post(name, '/v1/chain/get_info', patience=2)
                    height = info['last_irreversible_block_num']
                except (OSError, ValueError, KeyError):
                    continue        # It is down, or starting.
                now = time.monotonic()
                self.gap = max(self.gap, now - self.last)
                if height > self.height:
                    self.height, self.last = height, now
            time.sleep(0.02)

    def stop(self):
        self.is_over = True
        self.thread.join()


def transaction_id(packed):
    return hashlib.sha256(bytes.fromhex(packed['packed_trx'])).hexdigest()


def send_to_all(net, packed):
    answers = {}

    def send(name):
        answers[name] = net.post(name, '/v1/chain/push_transaction', packed)
    threads = [threading.Thread(target=send, args=(name,)) for name in net.names()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


def check_failed(net, transaction):
    for name in net.names():
        def failed(name=name):
            status = net.post(name, '/v1/chain/get_transaction_status', {'id': transaction})
            return status.get('state') == 'FAILED' and status.get('reason', '') != '', status
        status = wait_for('%s says FAILED' % name, failed)
        print('  %s: %s' % (name, status['reason']))


def check_once(net, transaction):
    for name in net.names():
        runs = net.count_runs(name, transaction)
        if runs != 1:
            raise AssertionError('%s executed it %d times' % (name, runs))


def check_gap(finality, when):
    print('  %s: largest gap without finality %.2f s' % (when, finality.gap), flush=True)
    if finality.gap > GAP_MAX:
        raise AssertionError('%s: nothing was final for %.2f s' % (when, finality.gap))


def poison(net):
    finality = Finality(net)
    try:
        time.sleep(5)
        check_gap(finality, 'before')
        packed = net.poison()
        transaction = transaction_id(packed)
        for _ in range(5):
            answers = send_to_all(net, packed)
            for name, answer in answers.items():
                if 'error' not in answer:
                    raise AssertionError('%s took it: %s' % (name, answer))
            time.sleep(1)
        check_failed(net, transaction)
        check_once(net, transaction)
        check_gap(finality, 'under attack')

        for name in net.names():
            net.signal(name, signal.SIGKILL)
        time.sleep(1)
        for name in net.names():
            net.start(name)
        before = finality.height
        wait_for('finality after kill -9 of all', lambda: (finality.height > before + 3, before))
        finality.reset()
        check_failed(net, transaction)
        send_to_all(net, packed)
        time.sleep(5)
        check_once(net, transaction)
        check_gap(finality, 'after kill -9 of all')
    finally:
        finality.stop()


def attack(net, packed):
    def again():
        while True:
            began = time.monotonic()
            net.post('bora', '/v1/chain/send_read_only_transaction', {'transaction': packed})
            # Refused at once: the attacker must not take the processor that is measured.
            time.sleep(max(0, RUN_MAX - (time.monotonic() - began)))
    threads = [threading.Thread(target=again) for _ in range(20)]
    for thread in threads:
        thread.start()


def dry_runs(net):
    def measure(seconds):
        times, end = [], time.monotonic() + seconds
        while time.monotonic() < end:
            began = time.monotonic()
            net.post('bora', '/v1/chain/get_info')
            times.append(time.monotonic() - began)
        return sorted(times)[int(len(times) * 0.99)]
    packed = net.poison(unsigned=True)
    alone = net.post('bora', '/v1/chain/send_read_only_transaction', {'transaction': packed})
    print('  one: %s' % json.dumps(alone)[:300])
    began = time.monotonic()
    net.post('bora', '/v1/chain/send_read_only_transaction', {'transaction': packed})
    took = time.monotonic() - began
    if took > 2 * RUN_MAX:
        raise AssertionError('a dry run that loops took %.2f s' % took)
    before = measure(5)
    # In a process of its own: threads of this one would wait for each other.
    attackers = multiprocessing.Process(target=attack, args=(net, packed))
    attackers.start()
    finality = Finality(net)
    try:
        during = measure(10)
    finally:
        attackers.terminate()
        attackers.join()
        finality.stop()
    print('  p99 of get_info: %.1f ms before, %.1f ms under 20 dry runs' % (before * 1e3, during * 1e3))
    if during > 3 * before:
        raise AssertionError('others wait: p99 %.1f ms, %.1f ms before' % (during * 1e3, before * 1e3))
    check_gap(finality, 'under 20 dry runs')


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--build', required=True)
    parser.add_argument('--only')
    arguments = parser.parse_args()
    net = Poisoned(arguments.build)
    try:
        net.up()
        net.set_up()
        for case in (poison, dry_runs):
            if arguments.only in (None, case.__name__):
                print(case.__name__, flush=True)
                case(net)
    finally:
        net.stop_children()
        net.cli('network', 'down', check=False)
        shutil.rmtree(net.dir, ignore_errors=True)
    return 0


if __name__ == '__main__':
    sys.exit(main())
