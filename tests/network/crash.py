#!/usr/bin/env python3
"""Kills a node with SIGKILL at random moments under load, also while it starts.

After every kill it must serve again without help; no transaction that was reported final may be
missing or in another place; none may run twice; and at the end a replay from genesis must give
the same state (bor-node --verify-chain).

usage: crash.py --build BUILD_DIR [--rounds N] [--seed N]
"""
import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

from processes import has_ended

TOKEN = 'bank.token'
UNIT = '0.0001 SYS'


class Network:
    def __init__(self, build):
        self.bin = os.path.join(os.path.realpath(build), 'bin')
        self.contracts = os.path.join(os.path.realpath(build), 'contracts')
        self.dir = tempfile.mkdtemp(prefix='bor-crash-')
        self.file = {}

    def cli(self, *words, check=True):
        done = subprocess.run([os.path.join(self.bin, 'bor-cli'), '--dir', self.dir, *words],
                              capture_output=True, text=True, timeout=120)
        if check and done.returncode != 0:
            raise RuntimeError('bor-cli %s: %s%s' % (' '.join(words), done.stdout, done.stderr))
        return done

    def up(self):
        options = [] if self.file else ['--open', '--block-interval', '100']
        self.cli('network', 'up', *options)
        with open(os.path.join(self.dir, 'network.json')) as f:
            self.file = json.load(f)

    def post(self, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.file['validators'][0]['http'] + path, data=data, method='POST')
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.load(answer)

    def kill(self):
        pid = self.file['validators'][0]['pid']
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        # Until it has ended it holds its data directory.
        while not has_ended(pid):
            time.sleep(0.01)

    def start_and_kill(self, after):
        """Starts the node as `network up` does and kills it while it starts."""
        home = os.path.dirname(self.file['validators'][0]['data_dir'])
        with open(self.file['validators'][0]['log'], 'ab') as log:
            child = subprocess.Popen([os.path.join(self.bin, 'bor-node'), '--config-dir', home + '/config',
                                      '--data-dir', home + '/data',
                                      '--genesis-json', self.dir + '/genesis.json'],
                                     stdout=log, stderr=log)
        time.sleep(after)
        child.kill()
        child.wait()

    def verify(self):
        home = os.path.dirname(self.file['validators'][0]['data_dir'])
        done = subprocess.run([os.path.join(self.bin, 'bor-node'), '--config-dir', home + '/config',
                               '--data-dir', home + '/data', '--genesis-json', self.dir + '/genesis.json',
                               '--verify-chain'], capture_output=True, text=True, timeout=600)
        if done.returncode != 0:
            raise RuntimeError('--verify-chain: %s%s' % (done.stdout, done.stderr))
        return done.stdout.strip()


class Load:
    """Threads that send transfers, each with a memo of its own, and note what is answered."""

    def __init__(self, network, first):
        self.network, self.count, self.accepted = network, first, []
        self.lock, self.stopped = threading.Lock(), False
        self.threads = [threading.Thread(target=self.run) for _ in range(3)]
        for thread in self.threads:
            thread.start()

    def run(self):
        while not self.stopped:
            with self.lock:
                self.count += 1
                memo = 'transfer %d' % self.count
            sent = self.network.cli('-j', 'transfer', '--contract', TOKEN, 'alice', 'bob', UNIT, memo,
                                    check=False)
            if sent.returncode == 0:
                with self.lock:
                    self.accepted.append(json.loads(sent.stdout)['transaction_id'])

    def stop(self):
        self.stopped = True
        for thread in self.threads:
            thread.join()


def set_up(network):
    key = network.file['system_key']['public']
    for name in (TOKEN, 'alice', 'bob'):
        network.cli('create', 'account', 'eosio', name, key)
    network.cli('set', 'contract', TOKEN, os.path.join(network.contracts, 'token'))
    network.cli('push', 'action', TOKEN, 'create', '["alice","1000000.0000 SYS"]', '-p', TOKEN)
    network.cli('push', 'action', TOKEN, 'issue', '["alice","1000000.0000 SYS",""]', '-p', 'alice')


