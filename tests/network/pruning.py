#!/usr/bin/env python3
"""Four validators under load prune: the bytes of old blocks, traces and index rows go back to the file
system in bounded time, counted by du, and no slot is missed meanwhile. Nothing goes before there is a
snapshot; a history is shortened again and lengthened again; kill -9 amid pruning; a node that begins with
a snapshot follows the head where all others have pruned.

usage: pruning.py --build BUILD_DIR [--blocks N] [--keep N] [--rate N] [--interval MS]
"""
import argparse
import json
import os
import signal
import subprocess
import sys
import time
import urllib.request

from members import FOUR, Failure, Load, Network, Node, check, report, wait_for
from snapshots import FIFTH, prepare_fifth

WITHIN = 60             # Seconds, in which
SHARE = 0.95            # of the bytes of what was removed come back.
PRUNED, KILLED, SECOND = 'borb', 'borc', 'bord'     # Transfers are sent to another.


class FastNetwork(Network):
    def up(self, interval):
        self.cli('network', 'up', '-n', '4', '--open', '--block-interval', str(interval))
        with open(os.path.join(self.dir, 'network.json'), encoding='utf-8') as f:
            file = json.load(f)
        self.system_key = file['system_key']['public']
        for each in file['validators']:
            self.nodes[each['name']] = Node(each['name'], os.path.dirname(each['log']),
                                            each['http'], each['p2p'], each['pid'])
        for name in FOUR:
            self.config(name, lambda lines: lines + ['plugin = trace_api_plugin',
                                                     'plugin = prometheus_plugin'])

    def restart(self, name, *more, number=signal.SIGTERM):
        """Comes back up to the head of another."""
        self.nodes[name].stop(number)
        self.start(name, *more)
        goal = self.nodes['bora' if name != 'bora' else 'borb'].final()
        wait_for('%s to reach block %d' % (name, goal), lambda: self.nodes[name].final() >= goal)


def lengths(blocks, traces=None):
    return ['--history', blocks, '--trace-history', traces or blocks]


def state_of(node):
    data = node.path('data')
    current = os.path.join(data, 'current')
    if not os.path.exists(current):
        return os.path.join(data, 'state')
    with open(current, encoding='utf-8') as f:
        return os.path.join(data, f.read().strip())


def du(node):
    """Bytes of tables and blobs as the file system counts. Not of RocksDB's logs, which have a bound of
    their own and go when what they have is in tables."""
    total = 0
    for name in os.listdir(state_of(node)):
        if name.endswith(('.sst', '.blob')):
            try:
                total += os.stat(os.path.join(state_of(node), name)).st_blocks * 512
            except FileNotFoundError:
                pass
    return total


def metric(node, name):
    with urllib.request.urlopen(node.url + '/v1/prometheus/metrics', timeout=20) as answer:
        for line in answer.read().decode().splitlines():
            if line.startswith(name + ' '):
                return int(float(line.split()[1]))
    raise Failure('%s has no metric %s' % (node.name, name))


def earliest(node):
    return node.ask('/v1/chain/get_info')['earliest_available_block_num']


def has_earliest(node):
    below = earliest(node)
    at = node.ask('/v1/chain/get_block', {'block_num_or_id': below})
    check(at['block_num'] == below, str(at)[:200])
    return True


def missed_slots(node, first, last):
    def slot(height):
        return int(node.ask('/v1/bor/block', {'block_num_or_id': height})['slot'])
    return slot(last) - slot(first) - (last - first)


def grow(net, blocks):
    wait_for('%d blocks' % blocks, lambda: net.nodes['bora'].final() >= blocks,
             patience=blocks / 2 + 300, pause=0.5)


def refused(node, path, body, text):
    try:
        answer = node.ask(path, body)
    except Failure as failure:
        check(text in str(failure), '%s: "%s" is not in: %s' % (path, text, failure))
        return
    raise Failure('%s %s was answered: %s' % (path, body, str(answer)[:200]))


