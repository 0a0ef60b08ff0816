// eosjs 22, unchanged: what its users do, in the order in which they learn it.
'use strict';
const {test, before} = require('node:test');
const assert = require('node:assert');
const {generateKeyPair} = require('eosjs/dist/eosjs-key-conversions');
const {KeyType} = require('eosjs/dist/eosjs-numeric');
const chain = require('./chain');

const key = (type) => {
  const pair = generateKeyPair(type, {secureEnv: true});
  return {secret: pair.privateKey.toString(), public: pair.publicKey.toString()};
};
const alice = key(KeyType.k1);
const bob = key(KeyType.k1);
const carol = key(KeyType.r1);
const names = {};
let token;

const transfer = (from, to, quantity, memo = '') => ({
  account: token, name: 'transfer', authorization: chain.auth(from), data: {from, to, quantity, memo},
});

before(async () => {
  names.alice = await chain.newAccount(chain.freshName('alice'), chain.authority(alice.public));
  names.bob = await chain.newAccount(chain.freshName('bob'), chain.authority(bob.public));
  names.carol = await chain.newAccount(chain.freshName('carol'), chain.authority(carol.public));
  token = await chain.newAccount(chain.freshName('token'), chain.authority(alice.public));
  const api = chain.client(alice.secret);
  await chain.deploy(api, token, ...chain.contract('token'));
  await chain.transact(api, {
    account: token, name: 'create', authorization: chain.auth(token),
    data: {issuer: names.alice, maximum_supply: '1000000.0000 SYS'},
  });
  await chain.transact(api, {
    account: token, name: 'issue', authorization: chain.auth(names.alice),
    data: {to: names.alice, quantity: '1000.0000 SYS', memo: 'first'},
  });
});

test('a transfer is in a block, final, and readable', async () => {
  const result = await chain.transact(chain.client(alice.secret),
    transfer(names.alice, names.bob, '1.0000 SYS', 'hello'));
  assert.equal(result.processed.receipt.status, 'executed');
  // push_transaction nests the notifications of both accounts.
  assert.equal(result.processed.action_traces[0].inline_traces.length, 2);
  assert.equal(result.processed.action_traces[0].act.data.memo, 'hello');
  const status = await chain.final(result.transaction_id);
  const block = await chain.rpc.get_block(status.block_number);
  assert.ok(block.transactions.some((entry) => entry.trx.id === result.transaction_id));
  assert.equal(block.producer, chain.network.validators[0].name);
  assert.deepEqual(await chain.rpc.get_currency_balance(token, names.bob, 'SYS'), ['1.0000 SYS']);
});

test('an R1 key signs, and a compressed transaction is taken', async () => {
  await chain.transact(chain.client(alice.secret), transfer(names.alice, names.carol, '5.0000 SYS'));
  const result = await chain.transact(chain.client(carol.secret),
    transfer(names.carol, names.bob, '2.0000 SYS'), {options: {compression: true}});
  await chain.final(result.transaction_id);
  assert.deepEqual(await chain.rpc.get_currency_balance(token, names.carol), ['3.0000 SYS']);
});

test("the contract's own words reach the client", async () => {
  const api = chain.client(alice.secret);
  assert.match(await chain.refusal(chain.transact(api, transfer(names.alice, names.bob, '99999.0000 SYS'))),
    /assertion failure with message: overdrawn balance/);
  assert.match(await chain.refusal(chain.transact(api, transfer(names.alice, names.alice, '1.0000 SYS'))),
    /cannot transfer to self/);
  assert.match(await chain.refusal(chain.transact(api, transfer(names.bob, names.alice, '1.0000 SYS'))),
    /declares authority '\{"actor":"[a-z]+","permission":"active"\}', but does not have signatures/);
});

test('an authority of two of three keys, and waits refused', async () => {
  const keys = [key(KeyType.k1), key(KeyType.k1), key(KeyType.r1)];
  const name = await chain.newAccount(chain.freshName('multi'), chain.authority(alice.public), {
    threshold: 2,
    keys: keys.map((entry) => entry.public).sort((a, b) => (packed(a) < packed(b) ? -1 : 1))
      .map((entry) => ({key: entry, weight: 1})),
    accounts: [],
    waits: [],
  });
  await chain.transact(chain.client(alice.secret), transfer(names.alice, name, '3.0000 SYS'));
  assert.match(await chain.refusal(chain.transact(chain.client(keys[0].secret), {
    ...transfer(name, names.bob, '1.0000 SYS'),
  })), /does not have signatures/);
  const result = await chain.transact(chain.client(keys[0].secret, keys[2].secret),
    transfer(name, names.bob, '1.0000 SYS'));
  assert.equal(result.processed.receipt.status, 'executed');
});

