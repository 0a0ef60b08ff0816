#!/usr/bin/env python3
"""Contracts that others compiled (token, msig and system, as the folder BOR_CONTRACTS has them) on a
chain of one validator: their normal uses, and what their tables and balances are afterwards. The stored
chain is then executed again from genesis, twice, with the same digests.

usage: contracts.py --build BUILD_DIR
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

FAR = '2037-01-01T00:00:00'
RAM = 64 * 1024 ** 3        # What eosio.system begins with.
GIFT = 1400                 # Bytes that it gives to every account.
SYSTEM_ACCOUNTS = ('ram', 'ramfee', 'stake', 'bpay', 'vpay', 'names', 'saving', 'rex')


def amount(asset):
    """Of the token's unit: "1.0000 SYS" is 10000."""
    return int(asset.split()[0].replace('.', ''))


def tokens(units):
    return '%d.%04d SYS' % divmod(units, 10000)


class Chain:
    def __init__(self, build):
        self.bin = os.path.join(os.path.realpath(build), 'bin')
        self.dir = tempfile.mkdtemp(prefix='bor-contracts-')
        self.contracts = os.environ['BOR_CONTRACTS']

    def run(self, *words):
        return subprocess.run([os.path.join(self.bin, 'bor-cli'), '--dir', self.dir, *words],
                              capture_output=True, text=True, timeout=60)

    def cli(self, *words):
        done = self.run(*words)
        if done.returncode != 0:
            raise AssertionError('bor-cli %s: %s%s' % (' '.join(words), done.stdout, done.stderr))
        return done.stdout

    def up(self):
        self.cli('network', 'up', '--open', '--block-interval', '100')
        with open(os.path.join(self.dir, 'network.json'), encoding='utf-8') as f:
            network = json.load(f)
        self.key = network['system_key']['public']
        self.data_dir = network['validators'][0]['data_dir']

    def down(self):
        self.run('network', 'down')

    def create(self, *names):
        for name in names:
            self.cli('create', 'account', 'eosio', name, self.key)

    def deploy(self, account, contract):
        path = os.path.join(self.contracts, contract)
        self.cli('set', 'code', account, path + '.wasm')
        self.cli('set', 'abi', account, path + '.abi')

    def act(self, contract, action, who, *data):
        return self.cli('push', 'action', contract, action, json.dumps(data), '-p', who, '-f')

    def refused(self, text, contract, action, who, *data):
        done = self.run('push', 'action', contract, action, json.dumps(data), '-p', who, '-f')
        assert done.returncode == 1 and text in done.stderr, done.stdout + done.stderr

    def settle(self):
        """Reads are answered from the last block: waits for the one with what was just sent."""
        def head():
            return json.loads(self.cli('get', 'info'))['head_block_num']
        first = head()
        while head() < first + 2:
            time.sleep(0.05)

    def rows(self, code, scope, table):
        return json.loads(self.cli('get', 'table', code, scope, table, '-l', '100'))['rows']

    def row(self, code, scope, table, **wanted):
        found = [each for each in self.rows(code, scope, table)
                 if all(each[key] == value for key, value in wanted.items())]
        assert len(found) == 1, found
        return found[0]

    def balance(self, account):
        return sum(amount(each['balance']) for each in self.rows('eosio.token', account, 'accounts'))


def equal(found, wanted):
    if found != wanted:
        raise AssertionError('%r, not %r' % (found, wanted))


def contains(row, **wanted):
    equal({key: row[key] for key in wanted}, wanted)


