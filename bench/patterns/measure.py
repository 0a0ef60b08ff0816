#!/usr/bin/env python3
"""What a node uses for each pattern of work, against what it bills: the processor time of the whole
process, in microseconds of the reference machine, by the cpu_usage_us of the receipts (for what fails:
the units of its trace). Warm, and as the first run after kill -9, with nothing in the kernel's caches.

Of the process count the threads of the ledger: core, disk and database, and 33 us a transaction for its
signature's recovery. Those that read requests and write answers are the interface's, which nobody is
billed for; the column `all` has them, too.

With --validators: the same as the mean of four validators, whose blocks may have a tenth of the interval
(they share two cores), and then blocks filled with the worst pattern: nothing final for a second, or
three times the finality p99 of the same network without that load, is a failure.

Other programs that share the processor's caches make the same work cost up to 1.7 times as much. So a
run on a machine that is not quiet sets --failure: it names what is above the limit, and fails only above
that ratio, which no neighbour explains.

usage: measure.py --build BUILD_DIR [--only TEXT] [--json FILE] [--limit RATIO] [--failure RATIO] [--validators]
"""
import argparse
import collections
import datetime
import http.client
import json
import math
import os
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), '../../tests/network'))
from doctor import Network, wait_for  # noqa: E402

RATIO_MAX = 3.0
TRIES = 3
BILLED_EACH = 20_000        # Microseconds that a transaction is to be billed, if its work can be chosen,
BILLED_ENOUGH = 50_000      # and all of a pattern's in a run,
TIMES_MAX = 200             # of so many transactions at most.
GROWTH = 1_000_000          # What bills no more for so many times is over after the first.
RECOVERY_US = 33            # On the reference machine, by which it is defined.
LEDGER = ('bor-core', 'bor-disk', 'bor-run-timer', 'rocksdb')
CONNECTIONS = 8             # For many transactions.
INTERVAL_MS = 500
BLOCK_US, TRANSACTION_US = 450_000, 140_000
SHARED_BLOCK_US = INTERVAL_MS * 100     # A tenth of the interval.
QUIET_SECONDS, LOAD_SECONDS = 20, 40
GAP_MAX, P99_MAX = 1.0, 3.0
BATCH = 20                  # Accounts that a transaction makes.


class Node(Network):
    def up(self, count, *options):
        self.cli('network', 'up', '-n', str(count), '--open', '--block-interval', str(INTERVAL_MS),
                 '--chain-parameter', 'max_block_bytes=8388608', *options)
        self.learn_commands()

    def set_limits(self, block_us):
        params = self.ask('bora', '/v1/chain/get_consensus_parameters')['chain_config']
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


def used_by_ledger(pid):
    total = 0
    for task in os.listdir('/proc/%d/task' % pid):
        with open('/proc/%d/task/%s/comm' % (pid, task), encoding='utf-8') as f:
            if not f.read().startswith(LEDGER):
                continue
        with open('/proc/%d/task/%s/schedstat' % (pid, task), encoding='utf-8') as f:
            total += int(f.read().split()[0])
    return total


Used = collections.namedtuple('Used', 'ledger all')