// Authorities are sorted by the binary form of their keys.
function packed(text) {
  const buffer = new chain.Serialize.SerialBuffer();
  buffer.pushPublicKey(text);
  return Buffer.from(buffer.asUint8Array()).toString('hex');
}

test('permissions: updateauth, linkauth, use, unlinkauth, deleteauth', async () => {
  const pay = key(KeyType.k1);
  const api = chain.client(alice.secret);
  const act = (name, data) => ({
    account: 'eosio', name, authorization: chain.auth(names.alice), data: {account: names.alice, ...data},
  });
  await chain.transact(api, act('updateauth', {permission: 'pay', parent: 'active', auth: chain.authority(pay.public)}));
  const byPay = {...transfer(names.alice, names.bob, '0.1000 SYS'), authorization: chain.auth(names.alice, 'pay')};
  assert.match(await chain.refusal(chain.transact(chain.client(pay.secret), byPay)), /irrelevant authority|does not have/);
  await chain.transact(api, act('linkauth', {code: token, type: 'transfer', requirement: 'pay'}));
  await chain.transact(chain.client(pay.secret), byPay);
  const account = await chain.rpc.get_account(names.alice);
  const permission = account.permissions.find((entry) => entry.perm_name === 'pay');
  assert.equal(permission.parent, 'active');
  assert.deepEqual(permission.linked_actions, [{account: token, action: 'transfer'}]);
  await chain.transact(api, act('unlinkauth', {code: token, type: 'transfer'}));
  await chain.transact(api, act('deleteauth', {permission: 'pay'}));
  const after = await chain.rpc.get_account(names.alice);
  assert.ok(!after.permissions.some((entry) => entry.perm_name === 'pay'));
});

test('multisig: propose, approve, exec', async () => {
  const msig = await chain.newAccount(chain.freshName('msig'), chain.authority(alice.public));
  const api = chain.client(alice.secret);
  await chain.deploy(api, msig, ...chain.contract('msig'));
  await chain.transact(chain.system, {
    account: 'eosio', name: 'setpriv', authorization: chain.auth('eosio'), data: {account: msig, is_priv: 1},
  });
  const inner = await api.serializeActions([transfer(names.bob, names.alice, '0.5000 SYS', 'by msig')]);
  await chain.transact(api, {
    account: msig, name: 'propose', authorization: chain.auth(names.alice),
    data: {
      proposer: names.alice, proposal_name: 'payback',
      requested: [{actor: names.bob, permission: 'active'}],
      trx: {
        expiration: new Date(Date.now() + 600000).toISOString().slice(0, 19),
        ref_block_num: 0, ref_block_prefix: 0, max_net_usage_words: 0, max_cpu_usage_ms: 0, delay_sec: 0,
        context_free_actions: [], actions: inner, transaction_extensions: [],
      },
    },
  });
  const exec = {
    account: msig, name: 'exec', authorization: chain.auth(names.alice),
    data: {proposer: names.alice, proposal_name: 'payback', executer: names.alice},
  };
  assert.match(await chain.refusal(chain.transact(api, exec)), /transaction authorization failed/);
  await chain.transact(chain.client(bob.secret), {
    account: msig, name: 'approve', authorization: chain.auth(names.bob),
    data: {proposer: names.alice, proposal_name: 'payback', level: {actor: names.bob, permission: 'active'}},
  });
  const before = parseFloat((await balanceOf(names.bob)));
  const result = await chain.transact(api, exec);
  await chain.final(result.transaction_id);
  assert.equal(parseFloat(await balanceOf(names.bob)).toFixed(4), (before - 0.5).toFixed(4));
});

const balanceOf = async (name) => (await chain.rpc.get_currency_balance(token, name, 'SYS'))[0];

test('context-free actions carry their data', async () => {
  const api = chain.client(alice.secret);
  const result = await api.transact({
    context_free_actions: [{account: 'eosio.null', name: 'nonce', authorization: [], data: 'c0ffee'}],
    context_free_data: [Uint8Array.from([1, 2, 3])],
    actions: [transfer(names.alice, names.bob, '0.0001 SYS', 'with a context-free action')],
  }, chain.tapos).catch(async (error) => {
    // eosjs has no ABI for eosio.null: the action's data goes in packed.
    if (!/eosio.null|abi/i.test(error.message)) throw error;
    const actions = await api.serializeActions([transfer(names.alice, names.bob, '0.0001 SYS', 'cfa')]);
    const info = await chain.rpc.get_info();
    const block = await chain.rpc.get_block_info(info.head_block_num);
    const transaction = {
      ...chain.Serialize.transactionHeader(block, 60),
      context_free_actions: [{account: 'eosio.null', name: 'nonce', authorization: [], data: 'c0ffee'}],
      actions,
    };
    const serializedTransaction = api.serializeTransaction(transaction);
    const serializedContextFreeData = api.serializeContextFreeData([Uint8Array.from([1, 2, 3])]);
    const signed = await api.signatureProvider.sign({
      chainId: info.chain_id, requiredKeys: await api.signatureProvider.getAvailableKeys(),
      serializedTransaction, serializedContextFreeData, abis: [],
    });
    return api.pushSignedTransaction({...signed, serializedContextFreeData});
  });
  assert.equal(result.processed.receipt.status, 'executed');
  const traces = result.processed.action_traces;
  assert.ok(traces.some((trace) => trace.context_free === true));
});

