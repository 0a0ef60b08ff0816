#!/usr/bin/env python3
"""Breaks a network of four validators in each way that `bor-cli doctor` explains, and reads what
it says: a validator down, a clock 3 s off, a lagging validator, a partition, a revoked key.

usage: doctor.py --build BUILD_DIR [--only NAME]
"""
import argparse
import contextlib
import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

from processes import has_ended

PATIENCE = 100      # Seconds until a situation must be explained.


def remove_faketime_of_the_dead():
    """faketime leaves what it shares behind when its process is killed, and a later process that gets
    the same number does not start."""
    for path in glob.glob('/dev/shm/*faketime_*_*'):
        if not os.path.exists('/proc/' + path.rsplit('_', 1)[1]):
            with contextlib.suppress(FileNotFoundError):
                os.remove(path)


def has_members(group):
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


class Network:
    def __init__(self, build):
        self.bin = os.path.join(os.path.realpath(build), 'bin')
        self.dir = tempfile.mkdtemp(prefix='bor-doctor-')
        self.commands = {}
        self.children = {}

    def cli(self, *words, url=None, check=True):
        more = ['-u', url] if url else []
        done = subprocess.run([os.path.join(self.bin, 'bor-cli'), '--dir', self.dir, *more, *words],
                              capture_output=True, text=True, timeout=120)
        if check and done.returncode != 0:
            raise RuntimeError('bor-cli %s: %s%s' % (' '.join(words), done.stdout, done.stderr))
        return done.stdout

    def up(self):
        self.cli('network', 'up', '-n', '4', '--block-interval', '200')
        self.learn_commands()

    def learn_commands(self):
        """How the nodes were started, for start()."""
        for each in self.validators():
            with open('/proc/%d/cmdline' % each['pid'], 'rb') as f:
                self.commands[each['name']] = [word.decode() for word in f.read().split(b'\0') if word]

    def validators(self):
        with open(os.path.join(self.dir, 'network.json'), encoding='utf-8') as f:
            return json.load(f)['validators']

    def of(self, name):
        return next(each for each in self.validators() if each['name'] == name)

    def pid(self, name):
        return self.children[name].pid if name in self.children else self.of(name)['pid']

    def signal(self, name, number):
        os.kill(self.pid(name), number)

    def stop(self, name):
        if name not in self.children:
            pid = self.pid(name)
            os.kill(pid, signal.SIGKILL)
            # Until then it holds its data directory.
            return wait_for('%s to end' % name, lambda: (has_ended(pid), None))
        # Perhaps faketime stands in front of it, and ends before it.
        child = self.children.pop(name)
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        return wait_for('%s to end' % name, lambda: (not has_members(child.pid), None))

    def stop_at_once(self, names):
        """No one of them works on without another."""
        for name in names:
            self.signal(name, signal.SIGSTOP)
        for name in names:
            self.stop(name)

    def start(self, name, *before, more=()):
        """The node as it was started before, with another command in front of it, or more options."""
        remove_faketime_of_the_dead()
        with open(self.of(name)['log'], 'ab') as log:
            self.children[name] = subprocess.Popen([*before, *self.commands[name], *more],
                                                   stdout=log, stderr=log, start_new_session=True)

    def stop_children(self):
        for child in self.children.values():
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()

    def down(self):
        self.stop_children()
        self.cli('network', 'down', check=False)
        remove_faketime_of_the_dead()
        shutil.rmtree(self.dir, ignore_errors=True)

    def findings(self, name):
        out = self.cli('-j', 'doctor', url=self.of(name)['http'], check=False)
        return [each for each in json.loads(out) if each['check'] not in ('disk', 'wallet')]

    def wrong(self, name):
        wrong = {}
        for each in self.findings(name):
            if not each['good']:
                wrong.setdefault(each['check'], []).append(each['text'])
        return {check: ' '.join(texts) for check, texts in wrong.items()}

    def final(self, name):
        out = self.cli('get', 'info', url=self.of(name)['http'])
        return json.loads(out)['last_irreversible_block_num']


def wait_for(what, question):
    deadline = time.monotonic() + PATIENCE
    seen = None
    while time.monotonic() < deadline:
        try:
            seen = question()
            if seen is not None and seen[0]:
                return seen[1]
        except (ValueError, OSError, RuntimeError) as error:
            seen = (False, error)
        time.sleep(0.3)
    raise AssertionError('%s: not within %d s: %s' % (what, PATIENCE, seen))


def sentence(wrong, kind, words):
    """What is said about `kind`, if it has these words."""
    text = wrong.get(kind, '')
    return text if all(word in text for word in words) else ''


