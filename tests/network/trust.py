#!/usr/bin/env python3
"""A blank node joins by blocks, once with trust = full and once with trust = certified: the same blocks, to the
byte, and the same state. What it did not check on the way it checks once it is there; killed amid it, it goes on.
Prints how long each took and the processor time of it.

usage: trust.py --build BUILD_DIR [--seconds SECONDS] [--load RATE]
"""
import argparse
import os
import signal
import sys
import time

import members
from members import Load, Network, check, report, wait_for
from snapshot_join import blank, checkpoint, prepare

JOINER = 'borx'
SETTLED = 60            # Seconds until nothing is unchecked.


class Fast(Network):
    """Blocks come often, so that there are many."""

    def cli(self, *words, check=True, url=None):
        if words[:2] == ('network', 'up'):
            words = tuple('20' if each == str(members.INTERVAL_MS) else each for each in words)
            words += ('--chain-parameter', 'snapshot_period=1000000')
        return super().cli(*words, check=check, url=url)


def processor_seconds(node):
    with open('/proc/%d/stat' % node.child.pid, encoding='utf-8') as f:
        fields = f.read().rsplit(')', 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def peak_mebibytes(node):
    with open('/proc/%d/status' % node.child.pid, encoding='utf-8') as f:
        return next(int(line.split()[1]) for line in f if line.startswith('VmHWM')) / 1024


def begin(net, trust, point):
    """Blank, and started with this trust."""
    node = net.nodes[JOINER]
    if node.child is not None:
        node.stop()
    blank(net, JOINER)
    net.config(JOINER, lambda lines: [each for each in lines if not each.startswith(('trust', 'checkpoint'))] +
               ['trust = ' + trust, 'checkpoint = ' + point])
    net.start(JOINER)
    return node


def join(net, trust, point, goal, kill_at=None):
    """How many seconds it took to be there, and of the processor."""
    began = time.monotonic()
    node = begin(net, trust, point)
    spent = 0.0
    if kill_at is not None:
        wait_for('%s to be at block %d' % (JOINER, kill_at), lambda: node.final() >= kill_at, pause=0.02)
        spent = processor_seconds(node)
        node.stop(signal.SIGKILL)
        net.start(JOINER)
    wait_for('%s to be at block %d' % (JOINER, goal), lambda: node.final() >= goal, pause=0.02)
    took, spent = time.monotonic() - began, spent + processor_seconds(node)
    wait_for('%s to have checked all' % JOINER,
             lambda: node.ask('/v1/bor/sync')['unchecked_blocks'] == 0, patience=SETTLED)
    print('  %s%s: %d blocks in %.1f s (%.0f/s), %.1f s of the processor, %.1f s when all was checked, %.0f MiB' %
          (trust, '' if kill_at is None else ', killed at %d' % kill_at, goal, took, goal / took, spent,
           processor_seconds(node), peak_mebibytes(node)), flush=True)
    check(node.ask('/v1/bor/sync')['wrong_blocks'] == 0, 'it has wrong blocks')
    return took


def same(net, goal):
    """Blocks of the joiner are those of a validator, signatures and certificates with them."""
    ours, theirs = net.nodes[JOINER], net.nodes['bora']
    for height in sorted({2, 3, goal // 3, goal // 2, goal - 1, goal}):
        for path, what in (('/v1/chain/get_block', {'block_num_or_id': height}),
                           ('/v1/bor/block', {'block_num_or_id': height})):
            mine, other = ours.ask(path, what), theirs.ask(path, what)
            check(mine == other, '%s of %d: %s, not %s' % (path, height, mine, other))


def is_faster(took):
    return bool(took['full']) and min(took['certified']) < min(took['full'])


def run_with(seconds, rate):
    def run(net):
        net.up()
        point = checkpoint(net)
        prepare(net, JOINER, 'bord', members.FOUR[:3])
        if rate > 0:
            with Load(net, rate):
                time.sleep(seconds)
        else:
            time.sleep(seconds)
        goal = net.nodes['bora'].final()
        print('%d blocks, %d transfers a second' % (goal, rate), flush=True)
        took = {'full': [], 'certified': []}
        # This machine does other things, too: the better of two counts.
        while len(took['full']) < 2 and not is_faster(took):
            for trust, times in took.items():
                times.append(join(net, trust, point, goal))
                same(net, goal)
        check(is_faster(took), 'seconds: %s' % took)
        join(net, 'certified', point, goal, kill_at=goal // 2)
        same(net, goal)
    return run


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--build', required=True)
    parser.add_argument('--seconds', type=int, default=60)
    parser.add_argument('--load', type=int, default=20)
    args = parser.parse_args()
    return report(Fast(args.build), run_with(args.seconds, args.load))


if __name__ == '__main__':
    sys.exit(main())