class Measurement:
    """Nodes of which the first is sent to, and the patterns that they work on."""

    def __init__(self, net):
        self.net = net
        self.names = list(net.commands)
        self.client = Client(net.of('bora')['http'])
        info = self.info()
        self.packer = Packer(net, info['last_irreversible_block_id'])
        listed = self.packer.ask('list')
        self.scale = listed['scale']
        self.patterns = listed['patterns']
        for index, each in enumerate(self.patterns):
            each['index'] = index
        self.idle = Used(0, 0)  # Of a core, while nothing is sent.

    def info(self):
        return self.client.post('/v1/chain/get_info', '{}')

    def wait_final(self, block):
        wait_for('block %d is final' % block,
                 lambda: (self.info()['last_irreversible_block_num'] >= block, None))

    def used(self):
        """Nanoseconds of a node: of its ledger, and of all of it."""
        pids = [self.net.pid(name) for name in self.names]
        return Used(sum(used_by_ledger(pid) for pid in pids) / len(pids),
                    sum(used_by(pid) for pid in pids) / len(pids))

    def settle(self):
        """Until the nodes have nothing left to do but blocks, and how much that is."""
        for _ in range(20):
            before, began = self.used(), time.monotonic_ns()
            time.sleep(1)
            took = time.monotonic_ns() - began
            self.idle = Used(*((now - then) / took for now, then in zip(self.used(), before)))
            if self.idle.all < 0.05:
                break

    def push_all(self, bodies):
        """What they are billed together, the last block, and the failure of one if any failed."""
        if len(bodies) <= CONNECTIONS:
            done = [self.client.push(body) for body in bodies]
        else:
            url = self.net.of('bora')['http']

            def push_some(some):
                client = Client(url)
                return [client.push(body) for body in some]
            with ThreadPoolExecutor(CONNECTIONS) as pool:
                parts = pool.map(push_some, [bodies[each::CONNECTIONS] for each in range(CONNECTIONS)])
            done = [each for part in parts for each in part]
        failed = [each[2] for each in done if each[2]]
        return sum(each[0] for each in done), max((each[1] for each in done), default=0), failed[0] if failed else None

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
            if count >= GROWTH and billed < before * 1.2 + 2:
                break
            factor = 100 if billed < BILLED_EACH / 100 else BILLED_EACH / billed
            count, before = min(int(count * max(2, factor)), pattern['count_max']), billed
        pattern.update(work=count, times=min(TIMES_MAX, math.ceil(BILLED_ENOUGH / max(billed, 1))),
                       failure=failure)

    def measure(self, pattern):
        bodies = self.packer.ask('run', pattern['index'], pattern['work'], pattern['times'])
        before, began = self.used(), time.monotonic_ns()
        billed, block, _ = self.push_all(bodies)
        if pattern['stored'] or pattern['times'] > CONNECTIONS or len(self.names) > 1:
            self.wait_final(block)
        took = time.monotonic_ns() - began
        ledger, every = ((now - then - idle * took) / 1000 * self.scale
                         for now, then, idle in zip(self.used(), before, self.idle))
        ledger += RECOVERY_US * pattern['times']
        return {'seconds': took / 1e9, 'used_us': ledger, 'billed_us': billed,
                'ratio': ledger / max(billed, 1), 'all': every / max(billed, 1)}

    def restart(self):
        for name in self.names:
            self.net.stop(name)
        try:
            os.sync()
            with open('/proc/sys/vm/drop_caches', 'w', encoding='utf-8') as f:
                f.write('3')
        except OSError:
            pass                    # Not root: rows may be in the kernel's cache.
        for name in self.names:
            self.net.start(name)

        def goes_on():
            self.client = Client(self.net.of('bora')['http'])
            before = self.info()['last_irreversible_block_num']
            time.sleep(2 * INTERVAL_MS / 1000)
            return self.info()['last_irreversible_block_num'] > before, None
        wait_for('finality after kill -9', goes_on)
        self.settle()


def worse(pattern, kind):
    return pattern.get(kind, {}).get('ratio', 0)


def try_all(measurement, chosen, kind, options):
    """Measures those that have no good result yet, up to three times; the best counts."""
    left = chosen
    for attempt in range(TRIES):
        if kind == 'cold':
            measurement.restart()
        for pattern in left:
            seen = measurement.measure(pattern)
            if options.verbose:
                print('%s %.2f %.2f %.0f us billed, %d x %d, %.2f s: %s %s' % (
                    kind, seen['ratio'], seen['all'], seen['billed_us'], pattern['times'], pattern['work'], seen['seconds'],
                    pattern['name'], pattern['failure'] or ''), flush=True)
            if attempt == 0 or seen['ratio'] < pattern[kind]['ratio']:
                pattern[kind] = seen
        left = [each for each in left if each[kind]['ratio'] > options.limit]
        if not left:
            return


def show(chosen, scale, rows):
    print('a nanosecond here is %.2f on the reference machine' % scale)
    print('%6s %6s %6s %10s %10s  %s' % ('warm', 'cold', 'all', 'used us', 'billed us', 'pattern'))
    order = sorted(chosen, key=lambda each: -max(worse(each, 'warm'), worse(each, 'cold')))
    for each in order[:rows]:
        warm = each['warm']
        print('%6.2f %6.2f %6.2f %10.0f %10.0f  %s' % (warm['ratio'], worse(each, 'cold'), warm['all'],
                                                       warm['used_us'], warm['billed_us'], each['name']))


class Finality:
    """How old blocks are when they become final, from the beginning of their slots, and the longest
    time without a new one, as of what any node says."""

    def __init__(self, net):
        self.clients = [Client(net.of(name)['http']) for name in net.commands]
        self.is_over = False
        self.gap, self.ages = 0.0, []
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        height, last = 0, time.monotonic()
        while not self.is_over:
            for client in self.clients:
                info = client.post('/v1/chain/get_info', '{}')
                self.gap = max(self.gap, time.monotonic() - last)
                if info['last_irreversible_block_num'] <= height:
                    continue
                height, last = info['last_irreversible_block_num'], time.monotonic()
                began = datetime.datetime.fromisoformat(info['last_irreversible_block_time'] + '+00:00')
                self.ages.append(time.time() - began.timestamp())
            time.sleep(0.01)

    def stop(self):
        self.is_over = True
        self.thread.join()
        self.p99 = sorted(self.ages)[int(len(self.ages) * 0.99)]
        return self


