#!/usr/bin/env python3
"""Validators that speak by RDMA, each by a device of its own: finality; a blank node that fetches
the chain by landings; a link that goes down and comes back; one that stands still for 10 s; one
that may lock no memory; one that is killed. With --all also one that has no RDMA, a device and an
interface that are deleted in use and made again, a device that comes later than its node, and what
it costs to be idle. Nobody ever writes to a peer that has no receive. The network is made here, and
runs in the machine of vm/run.sh.

usage: network.py --build BUILD_DIR [--count VALIDATORS] [--all]
"""
import argparse
import glob
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

HERE = os.path.dirname(os.path.realpath(__file__))
INTERVAL_MS = 2000      # Emulation is slow.
PATIENCE = 240          # A path that failed twice is tried again after a minute.
PATIENCE_ALL = 700      # One that failed thrice after two: for what takes long anyway.
BLANK = 'bore'
# Not even root may lock more than 64 KiB.
LITTLE_MEMORY = ('setpriv', '--bounding-set=-ipc_lock', '--inh-caps=-ipc_lock',
                 'prlimit', '--memlock=65536:65536')
BULK = 24               # Transactions of so many bytes, for the blank node to fetch.
BULK_BYTES = 48_000
IDLE_SECONDS = 20


# --- Outside: the network is made ---

class Maker:
    def __init__(self, build, folder, count):
        self.bin = os.path.join(os.path.realpath(build), 'bin')
        self.folder = folder
        self.count = count

    def cli(self, *words):
        done = subprocess.run([os.path.join(self.bin, 'bor-cli'), '--dir', self.folder, *words],
                              capture_output=True, text=True, timeout=120, check=False)
        if done.returncode != 0:
            raise AssertionError('bor-cli %s: %s%s' % (words[:3], done.stdout, done.stderr))
        return done.stdout

    def make(self):
        """A network whose chain has begun, and a node that has nothing of it: their commands and
        addresses."""
        self.cli('network', 'up', '-n', str(self.count), '--open',
                 '--block-interval', str(INTERVAL_MS))
        try:
            with open(os.path.join(self.folder, 'network.json'), encoding='utf-8') as f:
                file = json.load(f)
            plan = [{'name': each['name'], 'http': each['http'],
                     'command': command_of(each['pid'])} for each in file['validators']]
            plan.append(self.blank(file))
            self.fill()
            return plan
        finally:
            self.cli('network', 'down')

    def blank(self, file):
        home = os.path.join(self.folder, BLANK)
        for part in ('config', 'data'):
            os.makedirs(os.path.join(home, part))
        key_file = os.path.join(home, 'node.key')
        key = self.cli('key', 'create', '--r1', '--node', '--file', key_file)
        http = '127.0.0.1:%d' % free_port()
        lines = ['http-server-address = ' + http, 'p2p-listen-endpoint = 127.0.0.1:%d' % free_port(),
                 'p2p-node-key = ' + key_file, 'plugin = net_api_plugin']
        lines += ['p2p-peer-address = ' + each['p2p'] for each in file['validators']]
        with open(os.path.join(home, 'config', 'config.ini'), 'w', encoding='utf-8') as f:
            f.write('\n'.join(lines) + '\n')
        self.cli('create', 'account', 'eosio', BLANK, file['system_key']['public'])
        self.cli('member', 'add', BLANK, '-p', 'eosio')
        self.cli('node', 'add', BLANK, BLANK, key.split('public key: ')[1].split()[0])
        return {'name': BLANK, 'http': 'http://' + http, 'command': [
            os.path.join(self.bin, 'bor-node'), '--config-dir', os.path.join(home, 'config'),
            '--data-dir', os.path.join(home, 'data'),
            '--genesis-json', os.path.join(self.folder, 'genesis.json')]}

    def fill(self):
        """Bytes that cost little to check, so that much has to be fetched."""
        for _ in range(BULK):
            self.cli('push', 'action', 'eosio', 'setabi', json.dumps(
                {'account': BLANK, 'abi': os.urandom(BULK_BYTES).hex()}), '-p', BLANK)
        head = json.loads(self.cli('get', 'info'))['head_block_num']
        begin = time.monotonic()
        while json.loads(self.cli('get', 'info'))['last_irreversible_block_num'] < head + 1:
            if time.monotonic() > begin + 60:
                raise AssertionError('block %d did not become final' % (head + 1))
            time.sleep(0.5)


def command_of(pid):
    with open('/proc/%d/cmdline' % pid, 'rb') as f:
        return [word.decode() for word in f.read().split(b'\0') if word]


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


