#!/usr/bin/env python3
"""Four validators, and what happens to who they are while transfers go on: a blank fifth node
joins, becomes a validator and another leaves, a dead one is replaced by a standby, one goes on with
other keys, one with ten of them in turns, and members are removed.

usage: members.py --build BUILD_DIR [--only NAME]
"""
import argparse
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

from asking import connection_for, socket_url
from processes import has_ended

INTERVAL_MS = 200
PERIOD = 12             # Slots from one chance to change the schedule to the next.
ROTATIONS = 10
PATIENCE = 120          # Seconds until something must have happened.
FOUR = ['bora', 'borb', 'borc', 'bord']
FIFTH = 'bore'


class Failure(Exception):
    pass


class Node:
    """What is known of a node: where it is, and its process."""

    def __init__(self, name, home, url, p2p, pid=0):
        self.name, self.home, self.url, self.p2p, self.pid = name, home, url, p2p, pid
        self.child = None

    def path(self, *parts):
        return os.path.join(self.home, *parts)

    def ask(self, path, body=None):
        connection = connection_for(path, self.url, self.path('data'), timeout=20)
        try:
            connection.request('POST', path, json.dumps(body) if body is not None else '')
            answer = connection.getresponse()
            value = json.loads(answer.read())
            if answer.status >= 300:
                raise Failure('%s %s: %s' % (self.name, path, value))
            return value
        finally:
            connection.close()

    def socket_url(self):
        return socket_url(self.path('data'))

    def final(self):
        return self.ask('/v1/chain/get_info')['last_irreversible_block_num']

    def log(self):
        with open(self.path('log'), encoding='utf-8', errors='replace') as f:
            return f.read()

    def stop(self, number=signal.SIGTERM):
        if self.child is not None:
            self.child.send_signal(number)
            self.child.wait(60)
            self.child = None
            return
        os.kill(self.pid, number)
        wait_for('%s to end' % self.name, lambda: has_ended(self.pid))


class Network:
    def __init__(self, build):
        self.bin = os.path.join(os.path.realpath(build), 'bin')
        self.dir = tempfile.mkdtemp(prefix='bor-members-')
        self.nodes = {}

    def cli(self, *words, check=True, url=None):
        more = ['-u', url] if url else []
        done = subprocess.run([os.path.join(self.bin, 'bor-cli'), '--dir', self.dir, *more, *words],
                              capture_output=True, text=True, timeout=300)
        if check and done.returncode != 0:
            raise Failure('bor-cli %s: %s%s' % (' '.join(words), done.stdout, done.stderr))
        return done.stdout

    def push(self, action, data, actor, account='eosio'):
        self.cli('push', 'action', account, action, json.dumps(data), '-p', actor)

    def up(self):
        self.cli('network', 'up', '-n', '4', '--open', '--block-interval', str(INTERVAL_MS),
                 '--chain-parameter', 'schedule_period=%d' % PERIOD)
        with open(os.path.join(self.dir, 'network.json'), encoding='utf-8') as f:
            file = json.load(f)
        self.system_key = file['system_key']['public']
        for each in file['validators']:
            self.nodes[each['name']] = Node(each['name'], os.path.dirname(each['log']),
                                            each['http'], each['p2p'], each['pid'])
        # Elections begin: each organisation stands and is voted for by all.
        for name in FOUR:
            self.cli('system', 'regproducer', name, self.key_of(name))
        self.vote(FOUR, FOUR)

    def vote(self, voters, producers):
        for name in voters:
            self.cli('system', 'voteproducer', 'prods', name, *producers)

    def change_votes(self, voters, verb, producer):
        for name in voters:
            self.cli('system', 'voteproducer', verb, name, producer)

    def start(self, name, *more):
        node = self.nodes[name]
        with open(node.path('log'), 'ab') as log:
            node.child = subprocess.Popen(
                [os.path.join(self.bin, 'bor-node'), '--config-dir', node.path('config'),
                 '--data-dir', node.path('data'),
                 '--genesis-json', os.path.join(self.dir, 'genesis.json'), *more],
                stdout=log, stderr=log)
        wait_for('%s to answer' % name, lambda: node.final() > 0)

    def config(self, name, change):
        path = self.nodes[name].path('config', 'config.ini')
        with open(path, encoding='utf-8') as f:
            lines = change(f.read().splitlines())
        with open(path, 'w', encoding='utf-8') as f:
            f.write('\n'.join(lines) + '\n')

    def make_key(self, *words):
        """The public key of a new one."""
        return self.cli('key', 'create', *words).split('public key: ')[1].split()[0]

    def schedule(self, by='bora'):
        return {each['producer']: each
                for each in self.nodes[by].ask('/v1/bor/schedule')['active']['entries']}

    def key_of(self, name):
        return self.schedule()[name]['signing_key']

    def vote_of(self, name, by='bora'):
        for each in self.nodes[by].ask('/v1/bor/finality')['validators']:
            if each['producer'] == name and each['last_vote'] is not None:
                return each['last_vote']['slot']
        return 0

    def candidate(self, name):
        for each in self.nodes['bora'].ask('/v1/bor/validators')['candidates']:
            if each['producer'] == name:
                return each
        return None

    def goes_on(self, by='bora', blocks=10):
        goal = self.nodes[by].final() + blocks
        wait_for('%d more final blocks at %s' % (blocks, by),
                 lambda: self.nodes[by].final() >= goal)

    def wait_schedule(self, names, by='bora'):
        wait_for('the schedule to be %s' % ' '.join(names),
                 lambda: sorted(self.schedule(by)) == sorted(names), pause=0.5)

    def down(self):
        for node in self.nodes.values():
            if node.child is not None:
                node.stop(signal.SIGKILL)
        self.cli('network', 'down', check=False)
        shutil.rmtree(self.dir, ignore_errors=True)


