#!/usr/bin/env python3
"""What a broker takes and gives, beside bare servers that do the least (`bench_broker`), with one client, in one run:
the rate, and the CPU of the server for a MiB, of Produce with acks=1 and all and of Fetch, in clear and over TLS;
a thousand consumers that wait; and how long transactions take to become final while all of that goes on.

A bare sink reads Produce, looks at the CRC, appends, and answers what has come after one fdatasync; a bare source
answers Fetch by sendfile. The broker's CPU is that of the whole node, less what its chain takes without clients.
The client has one core, the servers the other ones. In a virtual machine that gives free memory back to its host the
figures are chance: FIGURES.md says how to keep it from that.

usage: measure.py --build BUILD_DIR [--megabytes N] [--rounds N] [--consumers N] [--json FILE]
"""
import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), '../../tests/network'))
from broker import Network, free_port, running  # noqa: E402

# The client has a core of its own: else the scheduler may put it beside the server, and they take turns.
*SERVER_CORES, CLIENT_CORE = sorted(os.sched_getaffinity(0))
REST = 5            # Seconds in which the node has no client.
LOAD_SECONDS = 15


class Measured(Network):
    """The network of the tests, with blocks every 500 ms and, at times, TLS."""

    interval = '500'

    def __init__(self, args):
        super().__init__(args.build)
        self.args, self.table, self.tls, self.token_file, self.sinks = args, [], {}, None, 0
        self.program = os.path.join(self.build, 'bin', 'bench_broker')

    def options(self, who):
        return {**super().options(who), **self.tls}

    def go_to_tls(self):
        """Over TLS nobody comes without login."""
        self.tls, self.token_file = self.make_tls(), os.path.join(self.dir, 'token')
        self.restart_as('alice')
        with open(self.token_file, 'w', encoding='utf-8') as file:
            file.write(json.loads(self.cli('-j', 'bps', 'token', 'alice'))['token'])

    def kcat(self, *words, given=None, check=True):
        login = ()
        if self.tls:
            with open(self.token_file, encoding='utf-8') as file:
                login = ('-X', 'security.protocol=sasl_ssl', '-X', 'ssl.ca.location=' + self.tls['bps-tls-cert'], '-X',
                         'sasl.mechanisms=PLAIN', '-X', 'sasl.username=alice@active', '-X',
                         'sasl.password=' + file.read())
        return super().kcat(*login, *words, given=given, check=check)

    def client(self, kind, address, *words):
        more = []
        if self.tls:
            more = ['--tls', *(['--token-file', self.token_file] if address == self.address else [])]
        said = subprocess.run(on_client_core([self.program, kind, address, *words, '--json', *more]),
                              check=True, stdout=subprocess.PIPE, text=True).stdout
        return json.loads(said)

    def note(self, what, value, unit, goal=None, bare=None):
        row = {'what': what, 'value': value, 'unit': unit}
        text = '%-46s %10.3f %s' % (what, value, unit)
        if bare:
            row['bare'], row['ratio'] = bare, value / bare
            text += '  bare %.3f, ratio %.2f' % (bare, row['ratio'])
        if goal:
            row['goal'] = goal
            text += '  (goal %s)' % goal
        self.table.append(row)
        print(text, flush=True)


def on_client_core(words):
    return ['taskset', '-c', str(CLIENT_CORE), *words]


def cpu_of(pid):
    """Of its threads, none of which ends meanwhile: to the nanosecond, where /proc/PID/stat counts ticks."""
    used = 0
    for thread in os.listdir('/proc/%d/task' % pid):
        with open('/proc/%d/task/%s/schedstat' % (pid, thread), encoding='utf-8') as file:
            used += int(file.read().split()[0])
    return used / 1e9


def resident_of(pid):
    with open('/proc/%d/status' % pid, encoding='utf-8') as file:
        return next(int(line.split()[1]) for line in file if line.startswith('VmRSS')) / 1024


def resting_cpu(network):
    """Of the node, in seconds a second."""
    pid = network.node()['pid']
    before = cpu_of(pid)
    time.sleep(REST)
    return (cpu_of(pid) - before) / REST


@contextlib.contextmanager
def bare(network, kind):
    """A bare server; gives its address and process. Its file stays, as those of the broker do: to write where another
    was just deleted spares the kernel the search for memory."""
    port = free_port()
    # A source gives what the last sink took.
    network.sinks += kind == 'sink'
    file = os.path.join(network.dir, 'bare-%d.log' % network.sinks)
    words = [network.program, '--' + kind, file, '--port', str(port)]
    if network.tls:
        words += ['--cert', network.tls['bps-tls-cert'], '--key', network.tls['bps-tls-key']]
    server = subprocess.Popen(words)
    try:
        time.sleep(0.5)
        yield '127.0.0.1:%d' % port, server.pid
    finally:
        server.kill()
        server.wait()


