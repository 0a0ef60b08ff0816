#!/usr/bin/env python3
"""Types every group of commands of bor-cli at a network of its own, wrong input included, and
checks output and exit status.

usage: cli_test.py BIN_DIR CONTRACTS_DIR
"""
import base64
import datetime
import http.client
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

BIN_DIR, CONTRACTS_DIR = (os.path.realpath(each) for each in sys.argv[1:3])
KEY = 'EOS6MRyAjQq8ud7hVNYcfnVPJqcVpscN5So8BhtHuGYqET5GDW5CV'  # Public key of PRIVATE.
PRIVATE = '5KQwrPbwdL6PhXujxW37FSSQZ1JiwsST4cqQzDeyXtP79zkvFD3'


class Network:
    """One network for all tests: making one takes a second."""
    dir = tempfile.mkdtemp(prefix='bor-cli-')
    file = {}

    @classmethod
    def path(cls, name):
        return os.path.join(cls.dir, name)

    @classmethod
    def run(cls, *words, given=None):
        return subprocess.run([os.path.join(BIN_DIR, 'bor-cli'), '--dir', cls.dir, *words],
                              input='' if given is None else given,
                              capture_output=True, text=True, timeout=120)


def make_token(name, text):
    with os.fdopen(os.open(Network.path(name), os.O_CREAT | os.O_WRONLY, 0o600), 'w') as f:
        f.write(text + '\n')
    return Network.path(name)


def setUpModule():
    done = Network.run('network', 'up', '--open', '--block-interval', '100', '--node-option',
                       '--http-operator-token-file=' + make_token('operator.token', 'ab' * 32))
    if done.returncode != 0:
        raise RuntimeError(done.stdout + done.stderr)
    with open(Network.path('network.json')) as f:
        Network.file = json.load(f)
    for name in ('alice', 'bob', 'bank.token', 'eosio.msig'):
        prepare('create', 'account', 'eosio', name, Network.file['system_key']['public'])
    for account, folder in (('bank.token', 'token'), ('eosio.msig', 'msig')):
        prepare('set', 'contract', account, os.path.join(CONTRACTS_DIR, folder))
    # As on other chains: approvals given again need more of the proposer's memory.
    prepare('push', 'action', 'eosio', 'setpriv', '["eosio.msig",1]', '-p', 'eosio')
    prepare('push', 'action', 'bank.token', 'create', '["alice","1000000.0000 SYS"]',
            '-p', 'bank.token')
    prepare('push', 'action', 'bank.token', 'issue', '["alice","1000.0000 SYS",""]', '-p', 'alice')


def prepare(*words):
    done = Network.run(*words)
    if done.returncode != 0:
        raise RuntimeError('%s: %s%s' % (' '.join(words), done.stdout, done.stderr))


def tearDownModule():
    Network.run('network', 'down')
    shutil.rmtree(Network.dir, ignore_errors=True)


class Case(unittest.TestCase):
    def good(self, *words, given=None):
        done = Network.run(*words, given=given)
        self.assertEqual(done.returncode, 0, '%s: %s%s' % (words, done.stdout, done.stderr))
        return done.stdout

    def data(self, *words, given=None):
        return json.loads(self.good(*words, given=given))

    def bad(self, text, *words, status=1, given=None):
        done = Network.run(*words, given=given)
        self.assertEqual(done.returncode, status, '%s: %s' % (words, done.stdout + done.stderr))
        self.assertIn(text, done.stderr)

    def settle(self):
        """Reads are answered from the last block: waits for the one with what was just sent."""
        height = self.data('get', 'info')['head_block_num']
        for _ in range(200):
            if self.data('get', 'info')['head_block_num'] >= height + 2:
                return
            time.sleep(0.05)
        self.fail('the head stays at %d' % height)

    def balance(self, account):
        return self.good('get', 'currency', 'balance', 'bank.token', account).strip()


class CommandLine(Case):
    def test_wrong_words(self):
        self.bad("did you mean 'get info'", 'get', 'inof', status=2)
        self.bad('missing: account', 'get', 'account', status=2)
        self.bad("unknown option '--lmit'", 'get', 'table', '--lmit', '3', 'a', 'b', 'c', status=2)
        self.assertIn('usage: bor-cli get table', self.good('get', 'table', '--help'))
        for words in (('recover',), ('recover', '--help'), ('recover', '-h')):
            self.assertIn('recover answer ', self.good(*words))
        self.assertIn('get currency balance ', self.good('get', 'currency', '--help'))

    def test_nobody_answers(self):
        self.bad('is it running there?', '--url', 'http://127.0.0.1:1', 'get', 'info')
        self.bad('no answer from the node at http://127.0.0.1:1: ', '--url', 'http://127.0.0.1:1', 'system',
                 'regproducer', 'bora', KEY)
        self.bad('--wallet-url URL', '--wallet-url', 'unix:///nowhere', 'wallet', 'list')
        self.bad('is no address', '--url', 'gopher://x', 'get', 'info')
        self.bad('no network in /nowhere', '--dir', '/nowhere', 'get', 'info')

    def test_completion(self):
        script = self.good('completion', 'bash')
        asked = script + 'COMP_WORDS=(bor-cli wallet "un"); COMP_CWORD=2; _bor_cli; ' \
                         'echo "${COMPREPLY[@]}"\n'
        done = subprocess.run(['bash', '-c', asked], capture_output=True, text=True, timeout=20)
        self.assertEqual(done.stdout.strip(), 'unlock', done.stderr)

    def test_version(self):
        self.assertRegex(self.good('version', 'client'), r'^\d+\.\d+')
        self.assertIn('node', self.good('version', 'full'))

    def test_peers(self):
        self.assertIn('none: this node has no p2p-listen-endpoint', self.good('net', 'peers'))
        self.assertIn('none: this node has no p2p-listen-endpoint', self.good('net', 'transports'))
        self.assertEqual(self.data('-j', 'net', 'peers'), [])
        self.assertIn('none', self.good('net', 'sync'))
        self.assertIn('invalid peer address', self.good('net', 'connect', 'nonsense'))
        self.bad('this node has no peers', 'net', 'connect', '127.0.0.1:1')

    def test_operator_calls_over_tcp(self):
        """Without --dir nothing tells where the node's Unix socket is."""
        def run(*words):
            done = subprocess.run([os.path.join(BIN_DIR, 'bor-cli'), *words, '-j', 'net', 'peers'],
                                  capture_output=True, text=True, timeout=20)
            return done.returncode, done.stdout.strip(), done.stderr
        node = Network.file['validators'][0]
        wrong = make_token('wrong.token', 'cd' * 32)
        for more in ((), ('--operator-token-file', wrong)):
            status, _, said = run('-u', node['http'], *more)
            self.assertEqual(status, 1)
            self.assertIn('Unix socket', said)
        token = ('--operator-token-file', Network.path('operator.token'))
        own = 'unix://' + os.path.join(node['data_dir'], 'bor.sock')
        for words in (('-u', node['http'], *token), ('-u', own), ('--dir', Network.dir),
                      ('--dir', Network.dir, '-u', node['http'])):
            self.assertEqual(run(*words), (0, '[]', ''), words)
        self.bad('/nowhere: No such file', '--operator-token-file', '/nowhere', 'net', 'peers')