def watch_final(network, ids, final):
    """Moves what the node reports as final into `final`: id -> block number."""
    for one in ids:
        if one in final:
            continue
        try:
            status = network.post('/v1/chain/get_transaction_status', {'id': one})
        except (urllib.error.URLError, OSError, ValueError):
            return
        if status.get('state') == 'IRREVERSIBLE':
            final[one] = status['block_number']


def check_final(network, final, sample):
    for one in random.sample(sorted(final), min(sample, len(final))):
        status = network.post('/v1/chain/get_transaction_status', {'id': one})
        if status.get('state') != 'IRREVERSIBLE' or status.get('block_number') != final[one]:
            raise AssertionError('transaction %s was final in block %d, now: %s' % (one, final[one], status))


def count_on_chain(network):
    """Every transfer in every final block, each counted once; a second time is an error."""
    seen = {}
    last = network.post('/v1/chain/get_info')['last_irreversible_block_num']
    for number in range(2, last + 1):
        for entry in network.post('/v1/chain/get_block', {'block_num_or_id': number})['transactions']:
            one = entry['trx']['id']
            if one in seen:
                raise AssertionError('transaction %s is in blocks %d and %d' % (one, seen[one], number))
            if entry['trx']['transaction']['actions'][0]['name'] == 'transfer':
                seen[one] = number
    return seen, last


def wait_for_head(network, patience=60):
    """What is in a block by now becomes final."""
    head = network.post('/v1/chain/get_info')['head_block_num']
    deadline = time.monotonic() + patience
    while network.post('/v1/chain/get_info')['last_irreversible_block_num'] < head:
        if time.monotonic() > deadline:
            raise AssertionError('block %d is not final after %d s' % (head, patience))
        time.sleep(0.05)


def rounds(network, count):
    final, sent = {}, 0
    for number in range(1, count + 1):
        load = Load(network, sent)
        deadline = time.monotonic() + random.uniform(0.3, 2.5)
        while time.monotonic() < deadline:
            with load.lock:
                ids = list(load.accepted)
            watch_final(network, ids, final)
            time.sleep(0.02)
        network.kill()
        load.stop()
        sent = load.count
        for _ in range(random.choice((0, 0, 1, 2))):
            network.start_and_kill(random.uniform(0, 0.4))
        began = time.monotonic()
        network.up()
        check_final(network, final, 50)
        print('round %d: %d transfers final so far, served again after %.2f s'
              % (number, len(final), time.monotonic() - began), flush=True)
    return final


def run(network, story):
    """The end of the node's log is shown when the story fails; the network is gone afterwards."""
    try:
        story()
    except Exception as error:  # The log says more than any message here.
        print('FAILED: %s' % error, file=sys.stderr)
        if network.file:
            with open(network.file['validators'][0]['log']) as log:
                print(log.read()[-4000:], file=sys.stderr)
        return 1
    finally:
        network.cli('network', 'down', check=False)
        shutil.rmtree(network.dir, ignore_errors=True)
    return 0


def story(network, count):
    network.up()
    set_up(network)
    final = rounds(network, count)
    wait_for_head(network)
    check_final(network, final, len(final))
    seen, last = count_on_chain(network)
    missing = set(final) - set(seen)
    if missing:
        raise AssertionError('reported final and not in any block: %s' % sorted(missing))
    balance = network.post('/v1/chain/get_currency_balance', {'code': TOKEN, 'account': 'bob'})
    paid = round(float(balance[0].split()[0]) * 10000)
    if paid != len(seen):
        raise AssertionError('%d transfers in blocks, but %d were paid' % (len(seen), paid))
    network.cli('network', 'down')
    print(network.verify())
    print('%d rounds: %d transfers reported final, %d in %d blocks, none lost, none twice'
          % (count, len(final), len(seen), last))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--build', required=True)
    parser.add_argument('--rounds', type=int, default=8)
    parser.add_argument('--seed', type=int, default=int(time.time()))
    options = parser.parse_args()
    random.seed(options.seed)
    print('seed %d' % options.seed)
    network = Network(options.build)
    return run(network, lambda: story(network, options.rounds))


if __name__ == '__main__':
    sys.exit(main())
