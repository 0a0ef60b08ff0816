#!/usr/bin/env python3
"""Validators that speak by RDMA, each by a device of its own: finality, a link that goes down
and comes back, a validator that is killed and comes back. The network is made here, and runs in the
machine of vm/run.sh.

usage: network.py --build BUILD_DIR
"""
import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

HERE = os.path.dirname(os.path.realpath(__file__))
COUNT = 2               # Of validators: emulation is slow.
INTERVAL_MS = 2000
PATIENCE = 120


def command_of(pid):
    with open('/proc/%d/cmdline' % pid, 'rb') as f:
        return [word.decode() for word in f.read().split(b'\0') if word]


def make(cli, folder):
    """A network that has begun; its nodes' commands and addresses."""
    subprocess.run([*cli, 'network', 'up', '-n', str(COUNT), '--block-interval', str(INTERVAL_MS)],
                   check=True, stdout=subprocess.DEVNULL)
    try:
        with open(os.path.join(folder, 'network.json'), encoding='utf-8') as f:
            nodes = json.load(f)['validators']
        return [{'name': each['name'], 'http': each['http'], 'command': command_of(each['pid'])}
                for each in nodes]
    finally:
        subprocess.run([*cli, 'network', 'down'], check=False, stdout=subprocess.DEVNULL)


def outside(build):
    folder = tempfile.mkdtemp(prefix='bor-rdma-')
    try:
        cli = [os.path.join(os.path.realpath(build), 'bin', 'bor-cli'), '--dir', folder]
        plan = os.path.join(folder, 'plan.json')
        with open(plan, 'w', encoding='utf-8') as f:
            json.dump(make(cli, folder), f)
        return subprocess.run([os.path.join(HERE, 'vm', 'run.sh'), '--devices', str(COUNT), '--no-share',
                               '--mem', '2048M', '--timeout', '400', '--',
                               'python3', os.path.realpath(__file__), '--inside', plan],
                              check=False).returncode
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Nodes:
    def __init__(self, plan):
        with open(plan, encoding='utf-8') as f:
            self.plan = {each['name']: each for each in json.load(f)}
        self.children = {}

    def start(self, name):
        device = list(self.plan).index(name)
        with open('/tmp/%s.log' % name, 'ab') as log:
            self.children[name] = subprocess.Popen(
                [*self.plan[name]['command'], '--transport', 'rdma',
                 '--rdma-address', '10.77.0.%d' % (device + 1)], stdout=log, stderr=log)

    def stop(self, name):
        self.children[name].send_signal(signal.SIGKILL)
        self.children.pop(name).wait()

    def ask(self, name, path):
        with urllib.request.urlopen(self.plan[name]['http'] + path, data=b'{}', timeout=10) as got:
            return json.load(got)

    def final(self, name):
        return self.ask(name, '/v1/chain/get_info')['last_irreversible_block_num']

    def kinds(self, name):
        return {peer['name']: peer['kind'] for peer in self.ask(name, '/v1/bor/transports')['peers']
                if peer['state'] == 'ready'}


def wait_for(what, question):
    begin = time.monotonic()
    seen = None
    while time.monotonic() < begin + PATIENCE:
        try:
            seen = question()
            if seen[0]:
                print('%s: after %d s' % (what, time.monotonic() - begin), flush=True)
                return
        except (ValueError, OSError) as error:
            seen = (False, error)
        time.sleep(0.5)
    raise AssertionError('%s: not within %d s: %s' % (what, PATIENCE, seen))


def settled(nodes, what, apart=frozenset()):
    """RDMA between all but those of `apart`, which have TCP; and blocks become final at all."""
    expected = {name: {peer: 'tcp' if {name, peer} & apart else 'rdma'
                       for peer in nodes.plan if peer != name} for name in nodes.plan}

    def paths():
        now = {name: nodes.kinds(name) for name in nodes.plan}
        return now == expected, now
    wait_for(what, paths)
    before = {name: nodes.final(name) for name in nodes.plan}
    wait_for('  finality at all', lambda: (
        all(nodes.final(name) > before[name] + 3 for name in nodes.plan), before))


def inside(plan):
    nodes = Nodes(plan)
    last = list(nodes.plan)[-1]
    try:
        for name in nodes.plan:
            nodes.start(name)
        settled(nodes, 'RDMA between all')
        subprocess.run(['ip', 'link', 'set', 'rdma%d' % (COUNT - 1), 'down'], check=True)
        settled(nodes, 'TCP with %s, whose link is down' % last, {last})
        subprocess.run(['sh', '/run/rdma-vm/link-up', str(COUNT - 1)], check=True)
        settled(nodes, 'RDMA again with %s' % last)
        nodes.stop(last)
        others = [name for name in nodes.plan if name != last]
        if COUNT > 3:
            before = {name: nodes.final(name) for name in others}
            wait_for('finality without %s, which is killed' % last, lambda: (
                all(nodes.final(name) > before[name] + 3 for name in others), before))
        nodes.start(last)
        settled(nodes, 'RDMA again with %s' % last)
    except AssertionError:
        for name in nodes.plan:
            print('--- %s' % name)
            subprocess.run(['tail', '-n', '15', '/tmp/%s.log' % name], check=False)
        raise
    finally:
        for name in list(nodes.children):
            nodes.stop(name)
    return 0


if __name__ == '__main__':
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--build')
    parser.add_argument('--inside', help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not options.build and not options.inside:
        parser.error('--build is missing')
    sys.exit(inside(options.inside) if options.inside else outside(options.build))