def waits_for_snapshot(net, keep):
    """Without a snapshot no block goes."""
    net.restart(PRUNED, *lengths('%db' % keep, 'full'))
    time.sleep(5)
    check(earliest(net.nodes[PRUNED]) == 1, 'blocks were pruned without a snapshot')
    check(metric(net.nodes[PRUNED], 'bor_pruning_passes') == 0, 'something was pruned')


def pruned(net, keep):
    missed, quiet = prune_once(net, net.nodes[PRUNED], keep)
    if missed > quiet:          # Something else may have used the machine: another node, once more.
        net.restart(SECOND, *lengths('%db' % keep, 'full'))
        missed, quiet = prune_once(net, net.nodes[SECOND], keep)
    check(missed <= quiet, '%d slots were missed' % missed)


def prune_once(net, node, keep):
    """From a snapshot on: how long it takes, how many bytes come back. Returns how many slots were missed
    meanwhile, and how many in 6 s before."""
    time.sleep(2)               # Its restart has cost slots; these are over.
    started = node.final()
    time.sleep(6)
    quiet = missed_slots(node, started, node.final())
    first, disk, history = node.final(), du(node), metric(node, 'bor_history_disk_bytes')
    in_memory = metric(node, 'bor_history_memory_bytes')
    node.ask('/v1/producer/create_snapshot')
    began = time.monotonic()
    wait_for('bytes to come back', lambda: metric(node, 'bor_pruning_passes') > 0, patience=WITHIN)
    took = time.monotonic() - began
    wait_for('five more blocks', lambda f=node.final(): node.final() > f + 5)
    last, below = node.final(), earliest(node)
    disk_after, history_after = du(node), metric(node, 'bor_history_disk_bytes')
    missed = missed_slots(node, max(first, below), last)
    print('  %d of %d blocks pruned %.1f s after the snapshot; du %.1f MiB before, %.1f MiB after; blocks, '
          'traces and index on disk %.1f MiB before (%.1f MiB more in memory), %.1f MiB after; %d slots missed'
          % (below - 1, last, took, disk / 2**20, disk_after / 2**20, history / 2**20, in_memory / 2**20,
             history_after / 2**20, missed), flush=True)
    if quiet:
        print('  the machine is too slow for its slots: %d were missed in 6 s before' % quiet, flush=True)
    check(first - keep < below <= last - keep + 1, 'the earliest block is %d, final %d' % (below, last))
    # What came from memory to disk meanwhile is counted against it.
    per_block = (history + in_memory) / first
    left = (1 - SHARE) * per_block * (below - 1) + 1.5 * per_block * (last - below + 1) + 2**20
    check(history_after <= left, 'only up to %.1f MiB may be left' % (left / 2**20))
    if history > 2**26:
        freed = (disk - disk_after) / (history * (below - 1) / first)
        print('  by du %.1f %% of the bytes of what was removed came back' % (100 * freed), flush=True)
        check(freed >= SHARE, 'too little')
    return missed, quiet


def says_so(net):
    """Calls for what is gone name the earliest that is there."""
    node = net.nodes[PRUNED]
    gone, below = 2, earliest(node)
    text = 'the earliest block that is stored here is'
    refused(node, '/v1/chain/get_block', {'block_num_or_id': gone}, text)
    refused(node, '/v1/chain/get_block_info', {'block_num': gone}, text)
    refused(node, '/v1/trace_api/get_block', {'block_num': gone}, 'are not stored here')
    there = node.ask('/v1/chain/get_block', {'block_num_or_id': below + 5})
    check(there['block_num'] == below + 5, str(there)[:200])
    full = net.nodes['bora'].ask('/v1/chain/get_block', {'block_num_or_id': gone})
    refused(node, '/v1/chain/get_block', {'block_num_or_id': full['id']}, text)
    status = node.ask('/v1/chain/get_transaction_status', {'id': 'ab' * 32})
    check(status['earliest_tracked_block_number'] >= below, str(status))
    only = node.ask('/v1/bor/snapshots')['snapshots']
    check(len(only) == 1, str(only))
    done = subprocess.run([os.path.join(net.bin, 'bor-cli'), '-u', node.socket_url(), 'snapshot',
                           'remove', only[0]['name']], capture_output=True, text=True, timeout=60)
    check(done.returncode == 1 and 'is the last of a node that has pruned' in done.stderr,
          'the last snapshot: %s%s' % (done.stdout, done.stderr))


