#!/usr/bin/env python3
"""Four validators under load, and a registered node that means harm: tests/hostile acts as it. Before that, strangers
(strangers.py). What the others wait for is measured before and during the attack, in one run.

usage: hostile.py --build BUILD_DIR [--only NAME]
"""
import json
import os
import re
import subprocess
import sys
import time

import doctor
from doctor import run
from operating import get

RATE = 40           # Transfers a second.
SECONDS = 6         # Of each measurement.
KEYS = 4            # Nodes of one organisation: a key that is found out is banned for a while.
NICENESS = (15, 5, 0)       # Of the attacker, round by round.
WAIT_MAX = 2        # How many times longer transfers may wait to be final.
LIAR = 'bord'       # Of the validators, who lies where one does.
STRANGERS = 1000    # Connections a second.
LET_IN_MAX = 2      # Seconds, while they come.
LINES_MAX = 60      # About connections, in a node's log: one in 10 s for a cause.


class Attacked(doctor.Network):
    def up(self):
        self.cli('network', 'up', '-n', '4', '--open', '--block-interval', '200')
        self.learn_commands()

    def wait_to_be_final(self):
        """p99 of transfers, from when they are due, in ms."""
        out = json.loads(self.cli('-j', 'bench', 'load', '--rate', str(RATE), '--seconds', str(SECONDS),
                                  '--accounts', '8', '--connections', '4'))
        if out['refused'] > 0 or out['final']['count'] != RATE * SECONDS:
            raise AssertionError('not all transfers are final: %s' % out)
        return out['final']['p99_ms']

    def register(self, number, kind='hostile'):
        """A key of a node of bora, which is no validator."""
        file = os.path.join(self.dir, '%s-%d.key' % (kind, number))
        if not os.path.exists(file):
            key = self.cli('key', 'create', '--r1', '--node', '--file', file).split()[-1]
            name = kind + 'abcdefghijkl'[number]
            self.cli('node', 'add', 'bora', name, key, '--role', 'observer')
        return file


def targets(net):
    """Where the validators listen, and the key of each."""
    found = []
    for each in net.validators():
        with open(os.path.join(net.dir, 'bora' if each['name'] != 'bora' else 'borb', 'config',
                               'config.ini'), encoding='utf-8') as f:
            found.append(re.search('^p2p-peer-address = (%s#.*)$' % re.escape(each['p2p']), f.read(),
                                   re.MULTILINE).group(1))
    return found


def attack(net, round_number, *words):
    """What the attacker says, its exit status, and how many times longer transfers wait meanwhile."""
    before = net.wait_to_be_final()
    # As if on another machine: what it costs itself is not to be measured. A busy machine leaves nothing to who is
    # as nice as at first.
    with subprocess.Popen(['nice', '-n', str(NICENESS[round_number]), *words],
                          stdout=subprocess.PIPE, text=True) as attacker:
        during = net.wait_to_be_final()
        while attacker.poll() is None:
            during = max(during, net.wait_to_be_final())
        said = attacker.communicate(timeout=180)[0]
    print('  p99 of transfers to final: %.0f ms before, %.0f ms during' % (before, during))
    print('  ' + said.strip().replace('\n', '\n  '), flush=True)
    return said, attacker.returncode, during / before


def attack_as_node(net, round_number, *words):
    return attack(net, round_number, os.path.join(net.bin, 'bor-hostile'), *words)


def check_waits(measure):
    """Transfers wait at most WAIT_MAX times longer by measure(round). This machine does other things, too, so that an
    attack may not come about: the best of three counts."""
    seen = []
    for number in range(len(NICENESS)):
        try:
            seen.append(measure(number))
        except AssertionError as error:
            seen.append(error)
            continue
        if seen[-1] <= WAIT_MAX:
            return
    raise AssertionError('transfers wait too many times longer, or there was no attack: %s' % seen)


def unsigned_blocks(net):
    """Blocks of the right producer and slot which he did not sign, with 2,000 transactions each."""
    def measure(round_number):
        words = ['unsigned-blocks', os.path.join(net.dir, 'genesis.json'), str(SECONDS)]
        for number in range(KEYS):
            words += ['--key', net.register(KEYS * round_number + number)]
        for each in targets(net):
            words += ['--target', each]
        said, status, ratio = attack_as_node(net, round_number, *words)
        # Each key came to every validator, and was thrown out for what it sent.
        if status != 0 or said.count('bad_block') == 0 or \
                ' over %d connections' % (KEYS * len(net.commands)) not in said:
            raise AssertionError('it was no attack')
        return ratio
    check_waits(measure)


