#!/usr/bin/env python3
"""The broker of a node (plugin = bps) with kcat as its client, on a network of one validator.

records   1000 records are produced and consumed again, in clear and compressed, in order and equal.
group     a group's offsets are kept: a second consumer goes on where the first one ended.
revoked   a grant is taken back: a consumer that waits for records gets no more of them.
kills     the node is killed with SIGKILL under producers with acks=all, again and again: nothing that was
          acknowledged is lost, and what is read twice is equal.
stopped   an orderly stop and a start lose nothing either.
damaged   a partition whose directory is gone is named, and served once it is back; a broker whose directory cannot
          be opened serves nobody and says why, and its node goes on.
old       a producer that does not ask for versions is refused with Kafka's error 43, and the log says why.
refusals  each option that is wrong, or lacks another, ends the start with a text that names it.

usage: broker.py --build BUILD_DIR [--only PART] [--kills N]
"""
import argparse
import contextlib
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

from processes import has_ended

PATIENCE = 60      # Seconds until something that must happen counts as failed.


def free_port():
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


def equal(found, wanted):
    if found != wanted:
        raise AssertionError('%.300r, not %.300r' % (found, wanted))


def soon(what, happens, within=PATIENCE):
    deadline = time.monotonic() + within
    while time.monotonic() < deadline:
        if happens():
            return
        time.sleep(0.1)
    raise AssertionError('not within %d s: %s' % (within, what))


@contextlib.contextmanager
def running(network):
    """Set up, and taken down whatever happens; what the node said is shown where a test fails."""
    try:
        network.set_up()
        yield network
    except BaseException:
        print(network.log()[-6000:], file=sys.stderr)
        raise
    finally:
        network.down()


def run_parts(network, parts, only):
    """All of them, or those that `only` names, by commas."""
    with running(network):
        for name in parts if only is None else only.split(','):
            print(name, flush=True)
            began = time.monotonic()
            parts[name](network)
            print('  %.1f s' % (time.monotonic() - began), flush=True)