def watch(net, seconds):
    finality = Finality(net)
    time.sleep(seconds)
    return finality.stop()


def fill(measurement, pattern):
    """Blocks full of one pattern: what a hostile sender makes of the worst of them."""
    net, sent = measurement.net, []
    quiet = watch(net, QUIET_SECONDS)
    # Twice what fits the blocks.
    wanted = 2 * (LOAD_SECONDS * 1000 // INTERVAL_MS) * SHARED_BLOCK_US
    each_us = max(1, pattern['warm']['billed_us'] // pattern['times'])
    bodies = measurement.packer.ask('run', pattern['index'], pattern['work'], wanted // each_us + 1)

    def send(some):
        client = Client(net.of('bora')['http'])
        for body in some:
            if end < time.monotonic():
                return
            sent.append(client.push(body)[0])
    end = time.monotonic() + LOAD_SECONDS
    threads = [threading.Thread(target=send, args=(bodies[each::CONNECTIONS],)) for each in range(CONNECTIONS)]
    for thread in threads:
        thread.start()
    loaded = watch(net, LOAD_SECONDS)
    for thread in threads:
        thread.join()
    share = sum(sent) / (LOAD_SECONDS * 1e6) / (SHARED_BLOCK_US / INTERVAL_MS / 1000)
    print('blocks filled with "%s" to %.0f %% for %d s: largest gap between final blocks %.2f s, %.2f s without; '
          'from slot to final p99 %.0f ms, %.0f ms without' % (pattern['name'], share * 100, LOAD_SECONDS, loaded.gap,
                                                            quiet.gap, loaded.p99 * 1e3, quiet.p99 * 1e3))
    if loaded.gap > GAP_MAX or loaded.p99 > P99_MAX * quiet.p99:
        raise AssertionError('finality suffers from "%s"' % pattern['name'])


def measure_all(measurement, options):
    chosen = [each for each in measurement.patterns if options.only in each['name']]
    began = time.monotonic()
    measurement.deploy(chosen)
    measurement.settle()
    for pattern in chosen:
        measurement.calibrate(pattern)
    print('%d patterns prepared in %.0f s' % (len(chosen), time.monotonic() - began), flush=True)
    for kind in ('warm', 'cold'):
        try_all(measurement, chosen, kind, options)
        print('%s after %.0f s' % (kind, time.monotonic() - began), flush=True)
    return chosen


def run(options, net):
    net.up(4 if options.validators else 1, '--node-option', '--subjective-failure-ms-per-minute=0',
           '--node-option', '--max-transaction-time=450')
    net.set_limits(SHARED_BLOCK_US if options.validators else BLOCK_US)
    measurement = Measurement(net)
    try:
        chosen = measure_all(measurement, options)
        show(chosen, measurement.scale, options.rows)
        if options.json:
            with open(options.json, 'w', encoding='utf-8') as f:
                json.dump(chosen, f, indent=1)
        def above(limit):
            return [each['name'] for each in chosen if max(worse(each, 'warm'), worse(each, 'cold')) > limit]
        high, failure = above(options.limit), max(options.failure, options.limit)
        print('%d patterns, %d above %.1f%s' % (len(chosen), len(high), options.limit,
                                                ': ' + ', '.join(high) if high else ''), flush=True)
        bad = above(failure)
        if options.validators:
            fill(measurement, max((each for each in chosen if not each['failure']),
                                  key=lambda each: each['warm']['all']))
    finally:
        measurement.packer.stop()
    if bad:
        raise AssertionError('a node uses more than %.1f times what it bills: %s' % (failure, ', '.join(bad)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--build', required=True)
    parser.add_argument('--only', default='', help='patterns with this in their names')
    parser.add_argument('--json', help='where all results go')
    parser.add_argument('--rows', type=int, default=40, help='of the table, the worst first')
    parser.add_argument('--limit', type=float, default=RATIO_MAX, help='what is above is tried again, and named')
    parser.add_argument('--failure', type=float, default=0, help='above this it is a failure, if more than the limit')
    parser.add_argument('--validators', action='store_true', help='four of them, and blocks filled')
    parser.add_argument('--verbose', action='store_true')
    options = parser.parse_args()
    net = Node(options.build)
    try:
        run(options, net)
    finally:
        net.down()
    return 0


if __name__ == '__main__':
    sys.exit(main())