class Snapshots(Case):
    def test_create_to_remove(self):
        made = self.data('-j', 'snapshot', 'create')
        self.assertEqual(made['version'], 1)
        path = made['snapshot_name']
        name = os.path.basename(path)
        self.assertIn(name, self.good('snapshot', 'list'))
        info = self.data('-j', 'snapshot', 'info', path)
        self.assertEqual(info['block_num'], made['head_block_num'])
        self.assertEqual(info['block_id'], made['head_block_id'])
        genesis = Network.path('genesis.json')
        self.assertIn('good: the state after block', self.good('snapshot', 'verify', path, '--genesis', genesis))
        copy = Network.path('copy')
        self.good('snapshot', 'export', path, copy)
        self.bad('is there already', 'snapshot', 'export', path, copy)
        data = Network.path('loaded')
        checkpoint = '%d:%s' % (made['head_block_num'], made['head_block_id'])
        self.assertIn('begins at block %d' % made['head_block_num'],
                      self.good('snapshot', 'load', copy, '--data-dir', data, '--genesis', genesis,
                                '--checkpoint', checkpoint))
        self.bad('has a state already', 'snapshot', 'load', copy, '--data-dir', data)
        self.good('snapshot', 'verify', copy, '--data-dir', data)
        self.assertEqual(self.data('-j', 'snapshot', 'list', '--data-dir', data)['snapshots'], [])
        self.good('snapshot', 'remove', name)
        self.bad('there is no snapshot', 'snapshot', 'remove', name)
        self.assertFalse(os.path.exists(path))

    def test_wrong_places(self):
        self.bad('is no snapshot', 'snapshot', 'info', '/nowhere')
        self.bad('--data-dir DIR is needed', 'snapshot', 'load', '/nowhere')
        self.bad('is no snapshot', 'snapshot', 'load', '/nowhere', '--data-dir', Network.path('x'))
        self.bad('expected HEIGHT:ID', 'snapshot', 'load', '/nowhere', '--data-dir', 'x',
                 '--checkpoint', '7')
        load = ('snapshot', 'load', '/nowhere', '--data-dir', 'x')
        self.bad('recover-from = xyz: expected the 64 hexadecimal digits', *load, '--recover-from', 'xyz')
        self.bad('--recovery r.txt needs --recover-from ID', *load, '--recovery', 'r.txt')
        made = self.data('-j', 'snapshot', 'create')['snapshot_name']
        self.bad('%s: read failed: Is a directory' % Network.dir, 'snapshot', 'verify', made, '--genesis',
                 Network.path('genesis.json'), '--recover-from', 'ab' * 32, '--recovery', Network.dir)
        self.bad('there is no data directory', 'snapshot', 'list', '--data-dir', '/nowhere')
        data = Network.file['validators'][0]['data_dir']
        self.bad('in use by another process', 'snapshot', 'create', '--data-dir', data)


