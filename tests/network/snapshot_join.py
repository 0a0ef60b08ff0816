#!/usr/bin/env python3
"""A blank node joins from a snapshot that it fetches from its peers. These have no old blocks, since they
began with a snapshot themselves: nothing else can work. One of them lies, and is named; kill -9 amid the
chunks costs few of them. A second node joins from the first alone, a third from the second. Another has
four sources, each behind a slow line: it fills these, and goes on at once when three of them are cut.

usage: snapshot_join.py --build BUILD_DIR [--line MB/s] [--only slow_lines]
"""
import argparse
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from members import FOUR, Failure, Load, Network, Node, check, free_port, report, wait_for
from slow_line import SlowLine
from snapshots import change, equal_on_all, folder, read, schedule, snapshots

SOURCES = {'borf': 'bora', 'borg': 'borb', 'borh': 'borc'}      # And their organisations.
LIAR = 'borg'
BIG = 60                # Accounts with an ABI of 160 KB: chunks of some MiB.
LINE = 4                # MB/s of each slow line.
FILLING = 3             # Seconds until all but one are cut.
ROWS = 8                # Of 64 KiB, a transaction.
FILLED = 0.6            # Of the sum of the lines, at least, where others use the machine, too.
GAP = 2                 # Seconds without another chunk.
SILENT = 1              # Seconds that the API of a node may be silent while it joins.


def prepare(net, name, organisation, peers, *more):
    """An observer that is registered, and blank."""
    home = os.path.join(net.dir, name)
    for part in ('config', 'data'):
        os.makedirs(os.path.join(home, part))
    node = Node(name, home, 'http://127.0.0.1:%d' % free_port(), '127.0.0.1:%d' % free_port())
    node.key = net.make_key('--r1', '--node', '--file', node.path('node.key'))
    lines = ['http-server-address = ' + node.url.split('//')[1], 'p2p-listen-endpoint = ' + node.p2p,
             'p2p-node-key = ' + node.path('node.key'), 'plugin = net_api_plugin',
             'plugin = producer_api_plugin', *more]
    lines += ['p2p-peer-address = ' + net.nodes[peer].p2p for peer in peers]
    with open(node.path('config', 'config.ini'), 'w', encoding='utf-8') as f:
        f.write('\n'.join(lines) + '\n')
    net.cli('node', 'add', organisation, name, node.key, '--role', 'observer')
    net.nodes[name] = node
    return node


