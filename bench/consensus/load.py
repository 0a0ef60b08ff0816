#!/usr/bin/env python3
"""Finality of four validators at 100 ms slots under load: at 0.6 x the cores of this machine /
(4 x the CPU time of a transfer on one node), by `bor-cli bench load`, and in how many of the
blocks the one before is final already.

usage: load.py BUILD_DIR [--seconds N]
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile


def cpu_seconds(pids):
    total = 0
    for pid in pids:
        with open('/proc/%d/stat' % pid, encoding='utf-8') as f:
            fields = f.read().rsplit(')', 1)[1].split()
        total += int(fields[11]) + int(fields[12])
    return total / os.sysconf('SC_CLK_TCK')


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('build')
    parser.add_argument('--seconds', type=int, default=20)
    options = parser.parse_args()
    place = tempfile.mkdtemp(prefix='bor-bench-')

    def cli(*words):
        done = subprocess.run([os.path.join(options.build, 'bin', 'bor-cli'), '--dir', place, *words],
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit('bor-cli %s: %s%s' % (' '.join(words), done.stdout, done.stderr))
        return done.stdout

    def load(rate):
        out = cli('-j', 'bench', 'load', '--rate', str(rate), '--seconds', str(options.seconds))
        return json.loads(out)

    try:
        cli('network', 'up', '-n', '4', '--open', '--block-interval', '100')
        with open(os.path.join(place, 'network.json'), encoding='utf-8') as f:
            pids = [each['pid'] for each in json.load(f)['validators']]
        load(50)        # Accounts, and the contract.
        before = cpu_seconds(pids)
        sent = load(200)['sent']
        each = (cpu_seconds(pids) - before) / sent / 4
        rate = int(0.6 * os.cpu_count() / (4 * each))
        print('CPU of a transfer on one node, blocks and votes included: %.2f ms; so %d transfers/s'
              % (each * 1000, rate))
        result = load(rate)
        print('%d sent, %d refused, %.0f/s accepted' %
              (result['sent'], result['refused'], result['accepted_per_second']))
        for stage in ('accepted', 'in_block', 'final'):
            print('%-9s p50 %6.1f ms   p99 %6.1f ms   after it was due'
                  % (stage, result[stage]['p50_ms'], result[stage]['p99_ms']))
    finally:
        subprocess.run([os.path.join(options.build, 'bin', 'bor-cli'), '--dir', place, 'network',
                        'down'], capture_output=True, check=False)
        shutil.rmtree(place, ignore_errors=True)


if __name__ == '__main__':
    main()