class Joining(Case):
    """The join line, up to where a network with peers is needed: tests/network/invite.py."""

    def line(self, http, chain):
        key = self.data('-j', 'key', 'create', '--r1', '--to-console')['public_key']
        return 'bor://127.0.0.1:1:%s#%s/%s/5:%s' % (http, key, chain, '00000005' + '7' * 56)

    def refused(self, text, line, *more):
        folder = Network.path('joiner')
        self.bad(text, '--dir', folder, 'network', 'up', '--join', line, *more)
        self.assertFalse(os.path.exists(folder))

    def test_invite_without_peers(self):
        self.bad('this node has no p2p-listen-endpoint', 'network', 'invite')

    def test_the_host_of_the_line_is_one_that_others_reach(self):
        folder = Network.path('alone')
        key = Network.path('alone.key')
        self.good('key', 'create', '--r1', '--node', '--file', key)

        def up(told):
            options = ['--p2p-listen-endpoint=127.0.0.1:0', '--p2p-node-key=' + key]
            options += ['--p2p-server-address=' + told] if told else []
            more = [word for each in options for word in ('--node-option', each)]
            self.good('--dir', folder, 'network', 'up', *more)
            with open(os.path.join(folder, 'network.json')) as f:
                return json.load(f)['validators'][0]['http']

        def status(url, host):
            request = urllib.request.Request(url + '/v1/bor/join', headers={'Host': host})
            try:
                return urllib.request.urlopen(request, timeout=20).status
            except urllib.error.HTTPError as error:
                return error.code

        def invite(text):
            self.bad(text, '--dir', folder, 'network', 'invite')
            self.good('--dir', folder, 'network', 'down')
        try:
            url = up('')
            invite('peers are told 127.0.0.1:0, where nobody can connect: set p2p-server-address')
            up('0.0.0.0:9876')
            invite('peers are told 0.0.0.0:9876, where nobody can connect: set p2p-server-address')
            up('node.example:9876')
            # Who is told this name asks by it.
            self.assertEqual([status(url, host) for host in ('node.example', 'other.example')], [200, 400])
            invite('set http-server-address to an address that others reach')
            up('localhost:9876')
            self.assertIn('bor://localhost:9876:%s#PUB_R1_' % url.rsplit(':', 1)[1],
                          self.good('--dir', folder, 'network', 'invite'))
        finally:
            Network.run('--dir', folder, 'network', 'down')

    def test_refusals(self):
        chain = Network.file['chain_id']
        http = Network.file['validators'][0]['http'].rsplit(':', 1)[1]
        line = self.line(http, chain)
        self.refused("join line: beginning 'what': expected bor://", 'what')
        self.refused("join line: HTTP-PORT '0': expected a number", line.replace(':%s#' % http, ':0#'))
        self.refused("join line: CHAIN-ID", line.replace(chain, chain[2:]))
        self.refused('its genesis file is of chain %s, the join line names chain %s' % (chain, 'ab' * 32),
                     self.line(http, 'ab' * 32))
        self.refused('no answer from http://127.0.0.1:1: ', self.line('1', chain))
        self.refused('--n is for a new network', line, '-n', '4')
        self.refused('--broker is for a new network', line, '--broker', 'alice')
        self.refused('a name has up to 12', line, '--name', 'UP')
        key = self.data('-j', 'key', 'create', '--r1', '--to-console')['public_key']
        self.good('node', 'add', 'alice', 'taken', key, '--role', 'observer')
        self.settle()
        self.refused('--name taken: the node taken is registered already, by alice as observer, with the key ' + key,
                     line, '--name', 'taken')
        self.good('node', 'remove', 'taken')
        self.bad('--join is for a new network', 'network', 'up', '--join', line)
        self.bad('changes nothing: all nodes run already', 'network', 'up', '--node-option', '--log-level=debug')
        self.bad('is in use: it is not empty', '--dir', Network.path('wallet'), 'network', 'up', '--join', line)


class Processes(Case):
    """`network up`, `status` and `down` go by what runs on a data directory, whoever started it."""

    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix='bor-processes-')

    def tearDown(self):
        Network.run('--dir', self.dir, 'network', 'down')
        shutil.rmtree(self.dir, ignore_errors=True)

    def file(self):
        with open(os.path.join(self.dir, 'network.json')) as f:
            return json.load(f)

    def network(self, *words):
        return Network.run('--dir', self.dir, '-j', 'network', *words)

    def running(self, *words):
        return [(each['name'], each['running']) for each in json.loads(self.network(*words).stdout)]

    def test_a_node_is_found_by_its_data_directory(self):
        self.good('--dir', self.dir, 'network', 'up', '--block-interval', '100')
        file = self.file()
        self.assertEqual(self.running('down'), [('bora', False)])
        # Without the file that says how it runs its keys are not overwritten.
        with open(os.path.join(self.dir, 'bora', 'validator.key')) as f:
            key = f.read()
        os.remove(os.path.join(self.dir, 'network.json'))
        self.bad('is there, of another network', '--dir', self.dir, 'network', 'up')
        with open(os.path.join(self.dir, 'bora', 'validator.key')) as f:
            self.assertEqual(f.read(), key)
        # Its number is another node's by now.
        file['validators'][0]['pid'] = Network.file['validators'][0]['pid']
        file['wallet']['pid'] = Network.file['wallet']['pid']
        with open(os.path.join(self.dir, 'network.json'), 'w') as f:
            json.dump(file, f)
        self.assertEqual(self.running('status'), [('bora', False)])
        self.network('down')
        self.good('get', 'info')
        self.good('wallet', 'list')
        # Started by hand, from its own folder, with a command line that does not name the directory in full.
        node = os.path.join(self.dir, 'bora')
        words = [os.path.join(BIN_DIR, 'bor-node'), '--config-dir', 'config', '--data-dir', 'data']
        secret = os.path.join(node, 'validator.key')
        os.chmod(secret, 0o644)
        refused = subprocess.run(words, cwd=node, capture_output=True, text=True, timeout=60)
        self.assertEqual(refused.returncode, 1)
        self.assertIn('its mode 0644 lets others at it: type chmod 0600 ' + secret, refused.stderr)
        os.chmod(secret, 0o600)
        with open(os.path.join(node, 'log'), 'ab') as log:
            child = subprocess.Popen(words, cwd=node, stdout=log, stderr=log)
        try:
            for _ in range(200):
                if self.running('status') == [('bora', True)]:
                    break
                time.sleep(0.05)
            up = json.loads(self.network('up').stdout)
            self.assertEqual([(each['pid'], each['running']) for each in up], [(child.pid, True)])
            with open('/proc/%d/limits' % child.pid) as limits:  # No core file with keys.
                self.assertRegex(limits.read(), r'Max core file size +0 +0 ')
            self.assertEqual(self.running('down'), [('bora', False)])
            child.wait(20)
        finally:
            child.kill()
            child.wait()

    def test_a_lost_folder_keeps_no_other_node_down(self):
        self.good('--dir', self.dir, 'network', 'up', '-n', '4', '--block-interval', '200')
        self.network('down')
        lost = os.path.join(self.dir, 'borb')
        os.rename(lost, lost + '.away')
        done = self.network('up')
        self.assertEqual(done.returncode, 1)
        self.assertIn('borb cannot be started: there is no ' + lost, done.stderr)
        self.assertIn('put it back', done.stderr)
        self.assertEqual(json.loads(done.stdout) and self.running('status'),
                         [('bora', True), ('borb', False), ('borc', True), ('bord', True)])
        os.rename(lost + '.away', lost)
        self.good('--dir', self.dir, 'network', 'up')
        self.assertEqual(dict(self.running('status'))['borb'], True)