def shortened_and_lengthened(net, keep):
    node = net.nodes[PRUNED]
    before = earliest(node)
    net.restart(PRUNED, *lengths('%db' % (keep // 2)))
    node.ask('/v1/producer/create_snapshot')
    wait_for('a shorter history', lambda: earliest(node) > before + keep // 2 - 1, patience=WITHIN)
    below = earliest(node)
    net.restart(PRUNED, *lengths('%db' % (10 * keep)))
    node.ask('/v1/producer/create_snapshot')
    time.sleep(5)
    check(earliest(node) == below, 'a longer history begins at %d, not at %d' % (earliest(node), below))
    net.restart(PRUNED, *lengths('full'))
    check(earliest(node) == below, 'a full history begins at %d, not at %d' % (earliest(node), below))
    net.goes_on(by=PRUNED)
    print('  earliest block %d, then %d and no lower' % (before, below))


def killed(net, keep):
    """kill -9 at moments around the pruning, again and again; the node starts on what is there."""
    node, name = net.nodes[KILLED], KILLED
    net.restart(name, *lengths('%db' % keep))
    node.ask('/v1/producer/create_snapshot')
    for wait in (0.0, 0.2, 0.5, 1.0, 1.5, 2.0, 2.2):
        time.sleep(wait)
        net.restart(name, *lengths('%db' % keep), number=signal.SIGKILL)
        # It may prune more between the two questions.
        wait_for('the earliest block', lambda: has_earliest(node))
    wait_for('blocks to be pruned', lambda: earliest(node) > 1, patience=WITHIN)
    net.goes_on(by=name)


def joinable(net):
    """All have pruned everything that they may: whoever begins with a snapshot of one follows."""
    for name in FOUR:
        net.restart(name, *lengths('none'))
        made = net.nodes[name].ask('/v1/producer/create_snapshot')
    for name in FOUR:
        wait_for('%s to prune' % name, lambda n=name: earliest(net.nodes[n]) > 100, patience=WITHIN)
    node = prepare_fifth(net)
    net.cli('snapshot', 'load', made['snapshot_name'], '--data-dir', node.path('data'),
            '--genesis', os.path.join(net.dir, 'genesis.json'))
    net.start(FIFTH)
    goal = net.nodes['bora'].final() + 5
    wait_for('%s to reach block %d' % (FIFTH, goal), lambda: node.final() >= goal)
    faults = [line for line in net.nodes[FIFTH].log().splitlines() if 'has not the blocks' in line]
    check(not faults, 'a peer that has pruned is charged: %s' % faults)
    print('  began at block %d, at %d; the others store from %s on'
          % (made['head_block_num'], node.final(), [earliest(net.nodes[n]) for n in FOUR]))


def run(net, given):
    net.up(given.interval)
    with Load(net, rate=given.rate) as load:
        grow(net, given.blocks)
        for part, more in ((waits_for_snapshot, (given.keep,)), (pruned, (given.keep,)), (says_so, ()),
                           (shortened_and_lengthened, (given.keep,)), (killed, (given.keep,))):
            print(part.__name__, flush=True)
            part(net, *more)
    print('joinable', flush=True)
    joinable(net)
    return '%d transfers meanwhile' % load.sent


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--build', required=True)
    parser.add_argument('--blocks', type=int, default=1500)
    parser.add_argument('--keep', type=int, default=300)
    parser.add_argument('--rate', type=int, default=100)
    parser.add_argument('--interval', type=int, default=100, help='of blocks, ms')
    given = parser.parse_args()
    net = FastNetwork(given.build)
    return report(net, lambda net: run(net, given))


if __name__ == '__main__':
    sys.exit(main())