def token(chain):
    chain.act('eosio.token', 'create', 'eosio.token', 'eosio', '1000000000.0000 SYS')
    chain.refused('token with symbol already exists', 'eosio.token', 'create', 'eosio.token', 'eosio',
                  '1.0000 SYS')
    chain.act('eosio.token', 'issue', 'eosio', 'eosio', '100000000.0000 SYS', 'first')
    chain.refused('quantity exceeds available supply', 'eosio.token', 'issue', 'eosio', 'eosio',
                  '900000001.0000 SYS', '')
    for name, units in (('alice', 500000000), ('bob', 200000000)):
        chain.act('eosio.token', 'transfer', 'eosio', 'eosio', name, tokens(units), 'to begin with')
    chain.act('eosio.token', 'transfer', 'alice', 'alice', 'bob', '12.3456 SYS', 'a memo')
    chain.refused('overdrawn balance', 'eosio.token', 'transfer', 'bob', 'bob', 'alice',
                  '20012.3457 SYS', '')
    chain.refused('missing authority of alice', 'eosio.token', 'transfer', 'bob', 'alice', 'bob',
                  '1.0000 SYS', '')
    chain.act('eosio.token', 'retire', 'eosio', '1000.0000 SYS', 'gone')
    chain.act('eosio.token', 'open', 'bob', 'carol', '4,SYS', 'bob')
    chain.settle()
    contains(chain.row('eosio.token', 'SYS', 'stat'), supply='99999000.0000 SYS',
             max_supply='1000000000.0000 SYS', issuer='eosio')
    equal(chain.balance('alice'), 500000000 - 123456)
    equal(chain.balance('bob'), 200000000 + 123456)
    equal(chain.rows('eosio.token', 'carol', 'accounts'), [{'balance': '0.0000 SYS'}])
    chain.act('eosio.token', 'close', 'carol', 'carol', '4,SYS')
    chain.refused('Cannot close because the balance is not zero', 'eosio.token', 'close', 'bob', 'bob',
                  '4,SYS')
    chain.settle()
    equal(chain.rows('eosio.token', 'carol', 'accounts'), [])


def propose(chain, name, units):
    transfer = {'account': 'eosio.token', 'name': 'transfer',
                'authorization': [{'actor': 'bob', 'permission': 'active'}],
                'data': {'from': 'bob', 'to': 'carol', 'quantity': tokens(units), 'memo': name}}
    transaction = {'expiration': FAR, 'ref_block_num': 0, 'ref_block_prefix': 0,
                   'actions': [transfer]}
    chain.cli('multisig', 'propose_trx', name, '["bob@active","alice@active"]',
              json.dumps(transaction), 'alice')


def msig(chain):
    chain.act('eosio', 'setpriv', 'eosio', 'eosio.msig', 1)
    level = {'actor': 'bob', 'permission': 'active'}
    propose(chain, 'first', 70000)
    chain.refused('transaction authorization failed', 'eosio.msig', 'exec', 'alice', 'alice', 'first',
                  'alice')
    chain.act('eosio.msig', 'approve', 'bob', 'alice', 'first', level)
    chain.settle()
    row = chain.row('eosio.msig', 'alice', 'approvals2', proposal_name='first')
    equal([each['level'] for each in row['provided_approvals']], [level])
    equal(len(row['requested_approvals']), 1)
    chain.act('eosio.msig', 'unapprove', 'bob', 'alice', 'first', level)
    chain.refused('transaction authorization failed', 'eosio.msig', 'exec', 'alice', 'alice', 'first',
                  'alice')
    chain.act('eosio.msig', 'approve', 'bob', 'alice', 'first', level)
    chain.act('eosio.msig', 'invalidate', 'bob', 'bob')
    chain.refused('transaction authorization failed', 'eosio.msig', 'exec', 'alice', 'alice', 'first',
                  'alice')
    chain.settle()      # An approval counts when it is from a later block than that.
    chain.act('eosio.msig', 'unapprove', 'bob', 'alice', 'first', level)
    chain.act('eosio.msig', 'approve', 'bob', 'alice', 'first', level)
    chain.act('eosio.msig', 'exec', 'alice', 'alice', 'first', 'alice')
    propose(chain, 'second', 10000)
    chain.refused('cannot cancel until expiration', 'eosio.msig', 'cancel', 'bob', 'alice', 'second',
                  'bob')
    chain.act('eosio.msig', 'cancel', 'alice', 'alice', 'second', 'alice')
    chain.settle()
    equal(chain.rows('eosio.msig', 'alice', 'proposal'), [])
    equal(chain.balance('carol'), 70000)


def bought(chain, base, quote, units):
    """What buyram must give for so much, by the rule of a Bancor connector."""
    fee = (units + 199) // 200
    return (units - fee) * base // (quote + units - fee), fee


