#!/usr/bin/env python3
"""How a blank node comes to the head of a chain of one validator: by blocks, with trust = certified and full, and
by a snapshot; over TCP with TLS and over shared memory; a snapshot made, loaded from its folder, and joined by a
line of 100 Mbit/s and 50 ms. Wall time, CPU of both sides, bytes and peak memory of each, beside the bare loops
(`bench_bootstrap --bare`); R is one bare recovery.

usage: measure.py --build BUILD_DIR [--accounts N] [--transfers N] [--blocks N] [--data DIR] [--csv FILE] [--only TEXT]
--data: keeps the chain there, and takes one that is there.
"""
import argparse
import csv
import http.client
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), '../../tests/network'))
from asking import connection_for  # noqa: E402
from slow_line import SlowLine  # noqa: E402

PATIENCE = 1800             # Seconds for one way to join.
LINE_RATE = 12_500_000      # Bytes a second: 100 Mbit/s,
LINE_DELAY = 0.025          # and 50 ms there and back.
TICK = os.sysconf('SC_CLK_TCK')
FIELDS = ['what', 'seconds', 'blocks', 'transfers', 'rows', 'cpu', 'cpu_server', 'mib_in', 'peak_mib',
          'peak_mib_server']


def free_port():
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


class Node:
    """A bor-node whose directory is DIR/NAME."""

    def __init__(self, args, name, *options):
        self.home, self.bin = os.path.join(args.data, name), os.path.join(args.build, 'bin')
        self.http, self.p2p = free_port(), '127.0.0.1:%d' % free_port()
        self.options = ['--p2p-node-key', os.path.join(args.data, name + '.key'), *options]
        self.child = None

    def start(self, *more):
        os.makedirs(os.path.join(self.home, 'data'), exist_ok=True)
        with open(os.path.join(self.home, 'log'), 'ab') as log:
            self.child = subprocess.Popen(
                [os.path.join(self.bin, 'bor-node'), '--data-dir', os.path.join(self.home, 'data'),
                 '--config-dir', os.path.join(self.home, 'config'),
                 '--http-server-address', '127.0.0.1:%d' % self.http, *self.options, *more],
                stdout=log, stderr=log)

    def ask(self, path, body=None):
        connection = connection_for(path, 'http://127.0.0.1:%d' % self.http,
                                    os.path.join(self.home, 'data'), timeout=600)
        try:
            connection.request('POST', path, json.dumps(body) if body is not None else '')
            answer = connection.getresponse()
            value = json.loads(answer.read())
        finally:
            connection.close()
        if answer.status >= 300:
            raise RuntimeError('%s: %s' % (path, value))
        return value

    def final(self):
        try:
            return self.ask('/v1/chain/get_info')['last_irreversible_block_num']
        except (OSError, RuntimeError, http.client.HTTPException):
            if self.child.poll() is not None:
                raise SystemExit('bor-node ended; see %s/log' % self.home) from None
            return 0

    def wait(self, height, pause=0.02):
        deadline = time.monotonic() + PATIENCE
        while self.final() < height:
            if time.monotonic() > deadline:
                raise SystemExit('block %d was not reached in %d s; see %s/log' % (height, PATIENCE, self.home))
            time.sleep(pause)

    def cpu(self):
        with open('/proc/%d/stat' % self.child.pid, encoding='utf-8') as f:
            fields = f.read().rsplit(')', 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICK

    def peak(self):
        with open('/proc/%d/status' % self.child.pid, encoding='utf-8') as f:
            return next(int(line.split()[1]) for line in f if line.startswith('VmHWM')) / 1024

    def forget_peak(self):
        with open('/proc/%d/clear_refs' % self.child.pid, 'w', encoding='utf-8') as f:
            f.write('5')

    def stop(self):
        if self.child is not None:
            self.child.terminate()
            self.child.wait()
            self.child = None


class Bench:
    def __init__(self, args):
        self.args, self.table = args, []
        self.chain = os.path.join(args.data, 'chain.txt')
        if not os.path.exists(self.chain):
            said = subprocess.check_output(
                [os.path.join(args.build, 'bin', 'bench_bootstrap'), '--make', args.data,
                 '--accounts', str(args.accounts), '--transfers', str(args.transfers),
                 '--blocks', str(args.blocks)], text=True)
            with open(self.chain, 'w', encoding='utf-8') as f:
                f.write('%s %d %d' % (said.strip(), args.accounts, args.transfers))
        with open(self.chain, encoding='utf-8') as f:
            self.key, height, self.block, accounts, transfers = f.read().split()
        self.height, self.accounts, self.transfers = int(height), int(accounts), int(transfers)
        self.rows = 0
        self.server = Node(args, 'server')
        self.genesis = os.path.join(args.data, 'genesis.json')
        shutil.copyfile(os.path.join(args.data, 'server', 'data', 'genesis.json'), self.genesis)

    def serve(self, *more):
        self.server.stop()
        self.server.start('--producer-name', 'bora', '--signature-provider',
                          '%s=KEY:file:%s' % (self.key, os.path.join(self.args.data, 'validator.key')),
                          '--p2p-listen-endpoint', self.server.p2p, '--plugin', 'producer_api_plugin',
                          '--snapshot-keep', '0', *more)
        self.server.wait(self.height + 1)

    def note(self, what, seconds, **figures):
        row = {'what': what, 'seconds': round(seconds, 2),
               **{name: round(value, 2) for name, value in figures.items()}}
        self.table.append(row)
        print('  '.join('%s %s' % (name, row[name]) for name in FIELDS if name in row), flush=True)

    def join(self, what, address, *options, by_snapshot):
        """From an empty directory to serving at the head that the server had."""
        joiner = Node(self.args, 'joiner', '--genesis-json', self.genesis, '--p2p-peer-address', address,
                      '--checkpoint', '%d:%s' % (self.height, self.block), *options)
        shutil.rmtree(joiner.home, ignore_errors=True)
        goal = self.server.final()
        self.server.forget_peak()
        before, began = self.server.cpu(), time.monotonic()
        joiner.start()
        joiner.wait(goal)
        took = time.monotonic() - began
        cpu, server = joiner.cpu(), self.server.cpu() - before
        peers = joiner.ask('/v1/bor/peers')['peers']
        has_blocks = joiner.ask('/v1/chain/get_info')['earliest_available_block_num'] <= 2
        if has_blocks == by_snapshot:
            raise SystemExit('%s: it did not join that way; see %s/log' % (what, joiner.home))
        self.note(what, took, blocks=0 if by_snapshot else goal, rows=self.rows if by_snapshot else 0,
                  transfers=0 if by_snapshot else self.transfers, cpu=cpu, cpu_server=server,
                  mib_in=sum(int(each['bytes_in']) for each in peers) / 2**20,
                  peak_mib=joiner.peak(), peak_mib_server=self.server.peak())
        joiner.stop()

    def make_snapshot(self):
        self.server.forget_peak()
        idle, before, began = self.server.peak(), self.server.cpu(), time.monotonic()
        made = self.server.ask('/v1/producer/create_snapshot')
        took = time.monotonic() - began
        self.snapshot = made['snapshot_name']
        self.rows = self.rows_of()
        self.note('snapshot made', took, rows=self.rows, cpu=self.server.cpu() - before,
                  peak_mib=self.server.peak() - idle)

    def rows_of(self):
        said = subprocess.check_output([os.path.join(self.args.build, 'bin', 'bench_bootstrap'), '--bare',
                                        self.snapshot, '--json'], text=True)
        bare = json.loads(said)
        print('bare: ' + ', '.join('%s %s' % each for each in bare.items()), flush=True)
        return int(bare['rows []'])

    def load(self):
        data = os.path.join(self.args.data, 'loaded')
        shutil.rmtree(data, ignore_errors=True)
        began = time.monotonic()
        child = subprocess.Popen([os.path.join(self.args.build, 'bin', 'bor-cli'), 'snapshot', 'load', self.snapshot,
                                  '--data-dir', data, '--genesis', self.genesis], stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(child.pid, 0)
        if status != 0:
            raise SystemExit('snapshot load failed')
        self.note('snapshot loaded', time.monotonic() - began, rows=self.rows,
                  cpu=used.ru_utime + used.ru_stime, peak_mib=used.ru_maxrss / 1024)
        shutil.rmtree(data)

    def run(self):
        wanted = self.args.only
        try:
            self.serve()
            for transport in ('tcp', 'shm'):
                for trust in ('certified', 'full'):
                    what = 'blocks, %s, %s' % (trust, transport)
                    if wanted in what:
                        self.join(what, self.server.p2p, '--trust', trust, '--transport', transport,
                                  by_snapshot=False)
            if wanted not in 'snapshot' and not wanted.startswith('snapshot'):
                return
            self.make_snapshot()
            self.load()
            # Nobody has the blocks below it any more.
            self.serve('--history', 'none')
            for transport in ('tcp', 'shm'):
                self.join('snapshot, ' + transport, self.server.p2p, '--transport', transport, by_snapshot=True)
            line = SlowLine(self.server.p2p, LINE_RATE, LINE_DELAY)
            self.join('snapshot, slow line', line.near, '--transport', 'tcp', by_snapshot=True)
        finally:
            self.server.stop()

    def write(self):
        with open(self.args.csv, 'w', encoding='utf-8', newline='') as f:
            table = csv.DictWriter(f, FIELDS)
            table.writeheader()
            table.writerows(self.table)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--build', required=True)
    parser.add_argument('--accounts', type=int, default=1_000_000)
    parser.add_argument('--transfers', type=int, default=1_000_000)
    parser.add_argument('--blocks', type=int, default=100_000)
    parser.add_argument('--data')
    parser.add_argument('--csv')
    parser.add_argument('--only', default='')
    args = parser.parse_args()
    made = None if args.data else tempfile.mkdtemp(prefix='bor_bootstrap_')
    args.data = os.path.abspath(args.data or made)
    try:
        bench = Bench(args)
        print('%d accounts, %d transfers, %d blocks; load %.1f' %
              (bench.accounts, bench.transfers, bench.height, os.getloadavg()[0]), flush=True)
        bench.run()
        if args.csv:
            bench.write()
    finally:
        if made:
            shutil.rmtree(made, ignore_errors=True)
    return 0


if __name__ == '__main__':
    sys.exit(main())