class Reading(Case):
    def test_info_and_blocks(self):
        info = self.data('get', 'info')
        self.assertEqual(info['chain_id'], Network.file['chain_id'])
        block = self.data('get', 'block', '2')
        self.assertEqual(block['block_num'], 2)
        self.assertEqual(self.data('get', 'block', block['id'])['id'], block['id'])
        self.assertEqual(self.data('get', 'block', '2', '--info')['block_num'], 2)
        self.bad('error 31000', 'get', 'block', '999999999')
        self.bad('needs the number', 'get', 'block', 'x', '--info')
        self.good('get', 'block_trace', '2')
        self.bad('is no number', 'get', 'block_trace', 'two')

    def test_accounts(self):
        self.assertIn('permissions:', self.good('get', 'account', 'alice'))
        self.assertEqual(self.data('get', 'account', 'alice', '-j')['account_name'], 'alice')
        self.bad("there is no account 'nobody'", 'get', 'account', 'nobody')
        key = Network.file['system_key']['public']
        names = [each['account_name'] for each in self.data('get', 'accounts', key)['accounts']]
        self.assertIn('alice', names)
        self.assertEqual(self.data('get', 'servants', 'nobody')['accounts'], [])

    def test_contract(self):
        self.assertIn('transfer', self.good('get', 'abi', 'bank.token'))
        self.good('get', 'code', 'bank.token')
        rows = self.data('get', 'table', 'bank.token', 'SYS', 'stat')['rows']
        self.assertEqual(rows[0]['issuer'], 'alice')
        self.assertTrue(self.data('get', 'scope', 'bank.token')['rows'])
        stats = self.data('get', 'currency', 'stats', 'bank.token', 'SYS')
        self.assertEqual(stats['SYS']['max_supply'], '1000000.0000 SYS')

    def test_chain(self):
        self.assertTrue(self.data('get', 'schedule')['active']['producers'])
        self.good('get', 'consensus_parameters')
        self.good('get', 'supported_protocol_features')
        self.assertIn('bora', self.good('system', 'listproducers'))

    def test_doctor(self):
        checks = self.data('-j', 'doctor')
        self.assertEqual([each for each in checks if not each['good']], [])
        self.bad('checks failed', '--url', 'http://127.0.0.1:1', 'doctor')
        # The keys of this validator could be in the wallet.
        self.bad('1 of ', '--wallet-url', 'unix:///nowhere', 'doctor')


class Consortium(Case):
    """Members, nodes, validators, proofs."""

    def test_members(self):
        self.assertRegex(self.good('validators'), r'bora +signed .* this node')
        self.assertIn('bora', self.good('member', 'list'))
        self.good('member', 'add', 'alice')
        self.good('member', 'weight', 'alice', '7')
        self.settle()
        self.assertIn({'name': 'alice', 'weight': 7}, self.data('-j', 'member', 'list'))
        self.good('member', 'remove', 'alice')
        self.bad('is no member', 'member', 'remove', 'bob')

    def test_nodes(self):
        key, other, third = (self.data('-j', 'key', 'create', '--r1', '--to-console')['public_key'] for _ in 'abc')
        self.bad('is no key of a node', 'node', 'add', 'alice', 'machine', KEY)
        self.bad('is no role', 'node', 'add', 'alice', 'machine', key, '--role', 'king')
        self.good('node', 'add', 'alice', 'machine', key, '--role', 'observer')
        self.settle()
        # Its name is taken: with another key, organisation or role it would be cut off.
        taken = 'the node machine is registered already, by alice as observer, with the key ' + key
        self.bad(taken, 'node', 'add', 'alice', 'machine', third, '--role', 'observer')
        self.bad('--replace', 'node', 'add', 'bob', 'machine', key, '--role', 'observer')
        self.bad('bor-cli node rotate machine', 'node', 'add', 'alice', 'machine', key)
        self.good('node', 'add', 'alice', 'machine', key, '--role', 'observer', '-x', '60')
        self.good('node', 'add', 'alice', 'machine', third, '--role', 'observer', '--replace')
        self.settle()
        self.assertIn(third, self.good('node', 'list'))
        self.good('node', 'add', 'alice', 'machine', key, '--role', 'observer', '--replace', '-x', '90')
        self.good('node', 'rotate', 'machine', other, '--keep', '60')
        self.settle()
        self.bad('the node machine rotates already', 'node', 'rotate', 'machine', third)
        self.good('node', 'rotate', 'machine', key)
        self.good('node', 'rotate', 'machine', other, '--keep', '60', '--force')
        self.settle()
        node = next(each for each in self.data('-j', 'node', 'list') if each['node'] == 'machine')
        self.assertEqual((node['key'], node['previous_key']), (other, key))
        self.assertEqual(node['roles'], ['observer'])
        self.good('node', 'remove', 'machine')
        self.settle()
        self.assertNotIn('machine', self.good('node', 'list'))

    def test_fork_proof(self):
        node = Network.file['validators'][0]['http']
        agreed = self.data('-j', 'fork-proof', node, node)
        self.assertEqual((agreed['conflict'], len(agreed['block_id'])), (False, 64))
        self.assertIn('both agree up to final block', self.good('fork-proof', node, node))
        self.bad('http://127.0.0.1:1', 'fork-proof', node, 'http://127.0.0.1:1')
        self.bad('no-file', 'fork-proof', node, node, '--genesis', 'no-file')
        self.bad('', 'fork-proof', node, status=2)
        done = subprocess.run([os.path.join(BIN_DIR, 'bor-cli'), 'fork-proof', node, node],
                              cwd='/', capture_output=True, text=True)
        self.assertIn('--genesis FILE', done.stderr)

    def test_proof(self):
        file = Network.path('proof.json')
        sent = self.data('-j', 'transfer', '--contract', 'bank.token', 'alice', 'bob', '0.0001 SYS', 'p', '-f')
        self.settle()
        # The block above its own proves that it is final.
        for _ in range(50):
            got = Network.run('proof', 'get', sent['transaction_id'], '--file', file)
            if got.returncode == 0:
                break
            self.assertIn('ask again after the next block is final', got.stderr)
            time.sleep(0.1)
        self.assertIn(sent['transaction_id'], self.good('proof', 'verify', file))
        with open(file) as f:
            proof = json.load(f)
        middle = len(proof['proof']) // 2
        digit = '0' if proof['proof'][middle] != '0' else '1'
        proof['proof'] = proof['proof'][:middle] + digit + proof['proof'][middle + 1:]
        with open(file, 'w') as f:
            json.dump(proof, f)
        self.assertNotEqual(Network.run('proof', 'verify', file).returncode, 0)
        self.good('proof', 'get', '2', '--file', file)
        self.assertIn('block 2', self.good('proof', 'verify', file))