class Load:
    """Transfers at a steady rate. Each that was acknowledged must become final. The node `to` takes them (None:
    the first one) and must keep the blocks of the last seconds, which are read from it."""

    def __init__(self, net, rate=20, to=None):
        self.net, self.rate, self.to = net, rate, to
        self.stopped, self.sent, self.trouble = False, 0, ''
        self.thread = threading.Thread(target=self.run)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *error):
        self.stopped = True
        self.thread.join()
        if error[0] is None and self.trouble:
            raise Failure('load: ' + self.trouble)
        if error[0] is None and self.sent == 0:
            raise Failure('load: nothing was sent')

    def run(self):
        while not self.stopped and not self.trouble:
            try:
                self.burst(5)
            except (Failure, ValueError, subprocess.SubprocessError) as error:
                self.trouble = str(error)

    def burst(self, seconds):
        # Fails where an acknowledged transfer is not final.
        out = json.loads(self.net.cli('-j', 'bench', 'load', '--rate', str(self.rate),
                                      '--seconds', str(seconds), '--accounts', '8',
                                      '--connections', '4',
                                      url=self.to and self.net.nodes[self.to].url))
        if out['refused'] > 0:
            raise Failure('%d transfers were refused: %s' % (out['refused'], out))
        self.sent += out['sent']