def many_signatures(net):
    """Transactions with 64 signatures of keys that may sign nothing, from several nodes of one organisation."""
    def measure(round_number):
        words = ['many-signatures', os.path.join(net.dir, 'genesis.json'), str(SECONDS)]
        for number in range(KEYS):
            words += ['--key', net.register(KEYS * round_number + number, 'signer')]
        for each in targets(net):
            words += ['--target', each]
        said, status, ratio = attack_as_node(net, round_number, *words)
        if status != 0 or ' over %d connections' % (KEYS * len(net.commands)) not in said or said.startswith('0 '):
            raise AssertionError('it was no attack')
        return ratio
    check_waits(measure)


def header_variants(net):
    """A validator's good headers, 28 a slot to each other one, other ones to each: which pass them on."""
    net.stop(LIAR)
    own = os.path.join(net.dir, LIAR)
    words = ['header-variants', os.path.join(net.dir, 'genesis.json'), str(SECONDS), '--key',
             os.path.join(own, 'node.key'), '--signing', os.path.join(own, 'validator.key')]
    honest = [each for each in net.validators() if each['name'] != LIAR]
    for each, target in zip(net.validators(), targets(net)):
        if each in honest:
            words += ['--target', target]

    def measure(round_number):
        said, status, ratio = attack_as_node(net, round_number, *words)
        if status != 0 or ' over %d connections' % len(honest) not in said or said.startswith('0 '):
            raise AssertionError('it was no attack')
        return ratio
    check_waits(measure)
    for each in honest:
        with open(each['log'], encoding='utf-8') as f:
            blamed = [line for line in f if 'go_away flooding' in line]
        if blamed:
            raise AssertionError('%s closes a connection: %s' % (each['name'], blamed[0]))


def seconds_until_in(net, name):
    """From the start of this node until it has all others as peers."""
    net.stop(name)
    begun = time.monotonic()
    net.start(name)
    others = {each['name'] for each in net.validators()} - {name}

    def missing():
        try:
            return others - {each['name'] for each in get(net, name, '/v1/bor/peers')['peers']
                             if each['state'] == 'ready'}
        except OSError:
            return others   # It does not serve yet.
    while missing():
        if time.monotonic() > begun + 60:
            raise AssertionError('%s has no channel to %s for 60 s' % (name, missing()))
        time.sleep(0.05)
    return time.monotonic() - begun


def strangers(net):
    """Keys that no registry knows, 1,000 connections a second at the peers' ports, beside 1,280 half-open ones."""
    certificate, key = (os.path.join(net.dir, 'stranger.' + each) for each in ('crt', 'key'))
    subprocess.run(['openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes',
                    '-subj', '/CN=stranger', '-keyout', key, '-out', certificate], check=True, capture_output=True)
    words = [os.path.join(os.path.dirname(os.path.abspath(__file__)), 'strangers.py'), certificate, key]
    addresses = [each['p2p'] for each in net.validators()]
    quiet = seconds_until_in(net, LIAR)

    def measure(round_number):
        said, status, ratio = attack(net, round_number, *words, str(SECONDS), str(STRANGERS), *addresses)
        if status != 0 or int(said.split()[0]) < STRANGERS * 0.6:
            raise AssertionError('it was no attack')
        return ratio
    check_waits(measure)
    with subprocess.Popen(['nice', '-n', str(NICENESS[0]), *words, '20', str(STRANGERS), *addresses]) as flood:
        try:
            during = seconds_until_in(net, LIAR)
        finally:
            flood.kill()
    print('  a validator that starts is in after %.1f s, %.1f s without strangers' % (during, quiet))
    if during > quiet + LET_IN_MAX:
        raise AssertionError('strangers keep a registered node out')
    for each in net.validators():
        with open(each['log'], encoding='utf-8') as f:
            lines = sum('connection ' in line or 'peer connected' in line for line in f)
        print('  %s: %d lines about connections' % (each['name'], lines))
        if lines > LINES_MAX:
            raise AssertionError('strangers fill the log of ' + each['name'])


# The last stops a validator.
SITUATIONS = [strangers, unsigned_blocks, many_signatures, header_variants]


if __name__ == '__main__':
    doctor.Network = Attacked
    sys.exit(run(__doc__, SITUATIONS))
