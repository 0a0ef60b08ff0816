#!/usr/bin/env python3
"""Four validators in network namespaces of their own: partitions of two and two, one and three, and
of one direction; kill -9 in them; all healed. No two may show different final blocks, and what is
final goes on soon after healing.

usage: partition.py --build BUILD_DIR        needs root, for namespaces
"""
import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from asking import socket_url

INTERVAL_MS = 200
NAMES = ['bora', 'borb', 'borc', 'bord']
PREFIX = 'bor%d' % os.getpid()


def run(*words, check=True):
    return subprocess.run(words, check=check, capture_output=True, text=True)


def ip(*words, check=True):
    return run('ip', *words, check=check)


class Namespaces:
    """A namespace for each node, and two bridges in one more: who hangs on which is a partition."""

    def __init__(self):
        self.hub = PREFIX + 'h'
        ip('netns', 'add', self.hub)
        for side in '01':
            ip('-n', self.hub, 'link', 'add', 'side' + side, 'type', 'bridge')
            ip('-n', self.hub, 'link', 'set', 'side' + side, 'up')
        for i, _ in enumerate(NAMES):
            name = self.name(i)
            ip('netns', 'add', name)
            ip('link', 'add', 'wire', 'netns', name, 'type', 'veth',
               'peer', 'name', 'port%d' % i, 'netns', self.hub)
            ip('-n', self.hub, 'link', 'set', 'port%d' % i, 'master', 'side0', 'up')
            ip('-n', name, 'addr', 'add', self.address(i) + '/24', 'dev', 'wire')
            ip('-n', name, 'link', 'set', 'wire', 'up')
            ip('-n', name, 'link', 'set', 'lo', 'up')

    @staticmethod
    def name(i):
        return PREFIX + 'n%d' % i

    @staticmethod
    def address(i):
        return '10.77.0.%d' % (i + 1)

    def part(self, others):
        """These on the other side."""
        for i, _ in enumerate(NAMES):
            side = 'side1' if i in others else 'side0'
            ip('-n', self.hub, 'link', 'set', 'port%d' % i, 'master', side)

    def deafen(self, sender, receiver):
        """What `sender` says does not reach `receiver`."""
        ip('-n', self.name(sender), 'route', 'add', 'blackhole', self.address(receiver) + '/32')

    def heal(self):
        self.part([])
        for i, _ in enumerate(NAMES):
            for j, _ in enumerate(NAMES):
                ip('-n', self.name(i), 'route', 'del', 'blackhole', self.address(j) + '/32',
                   check=False)

    def remove(self):
        for name in [self.hub] + [self.name(i) for i, _ in enumerate(NAMES)]:
            ip('netns', 'del', name, check=False)


