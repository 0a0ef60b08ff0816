#!/usr/bin/env python3
"""An archive of blocks: exported from a node that has all, kept while the chain goes on, and imported into a
node that has pruned and into one that began with a snapshot. Both then answer for old blocks and transactions,
not for traces; a blank node gets all blocks from one of them alone. Running nodes are refused, what was
tampered with is named, and kill -9 amid an import leaves a history without a gap.

usage: archive.py --build BUILD_DIR [--blocks N] [--keep N]
"""
import argparse
import os
import signal
import subprocess
import sys
import time

from members import Failure, Load, check, report, wait_for
from pruning import FastNetwork, earliest, grow, lengths, refused
from snapshot_join import follow, prepare

FULL, PRUNED = 'bora', 'borb'
LATE, BLANK = 'borf', 'borg'    # One that begins with a snapshot, one that is blank; and their organisation.
FILE_BLOCKS = 100


def archive(net, *words, fails=None):
    """What it prints; `fails`: that it fails, and says this."""
    done = subprocess.run([os.path.join(net.bin, 'bor-cli'), 'archive', *words], capture_output=True, text=True,
                          timeout=300)
    if fails is None:
        check(done.returncode == 0, 'archive %s: %s' % (' '.join(words), done.stderr))
        return done.stdout
    check(done.returncode == 1 and fails in done.stderr, 'archive %s: "%s" is not in: %s%s'
          % (' '.join(words), fails, done.stdout, done.stderr))
    return ''


def data(net, name):
    return net.nodes[name].path('data')


def export(net, folder, *more):
    return archive(net, 'export', '--data-dir', data(net, FULL), '--to', folder, '--file-blocks', str(FILE_BLOCKS),
                   *more)


def prune(net, keep):
    net.restart(PRUNED, *lengths('%db' % keep))
    net.nodes[PRUNED].ask('/v1/producer/create_snapshot')
    wait_for('%s to prune' % PRUNED, lambda: earliest(net.nodes[PRUNED]) > 10, patience=60)
    refused(net.nodes[PRUNED], '/v1/chain/get_block', {'block_num_or_id': 5}, 'the earliest block')


def exported(net, folder):
    """While it runs it is refused; then all, and later what came since, in new files."""
    archive(net, 'export', '--data-dir', data(net, FULL), '--to', folder, fails='in use by another process')
    net.nodes[FULL].stop()
    export(net, folder, '--to-height', '250')
    first = {name: os.stat(os.path.join(folder, name)).st_mtime_ns for name in os.listdir(folder)}
    check(len(first) == 3, str(first))
    said = export(net, folder)
    for name, written in first.items():
        check(os.stat(os.path.join(folder, name)).st_mtime_ns == written, '%s was written again' % name)
    print('  ' + said.strip(), flush=True)
    archive(net, 'verify', folder)
    check('0000000001-0000000100.blocks' in archive(net, 'list', folder), 'its first file is not listed')
    net.start(FULL)
    follow_any(net, FULL, PRUNED)


def follow_any(net, name, other):
    goal = net.nodes[other].final()
    wait_for('%s to reach block %d' % (name, goal), lambda: net.nodes[name].final() >= goal)


