#!/usr/bin/env python3
"""Two of four validators have twins, which no network can forbid: copies of their machines, with their
keys, in a part of the network where nobody hears of the first two. Both parts make blocks final. From
one node of each `bor-cli fork-proof` proves it, and names the two; their evidence is said on the chain.

usage: fork.py --build BUILD_DIR [--only NAME]
"""
import json
import os
import shutil
import sys

from doctor import run, wait_for
from operating import get, set_option

TWINS = ['bora', 'borb']
STOPPING = 20       # Blocks that may still become final while all are stopped.
ONE, OTHER = 'borc', 'bord'     # Of each part.


def home(net, name):
    return os.path.dirname(net.of(name)['data_dir'])


def fork_proof(net, first, second, *words, check=True):
    return net.cli('fork-proof', net.of(first)['http'], net.of(second)['http'], *words, check=check)


def make_final(net, names, stood):
    """These are on their own, and make blocks final above this height; all are killed but the last."""
    for name in names:
        net.start(name)
    goal = stood + STOPPING + 5
    wait_for('finality of ' + ' '.join(names), lambda: (net.final(names[-1]) > goal, goal))
    for name in names[:-1]:
        net.stop(name)


def agreement(net):
    said = fork_proof(net, 'bora', 'borb')
    if not said.startswith('both agree up to final block '):
        raise AssertionError(said)
    print('  ' + said.strip())
    # A node that is not there is named.
    try:
        net.cli('fork-proof', net.of('bora')['http'], 'http://127.0.0.1:1')
        raise AssertionError('nobody is there')
    except RuntimeError as error:
        if 'http://127.0.0.1:1' not in str(error):
            raise


def fork(net):
    stood = max(net.final(name) for name in net.commands)
    for name in net.commands:
        net.stop(name)
    for name in TWINS:
        shutil.copytree(home(net, name), home(net, name) + '-twin',
                        ignore=shutil.ignore_patterns('*.sock'))
    make_final(net, [*TWINS, ONE], stood)
    net.stop(ONE)
    # The first part's machines are asked again later: but for one they are lost.
    for name in TWINS:
        shutil.rmtree(home(net, name))
        os.rename(home(net, name) + '-twin', home(net, name))
    make_final(net, [*TWINS, OTHER], stood)
    # The one that is left of the first part is on its own.
    path = os.path.join(home(net, ONE), 'config', 'config.ini')
    with open(path, encoding='utf-8') as f:
        lines = [line for line in f.read().splitlines() if not line.startswith('p2p-peer-address')]
    with open(path, 'w', encoding='utf-8') as f:
        f.write('\n'.join(lines) + '\n')
    set_option(net, ONE, 'p2p-listen-endpoint', '127.0.0.1:0')
    net.start(ONE)
    wait_for('the API of ' + ONE, lambda: (True, net.final(ONE)))

    path = os.path.join(net.dir, 'fork.json')
    print('  ' + fork_proof(net, ONE, OTHER, '-f', path).replace('\n', '\n  '))
    with open(path, encoding='utf-8') as f:
        proof = json.load(f)
    guilty = {each['producer'] for each in proof['convicted']}
    if guilty != set(TWINS) or proof['tolerated'] != 1:
        raise AssertionError('%s are convicted' % guilty)
    as_json = json.loads(net.cli('-j', 'fork-proof', net.of(OTHER)['http'], net.of(ONE)['http']))
    if not as_json['conflict'] or as_json['first_id'] != proof['second_id']:
        raise AssertionError('the other way round it is another fork: %s' % as_json)
    said = net.cli('proof', 'verify', path)
    if not said.startswith('proved: block %d is final twice' % proof['block_num']):
        raise AssertionError(said)
    # In the middle of the first header's parent.
    good = proof['fork_proof']
    proof['fork_proof'] = good[:60] + ('0' if good[60] != '0' else '1') + good[61:]
    with open(path, 'w', encoding='utf-8') as f:
        json.dump(proof, f)
    try:
        net.cli('proof', 'verify', path)
        raise AssertionError('a proof that was changed is called good')
    except RuntimeError as error:
        if 'does not hold' not in str(error):
            raise
    say_it(net, proof)


def say_it(net, proof):
    """The chain convicts by the same evidence."""
    for name in TWINS:
        net.start(name)
    before = wait_for('the API of ' + OTHER, lambda: (True, net.final(OTHER)))
    wait_for('finality', lambda: (net.final(OTHER) > before + 2, before))
    for each in proof['convicted']:
        net.cli('push', 'action', 'eosio', 'reportbad', json.dumps([each['evidence']]), '-p', OTHER,
                url=net.of(OTHER)['http'])
    keys = {each['key'] for each in proof['convicted']}

    def convicted():
        found = {each['key'] for each in get(net, OTHER, '/v1/bor/evidence')['convicted']}
        return found == keys, found
    wait_for('two convicted keys', convicted)
    for name in (OTHER, TWINS[0]):
        wait_for('%s to say who is convicted' % name, lambda name=name: convictions_said(net, name))


def convictions_said(net, name):
    """The doctor of a node names both, how many are left, and what to do."""
    texts = [each['text'] for each in net.findings(name) if each['check'] == 'convicted']
    good = len(texts) == 2 and all('of 4 validators are left and 3 must agree' in text for text in texts)
    for twin in TWINS:
        mine = [text for text in texts if text.startswith(twin + ' was convicted in block ')]
        remedy = 'This node has the key.' if twin == name else 'It comes back with a new key'
        good = good and len(mine) == 1 and remedy in mine[0]
    if good:
        print('  %s: %s' % (name, texts[0]))
    return good, texts


SITUATIONS = [agreement, fork]      # The last is for ever.


if __name__ == '__main__':
    sys.exit(run(__doc__, SITUATIONS))