def one(network, words, pid, resting):
    """A run of the client: MiB a second, and the server's CPU in ms a MiB."""
    before, began = cpu_of(pid), time.monotonic()
    figures = network.client(*words)
    used = cpu_of(pid) - before - resting * (time.monotonic() - began)
    return figures['rate [MiB/s]'], used * 1000 / figures['bytes [MiB]']


def compare(network, what, resting, words, kind):
    """The broker and the bare server in turns, each a round; medians."""
    ours, theirs = [], []
    size = ['--megabytes', str(network.args.megabytes)]
    for _ in range(network.args.rounds):
        with bare(network, kind) as (address, pid):
            theirs.append(one(network, [words[0], address, *words[1:], *size], pid, 0))
        ours.append(one(network, [words[0], network.address, *words[1:], *size], network.node()['pid'], resting))
    rate, cpu = (statistics.median(each) for each in zip(*ours))
    bare_rate, bare_cpu = (statistics.median(each) for each in zip(*theirs))
    network.note(what, rate, 'MiB/s', '>= 0.8', bare_rate)
    network.note(what + ', CPU', cpu, 'ms/MiB', '<= 1.3', bare_cpu)


def data(network, name):
    topic = 'bench' + name.replace(' ', '')
    network.topic(topic)
    resting = resting_cpu(network)
    produce = ['--produce', '--topic', topic, '--acks']
    compare(network, 'produce, acks=1' + name, resting, [*produce, '1'], 'sink')
    compare(network, 'produce, acks=all' + name, resting, [*produce, '-1'], 'sink')
    compare(network, 'fetch' + name, resting, ['--fetch', '--topic', topic], 'source')


def idle(network):
    network.topic('idle')
    network.produce('idle', ['one'])
    pid, resting = network.node()['pid'], resting_cpu(network)
    memory = resident_of(pid)
    client = subprocess.Popen(on_client_core([network.program, '--idle', network.address, '--topic', 'idle',
                                              '--seconds', '20', '--consumers', str(network.args.consumers),
                                              '--json']), stdout=subprocess.PIPE)
    time.sleep(5)
    before, began = cpu_of(pid), time.monotonic()
    time.sleep(10)
    used = (cpu_of(pid) - before) / (time.monotonic() - began) - resting
    grown = resident_of(pid) - memory
    answers = json.loads(client.communicate(timeout=60)[0])['answers [a second]']
    network.note('%d consumers that wait, memory' % network.args.consumers, grown, 'MiB', '<= 64')
    network.note('%d consumers that wait, CPU' % network.args.consumers, used * 100, '% of a core', '<= 4')
    network.note('answers to them', answers, 'a second')


def finality(network):
    """Of a light load of transfers, without and with Kafka's clients at full speed."""
    network.topic('load')

    def p99():
        said = network.cli('-j', 'bench', 'load', '--rate', '20', '--seconds', str(LOAD_SECONDS), '--contract-dir',
                           os.path.join(network.build, 'contracts', 'token'))
        return json.loads(said)['final']['p99_ms']

    without = p99()
    stopped = threading.Event()

    def produce():
        while not stopped.is_set():
            network.client('--produce', network.address, '--topic', 'load', '--megabytes', '64')

    thread = threading.Thread(target=produce)
    thread.start()
    try:
        during = p99()
    finally:
        stopped.set()
        thread.join()
    network.note('final, 99 of 100, under full load', during, 'ms', '<= 2', without)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    parser.add_argument('--build', required=True)
    parser.add_argument('--megabytes', type=int, default=256)
    parser.add_argument('--rounds', type=int, default=5)
    parser.add_argument('--consumers', type=int, default=1000)
    parser.add_argument('--json')
    args = parser.parse_args()
    if SERVER_CORES:
        os.sched_setaffinity(0, SERVER_CORES)
    network = Measured(args)
    with running(network):
        commit = subprocess.run(['git', 'rev-parse', '--short', 'HEAD'], capture_output=True, text=True).stdout.strip()
        print('broker: commit %s, load %.2f' % (commit, os.getloadavg()[0]))
        data(network, '')
        idle(network)
        finality(network)
        network.go_to_tls()
        data(network, ' TLS')
    if args.json:
        with open(args.json, 'w', encoding='utf-8') as file:
            json.dump(network.table, file, indent=1)
    return 0


if __name__ == '__main__':
    sys.exit(main())