class Clocks:
    """Asks every node for its state, and notes how long the answers take."""

    def __init__(self, net):
        self.net, self.times, self.stopped = net, {}, False
        self.thread = threading.Thread(target=self.run)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stopped = True
        self.thread.join()

    def run(self):
        while not self.stopped:
            for node in list(self.net.nodes.values()):
                began = time.monotonic()
                try:
                    node.ask('/v1/chain/get_info')
                except (OSError, Failure):
                    continue        # It is starting.
                self.times.setdefault(node.name, []).append((time.monotonic() - began) * 1000)
            time.sleep(0.01)

    def worst(self):
        """The slowest p99, in ms."""
        worst = 0
        for name, times in sorted(self.times.items()):
            times.sort()
            p99 = times[int(len(times) * 0.99)]
            worst = max(worst, p99)
            print('  API of %s: %d answers, p50 %.1f ms, p99 %.1f ms'
                  % (name, len(times), times[len(times) // 2], p99))
        return worst


def wait_for(what, question, patience=PATIENCE, pause=0.1):
    deadline = time.monotonic() + patience
    last = None
    while time.monotonic() < deadline:
        try:
            value = question()
            if value:
                return value
        except (OSError, Failure, ValueError, http.client.HTTPException) as error:
            last = error
        time.sleep(pause)
    raise Failure('%s: not within %d s%s' % (what, patience, '; ' + str(last) if last else ''))


def check(holds, text):
    if not holds:
        raise Failure(text)


def report(net, work):
    """Does this work with a network, then puts that down; 1, with the ends of the logs, where it failed."""
    began = time.monotonic()
    try:
        done = work(net)
        print('passed: %s%.0f s' % ('%s, ' % done if done else '', time.monotonic() - began))
    except (Failure, TypeError, OSError) as failure:
        print('FAILED: %s' % failure, file=sys.stderr)
        for name, node in net.nodes.items():
            print('--- %s\n%s' % (name, node.log()[-3000:] if os.path.exists(node.path('log')) else ''),
                  file=sys.stderr)
        return 1
    finally:
        net.down()
    return 0


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


def prepare_fifth(net):
    """What an operator does who sets up another node: keys, journal, configuration."""
    home = os.path.join(net.dir, FIFTH)
    for part in ('config', 'data'):
        os.makedirs(os.path.join(home, part))
    node = Node(FIFTH, home, 'http://127.0.0.1:%d' % free_port(), '127.0.0.1:%d' % free_port())
    node_key = net.make_key('--r1', '--node', '--file', node.path('node.key'))
    key = net.make_key('--vote', '--journal', node.path('data'),
                       '--file', node.path('validator.key'))
    lines = ['http-server-address = ' + node.url.split('//')[1], 'producer-name = ' + FIFTH,
             'signature-provider = %s=KEY:file:%s' % (key, node.path('validator.key')),
             'p2p-listen-endpoint = ' + node.p2p, 'p2p-node-key = ' + node.path('node.key'),
             'plugin = net_api_plugin']
    for name in FOUR[:2]:
        lines.append('p2p-peer-address = ' + net.nodes[name].p2p)
    with open(node.path('config', 'config.ini'), 'w', encoding='utf-8') as f:
        f.write('\n'.join(lines) + '\n')
    net.cli('create', 'account', 'eosio', FIFTH, net.system_key)
    net.cli('member', 'add', FIFTH, '-p', 'eosio')
    net.cli('node', 'add', FIFTH, FIFTH, node_key)
    net.cli('system', 'regproducer', FIFTH, key)
    net.nodes[FIFTH] = node


def watch_sync(net, goal, seen):
    def look():
        node = net.nodes[FIFTH]
        status = node.ask('/v1/bor/sync')
        if status['mode'] == 'last_irr_catch_up':
            seen.append(status)
        return node.final() >= goal
    wait_for('%s to reach block %d' % (FIFTH, goal), look, pause=0.02)


def joining(net):
    """A blank fifth node reaches the head while transfers go on, and everybody answers."""
    Load(net, rate=400).burst(15)
    prepare_fifth(net)
    with Load(net) as load, Clocks(net) as clocks:
        goal = net.nodes['bora'].final()
        began = time.monotonic()
        net.start(FIFTH)
        seen = []
        watch_sync(net, goal, seen)
        took = time.monotonic() - began
        # From here on it keeps up.
        net.goes_on(by=FIFTH)
        log = net.nodes[FIFTH].log()
    print('  block %d reached %.1f s after the start; %d transfers meanwhile'
          % (goal, took, load.sent))
    check(clocks.worst() < 2000, 'the API does not answer')
    etas = [each for each in seen if each['eta_ms'] is not None]
    if took > 5:
        check(etas, '/v1/bor/sync has shown no ETA in %.1f s: %s' % (took, seen[-5:]))
        check('sync: block ' in log, 'no progress in the log of ' + FIFTH)
    if etas:
        print('  shown on the way: block %(block_num)d of %(target)d, '
              '%(blocks_per_second)d blocks/s, %(eta_ms)d ms left' % etas[len(etas) // 2])


def need_fifth(net):
    if FIFTH not in net.nodes:
        prepare_fifth(net)
        net.start(FIFTH)
        net.goes_on(by=FIFTH)


def needs_vote_of(net, name, without):
    """With as many validators stopped as may be, the others' votes are all needed."""
    net.nodes[without].stop(signal.SIGKILL)
    net.goes_on(blocks=10)
    net.start(without)
    net.goes_on(by=without, blocks=3)
    print('  without %s blocks become final: %s votes' % (without, name))


def must_refuse(net, text, *words):
    try:
        net.cli(*words)
    except Failure as error:
        check(text in str(error), 'not refused with "%s": %s' % (text, error))
        return
    raise Failure('not refused: ' + ' '.join(words))


def lone_vote(net):
    """One of four votes for the fifth, which is ready: it waits, and is told for what."""
    net.change_votes(FOUR[:1], 'approve', FIFTH)
    wait_for('%s to be ready' % FIFTH, lambda: net.candidate(FIFTH)['ready'])
    net.goes_on(blocks=2 * PERIOD)
    check(FIFTH not in net.schedule(), '%s entered with one vote of four' % FIFTH)
    line = next(each for each in net.cli('validators').splitlines() if each.startswith(FIFTH))
    check('enters with 2, more than a third of the 4 that are cast' in line,
          'not told what it lacks: ' + line)
    print('  waits: ' + line)


def schedule(net):
    """A validator enters and one leaves under load."""
    need_fifth(net)
    with Load(net) as load:
        lone_vote(net)
        net.change_votes(FOUR[1:], 'approve', FIFTH)
        net.wait_schedule(FOUR + [FIFTH])
        wait_for('a vote of ' + FIFTH, lambda: net.vote_of(FIFTH) > 0)
        must_refuse(net, 'votes for %s already' % FIFTH,
                    'system', 'voteproducer', 'approve', 'bora', FIFTH)
        needs_vote_of(net, FIFTH, 'borc')
        net.change_votes(FOUR, 'unapprove', 'borb')
        net.wait_schedule(['bora', 'borc', 'bord', FIFTH])
        must_refuse(net, 'does not vote for borb',
                    'system', 'voteproducer', 'unapprove', 'bora', 'borb')
        net.goes_on()
        net.goes_on(by='borb')
    print('  %s entered, borb left; %d transfers, each acknowledged one final' % (FIFTH, load.sent))
    net.vote(FOUR, FOUR)
    net.wait_schedule(FOUR)


def standby(net):
    """Who misses too many slots is replaced by a standby, and may come back."""
    need_fifth(net)
    net.push('setchain', [[{'name': 'max_producers', 'value': 4},
                           {'name': 'max_missed', 'value': 5}]], 'eosio')
    net.vote(FOUR[:2], FOUR + [FIFTH])
    net.nodes['bord'].stop(signal.SIGKILL)
    net.wait_schedule(['bora', 'borb', 'borc', FIFTH])
    needs_vote_of(net, FIFTH, 'borc')
    print('  bord was replaced by %s' % FIFTH)
    net.start('bord')
    net.goes_on(by='bord')
    net.wait_schedule(FOUR)
    wait_for('a vote of bord', lambda: net.vote_of('bord') >= net.vote_of('bora') - 5)
    print('  bord came back, was ready, and is a validator again')
    net.push('setchain', [[{'name': 'max_missed', 'value': 600}]], 'eosio')


def check_headers(net, first, last):
    """Every block but those of one slot tells that the one before it is final."""
    worst = 0
    for height in range(first, last + 1):
        block = net.nodes['bora'].ask('/v1/bor/block', {'block_num_or_id': str(height)})
        worst = max(worst, height - int(block['final']['id'][:8], 16))
    print('  blocks %d to %d: the last final block is at most %d below' % (first, last, worst))
    # On a busy machine votes come late; that none becomes final for seconds is another thing.
    check(worst <= 15, 'finality was %d blocks behind' % worst)


def rotation(net):
    """A validator goes on with another node key and another vote key."""
    node = net.nodes['bord']
    first = net.nodes['bora'].final()
    old_key = net.key_of('bord')
    with Load(net) as load:
        # Its node is known by both keys for a while.
        node_key = net.make_key('--r1', '--node', '--file', node.path('next-node.key'))
        name = next(each['node'] for each in json.loads(net.cli('-j', 'node', 'list'))
                    if each['organisation'] == 'bord')
        net.cli('node', 'rotate', name, node_key, '--keep', '10', '-p', 'bord')
        # One restart takes both new keys in; the old vote key goes on until the schedule changes.
        node.stop()
        key = net.make_key('--vote', '--journal', node.path('data'),
                           '--file', node.path('next.key'))
        net.config('bord', lambda lines: [
            *[line.replace('/node.key', '/next-node.key') for line in lines],
            'signature-provider = %s=KEY:file:%s' % (key, node.path('next.key'))])
        net.start('bord')
        wait_for('a vote of bord with its old key',
                 lambda: net.vote_of('bord') >= net.vote_of('bora') - 5)
        net.cli('system', 'regproducer', 'bord', key)
        wait_for('the new key in the schedule', lambda: net.key_of('bord') == key)
        net.goes_on(blocks=5)
        needs_vote_of(net, 'bord', 'borc')
        # Only with the new ones: nothing changes.
        node.stop()
        net.config('bord', lambda lines: [line for line in lines if old_key not in line])
        net.start('bord')
        needs_vote_of(net, 'bord', 'borb')
        last = net.nodes['bora'].final()
    check_headers(net, first, last)
    print('  %d transfers, each acknowledged one final' % load.sent)
    old_keys_are_refused(net, node, old_key, key)


def old_keys_are_refused(net, node, old_key, key):
    # The old vote key is nobody's: its votes do not count.
    node.stop()
    with open(node.path('config', 'config.ini'), encoding='utf-8') as f:
        good = f.read().splitlines()
    net.config('bord', lambda lines: [
        line.replace(key, old_key).replace('/next.key', '/validator.key') for line in lines])
    # What was on its way when it stopped has come.
    net.goes_on(blocks=3)
    voted = net.vote_of('bord')
    net.start('bord')
    net.goes_on(by='bord', blocks=15)
    now = net.vote_of('bord')
    check(now == voted, 'a vote with the old key was counted: of slot %d, after %d' % (now, voted))
    # The old node key was good for a while only.
    node.stop()
    net.config('bord', lambda lines: [line.replace('/next-node.key', '/node.key') for line in good])
    before = len(node.log())
    net.start('bord')
    wait_for('the old node key to be refused', lambda: 'revoked' in node.log()[before:])
    line = next(each for each in node.log()[before:].splitlines() if 'revoked' in each)
    print('  refused: %s' % line.split('text=')[-1])
    node.stop()
    net.config('bord', lambda lines: good)
    net.start('bord')
    wait_for('a vote of bord with its new key', lambda: net.vote_of('bord') > voted)


def many_rotations(net):
    """Ten vote keys of one validator in turns: each enters the schedule, and blocks become final. Its
    node holds all eleven at once, each with a journal of its own, and a kill -9 does it no harm."""
    node = net.nodes['borb']
    files = [node.path('vote-%d.key' % each) for each in range(ROTATIONS)]
    keys = [net.make_key('--vote', '--journal', node.path('data'), '--file', file) for file in files]
    node.stop()
    net.config('borb', lambda lines: lines + ['signature-provider = %s=KEY:file:%s' % each
                                              for each in zip(keys, files)])
    net.start('borb')
    with Load(net) as load:
        for key in keys:
            net.cli('system', 'regproducer', 'borb', key)
            wait_for('the new key in the schedule', lambda key=key: net.key_of('borb') == key)
            net.goes_on(blocks=2)
        before = len(node.log())
        node.stop(signal.SIGKILL)
        net.start('borb')
        voted = net.vote_of('borb', by='borb')
        wait_for('a vote of borb', lambda: net.vote_of('borb') > voted)
        needs_vote_of(net, 'borb', 'borc')
    check('safety journal' not in node.log()[before:], 'a journal was lost')
    journals = [each for each in os.listdir(node.path('data', 'safety')) if each.endswith('.journal')]
    check(len(journals) == ROTATIONS + 1, 'a file a key: %s' % journals)
    for name in FOUR:
        check(not net.nodes[name].ask('/v1/bor/evidence')['convicted'], 'somebody was convicted')
    print('  %d keys in turns, %d journals; %d transfers, each acknowledged one final'
          % (ROTATIONS, len(journals), load.sent))


def removals(net):
    """Members go one after the other, and never so many that no quorum may connect."""
    net.goes_on()
    net.vote(FOUR, FOUR)
    net.wait_schedule(FOUR)
    net.cli('member', 'remove', 'bord')
    must_refuse(net, 'would leave 2 of the 4 validators', 'member', 'remove', 'borc')
    # Of the node that is asked, too.
    for name in ('borc', 'bora'):
        must_refuse(net, 'holds the vote key of %s, which is in the schedule' % name, 'node', 'remove', name)
    must_refuse(net, 'would leave 2 of the 4 validators', 'node', 'remove', 'borc', '--force')
    must_refuse(net, 'bord is no member and no proxy', 'system', 'voteproducer', 'prods', 'bord', 'bora')
    net.goes_on()
    net.change_votes(FOUR[:3], 'unapprove', 'bord')
    net.wait_schedule(FOUR[:3])
    # Of three each is needed: one that is to go leaves the schedule first.
    must_refuse(net, 'would leave 2 of the 3 validators', 'member', 'remove', 'borc')
    net.goes_on()
    print('  bord is no member, and its node revoked; who is needed stays')


SCENARIOS = [joining, schedule, standby, rotation, many_rotations, removals]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--build', required=True)
    parser.add_argument('--only', default='')
    options = parser.parse_args()
    net = Network(options.build)
    try:
        net.up()
        for scenario in SCENARIOS:
            if options.only not in scenario.__name__:
                continue
            began = time.monotonic()
            print(scenario.__name__, flush=True)
            scenario(net)
            print('  %.0f s' % (time.monotonic() - began), flush=True)
        return 0
    except Exception:
        for node in net.nodes.values():
            print('--- %s' % node.name)
            if os.path.exists(node.path('log')):
                print('\n'.join(node.log().splitlines()[-6:]))
        raise
    finally:
        net.down()


if __name__ == '__main__':
    sys.exit(main())
