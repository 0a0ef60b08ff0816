#!/usr/bin/env python3
"""What a node uses for each pattern of work, against what it bills: the processor time of the whole
process, in microseconds of the reference machine, by the cpu_usage_us of the receipts (for what fails:
the units of its trace). Warm, and as the first run after kill -9, with nothing in the kernel's caches.

usage: measure.py --build BUILD_DIR [--only TEXT] [--json FILE] [--limit RATIO]
"""
import argparse
import http.client
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), '../../tests/network'))
from doctor import Network, wait_for  # noqa: E402

RATIO_MAX = 3.0
TRIES = 3
BILLED_EACH = 20_000        # Microseconds that a transaction is to be billed, if its work can be chosen,
BILLED_ENOUGH = 60_000      # and all of a pattern's in a run.
TIMES_MAX = 400
INTERVAL_MS = 500
BLOCK_US, TRANSACTION_US = 450_000, 140_000
BATCH = 20                  # Accounts that a transaction makes.


class Node(Network):
    def up(self, count, *options):
        self.cli('network', 'up', '-n', str(count), '--open', '--block-interval', str(INTERVAL_MS),
                 '--chain-parameter', 'max_block_bytes=8388608', *options)
        for each in self.validators():
            with open('/proc/%d/cmdline' % each['pid'], 'rb') as f:
                self.commands[each['name']] = [word.decode() for word in f.read().split(b'\0') if word]

    def set_limits(self, block_us):
        config = json.loads(self.cli('-j', 'get', 'consensus_parameters', check=False) or '{}')
        config = config or self.ask('bora', '/v1/chain/get_consensus_parameters')
        params = config['chain_config']
        params.update(max_block_cpu_usage=block_us, max_block_net_usage=8 << 20,
                      max_transaction_cpu_usage=min(TRANSACTION_US, block_us - 1))
        self.cli('push', 'action', 'eosio', 'setparams', json.dumps({'params': params}), '-p', 'eosio')

    def ask(self, name, path):
        return Client(self.of(name)['http']).post(path, '{}')


class Client:
    """A connection that is kept open."""

    def __init__(self, url):
        self.connection = http.client.HTTPConnection(url.split('//')[1], timeout=60)

    def post(self, path, body):
        self.connection.request('POST', path, body)
        return json.loads(self.connection.getresponse().read())

    def push(self, body):
        """What it is billed, in microseconds; its block; why it failed, or nothing."""
        answer = self.post('/v1/chain/send_transaction2', body)
        trace = answer.get('processed')
        if trace is None:
            raise RuntimeError('refused: %s' % json.dumps(answer)[:600])
        failed = trace.get('except')
        if failed:
            failed = failed.get('stack', [{}])[0].get('format', '') if isinstance(failed, dict) else str(failed)
            failed = failed or json.dumps(trace['except'])[:200]
            return trace['elapsed'], 0, failed
        return trace['receipt']['cpu_usage_us'], trace['block_num'], None


class Packer:
    """The program that makes transactions."""

    def __init__(self, net, block):
        with open(net.dir + '/network.json', encoding='utf-8') as f:
            file = json.load(f)
        key = os.path.join(net.dir, 'system.key')
        with open(os.open(key, os.O_CREAT | os.O_WRONLY, 0o600), 'w', encoding='utf-8') as f:
            f.write(file['system_key']['private'])
        self.process = subprocess.Popen([os.path.join(net.bin, 'bench_patterns'), key, file['chain_id'], block],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, *words):
        self.process.stdin.write(' '.join(str(word) for word in words) + '\n')
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def stop(self):
        self.process.kill()
        self.process.wait()


def used_by(pid):
    """Nanoseconds of processor time of a process, its threads that have ended included."""
    return time.clock_gettime_ns((~pid << 3) | 2)


