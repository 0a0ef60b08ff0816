#!/usr/bin/env python3
"""Clients of Kafka, unchanged, against a broker (plugin = bps) that speaks TLS and admits nobody without a token.

Each test is a program of its own, which finds in the file BOR_BROKER: the broker's address, its certificate, where
it keeps its logs, and tokens of alice, who owns what she makes, and of guest, who has nothing.

usage: run.py --build BUILD_DIR [--only NAME]
"""
import argparse
import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), '..', '..', 'network'))
from broker import Network, PATIENCE, running   # noqa: E402  pylint: disable=wrong-import-position

HERE = os.path.dirname(os.path.realpath(__file__))
# Debian's modules belong to its own interpreter.
TESTS = {'kafkajs': ['node', '--test', '--test-reporter=spec', 'kafkajs.test.js'],
         'librdkafka': ['/usr/bin/python3', 'librdkafka_test.py'],
         'kafka-python': ['/usr/bin/python3', 'kafka_python_test.py']}
DELEGATED = ('createtopic', 'altertopic', 'deletetopic', 'addparts', 'deleterecs', 'grant', 'revoke')


class Sealed(Network):
    def __init__(self, build):
        super().__init__(build)
        self.tls = self.make_tls()

    def options(self, who):
        options = {**super().options(who), **self.tls}
        del options['bps-anonymous']
        return options

    def token(self, *words):
        return json.loads(self.cli('-j', 'bps', 'token', *words))['token']

    def register(self, who):
        """A certificate by which it logs in."""
        made = subprocess.run(['node', 'certificate.js', 'bps', who, 'active', self.dir], cwd=HERE, check=True,
                              capture_output=True, text=True).stdout
        key, certificate = (os.path.join(self.dir, 'client.' + each) for each in ('key', 'pem'))
        subprocess.run(['openssl', 'req', '-x509', '-new', '-key', key, '-out', certificate, '-days', '2',
                        '-subj', '/CN=' + who], check=True, capture_output=True)
        self.cli('push', 'action', 'bps', 'setcert', made, '-p', who)
        return {'client_certificate': certificate, 'client_key': key}

    def describe(self):
        about = {**self.register('alice'), 'address': self.address, 'certificate': self.tls['bps-tls-cert'],
                 'node_log': self.node()['log'],
                 'cli': [os.path.join(self.build, 'bin', 'bor-cli'), '--dir', self.dir],
                 'logs': os.path.join(self.node()['data_dir'], 'bps'),
                 'tokens': {who: self.token(who) for who in ('alice', 'guest')}}
        file = os.path.join(self.dir, 'broker.json')
        with open(file, 'w', encoding='utf-8') as out:
            json.dump(about, out)
        return file


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    parser.add_argument('--build', required=True)
    parser.add_argument('--only', choices=TESTS)
    arguments = parser.parse_args()
    with running(Sealed(arguments.build)) as network:
        network.cli('bps', 'delegate', 'alice', '1', *DELEGATED)
        environment = {**os.environ, 'BOR_BROKER': network.describe()}
        for name in TESTS if arguments.only is None else [arguments.only]:
            print('-- %s' % name, flush=True)
            began = time.monotonic()
            subprocess.run(TESTS[name], cwd=HERE, env=environment, check=True, timeout=PATIENCE * 5)
            print('-- %s: %.1f s' % (name, time.monotonic() - began), flush=True)
        tokens = json.load(open(environment['BOR_BROKER'], encoding='utf-8'))['tokens']
        for who, token in tokens.items():
            assert token not in network.log(), 'the log has the token of %s' % who
    return 0


if __name__ == '__main__':
    sys.exit(main())
