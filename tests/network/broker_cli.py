#!/usr/bin/env python3
"""bor-cli as a client of the broker (plugin = bps), on a network of one validator: produce, consume, groups, lag
and tokens.

records   lines are written and read again, with keys, and as JSON.
rights    who lacks a right is told the command that gives it; with that the same works.
quotas    a tenant above its rate takes the time, above its bytes it is refused; without its quota it goes on.
group     a member goes on where its group was; groups, lag, reset and delete tell and do the same.
tokens    a token is what kcat logs in with; its scope holds; revoked, it is refused, by its id and by time.
settings  of a topic one is changed and set back, and the others stay.
delegated what a broker may do is added to what it may already, and replaced by the word alone.
interrupt Ctrl-C ends a reader in order, and a producer once its records are acknowledged.
tls       with TLS: the certificate is checked, and a token goes that way.
up        `network up --broker-host` makes the certificates; clients that trust its authority, and they alone, come in.
gone      where no broker answers the command ends and says where.

usage: broker_cli.py --build BUILD_DIR [--only PART]
"""
import argparse
import json
import os
import re
import signal
import subprocess
import sys
import time

from broker import Network, equal, run_parts, soon


class Typed(Network):
    def __init__(self, build):
        super().__init__(build)
        self.more = {}

    def options(self, who):
        return {**super().options(who), **self.more}

    def bps(self, *words, given='', status=0):
        """What it prints, and what it says of itself."""
        done = self.run_given('bps', *words, given=given)
        if done.returncode != status:
            raise AssertionError('bor-cli bps %s: %d\n%s%s' % (
                ' '.join(words), done.returncode, done.stdout, done.stderr))
        return done.stdout if status == 0 else done.stderr

    def run_given(self, *words, given):
        return subprocess.run([os.path.join(self.build, 'bin', 'bor-cli'), '--dir', self.dir, *words],
                              input=given, capture_output=True, text=True, timeout=120)

    def start_bps(self, *words):
        return subprocess.Popen([os.path.join(self.build, 'bin', 'bor-cli'), '--dir', self.dir, 'bps', *words],
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def lines(self, topic, *options):
        return self.bps('consume', topic, '--until-end', *options).splitlines()


def contains(text, *parts):
    for part in parts:
        if part not in text:
            raise AssertionError('no %r in %s' % (part, text))


def records(network):
    network.topic('lines', 3)
    wanted = ['key%d=value %d' % (i % 7, i) for i in range(1000)]
    contains(network.bps('produce', 'lines', '--as', 'alice', '--key-separator', '=', given='\n'.join(wanted)),
             'in sync: 1000\n')
    for login in ((), ('--as', 'alice@active')):
        equal(sorted(network.lines('lines', '--key-separator', '=', *login)), sorted(wanted))
    read = [json.loads(each) for each in network.lines('lines', '-j')]
    equal(sorted(each['key'] + '=' + each['value'] for each in read), sorted(wanted))
    # A key is in one partition, and its records are in order.
    for key in {each['key'] for each in read}:
        of_key = [each for each in read if each['key'] == key]
        equal(len({each['partition'] for each in of_key}), 1)
        equal([each['value'] for each in of_key],
              [each.split('=')[1] for each in wanted if each.startswith(key + '=')])
    equal(len(network.lines('lines', '--from', 'end')), 0)
    equal(len(network.lines('lines', '--count', '10')), 10)


def rights(network):
    network.topic('rights')
    network.bps('produce', 'rights', '--as', 'alice', given='one\n')
    told = network.bps('consume', 'rights', '--as', 'guest', '--until-end', status=1)
    command = 'bps grant alice rights guest@active consume'
    contains(told, "guest@active lacks the right 'consume'", 'bor-cli ' + command)
    network.cli(*command.split())
    soon('the grant is final', lambda: network.run('bps', 'consume', 'rights', '--as', 'guest',
                                                   '--until-end').stdout == 'one\n')
    told = network.bps('produce', 'rights', '--as', 'guest', given='no\nneither\n', status=1)
    contains(told, '2 of 2 records were not acknowledged', 'bps grant alice rights guest@active produce')
    contains(network.bps('consume', 'nothing', '--as', 'alice', status=1), "there is no topic 'nothing'",
             'bps topic create')
    contains(network.bps('consume', 'rights', '--as', 'alice@none', status=1), "alice has no permission 'none'")
    contains(network.bps('consume', 'rights', '--as', 'nobody', status=1), "no login: no token: the chain has no account 'nobody'")
    # Taken back while a reader waits.
    waits = network.start_bps('consume', 'rights', '--as', 'guest')
    equal(waits.stdout.readline(), 'one\n')
    network.cli('bps', 'grant', 'alice', 'rights', 'guest', 'produce')
    contains(network.bps('revoke', 'alice', status=1), 'which grants?')
    contains(network.bps('revoke', 'alice', '--account', 'nobody', status=1), 'alice has no such grant')
    network.bps('revoke', 'alice', '--name', 'rights', '--account', 'guest', '--right', 'consume')
    equal([each['operation'] for each in json.loads(network.cli('-j', 'bps', 'grants', 'alice'))], [0])
    contains(network.bps('revoke', 'alice', '--right', 'read', status=1), "'read' is no right")
    for option in ('--name', '--account', '--right'):
        contains(network.bps('revoke', 'alice', option, '', status=1), option + ' is empty')
    network.bps('revoke', 'alice', '--account', 'guest')
    equal(json.loads(network.cli('-j', 'bps', 'grants', 'alice')), [])
    contains(waits.communicate(timeout=60)[1], 'bor-cli ' + command)
    equal(waits.returncode, 1)
    equal(network.lines('rights'), ['one'])


def quotas(network):
    network.topic('bounded')
    login = ('--as', 'alice')
    line = 'x' * 999 + '\n'
    contains(network.bps('quota', 'set', 'alice', status=1), 'bounds nothing', '--bytes-in 1000000')
    contains(network.bps('quota', 'set', 'alice', '--groups', '-1', status=1), "'-1' is not a bound for --groups")
    network.cli('bps', 'quota', 'set', 'all-others', '--bytes-in', '100000')
    contains(network.cli('bps', 'quotas'), 'bytes-in', 'all-others            100000              -')
    # As soon as the row is final: 300 kB take 3 s, and may be ahead by one, for which the next connection pays.
    took = []

    def waits():
        began = time.monotonic()
        network.bps('produce', 'bounded', *login, given=line * 300)
        took.append(time.monotonic() - began)
        return took[-1] > 2

    soon('a tenant above its rate waits', waits)
    equal(len(network.lines('bounded')), 300 * len(took))
    network.cli('bps', 'quota', 'set', 'alice', '--stored-bytes', '1000')
    soon('the quota is final', lambda: "used up: 'bor-cli bps quotas'" in network.run_given(
        'bps', 'produce', 'bounded', *login, given='no\n').stderr)
    network.cli('bps', 'quota', 'remove', 'all-others')
    network.cli('bps', 'quota', 'remove', 'alice')
    equal(len(network.cli('bps', 'quotas').splitlines()), 1)
    soon('there is no quota', lambda: network.run_given(
        'bps', 'produce', 'bounded', *login, given='yes\n').returncode == 0)
    contains(network.bps('quota', 'remove', 'alice', status=1), "'alice' has no quota of its own")


def group(network):
    network.topic('grouped', 2)
    values = ['value %d' % i for i in range(100)]
    login = ('--as', 'alice')
    network.bps('produce', 'grouped', *login, given='\n'.join(values))
    equal(sorted(network.lines('grouped', '--group', 'readers', *login)), sorted(values))
    network.bps('produce', 'grouped', *login, given='more\n')
    lags = json.loads(network.bps('lag', 'readers', '-j', *login))
    equal(sum(each['lag'] for each in lags), 1)
    contains(network.bps('lag', *login), 'readers', 'grouped')
    # A partition that the group has read nothing of keeps no offset, and lags all the same.
    equal(len(lags), 2)
    equal(network.lines('grouped', '--group', 'readers', *login), ['more'])
    equal(sum(each['lag'] for each in json.loads(network.bps('lag', '-j', *login))), 0)
    contains(network.bps('groups', *login), 'readers', 'Empty')
    member = network.start_bps('consume', 'grouped', '--group', 'readers', *login)
    soon('the member is in', lambda: 'grouped/0 grouped/1' in network.bps('groups', 'show', 'readers', *login))
    contains(network.bps('groups', 'reset', 'readers', 'grouped', 'beginning', *login, status=1), 'has members')
    contains(network.bps('groups', 'delete', 'readers', *login, status=1), 'has members')
    member.send_signal(signal.SIGINT)
    equal(member.communicate(timeout=60)[0], '')
    equal(member.returncode, 0)
    contains(network.bps('groups', 'reset', 'readers', 'grouped', '1000', *login, status=1), 'not 1000')
    one = network.bps('groups', 'reset', 'readers', 'grouped', 'end', '--partition', '1', *login)
    equal([line.split(' at ')[0] for line in one.splitlines()], ["'readers' goes on in partition 1 of 'grouped'"])
    contains(network.bps('groups', 'reset', 'readers', 'grouped', 'end', '--partition', '9', *login, status=1), 'no partition 9')
    contains(network.bps('groups', 'reset', 'readers', 'grouped', 'beginning', *login), "partition 1 of 'grouped' at 0")
    equal(len(network.lines('grouped', '--group', 'readers', *login)), 101)
    network.cli('bps', 'grant', 'alice', 'grouped', 'guest', 'consume')
    contains(network.bps('groups', 'show', 'readers', '--as', 'guest', status=1),
             'bps grant OWNER readers guest@active consume --group')
    network.bps('groups', 'delete', 'readers', *login)
    contains(network.bps('groups', 'show', 'readers', *login, status=1), "there is no group 'readers'")


def tokens(network):
    network.topic('kept')
    network.bps('produce', 'kept', '--as', 'alice', given='one\n')
    made = json.loads(network.bps('token', 'alice', 'kept:consume', '--minutes', '5', '-j'))
    file = os.path.join(network.dir, 'token')
    with open(file, 'w', encoding='utf-8') as out:
        out.write(made['token'] + '\n')

    def by_kcat():
        return network.kcat('-C', '-t', 'kept', '-o', 'beginning', '-e', '-q', '-X', 'security.protocol=sasl_plaintext',
                            '-X', 'sasl.mechanisms=PLAIN', '-X', 'sasl.username=alice',
                            '-X', 'sasl.password=' + made['token'], check=False)

    equal(by_kcat().stdout, 'one\n')
    equal(network.lines('kept', '--token-file', file), ['one'])
    contains(network.bps('produce', 'kept', '--token-file', file, given='no\n', status=1), '1 of 1 records were not')
    network.cli('bps', 'token', 'revoke', 'alice', made['id'])
    soon('the revocation is final', lambda: 'revoked' in network.run(
        'bps', 'consume', 'kept', '--until-end', '--token-file', file).stderr)
    equal(by_kcat().stdout, '')
    equal(made['token'] in network.log(), False)
    with open(file, 'w', encoding='utf-8') as out:
        out.write(network.bps('token', 'alice'))
    equal(network.lines('kept', '--token-file', file), ['one'])
    network.cli('bps', 'token', 'revoke', 'alice', '--before', 'now')
    soon('the revocation is final', lambda: 'are revoked' in network.run(
        'bps', 'consume', 'kept', '--until-end', '--token-file', file).stderr)
    equal(network.lines('kept', '--as', 'alice'), ['one'])


def settings(network):
    network.topic('kept.long')

    def shown():
        return {each['name']: each['value'] for each in json.loads(network.bps('topic', 'show', 'kept.long', '-j'))['settings']}

    before = shown()
    network.bps('topic', 'alter', 'kept.long', '--set', 'retention.ms=1000000', '--set', 'cleanup.policy=compact')
    network.bps('topic', 'alter', 'kept.long', '--set', 'retention.ms=2000000')
    equal(shown(), {**before, 'retention.ms': '2000000', 'cleanup.policy': 'compact'})
    network.bps('topic', 'alter', 'kept.long', '--unset', 'cleanup.policy', '--set', 'segment.ms=60000')
    equal(shown(), {**before, 'retention.ms': '2000000', 'segment.ms': '60000'})
    for words, text in (((), 'nothing to alter'),
                        (('--unset', 'flush.ms'), 'the topic does not have this setting'),
                        (('--set', 'segment.ms=1', '--unset', 'segment.ms'), 'give one of them'),
                        (('--set', 'segment.ms'), 'is no setting'),
                        (('--set', 'no.such=1'), 'is not one that the broker carries out')):
        contains(network.bps('topic', 'alter', 'kept.long', *words, status=1), text)
    equal(shown(), {**before, 'retention.ms': '2000000', 'segment.ms': '60000'})


def delegated(network):
    def shown():
        return [(each['broker'], sorted(each['actions']), each['prefix'])
                for each in json.loads(network.bps('delegations', 'alice', '-j'))]

    def until():
        return json.loads(network.bps('delegations', 'alice', '-j'))[0]['until']

    network.bps('delegate', 'alice', '1', 'createtopic', '--prefix', 'd.', '--days', '2')
    first = until()
    # What was for two days stays so, and is not prolonged by the way.
    network.bps('delegate', 'alice', '1', 'altertopic', '--prefix', 'd.')
    equal(shown(), [(1, ['altertopic', 'createtopic'], 'd.')])
    equal(until(), first)
    contains(network.bps('delegate', 'alice', '1', 'deletetopic', '--prefix', 'd.', '--days', '9', status=1),
             'one end', 'until ' + first)
    network.bps('delegate', 'alice', '1', 'altertopic', 'createtopic', '--prefix', 'd.')
    equal(shown(), [(1, ['altertopic', 'createtopic'], 'd.')])
    equal(until() > first, True)
    contains(network.bps('delegate', 'alice', '1', 'createtopic', '--prefix', 'e', status=1),
             "begin with 'd.'", '--replace', 'bps delegations alice')
    equal(shown(), [(1, ['altertopic', 'createtopic'], 'd.')])
    network.bps('delegate', 'alice', '1', 'createtopic', '--prefix', 'e', '--replace')
    equal(shown(), [(1, ['createtopic'], 'e')])
    contains(network.bps('delegations', 'alice'), 'broker1', 'e*')
    network.bps('undelegate', 'alice', 'broker1')
    equal(shown(), [])


def interrupt(network):
    network.topic('endless')
    reader = network.start_bps('consume', 'endless', '--as', 'alice')
    writer = network.start_bps('produce', 'endless', '--as', 'alice')
    writer.stdin.write('one\n')
    writer.stdin.flush()
    equal(reader.stdout.readline(), 'one\n')
    for each in (writer, reader):
        each.send_signal(signal.SIGINT)
    said = writer.communicate(timeout=60)
    assert 'in sync: 1\n' in said[0], (writer.returncode, said)
    reader.communicate(timeout=60)
    equal((reader.returncode, writer.returncode), (0, 0))


def tls(network):
    network.more = network.make_tls()
    certificate = network.more['bps-tls-cert']
    network.restart_as('alice')
    try:
        network.cli('bps', 'topic', 'create', 'alice', 'sealed')
        trusted = ('--as', 'alice', '--tls-ca', certificate)
        soon('the topic is there', lambda: network.run('bps', 'consume', 'sealed', '--until-end', *trusted)
             .returncode == 0)
        network.bps('produce', 'sealed', *trusted, given='one\n')
        equal(network.lines('sealed', *trusted), ['one'])
        contains(network.bps('consume', 'sealed', '--as', 'alice', status=1), 'certificate verify failed',
                 '--tls-ca FILE names who signed it')
        token = network.bps('token', 'alice', 'sealed:consume').strip()
        by_kcat = ('-X', 'security.protocol=sasl_ssl', '-X', 'ssl.ca.location=' + certificate,
                   '-X', 'sasl.mechanisms=PLAIN', '-X', 'sasl.username=alice@active', '-X', 'sasl.password=' + token)
        equal(network.consume('sealed', *by_kcat), ['one'])
    finally:
        network.more = {}
        network.restart_as('alice')


def up(network):
    other = Typed(network.build)
    try:
        told = other.cli('network', 'up', '--open', '--block-interval', '100', '--broker', 'alice',
                         '--broker-host', 'localhost')
        address = re.search(r'Kafka (localhost:\d+)', told).group(1)
        authority, own, key, own_key = (os.path.join(other.dir, *path) for path in (
            ('ca.pem',), ('bora', 'broker.pem'), ('ca.key',), ('bora', 'broker-tls.key')))
        equal([os.stat(path).st_mode & 0o777 for path in (key, own_key)], [0o600, 0o600])
        verified = subprocess.run(['openssl', 'verify', '-x509_strict', '-purpose', 'sslserver', '-verify_hostname',
                                   'localhost', '-CAfile', authority, own], capture_output=True, text=True)
        equal((verified.returncode, verified.stdout), (0, own + ': OK\n'))
        other.cli('bps', 'topic', 'create', 'alice', 'sealed')
        soon('a line is taken', lambda: other.run_given(
            'bps', 'produce', 'sealed', '--as', 'alice', given='one\n').returncode == 0)
        equal(other.lines('sealed', '--as', 'alice'), ['one'])
        contains(other.bps('consume', 'sealed', '--as', 'alice', '--tls-ca', network.make_tls()['bps-tls-cert'],
                           status=1), 'certificate verify failed')
        # Not by a name that the certificate does not have.
        contains(other.bps('consume', 'sealed', '--as', 'alice', '--tls', '--broker',
                           address.replace('localhost', '127.0.0.2'), status=1), 'certificate verify failed')
        other.address = address
        token = other.bps('token', 'alice', 'sealed:consume').strip()
        equal(other.consume('sealed', '-X', 'security.protocol=sasl_ssl', '-X', 'ssl.ca.location=' + authority,
                            '-X', 'sasl.mechanisms=PLAIN', '-X', 'sasl.username=alice@active',
                            '-X', 'sasl.password=' + token), ['one'])
    finally:
        other.down()


def gone(network):
    network.topic('left')
    network.end(signal.SIGTERM)
    began = time.monotonic()
    contains(network.bps('consume', 'left', '--broker', network.address, status=1),
             'no answer from a broker: %s' % network.address)
    contains(network.bps('consume', 'left', status=1), 'no answer from the node', '--broker HOST:PORT')
    assert time.monotonic() - began < 10, 'it took %.1f s' % (time.monotonic() - began)
    network.start()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    parser.add_argument('--build', required=True)
    parser.add_argument('--only')
    arguments = parser.parse_args()
    parts = {'records': records, 'rights': rights, 'quotas': quotas, 'group': group, 'tokens': tokens,
             'settings': settings, 'delegated': delegated, 'interrupt': interrupt, 'tls': tls, 'up': up, 'gone': gone}
    run_parts(Typed(arguments.build), parts, arguments.only)
    return 0


if __name__ == '__main__':
    sys.exit(main())