def explained(net, by, kind, *words):
    """The doctor of `by` says a sentence about `kind` with these words in it."""
    def look():
        wrong = net.wrong(by)
        text = sentence(wrong, kind, words)
        return text != '', text or wrong
    text = wait_for('%s (%s)' % (kind, ', '.join(words)), look)
    print('  %s: %s' % (by, text))


def explained_before(net, by, kind, later, *words):
    """The same, unless nothing but a sentence about `later` comes. The doctor looks for two seconds, and
    what it is to find may last no longer: so one begins every half a second."""
    def look(delay):
        time.sleep(delay)
        return net.wrong(by)
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        with ThreadPoolExecutor(8) as pool:
            seen = list(pool.map(look, [each / 2 for each in range(8)]))
        text = next(filter(None, (sentence(wrong, kind, words) for wrong in seen)), '')
        if text:
            print('  %s: %s' % (by, text))
        if text or any(later in wrong for wrong in seen):
            return text != ''
    raise AssertionError('%s: neither that nor %s within %d s' % (kind, later, PATIENCE))


def log_of(net, name):
    with open(net.of(name)['log'], encoding='utf-8', errors='replace') as f:
        return f.read()


def logged(net, name, text):
    wait_for('%s in the log of %s' % (text, name), lambda: (text in log_of(net, name), log_of(net, name)[-1000:]))


def healthy(net):
    """A key that went on without its journal is named until it has a successor: nothing is wrong with that."""
    def look():
        wrong = {name: {kind: text for kind, text in net.wrong(name).items() if kind != 'amnesia'}
                 for name in net.commands}
        return not any(wrong.values()), wrong
    wait_for('health', look)


def validator_down(net):
    net.stop('bord')
    explained(net, 'bora', 'down', 'bord is down')
    before = net.final('bora')
    wait_for('finality with three of four', lambda: (net.final('bora') > before + 5, before))
    logged(net, 'bora', 'down: bord is down or cannot be reached')
    net.start('bord')
    logged(net, 'bora', 'down is over: bord')


def clock_off(net):
    net.stop('borc')
    net.start('borc', 'faketime', '-f', '+3s')
    explained(net, 'bora', 'clock', 'The clock of borc is', 'ahead of')
    explained(net, 'borc', 'clock', 'The clock of this node is', 'ahead of')
    net.stop('borc')
    net.start('borc')


def lagging(net):
    """A process that stands still lags for some seconds, and is then down: its peers give it up. On
    a busy machine the doctor may come too late for those seconds, so the process stops again."""
    for _ in range(5):
        net.signal('bord', signal.SIGSTOP)
        try:
            if explained_before(net, 'bora', 'lagging', 'down', 'bord lags'):
                return
        finally:
            net.signal('bord', signal.SIGCONT)
        healthy(net)
    raise AssertionError('lagging was never explained')


def partition(net):
    net.stop('borc')
    net.stop('bord')
    explained(net, 'bora', 'partition', 'only 2 of 4', 'borc and bord')
    explained(net, 'borb', 'partition', 'only 2 of 4', 'borc and bord')
    explained(net, 'bora', 'finality', 'Nothing has become final since 20', 'only 2 of 4')
    # Who has just started hears too few clocks to make a block: nobody is paused.
    net.stop('bora')
    net.start('bora')
    explained(net, 'bora', 'head', 'nothing becomes final since 20', '2 of 4 validators can be reached')
    if 'paused' in net.wrong('bora').get('head', ''):
        raise AssertionError('the producer is called paused')
    net.start('borc')
    net.start('bord')


def revoked(net):
    node = next(each['node'] for each in json.loads(net.cli('-j', 'node', 'list'))
                if each['organisation'] == 'bord')
    net.cli('node', 'remove', node, '--force', '-p', 'eosio')
    explained(net, 'bora', 'revoked', 'bord cannot connect')
    explained(net, 'bord', 'revoked', 'Peers refuse this node')


SITUATIONS = [validator_down, clock_off, lagging, partition, revoked]   # The last is for ever.


def run(description, situations):
    """Four validators, and each situation after another; the next begins when all is well again."""
    parser = argparse.ArgumentParser(description=description,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--build', required=True)
    parser.add_argument('--only', default='')
    options = parser.parse_args()
    chosen = [each for each in situations if options.only in each.__name__]
    net = Network(options.build)
    try:
        net.up()
        for situation in chosen:
            healthy(net)
            print(situation.__name__.replace('_', ' '), flush=True)
            situation(net)
        print('%d situations passed' % len(chosen))
    finally:
        net.down()
    return 0


if __name__ == '__main__':
    sys.exit(run(__doc__, SITUATIONS))