class Broker(Case):
    """What the broker's contract has, by its own commands."""

    @classmethod
    def setUpClass(cls):
        key = Network.file['system_key']['public']
        for name in ('bps', 'broker.a', 'owner', 'reader'):
            prepare('create', 'account', 'eosio', name, key)
        prepare('set', 'contract', 'bps', os.path.join(CONTRACTS_DIR, 'bps'))
        prepare('push', 'action', 'eosio', 'setpriv', '["bps",1]', '-p', 'eosio')

    def sent(self, *words):
        self.good(*words)
        self.settle()

    def test_topics_and_rights(self):
        self.bad("'nobody' does not have the broker's contract: set it ('bor-cli set contract nobody",
                 'bps', 'brokers', '--contract', 'nobody')
        self.bad('no broker', 'bps', 'broker', 'remove', '1')
        self.bad("'one' is not an id of a broker", 'bps', 'broker', 'add', 'one', 'broker.a')
        self.sent('bps', 'broker', 'add', '1', 'broker.a')
        self.bad('1 replicas need as many brokers that are active, and there are 0',
                 'bps', 'topic', 'create', 'owner', 'orders')
        key = self.data('-j', 'key', 'create', '--r1', '--to-console')['public_key']
        start = {'broker': 1, 'boot': 1, 'start_id': '7', 'earlier': [], 'log_id': '9', 'node_key': key,
                 'listeners': [{'protocol': 'PLAINTEXT', 'host': '127.0.0.1', 'port': 9092}]}
        self.sent('push', 'action', 'bps', 'regbroker', json.dumps(start), '-p', 'broker.a')
        self.assertRegex(self.good('bps', 'brokers'),
                         r'1 broker\.a +active +0 PLAINTEXT://127\.0\.0\.1:9092')

        self.bad("'retention' is no setting", 'bps', 'topic', 'create', 'owner', 'orders', '--set', 'retention')
        self.bad('2 replicas need', 'bps', 'topic', 'create', 'owner', 'orders', '--replicas', '2')
        self.sent('bps', 'topic', 'create', 'owner', 'orders', '--partitions', '3', '--set', 'retention.ms=60000')
        self.bad("the topic 'orders' exists", 'bps', 'topic', 'create', 'reader', 'orders')
        self.sent('bps', 'topic', 'extend', 'orders', '2')
        listed = self.good('bps', 'topic', 'list')
        self.assertRegex(listed, r'orders +1 owner +5')
        shown = self.data('-j', 'bps', 'topic', 'show', 'orders')
        self.assertEqual(shown['settings'], [{'name': 'retention.ms', 'value': '60000'}])
        self.assertEqual([each['partition'] for each in shown['rows']], [0, 1, 2, 3, 4])
        self.assertRegex(self.good('bps', 'topic', 'show', 'orders'), r'partition 4: leader 1, epoch \d+, replicas 1')
        self.sent('bps', 'topic', 'alter', 'orders', '--set', 'retention.bytes=1000000')
        self.assertEqual(self.data('-j', 'bps', 'topic', 'show', 'orders')['settings'],
                         [{'name': 'retention.bytes', 'value': '1000000'}, {'name': 'retention.ms', 'value': '60000'}])
        self.bad("there is no topic 'order'", 'bps', 'topic', 'show', 'order')

        self.bad("'write' is no right", 'bps', 'grant', 'owner', 'orders', 'reader', 'write')
        self.good('bps', 'grant', 'owner', 'orders', 'reader', 'consume')
        self.sent('bps', 'grant', 'owner', 'orders.', 'reader@active', 'produce', '--prefix', '--to', '4000000')
        granted = self.data('-j', 'bps', 'grants', 'owner')
        self.assertEqual(len(granted), 2)
        self.assertRegex(self.good('bps', 'grants', 'owner'), r'reader +consume +topic +orders +always')
        self.assertRegex(self.good('bps', 'grants', 'owner'),
                         r'reader@active +produce +topic +orders\.\* +blocks 0 to 4000000')
        self.bad('is not the number of a grant', 'bps', 'revoke', 'owner', 'all')
        self.sent('bps', 'revoke', 'owner', *[str(each['id']) for each in granted])
        self.assertEqual(self.data('-j', 'bps', 'grants', 'owner'), [])

        self.bad('let bps sign, too', 'bps', 'reserve', 'owner', 'pay.')
        self.good('bps', 'reserve', 'owner', 'owner.')
        self.bad("belong to owner", 'bps', 'topic', 'create', 'reader', 'owner.x')
        self.good('bps', 'unreserve', 'owner', 'owner.')
        self.bad('unclean is not delegated', 'bps', 'delegate', 'owner', '1', 'unclean')
        self.good('bps', 'delegate', 'owner', '1', 'createtopic', 'grant', '--prefix', 'orders')
        self.good('bps', 'undelegate', 'owner', 'broker.a')
        self.bad('has delegated nothing to reader', 'bps', 'undelegate', 'owner', 'reader')

        self.sent('bps', 'broker', 'drain', '1')
        self.assertIn('draining', self.good('bps', 'brokers'))
        self.bad('0 to 2147483647', 'bps', 'broker', 'drain', '-1')
        self.sent('bps', 'broker', 'drain', '1', '--off')
        self.sent('bps', 'topic', 'delete', 'orders')
        self.assertNotIn('orders', self.good('bps', 'topic', 'list'))
        self.good('bps', 'broker', 'remove', '1')

    def test_tokens(self):
        made = self.data('-j', 'bps', 'token', 'owner', 'orders.*:consume,produce', 'x:admin', '--minutes', '5')
        head, claims, signatures = [base64.urlsafe_b64decode(each + '=' * (-len(each) % 4))
                                    for each in made['token'].split('.')]
        self.assertEqual(head, b'{"typ":"JWT","alg":"BOR1"}')
        claims = json.loads(claims)
        self.assertEqual((claims['chain'], claims['sub'], claims['jti'], claims['scope']),
                         (self.data('get', 'info')['chain_id'], 'owner@active', made['id'],
                          'orders.*:produce,consume x:admin'))
        self.assertTrue(300 <= claims['exp'] - claims['iat'] < 330, claims)
        self.assertEqual(len(signatures), 66)
        plain = Network.run('bps', 'token', 'owner@active')
        self.assertRegex(plain.stdout, r'^[\w-]+\.[\w-]+\.[\w-]+\n$')
        self.assertRegex(plain.stderr, r'token \w{24} of owner@active .* bps token revoke owner \w{24}')
        self.bad("the chain has no account 'nobody'", 'bps', 'token', 'nobody')
        self.bad("owner has no permission 'none'", 'bps', 'token', 'owner@none')
        self.bad('some of produce, consume and admin', 'bps', 'token', 'owner', 'orders')
        self.bad('from 1 to 1440', 'bps', 'token', 'owner', '--minutes', '1441')
        self.bad('which token?', 'bps', 'token', 'revoke', 'owner')
        self.good('bps', 'token', 'revoke', 'owner', made['id'])
        self.settle()
        self.bad('is revoked already', 'bps', 'token', 'revoke', 'owner', made['id'])
        issued = claims['iat']
        self.good('bps', 'token', 'revoke', 'owner', '--before', 'now')
        self.settle()
        rows = self.data('get', 'table', 'bps', 'bps', 'notbefore')['rows']
        before = datetime.datetime.fromisoformat(rows[0]['time'] + '+00:00').timestamp()
        self.assertGreater(before, issued)
        self.bad("'now' or a time", 'bps', 'token', 'revoke', 'owner', '--before', 'noon')
        self.bad('no revocation of owner is over', 'bps', 'token', 'clear', 'owner')

    def test_no_broker(self):
        self.bad("--broker 127.0.0.1: HOST:PORT", 'bps', 'produce', 'orders', '--broker', '127.0.0.1')
        self.bad('no answer from a broker: 127.0.0.1:1', 'bps', 'groups', '--broker', '127.0.0.1:1')
        self.bad('belong together', 'bps', 'consume', 'orders', '--cert', 'x')
        self.bad('give one of them', 'bps', 'lag', '--as', 'owner', '--token-file', 'x')
        self.bad("or 'beginning', or 'end'", 'bps', 'consume', 'orders', '--from', 'start')
        self.bad('goes on where it was', 'bps', 'consume', 'orders', '--group', 'g', '--from', 'end')


