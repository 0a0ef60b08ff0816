#!/usr/bin/env python3
"""Fills the disk of a node that takes transfers, with real processes and a file system of its own.

Blocks must stop with an error that says why, reads go on, new transfers are refused by name; killed and
started on the full disk it says so and ends; with room again it goes on by itself, and nothing that was
final is missing. Mounting the file system needs root.

usage: full_disk.py --build BUILD_DIR
"""
import argparse
import os
import shutil
import subprocess
import sys
import time

import doctor
from crash import TOKEN, UNIT, Load, Network, check_final, count_on_chain, run, set_up, watch_final

DISK = '160m'


def wait_for(what, question):
    doctor.wait_for(what, lambda: (question(), None))


def final(network):
    return network.post('/v1/chain/get_info')['last_irreversible_block_num']


def transfers(network, first):
    """Some transfers; returns where they were final, and how many were sent."""
    load, found = Load(network, first), {}
    try:
        wait_for('ten final transfers', lambda: watch_final(network, list(load.accepted), found) or len(found) >= 10)
    finally:
        load.stop()
    return found, load.count


def fill(path):
    with open(path, 'wb', buffering=0) as f:
        try:
            while True:
                f.write(b'x' * 65536)
        except OSError:
            pass


def stands(network):
    before = final(network)
    time.sleep(1)
    return final(network) == before


def check_full(network):
    wait_for('blocks to stop', lambda: stands(network))
    def explained():
        said = network.cli('doctor', check=False).stdout
        return 'no space is left' in said and 'make room' in said, said
    doctor.wait_for('doctor to say that the disk is full', explained)
    refused = network.cli('transfer', '--contract', TOKEN, 'alice', 'bob', UNIT, 'no room', check=False)
    if refused.returncode == 0 or 'no space is left' not in refused.stderr:
        raise AssertionError('a transfer on a full disk: %s%s' % (refused.stdout, refused.stderr))
    network.kill()
    started = network.cli('network', 'up', check=False)
    if started.returncode == 0 or 'no space is left' not in started.stderr.strip().splitlines()[-1]:
        raise AssertionError('started on a full disk: %s' % started.stderr)


def story(network, data):
    network.up()
    set_up(network)
    found, sent = transfers(network, 0)
    ballast = os.path.join(data, 'ballast')
    fill(ballast)
    wait_for('blocks to stop', lambda: stands(network))
    os.remove(ballast)
    before = final(network)
    wait_for('blocks to go on by themselves', lambda: final(network) > before + 5)
    more, sent = transfers(network, sent)
    found.update(more)
    fill(ballast)
    check_full(network)
    os.remove(ballast)
    network.up()
    more, _ = transfers(network, sent)
    found.update(more)
    check_final(network, found, len(found))
    missing = set(found) - set(count_on_chain(network)[0])
    if missing:
        raise AssertionError('reported final and not in any block: %s' % sorted(missing))
    network.cli('network', 'down')
    print(network.verify())
    print('full twice: %d transfers reported final, none lost, none twice' % len(found))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--build', required=True)
    network = Network(parser.parse_args().build)
    data = os.path.join(network.dir, 'bora', 'data')
    os.makedirs(data)
    subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=' + DISK, 'tmpfs', data], check=True)
    try:
        return run(network, lambda: story(network, data))
    finally:
        subprocess.run(['umount', '-l', data], check=False)
        shutil.rmtree(network.dir, ignore_errors=True)


if __name__ == '__main__':
    sys.exit(main())