class Network:
    """One validator with a broker. Who comes without login is alice, who owns the topics, or guest."""

    interval = '100'    # Milliseconds from block to block.

    def __init__(self, build):
        self.build = os.path.realpath(build)
        self.dir = tempfile.mkdtemp(prefix='bor-broker-')
        self.port = free_port()
        self.address = '127.0.0.1:%d' % self.port

    def run(self, *words):
        return subprocess.run([os.path.join(self.build, 'bin', 'bor-cli'), '--dir', self.dir, *words],
                              capture_output=True, text=True, timeout=120)

    def cli(self, *words):
        done = self.run(*words)
        if done.returncode != 0:
            raise AssertionError('bor-cli %s: %s%s' % (' '.join(words), done.stdout, done.stderr))
        return done.stdout

    def node(self):
        with open(os.path.join(self.dir, 'network.json'), encoding='utf-8') as file:
            return json.load(file)['validators'][0]

    def log(self):
        with open(self.node()['log'], encoding='utf-8', errors='replace') as file:
            return file.read()

    def make_tls(self):
        """A certificate for the broker's address, and its key: the options that name them."""
        certificate, key = (os.path.join(self.dir, name) for name in ('tls.pem', 'tls.key'))
        subprocess.run(['openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes',
                        '-keyout', key, '-out', certificate, '-days', '2', '-subj', '/CN=broker',
                        '-addext', 'subjectAltName=IP:127.0.0.1'], check=True, capture_output=True)
        return {'bps-tls-cert': certificate, 'bps-tls-key': key}

    def set_up(self):
        self.cli('network', 'up', '--open', '--block-interval', self.interval)
        missing = self.run('bps', 'brokers')
        assert missing.returncode == 1 and "'bor-cli set contract bps" in missing.stderr, missing.stderr
        with open(os.path.join(self.dir, 'network.json'), encoding='utf-8') as file:
            self.public_key = key = json.load(file)['system_key']['public']
        self.key_file = os.path.join(self.dir, 'broker.key')
        broker_key = self.cli('key', 'create', '--r1', '--node', '--file', self.key_file).split()[-1]
        for name in ('bps', 'alice', 'guest'):
            self.cli('create', 'account', 'eosio', name, key)
        self.cli('create', 'account', 'eosio', 'broker1', key, broker_key)
        self.cli('set', 'contract', 'bps', os.path.join(self.build, 'contracts', 'bps'))
        self.cli('push', 'action', 'eosio', 'setpriv', '["bps",1]', '-p', 'eosio')
        self.cli('bps', 'broker', 'add', '1', 'broker1')
        self.config = os.path.join(os.path.dirname(self.node()['data_dir']), 'config', 'config.ini')
        with open(self.config, encoding='utf-8') as file:
            self.plain_config = file.read()
        self.restart_as('alice')
        self.cli('bps', 'delegate', 'bps', '1', 'createtopic', '--prefix', '__consumer_offsets')

    def options(self, who):
        return {'plugin': 'bps', 'bps-broker': '1', 'bps-account': 'broker1', 'bps-account-key': self.key_file,
                'bps-listen-endpoint': self.address, 'bps-anonymous': who + '@active'}

    def restart_as(self, who):
        """Starts the node again with a broker; who connects is this account."""
        self.end(signal.SIGTERM)
        with open(self.config, 'w', encoding='utf-8') as file:
            file.write(self.plain_config + ''.join('%s = %s\n' % each for each in self.options(who).items()))
        self.start()

    def start(self):
        before = self.log().count('has started, boot')
        self.cli('network', 'up')
        soon('the broker starts', lambda: self.log().count('has started, boot') > before)

    def end(self, with_signal):
        pid = self.node()['pid']
        os.kill(pid, with_signal)
        soon('the node ends', lambda: has_ended(pid))

    def topic(self, name, partitions=1):
        self.cli('bps', 'topic', 'create', 'alice', name, '--partitions', str(partitions))
        # Clients see it once it is final.
        soon('topic %s is there' % name,
             lambda: 'leader 1,' in self.kcat('-L', '-t', name, check=False).stdout)

    def kcat(self, *words, given=None, check=True):
        done = subprocess.run(['kcat', '-b', self.address, *words], input=given, capture_output=True,
                              text=True, timeout=PATIENCE)
        if check and done.returncode != 0:
            raise AssertionError('kcat %s: %s\n%s' % (' '.join(words), done.stderr, self.log()[-2000:]))
        return done

    def produce(self, topic, values, *options):
        self.kcat('-P', '-t', topic, '-X', 'acks=all', *options, given=''.join(each + '\n' for each in values))

    def consume(self, topic, *options):
        return self.kcat('-C', '-t', topic, '-o', 'beginning', '-e', '-q', *options).stdout.splitlines()

    def down(self):
        self.run('network', 'down')
        shutil.rmtree(self.dir, ignore_errors=True)


def values_of(name, count):
    return ['%s %d %s' % (name, i, 'x' * random.randrange(200)) for i in range(count)]


def records(network):
    for codec in ('none', 'gzip', 'snappy', 'lz4', 'zstd'):
        network.topic('records.' + codec)
        values = values_of(codec, 1000)
        network.produce('records.' + codec, values, '-z', codec)
        equal(network.consume('records.' + codec), values)
    network.topic('spread', 4)
    values = values_of('spread', 1000)
    network.produce('spread', values)
    equal(sorted(network.consume('spread')), sorted(values))


def group(network):
    network.topic('grouped', 2)
    values = values_of('grouped', 100)
    network.produce('grouped', values)
    read = ('-G', 'readers', '-e', '-q', '-X', 'auto.offset.reset=earliest', 'grouped')
    equal(sorted(network.kcat(*read).stdout.splitlines()), sorted(values))
    more = values_of('more', 50)
    network.produce('grouped', more)
    equal(sorted(network.kcat(*read).stdout.splitlines()), sorted(more))


