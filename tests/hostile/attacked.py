"""Four validators with a broker, under load, and what is measured of them while somebody means harm."""
import contextlib
import http.client
import json
import math
import os
import re
import socket
import subprocess
import time
import urllib.parse

from asking import UnixConnection
from finality import Finality
from poison import Poisoned

RATE = 40               # Transfers a second.
# Where clients come from that mean harm at HTTP and at the broker, and one that means none: none is this machine's own.
MANY = 40
ATTACKER = '10.9.0.%d'
OTHER = '10.9.1.1'
CALLS = 200
GAP_MAX = 1.0           # Seconds without a new final block.
TIMES_MAX = 3           # How many times longer others may wait,
FLOOR_MS = 20           # from this on: where all is quiet, a busy machine alone takes as long.
OPERATOR_MS = 100
MIB = 1 << 20
BACK_WITHIN = 60        # Seconds until memory is back,
BACK_TO = 64 * MIB      # but for so much, or a tenth.
LINE_EVERY = 10         # Seconds between two lines of the log for a cause.
CLOCK_TICKS = os.sysconf('SC_CLK_TCK')


class NoAttack(AssertionError):
    """It did not come about, on a machine that does other things, too."""


class Attacked(Poisoned):
    def __init__(self, build):
        super().__init__(build)
        self.stopped = set()
        self.tries = 0      # Of the attack that is measured.
        self.keys = 0       # Of nodes that were registered.

    def names(self):
        return [name for name in self.commands if name not in self.stopped]

    def stop(self, name):
        self.stopped.add(name)
        super().stop(name)

    def start(self, name, *before, more=()):
        super().start(name, *before, more=more)
        self.stopped.discard(name)

    def up(self):
        for address in [ATTACKER % number for number in range(1, MANY + 1)] + [OTHER]:
            subprocess.run(['ip', 'address', 'add', address + '/32', 'dev', 'lo'], check=True)
        self.cli('network', 'up', '-n', '4', '--open', '--block-interval', '200', '--broker', 'alice',
                 '--node-option=--max-transaction-time=60')
        self.learn_commands()
        self.set_up()
        at = urllib.parse.urlparse(self.of('bora')['http'])
        self.host, self.port = at.hostname, at.port

    def load(self, seconds):
        """p99 of transfers, from when they are due until they are final, in ms."""
        out = json.loads(self.cli('-j', 'bench', 'load', '--rate', str(RATE), '--seconds', str(seconds),
                                  '--accounts', '8', '--connections', '4'))
        if out['refused'] > 0 or out['final']['count'] != RATE * seconds:
            raise AssertionError('not all transfers are final: %s' % out)
        return out['final']['p99_ms']

    def status(self, name, what):
        with open('/proc/%d/status' % self.pid(name), encoding='utf-8') as f:
            return next(line for line in f if line.startswith(what)).split()[1]

    def memory(self):
        """Resident bytes of each validator."""
        return {name: int(self.status(name, 'VmRSS')) << 10 for name in self.names()}

    def processor(self):
        return {name: self.processor_seconds(name) for name in self.names()}

    def metric(self, name, by='bora'):
        at = urllib.parse.urlparse(self.of(by)['http'])
        connection = http.client.HTTPConnection(at.hostname, at.port, timeout=20)
        connection.request('GET', '/v1/prometheus/metrics')
        text = connection.getresponse().read().decode()
        connection.close()
        return sum(float(line.rsplit(' ', 1)[1]) for line in text.splitlines()
                   if re.match(re.escape(name) + r'[ {]', line))

    def connect(self, source, port=None):
        """To bora's HTTP port, or another one of this machine."""
        at = socket.create_connection((self.host, port or self.port), timeout=20, source_address=(source, 0))
        at.settimeout(20)
        return at

    def calls_of_another(self):
        """p99 in ms of calls, each over a connection of its own."""
        times = []
        for _ in range(CALLS):
            began = time.monotonic()
            with self.connect(OTHER) as at:
                at.sendall(b'POST /v1/chain/get_info HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
                got = b''
                while part := at.recv(65536):
                    got += part
            if not got.startswith(b'HTTP/1.1 200'):
                raise AssertionError('another address gets %r' % got[:80])
            times.append(1000 * (time.monotonic() - began))
        return sorted(times)[int(len(times) * 0.99)]

    def calls_of_operator(self):
        """The slowest, in ms."""
        times = []
        for _ in range(CALLS // 4):
            began = time.monotonic()
            connection = UnixConnection(os.path.join(self.of('bora')['data_dir'], 'bor.sock'), timeout=20)
            connection.request('POST', '/v1/producer/paused')
            if connection.getresponse().read() != b'false':
                raise AssertionError('the operator gets no answer')
            connection.close()
            times.append(1000 * (time.monotonic() - began))
        return max(times)

    def log_sizes(self):
        return {name: os.path.getsize(self.of(name)['log']) for name in self.names()}

    def lines_since(self, sizes):
        """{what a validator's log says, without what differs from time to time: how often it says it, at most}."""
        most = {}
        for name, size in sizes.items():
            counts = {}
            with open(self.of(name)['log'], 'rb') as f:
                f.seek(size)
                text = f.read().decode(errors='replace')
            for line in text.splitlines():
                words = line.split(' ', 2)
                if len(words) < 3 or words[1] == 'info':
                    continue
                cause = re.sub(r'[^ ]*[0-9][^ ]*', '#', words[2])
                counts[cause] = counts.get(cause, 0) + 1
            for cause, count in counts.items():
                most[cause] = max(count, most.get(cause, 0))
        return most


class Measured:
    """One row of the table: what others wait for before, during and, `after` seconds long, after an attack."""

    def __init__(self, net, name, attack, seconds, after):
        self.net, self.name, self.attack = net, name, attack
        self.before = self.look(seconds)
        self.sizes, self.began = net.log_sizes(), time.monotonic()
        with attack.acts(net, seconds) as goes_on:
            self.during = self.look(seconds, goes_on)
            self.peak = max(net.memory().values())
        self.took = time.monotonic() - self.began
        self.lines = net.lines_since(self.sizes)
        self.after = self.look(after) if after else None
        self.kept = self.wait_for_memory()

    def look(self, seconds, goes_on=lambda: False):
        """What is seen in so many seconds, and as long as the attack goes on: the worst of it."""
        net, seen = self.net, {'client': 0}
        seen['memory'] = max(net.memory().values())
        began, before = time.monotonic(), net.processor()
        finality = Finality(net)
        try:
            while seen['client'] == 0 or goes_on():
                seen['client'] = max(seen['client'], net.load(seconds))
            if self.attack.probes:
                seen['other'], seen['operator'] = net.calls_of_another(), net.calls_of_operator()
        finally:
            finality.stop()
        used = net.processor()
        seen['processor'] = sum(used[name] - before.get(name, 0) for name in used) / (time.monotonic() - began)
        seen['p99'], seen['gap'] = 1000 * finality.p99, 1000 * finality.gap
        return seen

    def wait_for_memory(self):
        """What the largest validator has after it, once it is back, or BACK_WITHIN later."""
        deadline = time.monotonic() + BACK_WITHIN
        limit = self.before['memory'] + max(BACK_TO, self.before['memory'] // 10)
        while (now := max(self.net.memory().values())) > limit and time.monotonic() < deadline:
            time.sleep(0.5)
        return now

    def row(self):
        looks = [each for each in (self.before, self.during, self.after) if each]
        words = [self.name.replace('_', ' ')]
        for what in ('p99', 'gap', 'client'):
            words.append(' / '.join('%.0f' % each[what] for each in looks))
        words.append(' / '.join('%.2f' % each['processor'] for each in looks))
        words.append(' / '.join('%.0f' % (each / MIB) for each in (self.before['memory'], self.peak, self.kept)))
        words.append('%d' % max(self.lines.values(), default=0))
        words.append('%.1f, %.0f' % (self.during['other'], self.during['operator']) if self.attack.probes else '')
        return words

    def check(self):
        """What it must not do to others."""
        wrong = []
        if self.during['gap'] > 1000 * GAP_MAX:
            wrong.append('nothing was final for %.0f ms' % self.during['gap'])
        for what in ('p99', 'client', 'other'):
            if self.during.get(what, 0) > TIMES_MAX * max(self.before.get(what, 0), FLOOR_MS):
                wrong.append('%s: %.0f ms, %.0f before' % (what, self.during[what], self.before[what]))
        if self.during.get('operator', 0) > OPERATOR_MS:
            wrong.append('the operator waits for %.0f ms' % self.during['operator'])
        if self.kept > self.before['memory'] + max(BACK_TO, self.before['memory'] // 10):
            wrong.append('%d MiB stay, %d before' % (self.kept // MIB, self.before['memory'] // MIB))
        if self.peak > self.before['memory'] + self.attack.memory_max:
            wrong.append('%d MiB during it, %d before' % (self.peak // MIB, self.before['memory'] // MIB))
        # A validator that was started has said nothing before.
        lines_max = math.ceil(self.took / LINE_EVERY) + (1 if self.attack.stops else 0)
        for cause, count in self.lines.items():
            if count > lines_max:
                wrong.append('%d times in the log: %s' % (count, cause))
        if wrong:
            raise AssertionError('; '.join(wrong))


class Attack:
    """Something that `who` (a row of SECURITY.md's table) does. `acts(net, seconds)` is a context in which it goes on,
    and gives, as a function, whether it still does; NoAttack where it did not come about. `probes`: the calls of others
    are measured, too. `stops`: the validator that it stops."""

    def __init__(self, who, acts, memory_max=300 * MIB, probes=False, stops=None):
        self.who, self.memory_max, self.probes, self.stops = who, memory_max, probes, stops
        self.acts = contextlib.contextmanager(acts)
        self.name = acts.__name__


def attack(who, **more):
    return lambda acts: Attack(who, acts, **more)


def never():
    return False