class Network:
    def __init__(self, build):
        self.bin = os.path.join(os.path.realpath(build), 'bin')
        self.dir = tempfile.mkdtemp(prefix='bor-partition-')
        self.children = {}
        self.finals = {}        # Height: id, of any node.
        self.spaces = Namespaces()

    def cli(self, *words, check=True, patience=60):
        done = subprocess.run([os.path.join(self.bin, 'bor-cli'), '--dir', self.dir, *words],
                              capture_output=True, text=True, timeout=patience)
        if check and done.returncode != 0:
            raise RuntimeError('bor-cli %s: %s%s' % (' '.join(words), done.stdout, done.stderr))
        return done.stdout

    def prepare(self):
        """Keys, journals and configurations of `network up`, with the namespaces' addresses."""
        self.cli('network', 'up', '-n', '4', '--open', '--block-interval', str(INTERVAL_MS))
        self.cli('network', 'down')
        with open(os.path.join(self.dir, 'network.json'), encoding='utf-8') as f:
            validators = json.load(f)['validators']
        for each in validators:
            path = os.path.join(self.dir, each['name'], 'config', 'config.ini')
            with open(path, encoding='utf-8') as f:
                text = f.read()
            for i, other in enumerate(validators):
                port = other['p2p'].split(':')[1]
                text = text.replace('127.0.0.1:' + port, '%s:%s' % (self.spaces.address(i), port))
            with open(path, 'w', encoding='utf-8') as f:
                f.write(text)

    def start(self, i):
        home = os.path.join(self.dir, NAMES[i])
        with open(os.path.join(home, 'log'), 'ab') as log:
            self.children[i] = subprocess.Popen(
                ['ip', 'netns', 'exec', self.spaces.name(i), os.path.join(self.bin, 'bor-node'),
                 '--config-dir', os.path.join(home, 'config'),
                 '--data-dir', os.path.join(home, 'data'),
                 '--genesis-json', os.path.join(self.dir, 'genesis.json')],
                stdout=log, stderr=log, start_new_session=True)

    def kill(self, i):
        os.killpg(self.children[i].pid, signal.SIGKILL)
        self.children.pop(i).wait()

    def info(self, i):
        url = socket_url(os.path.join(self.dir, NAMES[i], 'data'))
        return json.loads(self.cli('-u', url, 'get', 'info'))

    def final(self, i):
        info = self.info(i)
        height = info['last_irreversible_block_num']
        known = self.finals.setdefault(height, info['last_irreversible_block_id'])
        if known != info['last_irreversible_block_id']:
            raise AssertionError('two blocks are final at height %d' % height)
        return height

    def wait_final(self, nodes, height, patience=60):
        start = time.monotonic()
        while time.monotonic() < start + patience:
            try:
                if all(self.final(i) >= height for i in nodes):
                    return time.monotonic() - start
            except RuntimeError:
                pass        # It is still starting.
            time.sleep(0.05)
        raise AssertionError('block %d is not final at %s within %d s' % (height, nodes, patience))

    def healed(self, what):
        self.spaces.heal()
        goal = max(self.final(i) for i in self.children) + 3
        took = self.wait_final(list(self.children), goal)
        print('%s: healed, three more blocks are final at all after %.1f s' % (what, took), flush=True)

    def settled(self, nodes, patience=30):
        """What is final at these, when that has been so for a second."""
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            before = {i: self.final(i) for i in nodes}
            time.sleep(1)
            if {i: self.final(i) for i in nodes} == before:
                return before
        raise AssertionError('blocks become final at %s for %d s' % (nodes, patience))

    def stands_still(self, nodes, seconds):
        """Nothing that was not on its way when it began becomes final."""
        before = self.settled(nodes)
        time.sleep(seconds)
        for i in nodes:
            if self.final(i) != before[i]:
                raise AssertionError('%s made blocks final without a quorum' % NAMES[i])

    def goes_on(self, nodes):
        self.wait_final(nodes, max(self.final(i) for i in nodes) + 10)

    def remove(self):
        for i in list(self.children):
            self.kill(i)
        self.cli('network', 'down', check=False)
        self.spaces.remove()
        shutil.rmtree(self.dir, ignore_errors=True)


def two_and_two(net):
    net.spaces.part([2, 3])
    net.stands_still([0, 1, 2, 3], 4)
    net.healed('2|2')


def one_and_three(net):
    net.spaces.part([3])
    net.goes_on([0, 1, 2])
    net.stands_still([3], 2)
    net.healed('1|3')


def one_direction(net):
    net.spaces.deafen(0, 1)
    net.spaces.deafen(0, 2)
    net.goes_on([1, 2, 3])
    net.healed('asymmetric')


def killed_in_a_partition(net):
    net.spaces.part([2, 3])
    net.kill(0)
    net.stands_still([1, 2, 3], 3)
    net.start(0)
    net.wait_final([0], 1)
    net.healed('2|2 and kill -9')


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--build', required=True)
    options = parser.parse_args()
    if os.geteuid() != 0:
        print('partition.py: needs root, to make network namespaces')
        return 77
    net = Network(options.build)
    try:
        net.prepare()
        for i, _ in enumerate(NAMES):
            net.start(i)
        net.wait_final(range(4), 10)
        for situation in (two_and_two, one_and_three, one_direction, killed_in_a_partition):
            situation(net)
        print('%d final blocks compared' % len(net.finals))
        return 0
    except AssertionError:
        for name in NAMES:
            print('--- %s' % name)
            sys.stdout.write(run('tail', '-5', os.path.join(net.dir, name, 'log')).stdout)
        raise
    finally:
        net.remove()


if __name__ == '__main__':
    sys.exit(main())