class Measurement:
    """One node and the patterns that it works on."""

    def __init__(self, net):
        self.net = net
        self.client = Client(net.of('bora')['http'])
        info = self.info()
        self.packer = Packer(net, info['last_irreversible_block_id'])
        listed = self.packer.ask('list')
        self.scale = listed['scale']
        self.patterns = listed['patterns']
        for index, each in enumerate(self.patterns):
            each['index'] = index
        self.idle = 0.0         # Of a core, while nothing is sent.

    def info(self):
        return self.client.post('/v1/chain/get_info', '{}')

    def wait_final(self, block):
        wait_for('block %d is final' % block,
                 lambda: (self.info()['last_irreversible_block_num'] >= block, None))

    def settle(self):
        """Until the node has nothing left to do but blocks, and how much that is."""
        pid = self.net.pid('bora')
        self.idle = 1.0
        for _ in range(20):
            before, began = used_by(pid), time.monotonic_ns()
            time.sleep(1)
            self.idle = (used_by(pid) - before) / (time.monotonic_ns() - began)
            if self.idle < 0.05:
                break

    def push_all(self, bodies):
        billed, last, failure = 0, 0, None
        for body in bodies:
            each, block, failure = self.client.push(body)
            billed, last = billed + each, max(last, block)
        return billed, last, failure

    def deploy(self, chosen):
        last = 0
        for first in range(0, len(self.patterns), BATCH):
            some = range(first, min(first + BATCH, len(self.patterns)))
            if not any(each['index'] in some for each in chosen):
                continue
            _, block, failure = self.push_all(self.packer.ask('deploy', some[0], some[-1] + 1))
            if failure:
                raise RuntimeError('deploying %d to %d: %s' % (some[0], some[-1], failure))
            last = max(last, block)
        for each in chosen:
            _, block, failure = self.push_all(self.packer.ask('prepare', each['index']))
            if failure:
                raise RuntimeError('preparing %s: %s' % (each['name'], failure))
            last = max(last, block)
        self.wait_final(last)

    def calibrate(self, pattern):
        """Finds how much work a transaction is to do, and how many there are to be."""
        count, before = pattern['count'], 0
        while True:
            billed, _, failure = self.push_all(self.packer.ask('run', pattern['index'], count, 1))
            if billed >= BILLED_EACH / 2 or count >= pattern['count_max']:
                break
            if before and billed < before * 1.2 + 2:
                break               # It does not do more for more.
            factor = min(100, max(2, BILLED_EACH / billed))
            count, before = min(int(count * factor), pattern['count_max']), billed
        pattern.update(work=count, times=min(TIMES_MAX, math.ceil(BILLED_ENOUGH / max(billed, 1))),
                       failure=failure)

    def measure(self, pattern):
        bodies = self.packer.ask('run', pattern['index'], pattern['work'], pattern['times'])
        pid = self.net.pid('bora')
        before, began = used_by(pid), time.monotonic_ns()
        billed, block, _ = self.push_all(bodies)
        if pattern['stored'] or pattern['times'] > 20:
            self.wait_final(block)
        took = time.monotonic_ns() - began
        used = used_by(pid) - before - self.idle * took
        return {'seconds': took / 1e9, 'used_us': used / 1000 * self.scale, 'billed_us': billed,
                'ratio': used / 1000 * self.scale / max(billed, 1)}

    def restart(self):
        self.net.stop('bora')
        try:
            os.sync()
            with open('/proc/sys/vm/drop_caches', 'w', encoding='utf-8') as f:
                f.write('3')
        except OSError:
            pass                    # Not root: rows may be in the kernel's cache.
        self.net.start('bora')
        self.client = Client(self.net.of('bora')['http'])

        def serves():
            self.client = Client(self.net.of('bora')['http'])
            return self.info()['last_irreversible_block_num'] > 1, None
        wait_for('the node serves again', serves)
        self.settle()


def worse(pattern, kind):
    return pattern.get(kind, {}).get('ratio', 0)


def try_all(measurement, chosen, kind, options, restart):
    """Measures those that have no good result yet, up to three times; the best counts."""
    left = chosen
    for attempt in range(TRIES):
        if restart and left:
            measurement.restart()
        for pattern in left:
            seen = measurement.measure(pattern)
            if options.verbose:
                print('%s %.2f %.0f us billed, %d x %d, %.2f s: %s %s' % (
                    kind, seen['ratio'], seen['billed_us'], pattern['times'], pattern['work'], seen['seconds'],
                    pattern['name'], pattern['failure'] or ''), flush=True)
            if attempt == 0 or seen['ratio'] < pattern[kind]['ratio']:
                pattern[kind] = seen
        left = [each for each in left if each[kind]['ratio'] > options.limit]
        if not left:
            return


def show(chosen, scale, rows):
    print('a nanosecond here is %.2f on the reference machine' % scale)
    print('%6s %6s %10s %10s  %s' % ('warm', 'cold', 'used us', 'billed us', 'pattern'))
    order = sorted(chosen, key=lambda each: -max(worse(each, 'warm'), worse(each, 'cold')))
    for each in order[:rows]:
        print('%6.2f %6.2f %10.0f %10.0f  %s' % (worse(each, 'warm'), worse(each, 'cold'), each['warm']['used_us'],
                                                 each['warm']['billed_us'], each['name']))


def run(options, net):
    net.up(1, '--node-option', '--subjective-failure-ms-per-minute=0', '--node-option', '--max-transaction-time=450')
    net.set_limits(BLOCK_US)
    measurement = Measurement(net)
    try:
        chosen = [each for each in measurement.patterns if options.only in each['name']]
        began = time.monotonic()
        measurement.deploy(chosen)
        print('%d patterns prepared in %.0f s' % (len(chosen), time.monotonic() - began), flush=True)
        measurement.settle()
        for pattern in chosen:
            measurement.calibrate(pattern)
        print('calibrated after %.0f s' % (time.monotonic() - began), flush=True)
        measurement.settle()
        try_all(measurement, chosen, 'warm', options, restart=False)
        print('warm after %.0f s' % (time.monotonic() - began), flush=True)
        try_all(measurement, chosen, 'cold', options, restart=True)
        print('cold after %.0f s' % (time.monotonic() - began), flush=True)
    finally:
        measurement.packer.stop()
    show(chosen, measurement.scale, options.rows)
    if options.json:
        with open(options.json, 'w', encoding='utf-8') as f:
            json.dump(chosen, f, indent=1)
    bad = [each['name'] for each in chosen
           if max(each['warm']['ratio'], each['cold']['ratio']) > options.limit]
    print('%d patterns, %d above %.1f' % (len(chosen), len(bad), options.limit))
    if bad:
        raise AssertionError('a node uses more than %.1f times what it bills: %s' % (options.limit, ', '.join(bad)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--build', required=True)
    parser.add_argument('--only', default='', help='patterns with this in their names')
    parser.add_argument('--json', help='where all results go')
    parser.add_argument('--rows', type=int, default=40, help='of the table, the worst first')
    parser.add_argument('--limit', type=float, default=RATIO_MAX)
    parser.add_argument('--verbose', action='store_true')
    options = parser.parse_args()
    net = Node(options.build)
    try:
        run(options, net)
    finally:
        net.stop_children()
        net.cli('network', 'down', check=False)
        shutil.rmtree(net.dir, ignore_errors=True)
    return 0


if __name__ == '__main__':
    sys.exit(main())
