#!/usr/bin/env python3
"""Sets the clocks of validators that run, one and then all, and sets them right again: nothing is
signed that a quorum has not come to, the doctor names cause and time, and it goes on by itself, or by
a recovery.

usage: clocks.py --build BUILD_DIR [--only NAME]
"""
import glob
import json
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from asking import socket_url
from doctor import explained, healthy, run, wait_for
from operating import get, one_head, set_option

WRONG_FOR = 40      # Seconds.
ALL_WRONG_FOR = 25
AGAIN_WITHIN = 10   # Seconds after the clock is right.
RETIMED_WITHIN = 60
LIBRARY = '/usr/lib/*/faketime/libfaketimeMT.so.1'


class Clock:
    """What a validator takes for the time; it is started anew to use this."""

    def __init__(self, net, name):
        self.path = os.path.join(net.dir, name + '.clock')
        self.set(0)
        net.stop(name)
        net.start(name, 'env', 'LD_PRELOAD=' + glob.glob(LIBRARY)[0],
                  'FAKETIME_TIMESTAMP_FILE=' + self.path, 'FAKETIME_NO_CACHE=1',
                  'FAKETIME_DONT_FAKE_MONOTONIC=1', 'DONT_FAKE_MONOTONIC=1')

    def set(self, seconds):
        with open(self.path + '.new', 'w', encoding='ascii') as f:
            f.write('%+d' % seconds)
        os.rename(self.path + '.new', self.path)


def finality(net, name):
    return get(net, name, '/v1/bor/finality')


def last_vote(net, of, by):
    found = next(each for each in finality(net, by)['validators'] if each['producer'] == of)
    return found['last_vote']['slot'] if found['last_vote'] else 0


def one_ahead(net):
    """Three hours ahead for some seconds: it signs nothing then, and votes when it is right again."""
    clock = Clock(net, 'borc')
    wait_for('borc votes', lambda: (last_vote(net, 'borc', 'bora') > 0 and
                                    finality(net, 'bora')['lag_ms'] < 2000, 0))
    before = finality(net, 'bora')
    slots_ahead = 3 * 3600 * 1000 // 200
    began = time.monotonic()
    clock.set(3 * 3600)
    explained(net, 'bora', 'clock', 'The clock of borc is', 'ahead of', 'it signs nothing')
    explained(net, 'borc', 'clock', 'The clock of this node is', 'ahead of', 'it signs nothing')
    time.sleep(max(0, WRONG_FOR - (time.monotonic() - began)))
    after = finality(net, 'bora')
    assert after['final']['block_num'] > before['final']['block_num'], 'the others do not go on'
    assert last_vote(net, 'borc', 'bora') < before['head']['slot'] + slots_ahead // 2, \
        'borc signed for slots that nobody has come to'
    clock.set(0)
    right = time.monotonic()
    head = finality(net, 'bora')['head']['slot']
    wait_for('borc votes again', lambda: (last_vote(net, 'borc', 'bora') > head, 0))
    took = time.monotonic() - right
    print('  borc votes again %.1f s after its clock was set right' % took)
    assert took < AGAIN_WITHIN, 'it took %.1f s' % took


def all_ahead(net):
    """A day ahead for 25 s, all of them by one bad source of time: what is final is dated tomorrow.
    Members set the time of the chain back."""
    names = list(net.commands)
    clocks = {name: Clock(net, name) for name in names}
    for name in names:
        wait_for('%s votes' % name, lambda name=name: (finality(net, name)['lag_ms'] < 2000, 0))
    day = 24 * 3600
    for clock in clocks.values():
        clock.set(day)
    before = net.final('bora')
    time.sleep(ALL_WRONG_FOR)
    assert net.final('bora') > before, 'with all clocks a day ahead the chain does not go on'
    for clock in clocks.values():
        clock.set(0)
    right = time.monotonic()
    with ThreadPoolExecutor(len(names)) as pool:
        list(pool.map(lambda name: explained(net, name, 'clock', 'The final block is dated',
                                             'ahead of this node', '--retime'), names))
    took = time.monotonic() - right
    print('  each names cause and time %.1f s after the clocks were set right' % took)
    assert took < AGAIN_WITHIN, 'it took %.1f s' % took
    path = os.path.join(net.dir, 'retime')
    with open(os.path.join(net.dir, 'network.json'), encoding='utf-8') as f:
        system_key = json.load(f)['system_key']['public']
    highest = max(names, key=net.final)
    before = finality(net, highest)['final']
    net.cli('recover', 'make', path, '--retime', url=net.of(highest)['http'])
    net.cli('recover', 'sign', path, system_key)
    genesis = os.path.join(net.dir, 'genesis.json')
    confirmed = net.cli('recover', 'check', path, genesis).strip().rsplit(' ', 1)[1]
    began = time.monotonic()
    for name in names:
        net.stop(name)
        shutil.copyfile(path, os.path.join(net.of(name)['data_dir'], 'recovery.txt'))
        set_option(net, name, 'recover-from', confirmed)
        net.start(name)
    for name in names:
        wait_for('finality of ' + name,
                 lambda name=name: (net.final(name) > before['block_num'] + 5, before))
    took = time.monotonic() - began
    after = finality(net, highest)['final']
    print('  final again %.1f s after the recovery, block %d of %s after block %d of %s' %
          (took, after['block_num'], after['timestamp'], before['block_num'], before['timestamp']))
    assert took < RETIMED_WITHIN, 'it took %.1f s' % took
    assert after['timestamp'] < before['timestamp'], 'the time of the chain was not set back'
    again = net.cli('recover', 'make', path + '2', '--retime', url=net.of(highest)['http'], check=False)
    assert not os.path.exists(path + '2'), 'a chain that is on time is given other times: ' + again
    healthy(net)
    replays(net, 'borb')


