#!/usr/bin/env python3
"""A blank node joins by the line that `bor-cli network invite` prints, and by nothing else: it waits until it
is registered, then shows how far it is. The peers have pruned their old blocks. A second node joins by the
line of the first, a third by that of the second.

usage: invite.py --build BUILD_DIR
"""
import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

from members import FOUR, INTERVAL_MS, PERIOD, Failure, Load, Network, Node, check, wait_for
from processes import has_ended

ORGANISATION = 'borc'
FIGURES = re.compile(r'block \d+ of \d+, \d+ blocks/s, \d+ [KM]iB/s, \d+ peers?')


class Pruning(Network):
    """Validators that keep as few blocks as may be."""

    def cli(self, *words, check=True, url=None):
        if words[:2] == ('network', 'up'):
            words += ('--node-option', '--history=none')
        return super().cli(*words, check=check, url=url)


class Joining:
    """`network up` in a folder of its own, as somebody types it."""

    def __init__(self, net, name):
        self.net, self.name = net, name
        self.dir = tempfile.mkdtemp(prefix='bor-%s-' % name)
        self.said, self.child, self.reader = [], None, None

    def words(self, *words):
        return [os.path.join(self.net.bin, 'bor-cli'), '--dir', self.dir, *words]

    def type(self, *words):
        self.said = []
        # A shell that runs this in the background has it ignore the interrupt that cut() sends.
        self.child = subprocess.Popen(
            self.words(*words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        self.reader = threading.Thread(target=lambda: self.said.extend(self.child.stderr))
        self.reader.start()

    def asked_for(self):
        """The command that registers the node, word by word."""
        def look():
            return next((line.split() for line in list(self.said) if ' node add ' in line), None)
        words = wait_for('%s to say which registration it waits for' % self.name, look)
        check(self.child.poll() is None, 'it does not wait: %s' % self.said)
        check(words[:3] == ['bor-cli', 'node', 'add'], 'no command: %s' % words)
        return words[1:]

    def done(self):
        self.child.wait(60)
        self.reader.join(10)
        out = self.child.stdout.read()
        check(self.child.returncode == 0, '%s failed: %s' % (self.name, self.said))
        return out

    def cut(self):
        self.child.send_signal(signal.SIGINT)
        self.child.wait(20)
        self.reader.join(10)

    def cli(self, *words):
        done = subprocess.run(self.words(*words), capture_output=True, text=True, timeout=60)
        check(done.returncode == 0, '%s: %s%s' % (words, done.stdout, done.stderr))
        return done.stdout

    def node(self):
        with open(os.path.join(self.dir, 'network.json'), encoding='utf-8') as f:
            each = json.load(f)['validators'][0]
        return Node(each['name'], os.path.dirname(each['log']), each['http'], each['p2p'], each['pid'])

    def line(self):
        return self.cli('network', 'invite').strip()


def change_schedule(net):
    """Twice: one leaves, and comes back."""
    net.change_votes(FOUR, 'unapprove', 'bord')
    net.wait_schedule(FOUR[:3])
    net.change_votes(FOUR, 'approve', 'bord')
    net.wait_schedule(FOUR)


def earliest(node):
    return node.ask('/v1/chain/get_info')['earliest_available_block_num']


def prune(net):
    """The first node has nothing below its snapshot but what the snapshot needs."""
    made = net.nodes['bora'].ask('/v1/producer/create_snapshot')
    wait_for('bora to prune', lambda: earliest(net.nodes['bora']) > 2)
    return made['head_block_num'], made['head_block_id']


def starts_at(line, node, height):
    """The line names the node, its chain, and the block of its snapshot."""
    found = re.fullmatch(r'bor://([^:]+):(\d+):(\d+)#(PUB_R1_\w+)/([0-9a-f]{64})/(\d+):([0-9a-f]{64})', line)
    check(found, 'no join line: ' + line)
    host, p2p, http, _, chain, block, identity = found.groups()
    check('%s:%s' % (host, p2p) == node.p2p and 'http://%s:%s' % (host, http) == node.url,
          '%s does not name %s and %s' % (line, node.p2p, node.url))
    check(chain == node.ask('/v1/chain/get_info')['chain_id'], 'another chain: ' + line)
    check(int(block) == height, 'the block is not that of the snapshot, %d: %s' % (height, line))
    check(int(identity[:8], 16) == height, 'the id is not of that block')


def joins(net, name, line, cut=False):
    joining = Joining(net, name)
    net.joining.append(joining)
    began = time.monotonic()
    joining.type('network', 'up', '--join', line, '--name', name, '--organisation', ORGANISATION)
    command = joining.asked_for()
    check(command[2:4] == [ORGANISATION, name], 'another registration: %s' % command)
    data = os.path.join(joining.dir, name, 'data')
    check(os.listdir(data) == [], 'it has begun before it is registered')
    if cut:
        # Who cuts the waiting short can go on.
        joining.cut()
        joining.type('network', 'up')
        command = joining.asked_for()
        command[2] = ORGANISATION
    net.cli(*command)
    out = joining.done()
    node = joining.node()
    check(name in out and ' up ' in out, 'it does not say that the node runs: ' + out)
    said = [each.rstrip() for each in joining.said]
    check('registered' in said, 'it does not say that it is registered: %s' % said)
    check(FIGURES.match(said[-1]), 'no figures of the progress: %s' % said)
    log = node.log()
    check('begins with the snapshot of block=' in log, 'it did not begin with a snapshot: ' + log[-2000:])
    check(earliest(node) > 2, 'its earliest block is %d' % earliest(node))
    goal = net.nodes['bora'].final() + 5
    wait_for('%s to follow' % name, lambda: node.final() >= goal)
    print('  %s: at the head %.1f s after it was typed; %s' % (name, time.monotonic() - began, said[-1]))
    return joining, node


def newest(node):
    return max(each['block_num'] for each in node.ask('/v1/bor/snapshots')['snapshots'])


def knows_its_progress(node):
    """The same figures by the API, and by the doctor."""
    sync = node.ask('/v1/bor/sync')
    check(sync['peers'] > 0 and sync['snapshot'] is None and sync['waiting_for'] == '', str(sync))


def run(net):
    net.up()
    with Load(net, to='borb') as load:
        change_schedule(net)
        height, _ = prune(net)
        line = net.cli('network', 'invite').strip()
        starts_at(line, net.nodes['bora'], height)
        first, node = joins(net, 'borj', line)
        knows_its_progress(node)
        # It is no validator: the wallet that it has not is no fault.
        doctor = subprocess.run(first.words('-j', '--wallet-url', 'unix:///nowhere', 'doctor'),
                                capture_output=True, text=True, timeout=60)
        findings = {each['check']: each for each in json.loads(doctor.stdout)}
        check(findings['wallet']['good'] and 'no validator' in findings['wallet']['text'], 'doctor: %s' % findings)
        check(doctor.returncode == 0, 'doctor: %s' % findings)
        check(findings['sync']['good'] and 'peers have as final' in findings['sync']['text'],
              'doctor: %s' % findings)
        starts_at(first.line(), node, newest(node))
        second, node = joins(net, 'bork', first.line(), cut=True)
        starts_at(second.line(), node, newest(node))
        joins(net, 'borl', second.line())
    print('  %d transfers meanwhile' % load.sent)
    refused = subprocess.run(first.words('network', 'up', '--join', line), capture_output=True, text=True,
                             timeout=60)
    check(refused.returncode == 1 and '--join is for a new network' in refused.stderr, str(refused))
    refused = subprocess.run(first.words('network', 'up', '--node-option', '--log-level=debug'), capture_output=True,
                             text=True, timeout=60)
    check(refused.returncode == 1 and 'changes nothing: all nodes run already' in refused.stderr, str(refused))
    for joining in net.joining:
        check('down' in joining.cli('network', 'down'), 'it is not down')
        wait_for('%s to end' % joining.name,
                 lambda pid=joining.node().pid: has_ended(pid))
    tells_why_it_waits(net, net.joining[0])  # Whose peer runs.


def tells_why_it_waits(net, joining):
    """Its key is revoked while it is down: it says so, once, and goes on waiting."""
    name = joining.name
    net.cli('node', 'remove', name)
    wait_for('the registration of %s to end' % name, lambda: ' %s ' % name not in ' ' + net.cli('node', 'list'))
    joining.type('network', 'up')
    wait_for('%s to say why nothing moves' % name,
             lambda: any(each.startswith('BAD   revoked ') for each in list(joining.said)))
    time.sleep(15)
    check(joining.child.poll() is None, '%s has given up: %s' % (name, joining.said))
    check(sum(each.startswith('BAD   revoked ') for each in joining.said) == 1, 'told again: %s' % joining.said)
    joining.cut()
    joining.cli('network', 'down')


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--build', required=True)
    net = Pruning(parser.parse_args().build)
    net.joining = []
    began = time.monotonic()
    print('four validators, a block every %d ms, a schedule every %d' % (INTERVAL_MS, PERIOD), flush=True)
    try:
        run(net)
        print('passed: %.0f s' % (time.monotonic() - began))
    except (Failure, TypeError, OSError, subprocess.SubprocessError) as failure:
        print('FAILED: %s' % failure, file=sys.stderr)
        for joining in net.joining:
            print('--- %s\n%s' % (joining.name, ''.join(joining.said)), file=sys.stderr)
            path = os.path.join(joining.dir, joining.name, 'log')
            if os.path.exists(path):
                with open(path, encoding='utf-8', errors='replace') as f:
                    print(f.read()[-3000:], file=sys.stderr)
        return 1
    finally:
        for joining in net.joining:
            if joining.child is not None and joining.child.poll() is None:
                joining.child.kill()
            subprocess.run(joining.words('network', 'down'), capture_output=True, check=False, timeout=60)
            subprocess.run(['rm', '-rf', joining.dir], check=False)
        net.down()
    return 0


if __name__ == '__main__':
    sys.exit(main())
