#!/usr/bin/env python3
"""Sets the clocks of validators that run, one and then all, and sets them right again: nothing is
signed that a quorum has not come to, the doctor names cause and time, and it goes on by itself.

usage: clocks.py --build BUILD_DIR [--only NAME]
"""
import glob
import json
import os
import sys
import time

from doctor import explained, run, wait_for
from operating import get

WRONG_FOR = 40      # Seconds.
AGAIN_WITHIN = 10   # Seconds after the clock is right.
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


SITUATIONS = [one_ahead]


if __name__ == '__main__':
    sys.exit(run(__doc__, SITUATIONS))