def replays(net, name):
    """What the node stored leads to its digests, from genesis on, with the times as they were set back."""
    net.stop(name)
    command = [arg for arg in net.commands[name] if arg != '--accept-amnesia'] + ['--verify-chain']
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    net.start(name)
    wait_for('finality of ' + name, lambda: (finality(net, name)['lag_ms'] < 2000, 0))
    print('  %s: %s' % (name, done.stdout.strip().split('\n')[-1]))


def ahead_and_lost(net):
    """A day ahead for some seconds, all of them, and two of four are lost for ever with that: one recovery gives
    the two that are left another schedule and the right time."""
    clocks = {name: Clock(net, name) for name in net.commands}
    for name in clocks:
        wait_for('%s votes' % name, lambda name=name: (finality(net, name)['lag_ms'] < 2000, 0))
    for clock in clocks.values():
        clock.set(24 * 3600)
    stood = net.final('bora')
    wait_for('finality a day ahead', lambda: (net.final('bora') > stood + 5 and
                                              finality(net, 'bora')['lag_ms'] < 2000, stood))
    left = ['bora', 'borb']
    net.stop('bora')    # It lacks the blocks that follow, which nobody gives it before the time is set back.
    stood = net.final('borb')
    wait_for('blocks without bora', lambda: (net.final('borb') > stood + 5, stood))
    for name in clocks:
        if name != 'bora':
            net.stop(name)
    path = os.path.join(net.dir, 'both')
    keys, files, words = {}, {}, []
    for name in left:
        files[name] = os.path.join(os.path.dirname(net.of(name)['data_dir']), 'recovery.key')
        keys[name] = net.cli('key', 'create', '--vote', '--journal', net.of(name)['data_dir'],
                             '--file', files[name]).strip().rsplit(' ', 1)[1]
        net.start(name)
    for name in left:
        wait_for('the API of ' + name, lambda name=name: (net.final(name) > 0, 0))
    assert not one_head(net, left)[0], 'both have one head'
    for name in left:
        net.cli('recover', 'answer', '%s-%s' % (path, name), '--yes',
                url=socket_url(net.of(name)['data_dir']))
        words += ['--answer', '%s-%s' % (path, name), '--validator', '%s=%s' % (name, keys[name])]
    highest = max(left, key=net.final)
    before = finality(net, highest)['final']
    said = net.cli('recover', 'make', path, '--retime', *words, url=net.of(highest)['http'])
    assert ' begins at ' in said, said
    with open(os.path.join(net.dir, 'network.json'), encoding='utf-8') as f:
        net.cli('recover', 'sign', path, json.load(f)['system_key']['public'])
    said = net.cli('recover', 'check', path, os.path.join(net.dir, 'genesis.json'))
    assert 'validator borb ' + keys['borb'] in said and ' begins at ' in said, said
    for name in left:
        net.stop(name)
        shutil.copyfile(path, os.path.join(net.of(name)['data_dir'], 'recovery.txt'))
        set_option(net, name, 'recover-from', said.strip().rsplit(' ', 1)[1])
        set_option(net, name, 'signature-provider', '%s=KEY:file:%s' % (keys[name], files[name]))
        net.start(name)
    for name in left:
        wait_for('finality of ' + name,
                 lambda name=name: (net.final(name) > before['block_num'] + 5, before))
    after = finality(net, highest)
    assert after['final']['timestamp'] < before['timestamp'], 'the time of the chain was not set back'
    assert after['final']['slot'] > before['slot'], 'slots went back'
    assert {each['vote_key'] for each in after['validators']} == set(keys.values()), after['validators']
    print('  final again with two validators, block %d of %s after block %d of %s' %
          (after['final']['block_num'], after['final']['timestamp'], before['block_num'], before['timestamp']))


SITUATIONS = [one_ahead, all_ahead, ahead_and_lost]     # The last is for ever.


if __name__ == '__main__':
    sys.exit(run(__doc__, SITUATIONS))