def tampered(net, folder):
    """A bit of a file that is to come back: named, and what is above it is there."""
    name = sorted(os.listdir(folder))[1]
    path = os.path.join(folder, name)
    with open(path, 'rb') as f:
        good = f.read()
    with open(path, 'wb') as f:
        f.write(good[:len(good) // 2] + bytes([good[len(good) // 2] ^ 1]) + good[len(good) // 2 + 1:])
    archive(net, 'verify', folder, fails=name)
    archive(net, 'import', folder, '--data-dir', data(net, PRUNED), fails=name)
    with open(path, 'wb') as f:
        f.write(good)


def killed(net, folder):
    """Again and again, at other moments."""
    for wait in (0.02, 0.05, 0.1, 0.2):
        process = subprocess.Popen([os.path.join(net.bin, 'bor-cli'), 'archive', 'import', folder, '--data-dir',
                                    data(net, PRUNED)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(wait)
        process.send_signal(signal.SIGKILL)
        process.wait()


def same(net, name, heights):
    """It answers for these blocks as the full node does, by height, by id and by transaction."""
    node, full = net.nodes[name], net.nodes[FULL]
    transactions = 0
    for height in heights:
        block = full.ask('/v1/chain/get_block', {'block_num_or_id': height})
        check(node.ask('/v1/chain/get_block', {'block_num_or_id': height}) == block, 'block %d differs' % height)
        check(node.ask('/v1/chain/get_block', {'block_num_or_id': block['id']}) == block, 'by id: %d' % height)
        for each in block['transactions']:
            found = node.ask('/v1/chain/get_transaction_status', {'id': each['trx']['id']})
            check(found.get('block_number') == height, '%s: %s' % (each['trx']['id'], found))
            transactions += 1
    return transactions


def imported(net, folder, keep):
    archive(net, 'import', folder, '--data-dir', data(net, PRUNED), fails='in use by another process')
    net.nodes[PRUNED].stop()
    tampered(net, folder)
    killed(net, folder)
    said = archive(net, 'import', folder, '--data-dir', data(net, PRUNED))
    check('the node prunes them again unless' in said or 'stored already' in said, said)
    net.start(PRUNED, *lengths('full'))
    follow(net, PRUNED)
    node = net.nodes[PRUNED]
    check(earliest(node) == 1, 'its earliest block is %d' % earliest(node))
    count = same(net, PRUNED, list(range(1, 60)) + list(range(95, 106)) + list(range(195, 205)))
    refused(node, '/v1/trace_api/get_block', {'block_num': 5}, 'are not stored here')
    print('  %s has all blocks, with %d transactions of those looked at' % (PRUNED, count), flush=True)


def late(net, folder):
    """Began with a snapshot; the nodes over the ids come back, too: it proves old blocks."""
    made = net.nodes[FULL].ask('/v1/producer/create_snapshot')['snapshot_name']
    node = prepare(net, LATE, FULL, [FULL, PRUNED])
    genesis = os.path.join(net.dir, 'genesis.json')
    net.cli('snapshot', 'load', made, '--data-dir', node.path('data'), '--genesis', genesis)
    net.nodes[FULL].stop()
    export(net, folder)
    net.start(FULL)
    follow_any(net, FULL, PRUNED)
    archive(net, 'import', folder, '--data-dir', node.path('data'))
    net.start(LATE)
    follow(net, LATE)
    check(earliest(node) == 1, 'its earliest block is %d' % earliest(node))
    same(net, LATE, [1, 2, 3, 50, 100, 101, 200])
    proof = os.path.join(net.dir, 'proof')
    net.cli('proof', 'get', '7', '--genesis', genesis, '--file', proof, url=node.url)
    net.cli('proof', 'verify', proof, '--genesis', genesis)


def served(net):
    """A blank node that knows only the one whose blocks came from the archive."""
    node = prepare(net, BLANK, FULL, [PRUNED], 'join-with-one-organisation = true')
    net.start(BLANK)
    follow(net, BLANK)
    check(earliest(node) == 1, 'it began at block %d' % earliest(node))
    same(net, BLANK, [2, 50, 101])


def run(net, given):
    net.up(100)
    folder = os.path.join(net.dir, 'archive')
    with Load(net, rate=20) as load:
        grow(net, given.blocks)
    print('exported', flush=True)
    exported(net, folder)
    for part, more in ((prune, (given.keep,)), (imported, (folder, given.keep)), (late, (folder,)), (served, ())):
        print(part.__name__, flush=True)
        part(net, *more)
    return '%d transfers' % load.sent


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--build', required=True)
    parser.add_argument('--blocks', type=int, default=400)
    parser.add_argument('--keep', type=int, default=100)
    given = parser.parse_args()
    net = FastNetwork(given.build)
    return report(net, lambda net: run(net, given))


if __name__ == '__main__':
    sys.exit(main())