def market(chain):
    row = chain.row('eosio', 'eosio', 'rammarket')
    return int(row['base']['balance'].split()[0]), amount(row['quote']['balance'])


def ram(chain):
    base, quote = market(chain)
    equal((base, quote), (RAM, 999990000000 // 1000))
    before = chain.balance('alice')
    bytes_, fee = bought(chain, base, quote, 1000000)
    chain.act('eosio', 'buyram', 'alice', 'alice', 'alice', '100.0000 SYS')
    chain.settle()
    equal(market(chain), (base - bytes_, quote + 1000000 - fee))
    equal(chain.balance('alice'), before - 1000000)
    equal(chain.balance('eosio.ramfee'), fee)
    equal(chain.balance('eosio.ram'), 1000000 - fee)
    equal(chain.row('eosio', 'alice', 'userres')['ram_bytes'], bytes_)
    account = json.loads(chain.cli('-j', 'get', 'account', 'alice'))
    equal(account['ram_quota'], bytes_ + GIFT)
    base, quote = market(chain)
    before = chain.balance('alice')
    chain.act('eosio', 'sellram', 'alice', 'alice', 500000)
    chain.settle()
    out = 500000 * quote // (base + 500000)
    equal(market(chain), (base + 500000, quote - out))
    equal(chain.balance('alice'), before + out - (out + 199) // 200)
    for name in ('alice', 'bob', 'carol'):
        chain.act('eosio', 'buyrambytes', 'alice', 'alice', name, 100000)
    chain.settle()
    # Bought by their price, which is rounded.
    assert abs(chain.row('eosio', 'carol', 'userres')['ram_bytes'] - 100000) < 1000


def stakes(chain):
    # Who has bought RAM has a share of nothing from the first stake on: alice stakes for all.
    for name in ('alice', 'bob', 'carol'):
        chain.act('eosio', 'delegatebw', 'alice', 'alice', name, '100.0000 SYS', '200.0000 SYS', 0)
    chain.settle()
    for name in ('alice', 'bob', 'carol'):
        contains(chain.row('eosio', name, 'userres'), net_weight='100.0000 SYS',
                 cpu_weight='200.0000 SYS')
        contains(chain.row('eosio', 'alice', 'delband', to=name), net_weight='100.0000 SYS')
        account = json.loads(chain.cli('-j', 'get', 'account', name))
        contains(account, net_weight=1000000, cpu_weight=2000000)
    equal(chain.balance('eosio.stake'), 9000000)


def accounts(chain):
    keys = {'threshold': 1, 'keys': [{'key': chain.key, 'weight': 1}], 'accounts': [], 'waits': []}
    levels = [{'actor': 'alice', 'permission': 'active'}]
    stake = {'from': 'alice', 'receiver': 'alicechild11', 'stake_net_quantity': '1.0000 SYS',
             'stake_cpu_quantity': '2.0000 SYS', 'transfer': 0}
    actions = [('newaccount', {'creator': 'alice', 'name': 'alicechild11', 'owner': keys,
                               'active': keys}),
               ('buyrambytes', {'payer': 'alice', 'receiver': 'alicechild11', 'bytes': 8000}),
               ('delegatebw', stake)]
    transaction = {'actions': [{'account': 'eosio', 'name': name, 'authorization': levels, 'data': data}
                               for name, data in actions]}
    chain.cli('push', 'transaction', json.dumps(transaction))
    chain.refused('only suffix may create this account', 'eosio', 'newaccount', 'alice', 'alice',
                  'child.bob', keys, keys)
    chain.refused('no active bid for name', 'eosio', 'newaccount', 'alice', 'alice', 'short', keys, keys)
    chain.settle()
    contains(chain.row('eosio', 'alicechild11', 'userres'), net_weight='1.0000 SYS',
             cpu_weight='2.0000 SYS')
    contains(chain.row('eosio', 'alice', 'delband', to='alicechild11'), **{
        'from': 'alice', 'net_weight': '1.0000 SYS', 'cpu_weight': '2.0000 SYS'})
    equal(chain.balance('eosio.stake'), 9030000)


def votes(chain):
    chain.act('eosio', 'delegatebw', 'bob', 'bob', 'bob', '50.0000 SYS', '50.0000 SYS', 0)
    chain.act('eosio', 'regproducer', 'bob', 'bob', chain.key, 'https://bob.example', 7)
    chain.act('eosio', 'regproducer', 'carol', 'carol', chain.key, 'https://carol.example', 8)
    chain.act('eosio', 'regproxy', 'carol', 'carol', 1)
    chain.act('eosio', 'voteproducer', 'alice', 'alice', '', ['bob', 'carol'])
    chain.refused('producer votes must be unique and sorted', 'eosio', 'voteproducer', 'alice', 'alice',
                  '', ['carol', 'bob'])
    chain.settle()
    contains(chain.row('eosio', 'eosio', 'voters', owner='alice'), staked=9030000,
             producers=['bob', 'carol'])
    weight = float(chain.row('eosio', 'eosio', 'voters', owner='alice')['last_vote_weight'])
    assert weight > 9030000
    for name, place in (('bob', 7), ('carol', 8)):
        row = chain.row('eosio', 'eosio', 'producers', owner=name)
        contains(row, is_active=1, location=place, producer_key=chain.key)
        equal(float(row['total_votes']), weight)
    chain.act('eosio', 'voteproducer', 'carol', 'carol', '', ['bob'])
    chain.act('eosio', 'voteproducer', 'alice', 'alice', 'carol', [])
    chain.settle()
    contains(chain.row('eosio', 'eosio', 'voters', owner='alice'), proxy='carol', producers=[])
    equal(float(chain.row('eosio', 'eosio', 'producers', owner='carol')['total_votes']), 0.0)
    chain.act('eosio', 'unregprod', 'carol', 'carol')
    chain.act('eosio', 'rmvproducer', 'eosio', 'bob')
    chain.settle()
    equal([chain.row('eosio', 'eosio', 'producers', owner=name)['is_active']
           for name in ('bob', 'carol')], [0, 0])
    equal(chain.row('eosio', 'eosio', 'global')['total_activated_stake'], 9030000)


def names(chain):
    before = chain.balance('alice')
    chain.act('eosio', 'bidname', 'alice', 'alice', 'zz', '1.0000 SYS')
    chain.refused('must increase bid by 10%', 'eosio', 'bidname', 'bob', 'bob', 'zz', '1.0500 SYS')
    chain.refused('account is already highest bidder', 'eosio', 'bidname', 'alice', 'alice', 'zz',
                  '2.0000 SYS')
    chain.act('eosio', 'bidname', 'bob', 'bob', 'zz', '2.0000 SYS')
    chain.act('eosio', 'bidrefund', 'alice', 'alice', 'zz')
    chain.settle()
    contains(chain.row('eosio', 'eosio', 'namebids'), newname='zz', high_bidder='bob', high_bid=20000)
    equal(chain.balance('alice'), before)
    equal(chain.balance('eosio.names'), 20000)


def rex(chain):
    before = chain.balance('alice')
    chain.act('eosio', 'deposit', 'alice', 'alice', '500.0000 SYS')
    chain.act('eosio', 'buyrex', 'alice', 'alice', '400.0000 SYS')
    chain.act('eosio', 'withdraw', 'alice', 'alice', '50.0000 SYS')
    chain.settle()
    contains(chain.row('eosio', 'eosio', 'rexfund', owner='alice'), balance='50.0000 SYS')
    contains(chain.row('eosio', 'eosio', 'rexbal', owner='alice'), vote_stake='400.0000 SYS',
             rex_balance='4000000.0000 REX')
    equal(chain.balance('alice'), before - 4500000)
    chain.act('eosio', 'rentcpu', 'alice', 'alice', 'bob', '1.0000 SYS', '0.0000 SYS')
    chain.act('eosio', 'rentnet', 'alice', 'alice', 'bob', '1.0000 SYS', '0.5000 SYS')
    chain.settle()
    contains(chain.row('eosio', 'eosio', 'cpuloan'), payment='1.0000 SYS', receiver='bob')
    contains(chain.row('eosio', 'eosio', 'netloan'), balance='0.5000 SYS', receiver='bob')
    contains(chain.row('eosio', 'eosio', 'rexfund', owner='alice'), balance='47.5000 SYS')


def privileges(chain):
    chain.act('eosio', 'setram', 'eosio', RAM + 100000)
    chain.act('eosio', 'setramrate', 'eosio', 1)
    chain.settle()
    contains(chain.row('eosio', 'eosio', 'global'), max_ram_size=str(RAM + 100000))
    for value in (1, 0):
        chain.act('eosio', 'setpriv', 'eosio', 'carol', value)
        chain.settle()
        equal(json.loads(chain.cli('-j', 'get', 'account', 'carol'))['privileged'], value == 1)
    chain.act('eosio', 'setalimits', 'eosio', 'eosio.msig', 1000000, 5, 6)
    chain.settle()
    account = json.loads(chain.cli('-j', 'get', 'account', 'eosio.msig'))
    contains(account, ram_quota=1000000, net_weight=5, cpu_weight=6)
    row = chain.row('eosio', 'eosio', 'global')
    parameters = json.loads(chain.cli('get', 'consensus_parameters'))['chain_config']
    parameters = {key: row[key] for key in row if key in parameters}
    parameters['max_transaction_lifetime'] = 1800
    chain.act('eosio', 'setparams', 'eosio', parameters)
    chain.act('eosio', 'updateauth', 'carol', 'carol', 'spending', 'active',
              {'threshold': 1, 'keys': [{'key': chain.key, 'weight': 1}], 'accounts': [], 'waits': []})
    chain.act('eosio', 'linkauth', 'carol', 'carol', 'eosio.token', 'transfer', 'spending')
    chain.act('eosio.token', 'transfer', 'carol@spending', 'carol', 'alice', '1.0000 SYS', '')
    chain.refused('linked', 'eosio', 'deleteauth', 'carol', 'carol', 'spending')
    chain.act('eosio', 'unlinkauth', 'carol', 'carol', 'eosio.token', 'transfer')
    chain.act('eosio', 'deleteauth', 'carol', 'carol', 'spending')
    chain.settle()
    now = json.loads(chain.cli('get', 'consensus_parameters'))['chain_config']
    equal(now['max_transaction_lifetime'], 1800)
    equal(chain.row('eosio', 'eosio', 'global')['max_transaction_lifetime'], 1800)


def replays(chain):
    chain.down()
    said = []
    for _ in range(2):
        done = subprocess.run([os.path.join(chain.bin, 'bor-node'), '--data-dir', chain.data_dir,
                               '--verify-chain'], capture_output=True, text=True, timeout=120)
        if done.returncode != 0:
            raise AssertionError(done.stdout + done.stderr)
        said.append(done.stdout.strip().splitlines()[-1])
    equal(said[1], said[0])
    print('  %s' % said[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--build', required=True)
    arguments = parser.parse_args()
    if 'BOR_CONTRACTS' not in os.environ:
        print('SKIPPED: BOR_CONTRACTS does not name a folder with contracts of others')
        return 0
    chain = Chain(arguments.build)
    try:
        chain.up()
        chain.create('eosio.token', 'eosio.msig', 'alice', 'bob', 'carol',
                     *('eosio.' + each for each in SYSTEM_ACCOUNTS))
        for each in ('eosio.token', 'eosio.msig'):
            chain.deploy(each, each)
        for case in (token, msig):
            print(case.__name__, flush=True)
            case(chain)
        chain.deploy('eosio', 'eosio.system')
        chain.act('eosio', 'init', 'eosio', 0, '4,SYS')
        chain.refused('system contract has already been initialized', 'eosio', 'init', 'eosio', 0,
                      '4,SYS')
        for case in (ram, stakes, accounts, votes, names, rex, privileges, replays):
            print(case.__name__, flush=True)
            case(chain)
    finally:
        chain.down()
        shutil.rmtree(chain.dir, ignore_errors=True)
    return 0


if __name__ == '__main__':
    sys.exit(main())