def run_inside(options, count, machine, words=()):
    """Makes a network of so many validators, and runs the script itself in the machine."""
    folder = tempfile.mkdtemp(prefix='bor-rdma-')
    try:
        plan = os.path.join(folder, 'plan.json')
        with open(plan, 'w', encoding='utf-8') as f:
            json.dump(Maker(options.build, folder, count).make(), f)
        return subprocess.run(
            [os.path.join(HERE, 'vm', 'run.sh'), '--no-share', '--timeout', str(options.timeout),
             *machine, '--', 'python3', os.path.realpath(sys.argv[0]), '--inside', plan, *words],
            check=False).returncode
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def outside(options):
    return run_inside(options, options.count,
                      ['--devices', str(options.count + 1), '--mem', '3072M'],
                      ['--all'] if options.all else [])


def main(parser, outside, inside):
    """A script that runs itself again in the machine."""
    parser.add_argument('--build')
    parser.add_argument('--timeout', type=int, default=900)
    parser.add_argument('--inside', help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if not chosen.build and not chosen.inside:
        parser.error('--build is missing')
    return inside(chosen) if chosen.inside else outside(chosen)


# --- Inside: it runs ---

class Nodes:
    def __init__(self, plan):
        with open(plan, encoding='utf-8') as f:
            self.plan = {each['name']: each for each in json.load(f)}
        self.children = {}

    def device(self, name):
        return list(self.plan).index(name)

    def validators(self):
        return [name for name in self.plan if name != BLANK]

    def start(self, name, transport='rdma', before=()):
        """With another command in front of it, that becomes it."""
        with open('/tmp/%s.log' % name, 'ab') as log:
            self.children[name] = subprocess.Popen(
                [*before, *self.plan[name]['command'], '--transport', transport,
                 '--rdma-address', '10.77.0.%d' % (self.device(name) + 1)], stdout=log, stderr=log)

    def stop(self, name):
        self.children[name].send_signal(signal.SIGKILL)
        self.children.pop(name).wait()

    def ask(self, name, path):
        with urllib.request.urlopen(self.plan[name]['http'] + path, data=b'{}', timeout=10) as got:
            return json.load(got)

    def final(self, name):
        return self.ask(name, '/v1/chain/get_info')['last_irreversible_block_num']

    def paths(self, name):
        return [peer for peer in self.ask(name, '/v1/bor/transports')['peers']
                if peer['state'] == 'ready']

    def kinds(self, name):
        return {peer['name']: peer['kind'] for peer in self.paths(name)}

    def reasons(self, names=None):
        return ['%s to %s by %s: %s' % (name, peer['name'], peer['kind'], peer['why_not_faster'])
                for name in names or self.children for peer in self.paths(name)]


def wait_for(what, question):
    begin = time.monotonic()
    seen = None
    while time.monotonic() < begin + PATIENCE:
        try:
            seen = question()
            if seen[0]:
                print('%s: after %d s' % (what, time.monotonic() - begin), flush=True)
                return
        except (ValueError, OSError) as error:
            seen = (False, error)
        time.sleep(0.5)
    raise AssertionError('%s: not within %d s: %s' % (what, PATIENCE, seen))


def goes_on(nodes, what, names):
    before = {name: nodes.final(name) for name in names}
    wait_for(what, lambda: (
        all(nodes.final(name) > before[name] + 3 for name in names), before))


def settled(nodes, what, apart=frozenset()):
    """RDMA between all that run but those of `apart`, which have TCP; and blocks become final."""
    names = list(nodes.children)
    expected = {name: {peer: 'tcp' if {name, peer} & apart else 'rdma'
                       for peer in names if peer != name} for name in names}

    def paths():
        now = {name: nodes.kinds(name) for name in names}
        return now == expected, nodes.reasons()
    wait_for(what, paths)
    goes_on(nodes, '  finality at all', names)


def run(*words):
    try:
        subprocess.run(words, check=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired as error:
        raise AssertionError('%s: not within %d s' % (' '.join(words), PATIENCE)) from error


def check_receives(nodes):
    """No device ever had to say that there was no receive."""
    for name in nodes.plan:
        folder = '/sys/class/infiniband/rxe%d/ports/1/hw_counters' % nodes.device(name)
        counters = glob.glob(folder + '/*rnr*')
        if not counters:
            raise AssertionError('no counter of receives that were missing: ' + folder)
        for counter in counters:
            with open(counter, encoding='utf-8') as f:
                if int(f.read()) != 0:
                    raise AssertionError('%s is not 0' % counter)


# --- Situations ---

def blank(nodes, _last):
    """A blank node and one validator speak by RDMA. It begins to fetch the chain when a validator
    of a second organisation names the same block, of who came first: so by landings, and more than
    was put into it."""
    first = nodes.validators()[0]
    nodes.start(first)
    nodes.start(BLANK)

    def path():
        return {nodes.kinds(BLANK).get(first), nodes.kinds(first).get(BLANK)} == {'rdma'}, \
            nodes.reasons()
    wait_for('RDMA between a validator and a blank node', path)
    for name in nodes.validators()[1:]:
        nodes.start(name)
    settled(nodes, 'RDMA between all')
    paths = nodes.paths(BLANK)
    landings = sum(int(each['landings_in']) for each in paths)
    landed = sum(int(each['landed_bytes_in']) for each in paths)
    sent = sum(int(each['landings_out']) for name in nodes.validators()
               for each in nodes.paths(name) if each['name'] == BLANK)
    print('  %d landings, %d of %d bytes that came; %d were sent'
          % (landings, landed, sum(int(each['bytes_in']) for each in paths), sent), flush=True)
    if landed < BULK * BULK_BYTES or sent < landings:
        raise AssertionError('the blank node did not fetch the chain by landings')


def link_down(nodes, last):
    run('ip', 'link', 'set', 'rdma%d' % nodes.device(last), 'down')
    settled(nodes, 'TCP with %s, whose link is down' % last, {last})
    run('sh', '/run/rdma-vm/link-up', str(nodes.device(last)))
    settled(nodes, 'RDMA again with %s' % last)


def limited(nodes, last):
    """One that may lock no memory, as services may not by default: it says what to set."""
    nodes.stop(last)
    nodes.start(last, before=LITTLE_MEMORY)
    settled(nodes, 'TCP with %s, which may lock 64 KiB of memory' % last, {last})
    kinds = nodes.ask(last, '/v1/bor/transports')['transports']
    reason = next(each['why_not'] for each in kinds if each['kind'] == 'rdma')
    print('  %s: %s' % (last, reason), flush=True)
    with open('/tmp/%s.log' % last, encoding='utf-8') as f:
        log = f.read()
    for words in ('may lock 64 KiB', 'LimitMEMLOCK=infinity'):
        if words not in reason:
            raise AssertionError('no reason and no remedy: "%s"' % reason)
    if reason not in log:
        raise AssertionError('the log does not have the reason')
    others = {peer['why_not_faster'] for name in nodes.children if name != last
              for peer in nodes.paths(name) if peer['name'] == last}
    if others != {'the peer offers no rdma'}:
        raise AssertionError('the peers give other reasons: %s' % others)


def killed(nodes, last):
    nodes.stop(last)
    others = [name for name in nodes.children if name != last]
    if len(nodes.validators()) > 3:
        goes_on(nodes, 'finality without %s, which is killed' % last, others)
    nodes.start(last)
    settled(nodes, 'RDMA again with %s' % last)


def stopped(nodes, last):
    nodes.children[last].send_signal(signal.SIGSTOP)
    try:
        time.sleep(10)
        others = [name for name in nodes.children if name != last]
        wait_for('no RDMA with %s, which stands still' % last, lambda: (
            all(nodes.kinds(name).get(last) != 'rdma' for name in others), nodes.reasons(others)))
    finally:
        nodes.children[last].send_signal(signal.SIGCONT)
    settled(nodes, 'RDMA again with %s, which stood still for 10 s' % last)


def mixed(nodes, last):
    """One has no RDMA: by TCP with it, by RDMA among the others."""
    nodes.stop(last)
    nodes.start(last, transport='tcp')
    settled(nodes, 'TCP with %s, which has no RDMA, RDMA between the others' % last, {last})
    nodes.stop(last)
    nodes.start(last)
    settled(nodes, 'RDMA again with %s' % last)


def without_device(nodes, last, what, words):
    """Deletes what the words name, while all use it: that ends, and the device with it."""
    device = '/sys/class/infiniband/rxe%d' % nodes.device(last)
    check_receives(nodes)
    begin = time.monotonic()
    run(*words)
    print('%s: after %.1f s' % (' '.join(words), time.monotonic() - begin), flush=True)
    wait_for('  its device is gone', lambda: (not os.path.exists(device), device))
    settled(nodes, 'TCP with %s, whose %s is deleted' % (last, what), {last})

    # By name while it goes, by its address when it is looked for again; of some paths the other end
    # has said first that they are gone.
    def names_device():
        reasons = nodes.reasons([last])
        names = ['RDMA device rxe%d ' % nodes.device(last),
                 'the address 10.77.0.%d ' % (nodes.device(last) + 1)]
        return any(name in each for name in names for each in reasons), reasons
    wait_for('  it says which device it lacks', names_device)
    for reason in nodes.reasons():
        if last in reason:
            print('  ' + reason, flush=True)


def device_deleted(nodes, last):
    number = str(nodes.device(last))
    without_device(nodes, last, 'device', ['rdma', 'link', 'delete', 'rxe' + number])
    run('rdma', 'link', 'add', 'rxe' + number, 'type', 'rxe', 'netdev', 'rdma' + number)
    settled(nodes, 'RDMA again with %s, whose device is made again' % last)


def device_later(nodes, last):
    """Its device comes when the node runs already, which says so."""
    number = str(nodes.device(last))

    def has_rdma():
        kind, = [each for each in nodes.ask(last, '/v1/bor/transports')['transports']
                 if each['kind'] == 'rdma']
        return kind['available'], kind['why_not']
    nodes.stop(last)
    run('rdma', 'link', 'delete', 'rxe' + number)
    nodes.start(last)
    settled(nodes, 'TCP with %s, which has no device yet' % last, {last})
    available, why_not = has_rdma()
    if available or 'RDMA device' not in why_not:
        raise AssertionError('%s has RDMA without a device: %s' % (last, why_not))
    print('  ' + why_not, flush=True)
    run('rdma', 'link', 'add', 'rxe' + number, 'type', 'rxe', 'netdev', 'rdma' + number)
    wait_for('  its device is found', has_rdma)
    settled(nodes, 'RDMA with %s, whose device has come' % last)


def interface_deleted(nodes, last):
    number = nodes.device(last)
    name, port = 'rdma%d' % number, 'port%d' % number
    with open('/sys/class/net/%s/address' % name, encoding='utf-8') as f:
        mac = f.read().strip()
    without_device(nodes, last, 'interface', ['ip', 'link', 'delete', name])
    run('ip', 'link', 'add', name, 'address', mac, 'type', 'veth', 'peer', 'name', port)
    run('ip', 'link', 'set', port, 'master', 'switch')
    run('ip', 'link', 'set', port, 'up')
    for setting, value in (('rp_filter', 0), ('accept_local', 1), ('arp_ignore', 1),
                           ('arp_announce', 2)):
        with open('/proc/sys/net/ipv4/conf/%s/%s' % (name, setting), 'w', encoding='utf-8') as f:
            f.write(str(value))
    run('ip', 'link', 'set', name, 'up')
    run('ip', 'addr', 'add', '10.77.0.%d/32' % (number + 1), 'dev', name)
    run('sh', '/run/rdma-vm/link-up', str(number))
    run('rdma', 'link', 'add', 'rxe%d' % number, 'type', 'rxe', 'netdev', name)
    settled(nodes, 'RDMA again with %s, whose interface is made again' % last)


def processor_ticks(pid):
    """{thread: ticks of processor time}."""
    out = {}
    for task in glob.glob('/proc/%d/task/*/stat' % pid):
        with open(task, encoding='utf-8') as f:
            text = f.read()
        words = text[text.rindex(')') + 2:].split()
        name = text[text.index('(') + 1:text.rindex(')')]
        out[name] = out.get(name, 0) + int(words[11]) + int(words[12])
    return out


def idle(nodes, _last):
    """What a thread of a node costs that has nothing to do but a block each slot; of an emulated
    core, so worth little."""
    pid = nodes.children[nodes.validators()[0]].pid
    before = processor_ticks(pid)
    time.sleep(IDLE_SECONDS)
    after = processor_ticks(pid)
    ticks = IDLE_SECONDS * os.sysconf('SC_CLK_TCK')
    shares = {name: 100 * (after[name] - before.get(name, 0)) / ticks for name in after}
    print('  of a core (emulated), %d peers by RDMA: %s' % (
        len(nodes.children) - 1,
        ', '.join('%s %.1f %%' % each for each in sorted(shares.items()) if each[1] > 0)))


def inside(options):
    nodes = Nodes(options.inside)
    last = nodes.validators()[-1]
    situations = [blank, link_down, stopped, limited, killed]
    if options.all:
        global PATIENCE
        PATIENCE = PATIENCE_ALL
        situations = [blank, idle, link_down, stopped, limited, killed, mixed, device_deleted,
                      device_later, interface_deleted]
    try:
        for situation in situations:
            situation(nodes, last)
        check_receives(nodes)
        print('no write found its peer without a receive')
    except AssertionError:
        for name in nodes.plan:
            print('--- %s' % name)
            subprocess.run(['tail', '-n', '40', '/tmp/%s.log' % name], check=False)
        raise
    finally:
        for name in list(nodes.children):
            nodes.stop(name)
    return 0


if __name__ == '__main__':
    arguments = argparse.ArgumentParser(description=__doc__,
                                        formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument('--count', type=int, default=2)
    arguments.add_argument('--all', action='store_true')
    sys.exit(main(arguments, outside, inside))