class Transactions(Case):
    def test_transfer_becomes_final(self):
        answer = self.data('-j', 'transfer', '--contract', 'bank.token', 'alice', 'bob',
                           '1.0000 SYS', 'hi', '-f')
        for _ in range(100):
            status = self.data('get', 'transaction-status', answer['transaction_id'])
            if status['state'] == 'IRREVERSIBLE':
                break
            time.sleep(0.05)
        self.assertEqual(status['state'], 'IRREVERSIBLE')
        self.good('get', 'transaction_trace', answer['transaction_id'])
        self.assertTrue(self.balance('bob').endswith(' SYS'))

    def test_refusals(self):
        self.bad('overdrawn balance', 'transfer', '--contract', 'bank.token', 'bob', 'alice',
                 '99999.0000 SYS')
        self.bad('knows no ABI', 'transfer', '--contract', 'bob', 'alice', 'bob', '1.0000 SYS')
        self.bad('has no action', 'push', 'action', 'bank.token', 'dance', '[]', '-p', 'bob')
        self.bad('neither JSON nor a file', 'push', 'action', 'bank.token', 'issue', 'what',
                 '-p', 'bob')
        self.bad('who authorizes it?', 'push', 'action', 'bank.token', 'issue', '[]')
        self.bad('--expiration 0', 'transfer', '--contract', 'bank.token', 'alice', 'bob',
                 '1.0000 SYS', '-x', '0')

    def test_pack_sign_validate_push(self):
        made = self.data('transfer', '--contract', 'bank.token', 'alice', 'bob', '0.0001 SYS',
                         'packed', '-d', '-s')
        self.assertEqual(made['signatures'], [])
        file = Network.path('transaction.json')
        with open(file, 'w') as f:
            json.dump(made, f)
        signed = self.data('sign', file, '--public-key', Network.file['system_key']['public'])
        self.assertEqual(len(signed['signatures']), 1)
        with open(file, 'w') as f:
            json.dump(signed, f)
        self.assertEqual(self.good('validate', 'signatures', file).strip(),
                         Network.file['system_key']['public'])
        packed = self.data('convert', 'pack_transaction', file)
        again = self.data('convert', 'unpack_transaction', json.dumps(packed))
        self.assertEqual(again['actions'], signed['actions'])
        shown = self.data('convert', 'unpack_transaction', json.dumps(packed),
                          '--unpack-action-data')
        self.assertEqual(shown['actions'][0]['data']['memo'], 'packed')
        answers = self.data('push', 'transactions', json.dumps([packed]))
        self.assertEqual(answers[0]['transaction_id'],
                         self.good('get', 'transaction_id', file).strip())

    def test_sign_with_a_key_given_on_standard_input(self):
        made = self.good('transfer', '--contract', 'bank.token', 'alice', 'bob', '0.0001 SYS',
                         '-d', '-s')
        signed = self.good('sign', made, given=PRIVATE + '\n')
        self.assertEqual(self.good('validate', 'signatures', signed).strip(), KEY)
        self.bad('that is no private key', 'sign', made, given='secret\n')
        self.bad('no private key', 'sign', made)

    def test_action_data(self):
        packed = self.good('convert', 'pack_action_data', 'bank.token', 'transfer',
                           '["alice","bob","1.0000 SYS","x"]').strip()
        shown = self.data('convert', 'unpack_action_data', 'bank.token', 'transfer', packed)
        self.assertEqual(shown['quantity'], '1.0000 SYS')
        self.bad('', 'convert', 'unpack_action_data', 'bank.token', 'transfer', 'zz')

    def test_permissions(self):
        self.good('set', 'account', 'permission', 'bob', 'pay', KEY)
        self.good('set', 'action', 'permission', 'bob', 'bank.token', 'transfer', 'pay')
        self.settle()
        shown = self.data('-j', 'get', 'account', 'bob')
        self.assertIn('pay', [each['perm_name'] for each in shown['permissions']])
        self.good('set', 'action', 'permission', 'bob', 'bank.token', 'transfer', 'NULL')
        self.good('set', 'account', 'permission', 'bob', 'pay', '--delete')

    def test_multisig(self):
        self.good('multisig', 'propose', 'gift', '["bob@active"]', '["bob@active"]', 'bank.token',
                  'open', '["bob","4,SYS","bob"]', 'alice')
        self.bad('proposal with the same name exists', 'multisig', 'propose', 'gift',
                 '["bob@active"]', '["bob@active"]', 'bank.token', 'open',
                 '["bob","4,SYS","bob"]', 'alice', '-f')
        self.settle()
        shown = self.data('multisig', 'review', 'alice', 'gift')
        self.assertEqual(shown['transaction']['actions'][0]['name'], 'open')
        self.bad('transaction authorization failed', 'multisig', 'exec', 'alice', 'gift')
        self.good('multisig', 'approve', 'alice', 'gift', 'bob@active')
        self.good('multisig', 'unapprove', 'alice', 'gift', '{"actor":"bob","permission":"active"}')
        self.settle()   # Else the next would be the same transaction as the first.
        self.good('multisig', 'approve', 'alice', 'gift', 'bob@active')
        self.good('multisig', 'exec', 'alice', 'gift')
        self.settle()
        self.bad('has no proposal', 'multisig', 'review', 'alice', 'gift')

    def test_system(self):
        self.bad('is no location', 'system', 'regproducer', 'alice', KEY, '', 'north')
        self.bad("'north' is no public key", 'system', 'regproducer', 'alice', 'north')


