#!/usr/bin/env python3
"""A contract that loops, against four validators with real processes: its transaction is sent to each
of the four, again and again, and all are killed in between. Finality goes on without a gap of more than
a second; each node executes it once in all its lives; it ends FAILED, with its reason, everywhere.
Calls as deep as frames allow end with Antelope's text, whoever runs them. Transactions of one account
that fail, again and again, take little of a producer's time. And unsigned dry runs of the loop, 20 at
once: each ends after max-transaction-time, and others are still served.

usage: poison.py --build BUILD_DIR [--only NAME]
"""
import argparse
import ctypes
import hashlib
import json
import multiprocessing
import os
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

from doctor import Network, wait_for
from finality import Finality

LOOPER = 'looper'
GAP_MAX = 1.0           # Seconds without a new final block.
RUN_MAX = 0.06          # max-transaction-time: less than the loop takes to use the chain's limit.
ONCE = 'is not executed again'
BUDGET = 'subjective-failure-ms-per-minute'
DEADLINE = 3080006
WAIT_MAX = 3            # How many times longer others may wait under dry runs that loop.
# A tick of Linux's clock, in seconds: who is less than that late waits for a processor, which the
# validators share, and not for a dry run. A dry run takes RUN_MAX.
TICK = 0.004
TRYING = 60             # Seconds until a dry run has ended in time.
# Of a producer's time, for failing transactions of one account, beside the time for as many that
# nobody has signed.
FAILING_SHARE = 0.1

# apply counts leading zeros for ever: a unit of it takes more than a nanosecond.
LOOP = bytes.fromhex('0061736d01000000'          # Magic and version.
                     '0107016003' '7e7e7e' '00'  # A type: three i64, no result.
                     '03020100'                  # A function of it,
                     '070901' '056170706c79' '0000'  # exported as apply,
                     '0a71016f00' '0340' '2000' + '79' * 100 + '2100' '0c00' '0b' '0b')  # which loops.

# apply calls a function with 513 locals that calls itself: 251 calls take 1 MiB.
DEEP = bytes.fromhex('0061736d01000000' '010a02' '60037e7e7e00' '600000' '0303020001'
                     '070901056170706c790000'
                     '0a0e02' '0400' '1001' '0b' '0701' '81047e' '1001' '0b')
# A million divisions, then unreachable.
FAILING = bytes.fromhex('0061736d01000000' '0107016003' '7e7e7e' '00' '03020100'
                        '070901056170706c790000'
                        '0a22012001' '017f' '0340' '427f' '2003410172' 'ad801a'
                        '200341016a2203' '41c0843d' '490d00' '0b' '00' '0b')
CONTRACTS = {LOOPER: LOOP, 'deep': DEEP, 'failing': FAILING}
LIBC = ctypes.CDLL(None)


def deny_writable_code():
    """As systemd's MemoryDenyWriteExecute, for all that is started: PR_SET_MDWE, since Linux 6.3."""
    LIBC.prctl(65, 1, 0, 0, 0)


