// WharfKit, unchanged: antelope, session with a private-key plugin, and the contract kit.
'use strict';
const {test, before} = require('node:test');
const assert = require('node:assert');
const {
  APIClient, Action, Asset, Authority, Checksum256, Name, PrivateKey, SignedTransaction, Transaction,
} = require('@wharfkit/antelope');
const {Session} = require('@wharfkit/session');
const {WalletPluginPrivateKey} = require('@wharfkit/wallet-plugin-privatekey');
const {ContractKit} = require('@wharfkit/contract');
const chain = require('./chain');

const secret = PrivateKey.generate('K1');
const client = new APIClient({url: chain.url, fetch});
let owner;
let token;
let session;

before(async () => {
  owner = await chain.newAccount(chain.freshName('wharf'), chain.authority(secret.toPublic().toString()));
  token = await chain.newAccount(chain.freshName('wtok'), chain.authority(secret.toPublic().toString()));
  await chain.deploy(chain.client(secret.toWif()), token, ...chain.contract('token'));
  const abi = await client.v1.chain.get_abi(token);
  session = new Session({
    actor: owner, permission: 'active',
    chain: {id: chain.network.chain_id, url: chain.url},
    walletPlugin: new WalletPluginPrivateKey(secret),
  }, {fetch, abis: [{account: token, abi: abi.abi}]});
});

test('get_info, get_account and get_block have the types that the library expects', async () => {
  const info = await client.v1.chain.get_info();
  assert.ok(info.chain_id.equals(Checksum256.from(chain.network.chain_id)));
  const account = await client.v1.chain.get_account(owner);
  assert.ok(account.account_name.equals(owner));
  assert.ok(account.getPermission('active').required_auth.keys[0].key.equals(secret.toPublic()));
  const block = await client.v1.chain.get_block(info.head_block_num);
  assert.ok(block.block_num.equals(info.head_block_num));
});

test('antelope builds, signs and sends a transaction by itself', async () => {
  const {abi} = await client.v1.chain.get_abi(token);
  const info = await client.v1.chain.get_info();
  const action = Action.from({
    account: token, name: 'create', authorization: [{actor: token, permission: 'active'}],
    data: {issuer: owner, maximum_supply: '500.0000 WRF'},
  }, abi);
  const transaction = Transaction.from({...info.getTransactionHeader(), actions: [action]});
  const signature = secret.signDigest(transaction.signingDigest(info.chain_id));
  const result = await client.v1.chain.push_transaction(
    SignedTransaction.from({...transaction, signatures: [signature]}));
  assert.equal(result.transaction_id, String(transaction.id));
  await chain.final(result.transaction_id);
});

test('a session transacts and the contract kit reads the tables', async () => {
  const issue = await session.transact({
    action: {
      account: token, name: 'issue', authorization: [{actor: owner, permission: 'active'}],
      data: {to: owner, quantity: '10.0000 WRF', memo: 'kit'},
    },
  });
  await chain.final(String(issue.resolved.transaction.id));
  const kit = new ContractKit({client});
  const contract = await kit.load(token);
  const row = await contract.table('accounts', owner).get();
  assert.ok(Asset.from(row.balance).equals('10.0000 WRF'));
  const action = contract.action('transfer', {
    from: owner, to: token, quantity: '1.0000 WRF', memo: 'by the kit',
  }, {authorization: [{actor: owner, permission: 'active'}]});
  const sent = await session.transact({action});
  await chain.final(String(sent.resolved.transaction.id));
  const after = await contract.table('accounts', owner).get();
  assert.ok(Asset.from(after.balance).equals('9.0000 WRF'));
});

test('an error of the contract comes through the session', async () => {
  await assert.rejects(session.transact({
    action: {
      account: token, name: 'transfer', authorization: [{actor: owner, permission: 'active'}],
      data: {from: owner, to: token, quantity: '1000.0000 WRF', memo: ''},
    },
  }), /overdrawn balance/);
});

test('get_table_rows pages with next_key', async () => {
  const account = await chain.newAccount(chain.freshName('wtab'), chain.authority(secret.toPublic().toString()));
  await chain.deploy(chain.client(secret.toWif()), account, ...chain.testContract('get_table_test'));
  let last;
  for (const input of [1, 2, 3]) {
    last = await chain.transact(chain.client(secret.toWif()), {
      account, name: 'addnumobj', authorization: chain.auth(account), data: {input},
    });
  }
  await chain.final(last.transaction_id);
  const page = await client.v1.chain.get_table_rows({
    code: account, scope: account, table: 'numobjs', limit: 2, key_type: 'i64',
  });
  assert.equal(page.rows.length, 2);
  assert.equal(page.more, true);
  const rest = await client.v1.chain.get_table_rows({
    code: account, scope: account, table: 'numobjs', limit: 2, key_type: 'i64', lower_bound: page.next_key,
  });
  assert.equal(rest.rows.length, 1);
  const status = await client.v1.chain.get_transaction_status(last.transaction_id);
  assert.equal(status.state, 'IRREVERSIBLE');
  assert.ok(Name.from(account).equals(account));
  assert.ok(Authority);
});