class WalletConnection(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(Network.file['wallet']['socket'])


NOTARIZE, COMMIT = 1, 2


def sign_vote(key, kind, slot, justify_slot):
    """As a node asks for it: status and text of the answer."""
    vote = struct.pack('<BIQI32sQ', kind, 0, slot, slot, bytes(32), justify_slot)
    connection = WalletConnection('localhost')
    connection.request('POST', '/v1/wallet/sign_vote', json.dumps([vote.hex(), key, 'ab' * 32]))
    answer = connection.getresponse()
    said = answer.status, answer.read().decode()
    connection.close()
    return said


class Wallet(Case):
    def test_a_wallet(self):
        password = Network.path('mine.password')
        self.good('wallet', 'create', '-n', 'mine', '--file', password)
        self.assertEqual(os.stat(password).st_mode & 0o777, 0o600)
        self.assertIn('mine *', self.good('wallet', 'list'))
        self.good('wallet', 'import', '-n', 'mine', given=PRIVATE + '\n')
        self.assertIn(KEY, self.good('wallet', 'keys'))
        self.assertIn(PRIVATE, self.good('wallet', 'private_keys', '-n', 'mine',
                                         '--password-file', password))
        made = self.good('wallet', 'create_key', 'R1', '-n', 'mine')
        self.assertIn('PUB_R1_', made)
        self.good('wallet', 'remove_key', KEY, '-n', 'mine', '--password-file', password)
        self.assertNotIn(KEY, self.good('wallet', 'keys'))
        self.good('wallet', 'lock', '-n', 'mine')
        self.bad('nvalid', 'wallet', 'unlock', '-n', 'mine', given='wrong\n')
        with open(password) as f:
            self.good('wallet', 'unlock', '-n', 'mine', given=f.read())
        self.good('wallet', 'open', '-n', 'mine')

    def test_a_lock_is_given_up(self):
        password = Network.path('votes.password')
        self.good('wallet', 'create', '-n', 'votes', '--file', password)
        key = self.good('wallet', 'create_key', '--vote', '-n', 'votes').strip().rsplit(' ', 1)[1]
        words = ('wallet', 'give_up_lock', key, '-n', 'votes', '--password-file', password)
        self.bad('is locked on nothing', *words)
        self.assertEqual(sign_vote(key, COMMIT, 5, 4)[0], 201)
        self.assertIn('locked on slot 5', sign_vote(key, NOTARIZE, 6, 3)[1])
        self.bad('nvalid password', *words[:-2], given='wrong\n')
        said = self.good(*words)
        self.assertIn(key + ' is not locked on slot 5 ', said)
        self.assertIn('regproducer NAME NEWKEY', said)
        self.assertEqual(sign_vote(key, COMMIT, 5, 4)[0], 500)
        self.assertEqual(sign_vote(key, NOTARIZE, 6, 3)[0], 201)
        self.bad('has no key ' + KEY, 'wallet', 'give_up_lock', KEY, *words[3:])

    def test_wrong_input(self):
        self.bad('say where the password goes', 'wallet', 'create', '-n', 'other')
        self.bad('that is no private key', 'wallet', 'import', given='x\n')
        self.bad('no password', 'wallet', 'unlock')
        self.bad('', 'wallet', 'open', '-n', 'absent')


class Load(Case):
    def test_load(self):
        report = self.data('-j', 'bench', 'load', '--rate', '20', '--seconds', '2',
                           '--accounts', '4', '--connections', '4',
                           '--contract-dir', os.path.join(CONTRACTS_DIR, 'token'))
        self.assertEqual(report['sent'], 40)
        self.assertEqual(report['refused'], 0)
        self.assertEqual(report['final']['count'], 40)
        self.assertGreater(report['final']['p99_ms'], 0)
        self.assertGreater(report['node_resident_bytes'], 1 << 20)
        self.bad('--rate 0', 'bench', 'load', '--rate', '0')


class Keys(Case):
    def test_keys(self):
        file = Network.path('key')
        self.good('create', 'key', '--file', file)
        self.assertEqual(os.stat(file).st_mode & 0o777, 0o600)
        self.assertIn('PUB_R1_', self.good('create', 'key', '--r1', '--to-console'))
        self.bad('say where the private key goes', 'create', 'key')

    def test_each_vote_key_has_a_journal(self):
        data = Network.path('voter')
        journals = set()
        made = Network.run('key', 'create', '--vote', '--journal', data, '--file', Network.path('zero.key'))
        self.assertIn('there was no folder %s; it is made' % data, made.stderr)
        # Also for a node that runs: it does not look at it before it has the key.
        for name, directory in (('first.key', data), ('second.key', data),
                                ('third.key', Network.file['validators'][0]['data_dir'])):
            said = self.good('key', 'create', '--vote', '--journal', directory, '--file',
                             Network.path(name))
            key = said.strip().rsplit(' ', 1)[1]
            path = os.path.join(directory, 'safety', key + '.journal')
            with open(path, 'rb') as f:
                self.assertEqual([bool(any(f.read(4096))) for _ in range(2)], [True, False])
            journals.add(path)
        self.assertEqual(len(journals), 3)
        self.bad('--journal goes with --vote', 'key', 'create', '--journal', data, '--to-console')
        typo = Network.path('typo')
        self.bad('there is no folder ' + typo, 'key', 'create', '--vote', '--journal',
                 os.path.join(typo, 'data'), '--file', Network.path('fourth.key'))
        self.assertFalse(os.path.exists(typo) or os.path.exists(Network.path('fourth.key')))
        # A key that has nowhere to go gets no journal.
        lost = Network.path('lost')
        self.bad('No such file', 'key', 'create', '--vote', '--journal', lost, '--file',
                 os.path.join(typo, 'fifth.key'))
        self.assertFalse(os.path.exists(lost))
        for more in (('--vote', '--journal', data), ('--r1', '--node')):
            self.bad('exists already', 'key', 'create', *more, '--file', Network.path('first.key'))

    def test_wrong_accounts_of_a_broker(self):
        for account, reason in (('eosio', 'is there already'), ('bora', 'a validator has this name'),
                                ('UPPER', 'no account name'), ('', 'no account name')):
            self.bad(reason, '--dir', Network.path('other'), 'network', 'up', '--broker', account)
            self.assertFalse(os.path.exists(Network.path('other')))
        for more, reason in ((('--broker', 'alice', '--broker-host', 'a b'), '--broker-host a b: no address'),
                             (('--broker', 'alice', '--broker-host', 'a:9092'), 'the port is chosen here'),
                             (('--broker-host', 'a'), 'give --broker ACCOUNT, too')):
            self.bad(reason, '--dir', Network.path('other'), 'network', 'up', *more)

    def test_wrong_chain_parameters(self):
        for text, reason in (('max_missed', 'expected NAME=NUMBER'), ('no_such=5', 'no_such; there are '), ('no_such=5', 'max_missed'),
                             ('max_producers=900', 'max_producers')):
            self.bad(reason, '--dir', Network.path('other'), 'network', 'up',
                     '--chain-parameter', text)


class ZLast(Case):
    def test_stop(self):
        self.assertIn('up', self.good('network', 'status'))
        self.good('wallet', 'stop')
        self.assertIn('down', self.good('network', 'down'))
        self.bad('is it running there?', 'get', 'info')


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
