"""Who mean harm at the validators' p2p ports: strangers (flood_of_strangers.py), a registered node and a validator
(bor-hostile)."""
import contextlib
import os
import re
import subprocess
import sys
import time

from attacked import NoAttack, attack
from doctor import wait_for

KEYS = 4            # Nodes of one organisation: a key that is found out is banned for a while.
NICENESS = (15, 5, 0)       # Of the attacker, try by try.
LIAR = 'bord'       # Of the validators, who lies where one does.
STRANGERS = 1000    # Connections a second.
LET_IN_MAX = 2      # Seconds, while they come.


@contextlib.contextmanager
def attacker(net, *words):
    """Gives the process. As if on another machine: what it costs itself is not to be measured. A busy machine leaves
    nothing to who is as nice as at first."""
    nice = str(NICENESS[min(net.tries, len(NICENESS) - 1)])
    with subprocess.Popen(['nice', '-n', nice, *words], stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def end_of(process, is_attack):
    """It has done what `is_attack` looks for in what it says."""
    said = process.communicate(timeout=180)[0]
    print('    ' + said.strip().replace('\n', '\n    '), flush=True)
    if process.returncode != 0 or not is_attack(said):
        raise NoAttack('it was no attack')


def register(net, kind):
    """The file of a new key of a node of bora, which is no validator."""
    net.keys += 1
    name = kind + 'abcdefghijklmnopqrstuvwxyz'[net.keys // 26] + 'abcdefghijklmnopqrstuvwxyz'[net.keys % 26]
    file = os.path.join(net.dir, name + '.key')
    key = net.cli('key', 'create', '--r1', '--node', '--file', file).split()[-1]
    net.cli('node', 'add', 'bora', name, key, '--role', 'observer')
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


@contextlib.contextmanager
def registered(net, kind, seconds):
    """bor-hostile at all validators, with new keys."""
    words = [kind, os.path.join(net.dir, 'genesis.json'), str(seconds)]
    for _ in range(KEYS):
        words += ['--key', register(net, kind.split('-')[0][:8])]
    for each in targets(net):
        words += ['--target', each]
    known = net.post('bora', '/v1/chain/get_info')['head_block_num']
    wait_for('the keys to be known', lambda: (min(net.final(name) for name in net.names()) > known, known))
    with attacker(net, os.path.join(net.bin, 'bor-hostile'), *words) as process:
        yield process


@attack('a registered node')
def unsigned_blocks(net, seconds):
    """Blocks of the right producer and slot which he did not sign, with 2,000 transactions each."""
    with registered(net, 'unsigned-blocks', seconds) as process:
        yield lambda: process.poll() is None
        # Each key came to every validator, and was thrown out for what it sent.
        end_of(process, lambda said: 'bad_block' in said and ' over %d connections' % (KEYS * 4) in said)


@attack('a registered node')
def many_signatures(net, seconds):
    """Transactions with 64 signatures of keys that may sign nothing, from several nodes of one organisation."""
    with registered(net, 'many-signatures', seconds) as process:
        yield lambda: process.poll() is None
        end_of(process, lambda said: ' over %d connections' % (KEYS * 4) in said and not said.startswith('0 '))


@attack('a registered node')
def come_and_go(net, seconds):
    """It comes to all validators and goes at once, again and again."""
    with registered(net, 'come-and-go', seconds) as process:
        yield lambda: process.poll() is None
        end_of(process, lambda said: int(said.split()[0]) > 20 * seconds)


@attack('a registered node')
def claims(net, seconds):
    """It says that all heights there are were final, and here."""
    with registered(net, 'claims', seconds) as process:
        yield lambda: process.poll() is None
        end_of(process, lambda said: int(said.split()[0]) > 20 * seconds)


@attack('a validator', stops=LIAR)
def header_variants(net, seconds):
    """A validator's good headers, 28 a slot to each other one, other ones to each: which pass them on."""
    net.stop(LIAR)
    own = os.path.join(net.dir, LIAR)
    words = ['header-variants', os.path.join(net.dir, 'genesis.json'), str(seconds), '--key',
             os.path.join(own, 'node.key'), '--signing', os.path.join(own, 'validator.key')]
    honest = [each for each in net.validators() if each['name'] != LIAR]
    for each, target in zip(net.validators(), targets(net)):
        if each in honest:
            words += ['--target', target]
    try:
        with attacker(net, os.path.join(net.bin, 'bor-hostile'), *words) as process:
            yield lambda: process.poll() is None
            end_of(process, lambda said: ' over %d connections' % len(honest) in said and not said.startswith('0 '))
    finally:
        net.start(LIAR)
        seconds_until_in(net, LIAR)
    for each in honest:
        with open(each['log'], encoding='utf-8') as f:
            blamed = [line for line in f if 'go_away flooding' in line]
        if blamed:
            raise AssertionError('%s closes a connection: %s' % (each['name'], blamed[0]))


def peers_of(net, name):
    """The names of those that it has as peers."""
    return {each['name'] for each in net.post(name, '/v1/bor/peers')['peers'] if each['state'] == 'ready'}


def seconds_until_in(net, name):
    """Until a node that starts has all others as peers."""
    begun = time.monotonic()
    others = set(net.commands) - {name}
    missing = others
    while missing:
        if time.monotonic() > begun + 60:
            raise AssertionError('%s has no channel to %s for 60 s' % (name, missing))
        time.sleep(0.05)
        with contextlib.suppress(OSError):      # It does not serve yet.
            missing = others - peers_of(net, name)
    return time.monotonic() - begun


def restart(net, name):
    net.stop(name)
    net.start(name)
    return seconds_until_in(net, name)


@attack('anybody at the p2p port', stops=LIAR)
def strangers(net, seconds):
    """Keys that no registry knows, 1,000 connections a second at the peers' ports, beside 1,280 half-open ones. A
    validator that starts meanwhile is let in."""
    certificate, key = (os.path.join(net.dir, 'stranger.' + each) for each in ('crt', 'key'))
    subprocess.run(['openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes',
                    '-subj', '/CN=stranger', '-keyout', key, '-out', certificate], check=True, capture_output=True)
    words = [sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'flood_of_strangers.py'),
             certificate, key]
    addresses = [each['p2p'] for each in net.validators()]
    quiet = restart(net, LIAR)
    with attacker(net, *words, str(seconds), str(STRANGERS), *addresses) as process:
        yield lambda: process.poll() is None
        end_of(process, lambda said: int(said.split()[0]) > STRANGERS * 0.6)
    with attacker(net, *words, '20', str(STRANGERS), *addresses):
        during = restart(net, LIAR)
    print('    a validator that starts is in after %.1f s, %.1f s without strangers' % (during, quiet), flush=True)
    if during > quiet + LET_IN_MAX:
        raise AssertionError('strangers keep a registered node out')


ATTACKS = [strangers, unsigned_blocks, many_signatures, come_and_go, claims, header_variants]