test('action return values and read-only transactions', async () => {
  const account = await chain.newAccount(chain.freshName('actres'), chain.authority(alice.public));
  const api = chain.client(alice.secret);
  await chain.deploy(api, account, ...chain.testContract('action_results'));
  const action = {account, name: 'actionresret', authorization: chain.auth(account), data: {}};
  const result = await chain.transact(api, action);
  assert.equal(result.processed.action_traces[0].return_value_hex_data, '0a000000');
  assert.equal(result.processed.action_traces[0].return_value_data, 10);
  // eosjs' own read-only call is of EOSIO 2.2; nodeos of today has this one.
  const packedOnly = await api.transact({actions: [{...action, authorization: []}]},
    {...chain.tapos, broadcast: false, sign: false});
  const readOnly = await chain.post('/v1/chain/send_read_only_transaction', {
    transaction: {
      signatures: [], compression: 'none', packed_context_free_data: '',
      packed_trx: Buffer.from(packedOnly.serializedTransaction).toString('hex'),
    },
  });
  assert.equal(readOnly.json.processed.action_traces[0].return_value_data, 10);
  assert.match(await chain.refusal(chain.transact(api, {...action, name: 'retoverlim'})),
    /action return value size must be less or equal to 256 bytes/);
});

test('tables: paging, order, bounds, secondary indexes of each kind, scopes', async () => {
  const account = await chain.newAccount(chain.freshName('table'), chain.authority(alice.public));
  const api = chain.client(alice.secret);
  await chain.deploy(api, account, ...chain.testContract('get_table_test'));
  for (const input of [2, 5, 7, 11]) {
    await chain.transact(api, {account, name: 'addnumobj', authorization: chain.auth(account), data: {input}});
  }
  const last = await chain.transact(api, {
    account, name: 'addhashobj', authorization: chain.auth(account), data: {hashinput: 'firstinput'},
  });
  await chain.final(last.transaction_id);
  const rows = (more) => chain.rpc.get_table_rows({code: account, scope: account, table: 'numobjs', ...more});
  const first = await rows({limit: 3});
  assert.equal(first.rows.length, 3);
  assert.equal(first.more, true);
  const rest = await rows({limit: 3, lower_bound: first.next_key});
  assert.deepEqual(rest.rows.map((row) => row.sec64), [11]);
  assert.equal(rest.more, false);
  assert.deepEqual((await rows({reverse: true, limit: 2})).rows.map((row) => row.sec64), [11, 7]);
  assert.deepEqual((await rows({lower_bound: 1, upper_bound: 2})).rows.map((row) => row.key), [1, 2]);
  const byIndex = (index_position, key_type, bound) => rows({
    index_position, key_type, lower_bound: bound, upper_bound: bound,
  });
  assert.deepEqual((await byIndex(2, 'i64', '5')).rows.map((row) => row.sec64), [5]);
  assert.deepEqual((await byIndex(3, 'i128', '7')).rows.map((row) => row.sec64), [7]);
  assert.deepEqual((await byIndex(4, 'float64', '11')).rows.map((row) => row.sec64), [11]);
  assert.deepEqual((await byIndex(5, 'float128', '2')).rows.map((row) => row.sec64), [2]);
  const hash = (await chain.rpc.get_table_rows({code: account, scope: account, table: 'hashobjs'})).rows[0];
  const found = await chain.rpc.get_table_rows({
    code: account, scope: account, table: 'hashobjs', index_position: 2, key_type: 'sha256',
    lower_bound: hash.sec256, upper_bound: hash.sec256,
  });
  assert.equal(found.rows[0].hash_input, 'firstinput');
  const scopes = await chain.rpc.get_table_by_scope({code: account, table: 'numobjs'});
  // The rows and those of the first secondary index, which shares the table's name.
  assert.equal(scopes.rows[0].count, 8);
  assert.equal(scopes.rows[0].payer, account);
  assert.equal((await rows({show_payer: true, limit: 1})).rows[0].payer, account);
});

test('accounts by key, and a code hash of none', async () => {
  const found = await chain.rpc.get_accounts_by_authorizers([], [bob.public]);
  assert.ok(found.accounts.some((entry) => entry.account_name === names.bob));
  assert.equal((await chain.rpc.get_code_hash(names.bob)).code_hash, '0'.repeat(64));
});