class Poisoned(Network):
    def up(self):
        subprocess.run([os.path.join(self.bin, 'bor-cli'), '--dir', self.dir, 'network', 'up', '-n', '4',
                        '--open', '--block-interval', '500',
                        '--node-option=--max-transaction-time=%d' % (RUN_MAX * 1000)],
                       preexec_fn=deny_writable_code, check=True, capture_output=True, timeout=120)
        self.learn_commands()

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
        self.key = key
        path = self.dir + '/code.wasm'
        for account, code in CONTRACTS.items():
            with open(path, 'wb') as f:
                f.write(code)
            self.cli('create', 'account', 'eosio', account, key)
            self.cli('set', 'code', account, path)

    def poison(self, unsigned=False, account=LOOPER, lifetime=600):
        """A call of an account's contract, which makes others with other lifetimes."""
        action = {'account': account, 'name': 'spin', 'data': '',
                  'authorization': [] if unsigned else [{'actor': account, 'permission': 'active'}]}
        options = ['-s'] if unsigned else []
        packed = self.cli('push', 'transaction', json.dumps({'actions': [action]}),
                          '-d', '-t', '-x', str(lifetime), *options)
        return json.loads(packed)

    def check_alone(self):
        """Contracts are compiled and run by the nodes themselves: no node has a child."""
        for name in self.names():
            tasks = '/proc/%d/task' % self.pid(name)
            for task in os.listdir(tasks):
                try:
                    with open('%s/%s/children' % (tasks, task), encoding='utf-8') as f:
                        children = f.read().split()
                except (FileNotFoundError, ProcessLookupError):
                    continue        # The thread has ended.
                if children:
                    raise AssertionError('%s has children: %s' % (name, children))

    def processor_seconds(self, name):
        with open('/proc/%d/stat' % self.pid(name), encoding='utf-8') as f:
            fields = f.read().rsplit(')', 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / 100

    def count_runs(self, name, transaction):
        with open(self.of(name)['log'], encoding='utf-8', errors='replace') as f:
            return sum(1 for line in f if ONCE in line and transaction in line)


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


def check_gap(net, when, attack):
    """No long time is between final blocks while `attack` runs, which is called with the number of the try. This
    machine does other things, too: the best of three tries counts. Returns what the last try returned."""
    gaps = []
    while len(gaps) < 3 and min(gaps, default=2 * GAP_MAX) > GAP_MAX:
        finality = Finality(net)
        try:
            result = attack(len(gaps))
        finally:
            finality.stop()
        gaps.append(finality.gap)
        print('  %s: largest gap without finality %.2f s' % (when, finality.gap), flush=True)
    if min(gaps) > GAP_MAX:
        raise AssertionError('%s: nothing was final for %s s' % (when, gaps))
    return result


def send_loop(net, lifetime):
    """Sends a transaction that loops to all nodes, five times: each refuses it, and executes it once. Returns the
    transaction."""
    packed = net.poison(lifetime=lifetime)
    for _ in range(5):
        answers = send_to_all(net, packed)
        for name, answer in answers.items():
            if 'error' not in answer:
                raise AssertionError('%s took it: %s' % (name, answer))
        time.sleep(1)
    check_failed(net, transaction_id(packed))
    check_once(net, transaction_id(packed))
    return packed


def poison(net):
    check_gap(net, 'before', lambda _: time.sleep(5))
    packed = check_gap(net, 'under attack', lambda attempt: send_loop(net, 600 + attempt))
    transaction = transaction_id(packed)
    before = max(net.final(name) for name in net.names())
    net.stop_at_once(net.names())
    for name in net.names():
        net.start(name)
    wait_for('finality after kill -9 of all', lambda: (net.final('bora') > before + 3, before))

    def send_again(_):
        check_failed(net, transaction)
        send_to_all(net, packed)
        time.sleep(5)
        check_once(net, transaction)
    check_gap(net, 'after kill -9 of all', send_again)


def error_of(answer):
    """Number and first message."""
    return answer['error']['code'], answer['error']['details'][0]['message']


def failure_in(trace):
    return trace['except']['code'], trace['except']['stack'][0]['format']


def deep(net):
    # On a busy machine the time of a run may be over before: one of three tries has to go well.
    for attempt in range(3):
        failures = failures_of_deep(net, 600 + attempt)
        if set(failures.values()) == {(3070002, 'stack overflow')}:
            return
    raise AssertionError('not a stack overflow: %s' % failures)


def failures_of_deep(net, lifetime):
    """Of a transaction that is sent to each node, and of two dry runs."""
    answers = send_to_all(net, net.poison(account='deep', lifetime=lifetime))
    failures = {name: error_of(answer) for name, answer in answers.items()}
    dry = {'transaction': net.poison(unsigned=True, account='deep')}
    for call in ('send_read_only_transaction', 'compute_transaction'):
        failures[call] = failure_in(net.post('bora', '/v1/chain/' + call, dry)['processed'])
    return failures


def flood_with(net, flood, prefix):
    """Pushes these at bora, while another account's transactions go on. Returns how many ended with
    which text, how long the others' took, and bora's processor time with the time that passed."""
    others, ended = [], {}

    def create_accounts():
        for each in range(20):
            began = time.monotonic()
            net.cli('create', 'account', 'eosio', prefix + 'abcdefghijklmnopqrstuvwxyz'[each],
                    net.key, url=net.of('bora')['http'])
            others.append(time.monotonic() - began)
    thread = threading.Thread(target=create_accounts)
    began, before = time.monotonic(), net.processor_seconds('bora')
    thread.start()
    for packed in flood:
        code, text = error_of(net.post('bora', '/v1/chain/push_transaction', packed))
        kind = BUDGET if BUDGET in text else text
        ended[kind] = ended.get(kind, 0) + 1
        net.check_alone()
        time.sleep(0.02)
    took, used = time.monotonic() - began, net.processor_seconds('bora') - before
    thread.join()
    if len(others) != 20:
        raise AssertionError('another account waits for the one that fails')
    print('  %s; %d transactions of another account, the slowest %.2f s' % (ended, len(others), max(others)))
    print('  %.2f s of processor time in %.1f s' % (used, took))
    return ended, used / took


def failing(net):
    flood = [net.poison(account='failing', lifetime=600 + each) for each in range(300)]
    unsigned = [net.poison(unsigned=True, account='failing', lifetime=600 + each) for each in range(300)]
    _, bare = flood_with(net, unsigned, 'bare')
    ended, share = flood_with(net, flood, 'other')
    ran = len(flood) - ended.get(BUDGET, 0)
    if not 0 < ran < len(flood) / 2:
        raise AssertionError('%d of %d were executed' % (ran, len(flood)))
    if share - bare > FAILING_SHARE:
        raise AssertionError('failing transactions take %.0f %% of the time' % (100 * (share - bare)))


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


def seconds_for_as_much(net):
    """How long this machine takes, now, to compute for RUN_MAX and to answer what costs nothing."""
    began = time.monotonic()
    while time.monotonic() < began + RUN_MAX:
        pass
    net.post('bora', '/v1/chain/get_info')
    return time.monotonic() - began


def dry_runs(net):
    def measure(seconds):
        times, end = [], time.monotonic() + seconds
        while time.monotonic() < end:
            began = time.monotonic()
            net.post('bora', '/v1/chain/get_info')
            times.append(time.monotonic() - began)
        return sorted(times)[int(len(times) * 0.99)]
    packed = net.poison(unsigned=True)
    # This machine does other things, too: the best of these tries counts, as of three below.
    for call in ('send_read_only_transaction', 'compute_transaction'):
        ratios, deadline = [], time.monotonic() + TRYING
        while time.monotonic() < deadline and min(ratios, default=2) >= 2:
            wanted, began = seconds_for_as_much(net), time.monotonic()
            trace = net.post('bora', '/v1/chain/' + call, {'transaction': packed})['processed']
            took = time.monotonic() - began
            ratios.append(took / wanted)
            if trace['except']['code'] != DEADLINE or took < RUN_MAX:
                raise AssertionError('%s: %.3f s, %s' % (call, took, trace['except']))
        print('  %s: %.0f ms, as much takes %.0f ms, %s' % (call, took * 1e3, wanted * 1e3, failure_in(trace)))
        if min(ratios) >= 2:
            raise AssertionError('%s takes %.1f times as long as it may, or longer' % (call, min(ratios)))
    ratios = []
    while len(ratios) < 3 and min(ratios, default=WAIT_MAX + 1) > WAIT_MAX:
        ratios.append(wait_under_dry_runs(net, packed, measure))
    if min(ratios) > WAIT_MAX:
        raise AssertionError('others wait: p99 is %s times that of before, or ticks' % ratios)


def wait_under_dry_runs(net, packed, measure):
    before = measure(4)
    # In a process of its own: threads of this one would wait for each other.
    attackers = multiprocessing.Process(target=attack, args=(net, packed))
    attackers.start()
    try:
        during = check_gap(net, 'under 20 dry runs', lambda _: measure(6))
        net.check_alone()
    finally:
        attackers.terminate()
        attackers.join()
    print('  p99 of get_info: %.1f ms before, %.1f ms under 20 dry runs' % (before * 1e3, during * 1e3))
    return during / max(before, TICK)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--build', required=True)
    parser.add_argument('--only')
    arguments = parser.parse_args()
    net = Poisoned(arguments.build)
    try:
        net.up()
        net.set_up()
        for case in (poison, deep, failing, dry_runs):
            if arguments.only in (None, case.__name__):
                print(case.__name__, flush=True)
                case(net)
    finally:
        net.down()
    return 0


if __name__ == '__main__':
    sys.exit(main())