def revoked(network):
    network.topic('rights')
    network.produce('rights', values_of('rights', 3))
    network.cli('bps', 'grant', 'alice', 'rights', 'guest', 'consume')
    network.restart_as('guest')
    equal(len(network.consume('rights')), 3)
    refused = network.kcat('-P', '-t', 'rights', '-X', 'message.timeout.ms=5000', given='no\n', check=False)
    assert 'authorization' in refused.stderr.lower(), refused.stderr
    grants = json.loads(network.cli('-j', 'bps', 'grants', 'alice'))
    number = [str(each['id']) for each in grants if each['name'] == 'rights']
    path = os.path.join(network.dir, 'waits')
    with open(path, 'wb') as file:
        waits = subprocess.Popen(['kcat', '-b', network.address, '-C', '-t', 'rights', '-o', 'end'],
                                 stdout=subprocess.DEVNULL, stderr=file)

    def said():
        with open(path, encoding='utf-8') as file:
            return file.read().lower()
    soon('the consumer waits', lambda: 'reached end' in said())
    network.cli('bps', 'revoke', 'alice', *number)
    waits.wait(PATIENCE)
    assert 'authorization failed' in said(), said()
    refused = network.kcat('-C', '-t', 'rights', '-o', 'beginning', '-e', check=False)
    assert refused.returncode != 0 and 'authorization' in refused.stderr.lower(), refused.stderr
    network.restart_as('alice')
    equal(len(network.consume('rights')), 3)


class Producers:
    """Threads that send small batches, each by a kcat of its own, and note which were acknowledged whole."""

    def __init__(self, network, topic, count):
        self.network, self.topic = network, topic
        self.lock, self.acknowledged, self.sent, self.stopped = threading.Lock(), [], 0, False
        self.threads = [threading.Thread(target=self.run, args=(i,)) for i in range(count)]
        for thread in self.threads:
            thread.start()

    def run(self, index):
        number = 0
        while not self.stopped:
            values = values_of('%d.%d' % (index, number), 20)
            number += 1
            done = self.network.kcat('-P', '-t', self.topic, '-p', str(index), '-vvv', '-X', 'acks=all',
                                     '-X', 'message.timeout.ms=3000',
                                     given=''.join(each + '\n' for each in values), check=False)
            whole = done.stderr.count('Message delivered') == len(values)
            with self.lock:
                self.sent += 1
                if whole:
                    self.acknowledged.append((index, values))

    def stop(self):
        self.stopped = True
        for thread in self.threads:
            thread.join()


def check_acknowledged(network, topic, producers):
    for index in range(len(producers.threads)):
        first = network.consume(topic, '-p', str(index))
        found = set(first)
        lost = [each for partition, values in producers.acknowledged if partition == index
                for each in values if each not in found]
        if lost:
            raise AssertionError('partition %d: %d acknowledged records are lost, as %s' % (
                index, len(lost), lost[0]))
        equal(network.consume(topic, '-p', str(index))[:len(first)], first)


def kills(network, count):
    network.topic('kills', 2)
    producers = Producers(network, 'kills', 2)
    try:
        for _ in range(count):
            before = len(producers.acknowledged)
            soon('producers go on', lambda: len(producers.acknowledged) >= before + 10)
            time.sleep(random.random())
            network.end(signal.SIGKILL)
            network.start()
        before = len(producers.acknowledged)
        soon('producers go on', lambda: len(producers.acknowledged) >= before + 10)
    finally:
        producers.stop()
    check_acknowledged(network, 'kills', producers)
    print('  %d kills, %d of %d batches acknowledged, none of their records lost' % (
        count, len(producers.acknowledged), producers.sent))


def stopped(network):
    network.topic('stopped', 2)
    producers = Producers(network, 'stopped', 2)
    try:
        soon('producers go on', lambda: len(producers.acknowledged) >= 10)
        network.end(signal.SIGTERM)
        network.start()
        before = len(producers.acknowledged)
        soon('producers go on', lambda: len(producers.acknowledged) >= before + 5)
    finally:
        producers.stop()
    check_acknowledged(network, 'stopped', producers)