def fill(net):
    """Rows that do not compress well."""
    path = os.path.join(net.dir, 'big.abi')
    for number in range(BIG):
        name = 'big' + chr(ord('a') + number // 26) + chr(ord('a') + number % 26)
        fields = [{'name': os.urandom(8).hex(), 'type': 'uint64'} for _ in range(6000)]
        with open(path, 'w', encoding='utf-8') as f:
            json.dump({'version': 'eosio::abi/1.2', 'structs': [
                {'name': 'row', 'base': '', 'fields': fields}]}, f)
        net.cli('create', 'account', 'eosio', name, net.system_key)
        net.cli('set', 'abi', name, path, '-p', name)


def checkpoint(net):
    return '2:' + net.nodes['bora'].ask('/v1/chain/get_block', {'block_num_or_id': 2})['id']


def follow(net, name):
    goal = net.nodes['bora'].final()
    wait_for('%s to reach block %d' % (name, goal), lambda: net.nodes[name].final() >= goal)


def sources(net):
    """Three nodes without old blocks, each with a snapshot of the same block."""
    net.goes_on(blocks=20)
    made = net.nodes['bora'].ask('/v1/producer/create_snapshot')['snapshot_name']
    for name, organisation in SOURCES.items():
        node = prepare(net, name, organisation, FOUR[:2])
        net.cli('snapshot', 'load', made, '--data-dir', node.path('data'),
                '--genesis', os.path.join(net.dir, 'genesis.json'))
        net.start(name)
        follow(net, name)
        below = node.ask('/v1/chain/get_info')['earliest_available_block_num']
        check(below > 2, '%s has block %d' % (name, below))
    height = net.nodes['bora'].final() + 20
    for name in SOURCES:
        schedule(net.nodes[name], height, height, 0)
    check(equal_on_all(net, list(SOURCES), [height]) == 1, 'there is no snapshot of block %d' % height)
    return height


class Answers:
    """Asks a node again and again, and notes the longest time without an answer, and errors."""

    def __init__(self, node):
        self.node, self.stopped, self.longest, self.heights = node, False, 0.0, []
        self.thread = threading.Thread(target=self.run)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stopped = True
        self.thread.join()

    def run(self):
        last = None
        while not self.stopped:
            try:
                self.heights.append(self.node.final())
            except (OSError, Failure, ValueError):
                time.sleep(0.005)
                continue
            now = time.monotonic()
            if last is not None:
                self.longest = max(self.longest, now - last)
            last = now
            time.sleep(0.005)


def check_silences(net):
    """The API of a node answers while it joins. This machine does other things, too: the median of all joins counts."""
    check(statistics.median(net.silences) < SILENT,
          'the API was silent, in seconds of each join: %s' % net.silences)


def chunks_of(node):
    """Chunks that have been received, while it is joining."""
    home = node.path('data', 'joining')
    for name in os.listdir(home) if os.path.isdir(home) else []:
        chunks = os.path.join(home, name, 'chunks')
        if os.path.isdir(chunks):
            return [each for each in os.listdir(chunks) if each.endswith('.zst')]
    return []


def blank(net, name):
    """Its data directory is as on the first day."""
    shutil.rmtree(net.nodes[name].path('data'))
    os.makedirs(net.nodes[name].path('data'))
    open(net.nodes[name].path('log'), 'w', encoding='utf-8').close()


def killed(net, name):
    """kill -9 amid the chunks; how many there were."""
    node = net.nodes[name]
    for _ in range(20):
        blank(net, name)
        with open(node.path('log'), 'ab') as log:
            node.child = subprocess.Popen(
                [os.path.join(net.bin, 'bor-node'), '--config-dir', node.path('config'),
                 '--data-dir', node.path('data'),
                 '--genesis-json', os.path.join(net.dir, 'genesis.json')], stdout=log, stderr=log)
        wait_for('chunks', lambda: len(chunks_of(node)) >= 3 or
                 os.path.exists(node.path('data', 'current')), pause=0.0005)
        node.stop(signal.SIGKILL)
        is_amid = 'snapshot: loading' not in node.log()
        open(node.path('log'), 'w', encoding='utf-8').close()
        if is_amid and chunks_of(node):
            return len(chunks_of(node))
    raise Failure('no kill came amid the chunks')


def joined(net, name, height):
    """The node has begun with the snapshot of this block, and follows; what the log says of it."""
    node = net.nodes[name]
    with Answers(node) as answers:
        wait_for('%s to begin with the snapshot' % name,
                 lambda: 'begins with the snapshot of block=%d' % height in node.log(), pause=0.01)
        follow(net, name)
    net.silences.append(answers.longest)
    below = node.ask('/v1/chain/get_info')['earliest_available_block_num']
    check(2 < below <= height, 'its earliest block is %d' % below)
    check(not os.path.exists(node.path('data', 'state')), 'the old state is still there')
    print('  %s: API silent for at most %.0f ms; earliest block %d' % (name, answers.longest * 1000, below))
    return node.log()


def first(net, height):
    """Killed amid the chunks, started again."""
    prepare(net, 'borj', 'bord', SOURCES, 'checkpoint = ' + checkpoint(net))
    had = killed(net, 'borj')
    began = time.monotonic()
    net.start('borj')
    log = joined(net, 'borj', height)
    found = re.search(r'snapshot: chunks block=%d manifest=\w+ chunks=(\d+)/(\d+)' % height, log)
    fetched = re.findall(r'snapshot: loading block=%d .* received=(\d+)' % height, log)
    check(found and fetched, 'the log does not say what was fetched: ' + log[-3000:])
    kept, count = int(found.group(1)), int(found.group(2))
    print('  killed with %d of %d chunks; %d found, %s fetched; at the head %.1f s after the start'
          % (had, count, kept, fetched[-1], time.monotonic() - began))
    check(kept >= had and int(fetched[-1]) <= count - kept + 16, 'too many were fetched again')


def liar(net, height):
    """One source has a bit flipped in every chunk: it is named with the chunk, and closed."""
    node, lying = net.nodes['borj'], net.nodes[LIAR]
    node.stop(signal.SIGTERM)
    blank(net, 'borj')
    path = os.path.join(folder(lying, height), 'chunks')
    for name in os.listdir(path):
        change(os.path.join(path, name), os.path.getsize(os.path.join(path, name)) - 1, 1)
    net.start('borj')
    log = joined(net, 'borj', height)
    named = [line for line in log.splitlines() if 'snapshot: %s %s: chunk ' % (lying.p2p, lying.key) in line]
    check(len(named) > 0 and '.zst of the snapshot of block %d' % height in named[0],
          'the liar is not named: ' + log[-3000:])
    print('  ' + named[0])
    wait_for('%s to know why it was closed' % LIAR, lambda: 'bad_block' in lying.log())


def equal(net):
    """The next manifests of the joined node are those of the others."""
    height = net.nodes['bora'].final() + 10
    for name in ('bora', 'borf', 'borj'):
        schedule(net.nodes[name], height, height, 0)
    check(equal_on_all(net, ['bora', 'borf', 'borj'], [height]) == 1,
          'there is no snapshot of block %d' % height)


def generations(net):
    """A second node joins from the first alone, a third from the second: that has what it began with."""
    for name, source in (('bork', 'borj'), ('borl', 'bork')):
        prepare(net, name, 'bord', [source], 'checkpoint = ' + checkpoint(net))
        newest = max(each['block_num'] for each in snapshots(net.nodes[source])['snapshots'])
        net.start(name)
        joined(net, name, newest)
        check(read(folder(net.nodes[name], newest), 'manifest.bin') ==
              read(folder(net.nodes[source], newest), 'manifest.bin'), 'the manifests differ')


def behind(net):
    """A validator that was away meets a node without the blocks that it lacks: it takes a snapshot in the
    place of its state, keeps its journal, and votes again."""
    node = net.nodes['bord']
    own = node.final()
    node.stop(signal.SIGKILL)
    net.goes_on(blocks=10)
    net.nodes['borl'].ask('/v1/producer/create_snapshot')
    newest = max(each['block_num'] for each in snapshots(net.nodes['borl'])['snapshots'])
    check(newest > own + 1, 'the snapshot of block %d is not above %d' % (newest, own))
    prepare(net, 'borm', 'bora', ['borl'], 'checkpoint = ' + checkpoint(net))
    net.start('borm')
    joined(net, 'borm', newest)
    access = node.path('access')
    with open(access, 'w', encoding='utf-8') as f:
        f.write('allow %s\n' % net.nodes['borm'].key)
    net.config('bord', lambda lines: [each for each in lines if 'p2p-peer-address' not in each] +
               ['p2p-access-file = ' + access, 'p2p-peer-address = ' + net.nodes['borm'].p2p])
    open(node.path('log'), 'w', encoding='utf-8').close()
    net.start('bord')
    wait_for('bord to begin with the snapshot',
             lambda: 'begins with the snapshot of block=%d' % newest in node.log())
    log = node.log()
    check('opened at block' in log and 'is lost' not in log and 'set back' not in log, 'its journal: ' + log[-3000:])
    open(access, 'w', encoding='utf-8').close()
    node.child.send_signal(signal.SIGHUP)
    follow(net, 'bord')
    voted = net.vote_of('bord')
    wait_for('bord to vote again', lambda: net.vote_of('bord') > max(voted, own))
    print('  bord had block %d, took the snapshot of block %d, and votes' % (own, newest))


def fill_at_random(net, megabytes):
    """Rows that do not compress at all."""
    net.cli('create', 'account', 'eosio', 'randomrows', net.system_key)
    net.cli('set', 'contract', 'randomrows',
            os.path.join(os.path.dirname(net.bin), 'contracts-test', 'random_rows'))

    def push(number):
        # A busy machine may find that one takes too long.
        wait_for('rows %d' % number, pause=1, question=lambda: net.push(
            'fill', [number * ROWS, ROWS], 'randomrows', account='randomrows') is None)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(push, range(megabytes * 16 // ROWS)))


def filled_share(lines, seconds):
    """Of what the lines could carry, from when chunks come on all of them."""
    wait_for('chunks on all lines', lambda: all(line.sent > line.rate / 4 for line in lines), pause=0.01)
    before, began = sum(line.sent for line in lines), time.monotonic()
    time.sleep(seconds)
    return (sum(line.sent for line in lines) - before) / (time.monotonic() - began) / sum(
        line.rate for line in lines)


def longest_gap(node, seconds):
    """The longest time without another chunk, from now on."""
    longest, last, had = 0.0, time.monotonic(), len(chunks_of(node))
    end = last + seconds
    while (now := time.monotonic()) < end and len(chunks_of(node)) >= had:
        if len(chunks_of(node)) > had:
            had, last = len(chunks_of(node)), now
        longest = max(longest, now - last)
        time.sleep(0.01)
    return longest


def slow_lines(net, rate):
    """Four sources of so many bytes a second each; three of them are cut in the middle."""
    fill_at_random(net, int(rate * (4 * (FILLING + 1) + 2 * GAP + 1) / 1e6))
    names = [*SOURCES, 'borj']
    height = max(net.nodes[name].final() for name in names) + 10
    for name in names:
        follow(net, name)
        schedule(net.nodes[name], height, height, 0)
    check(equal_on_all(net, names, [height]) == 1, 'there is no snapshot of block %d' % height)
    prepare(net, 'borx', 'bord', [], 'checkpoint = ' + checkpoint(net), 'transport = tcp')
    # This machine does other things, too: one of three has to go well.
    for _ in range(3):
        line, share, gap = by_slow_lines(net, [net.nodes[name].p2p for name in names], rate)
        if share >= FILLED and gap <= GAP:
            break
    check(share >= FILLED, 'the lines are not filled')
    check(gap <= GAP, 'it did not go on with the source that was left')
    line.rate *= 100
    joined(net, 'borx', height)


def by_slow_lines(net, sources, rate):
    """The blank node begins to join. Returns the line that is left of it, which share of all was filled, and how long
    no chunk came when three were cut."""
    node = net.nodes['borx']
    if node.child is not None:
        node.stop(signal.SIGKILL)
        blank(net, 'borx')
    lines = [SlowLine(each, rate) for each in sources]
    net.config('borx', lambda before: [each for each in before if 'p2p-peer-address' not in each] +
               ['p2p-peer-address = ' + line.near for line in lines])
    net.start('borx')
    share = filled_share(lines, FILLING)
    for line in lines[1:]:
        line.cut()
    gap = longest_gap(node, 2 * GAP)
    had = len(chunks_of(node))
    print('  four lines of %.0f MB/s: %.0f %% filled, %.1f MB/s; with one of them left and %d chunks here '
          'at most %.2f s without another' % (rate / 1e6, share * 100, share * 4 * rate / 1e6, had, gap), flush=True)
    check(had > 0, 'it had all chunks before the lines were cut')
    return lines[0], share, gap


def run(net, only, rate):
    net.silences = []       # The longest of each join, in seconds.
    net.up()
    if only == 'slow_lines':
        sources(net)
        prepare(net, 'borj', 'bord', SOURCES, 'checkpoint = ' + checkpoint(net))
        net.start('borj')
        slow_lines(net, rate)
        return check_silences(net)
    with Load(net, rate=50) as load:
        print('fill', flush=True)
        fill(net)
        print('sources', flush=True)
        height = sources(net)
        print('first', flush=True)
        first(net, height)
        print('liar', flush=True)
        liar(net, height)
        print('equal', flush=True)
        equal(net)
        print('generations', flush=True)
        generations(net)
        print('behind', flush=True)
        behind(net)
    print('slow lines', flush=True)
    slow_lines(net, rate)
    check_silences(net)
    return '%d transfers meanwhile' % load.sent


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--build', required=True)
    parser.add_argument('--line', type=float, default=LINE, help='MB/s of each slow line')
    parser.add_argument('--only', choices=['slow_lines'])
    options = parser.parse_args()
    return report(Network(options.build), lambda net: run(net, options.only, options.line * 1e6))


if __name__ == '__main__':
    sys.exit(main())