def flip_first_bit(path):
    with open(path, 'r+b') as file:
        byte = file.read(1)[0]
        file.seek(0)
        file.write(bytes([byte ^ 1]))


def damaged(network):
    logs = os.path.join(network.node()['data_dir'], 'bps')
    before = set(os.listdir(logs))
    network.topic('damaged')
    network.produce('damaged', ['one'])
    directory, = (os.path.join(logs, name) for name in set(os.listdir(logs)) - before if name.endswith('-0'))

    def doctor(text):
        done = network.run('doctor')
        return done.returncode == 1 and text in done.stdout

    network.end(signal.SIGTERM)
    os.rename(directory, directory + '.away')
    network.start()
    soon('doctor names the partition', lambda: doctor(
        "does not serve 1 of its partitions: partition 0 of 'damaged' is not served: %s is gone" % directory))
    equal(network.log().count("partition 0 of 'damaged' is not served"), 1)
    os.rename(directory + '.away', directory)
    soon('the partition is served', lambda: network.run('doctor').returncode == 0)
    equal(network.consume('damaged'), ['one'])

    network.end(signal.SIGTERM)
    flip_first_bit(os.path.join(logs, 'partitions'))
    network.cli('network', 'up')
    soon('doctor names the file', lambda: doctor('serves nobody: %s/partitions' % logs))
    network.cli('create', 'account', 'eosio', 'goeson', network.public_key)
    network.end(signal.SIGTERM)
    flip_first_bit(os.path.join(logs, 'partitions'))
    network.start()
    soon('the partition is served', lambda: network.run('doctor').returncode == 0)
    equal(network.consume('damaged'), ['one'])


def old(network):
    network.topic('old')
    refused = network.kcat('-P', '-t', 'old', '-X', 'api.version.request=false', '-X', 'broker.version.fallback=0.9.0',
                           given='no\n', check=False)
    assert 'Message format on broker does not support request' in refused.stderr, refused.stderr
    equal(refused.returncode, 1)
    soon('the log says why', lambda: re.search(r'client gone .* reason=the client has closed after: Produce \d; '
                                               'record batches of magic 2 need version 3', network.log()))
    equal(network.consume('old'), [])


def refusals(network):
    good = network.options('alice')

    def refused(wanted, **changes):
        options = {**good, **{key.replace('_', '-'): value for key, value in changes.items()}}
        words = ['--%s=%s' % each for each in options.items() if each[1] is not None]
        done = subprocess.run([os.path.join(network.build, 'bin', 'bor-node'), '--config-dir', network.dir,
                               '--data-dir', os.path.join(network.dir, 'none'), *words],
                              capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 1 and wanted in done.stderr, done.stderr

    refused('of no use without plugin = bps', plugin='net_api_plugin')
    refused('plugin = bps needs bps-broker', bps_broker=None)
    refused('plugin = bps needs bps-account =', bps_account=None)
    refused('bps-account = Broker', bps_account='Broker')
    refused('plugin = bps needs bps-account-key', bps_account_key=None)
    refused('bps-listen-endpoint =', bps_listen_endpoint='127.0.0.1')
    refused('would send tokens in clear', bps_listen_endpoint='0.0.0.0:9092')
    refused('belong together', bps_tls_cert='cert.pem')
    refused('no client can connect to that', bps_advertised_endpoint='0.0.0.0:9092')
    refused('bps-anonymous =', bps_anonymous='@active')
    refused("did you mean 'bps-account-key'", **{'bps_acount_key': 'x'})


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    parser.add_argument('--build', required=True)
    parser.add_argument('--only')
    parser.add_argument('--kills', type=int, default=5)
    arguments = parser.parse_args()
    parts = {'records': records, 'group': group, 'revoked': revoked,
             'kills': lambda network: kills(network, arguments.kills), 'stopped': stopped,
             'damaged': damaged, 'old': old, 'refusals': refusals}
    run_parts(Network(arguments.build), parts, arguments.only)
    return 0


if __name__ == '__main__':
    sys.exit(main())
