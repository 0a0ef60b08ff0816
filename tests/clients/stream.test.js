// /v1/bor/stream: blocks in order from a height on, traces and changed rows, and what is refused.
'use strict';
const {test, before} = require('node:test');
const assert = require('node:assert');
const WebSocket = require('ws');
const chain = require('./chain');

// Sends one request and keeps what comes; `until` says when it is enough.
function follow(request, until) {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(`${chain.url.replace('http', 'ws')}/v1/bor/stream`);
    const messages = [];
    const timer = setTimeout(() => {
      socket.terminate();
      reject(new Error(`after 30 s: ${JSON.stringify(messages.slice(-2)).slice(0, 300)}`));
    }, 30000);
    const end = (reason) => {
      clearTimeout(timer);
      socket.close();
      resolve({messages, reason});
    };
    socket.on('open', () => [].concat(request).forEach((each) => socket.send(each)));
    socket.on('message', (text) => {
      messages.push(JSON.parse(text));
      if (until(messages.at(-1))) end('');
    });
    socket.on('close', (code, reason) => end(String(reason)));
    socket.on('error', (error) => end(error.message));
  });
}
const ask = (request, until = () => false) => follow(JSON.stringify(request), until);
const blocks = (messages) => messages.filter((each) => each.type === 'block');

let created;
before(async () => {
  const name = chain.freshName('strm');
  const result = await chain.transact(chain.system, {
    account: 'eosio', name: 'newaccount', authorization: chain.auth('eosio'),
    data: {
      creator: 'eosio', name,
      owner: chain.authority(chain.network.system_key.public),
      active: chain.authority(chain.network.system_key.public),
    },
  });
  const status = await chain.final(result.transaction_id);
  created = {name, id: result.transaction_id, height: status.block_number};
});

test('final blocks come in order from a height on, each once, up to the present', async () => {
  const present = (await chain.rpc.get_info()).last_irreversible_block_num;
  const {messages} = await ask({from: 1}, (each) => each.block_num >= present + 3);
  const heights = blocks(messages).map((each) => each.block_num);
  assert.deepEqual(heights, heights.map((_, i) => i + 1));
  assert.ok(blocks(messages).every((each) => each.final));
  const one = blocks(messages)[created.height - 1];
  assert.equal(one.id, (await chain.rpc.get_block(created.height)).id);
  assert.ok(one.block.transactions.some((each) => each.trx.id === created.id));
});

test('with traces and deltas: the action and the rows that it changed', async () => {
  const request = {from: created.height, include: ['traces', 'deltas']};
  const {messages} = await ask(request, (each) => each.type === 'block');
  const [block] = blocks(messages);
  assert.equal(block.block_num, created.height);
  const trace = block.traces.find((each) => each.id === created.id);
  assert.equal(trace.action_traces[0].act.data.name, created.name);
  const tables = block.deltas.map((each) => each.table);
  assert.ok(tables.includes('account') && tables.includes('permission'), String(tables));
});

test('at head blocks come before they are final, and what is final is told', async () => {
  const {messages} = await ask({at: 'head'}, (each) => each.type === 'final');
  const [first] = blocks(messages);
  const last = messages.at(-1);
  const info = await chain.rpc.get_info();
  assert.ok(first === undefined || first.block_num <= info.head_block_num);
  assert.equal(last.id, (await chain.rpc.get_block(last.block_num)).id);
});

test('what cannot be had is refused in words', async () => {
  const reason = async (request) => {
    const {messages} = await follow(request, (each) => each.type === 'error');
    return messages.at(-1)?.message;
  };
  assert.match(await reason('{"at": "tail"}'), /expected head or final, found tail/);
  assert.match(await reason('{"include": ["money"]}'), /expected blocks, traces or deltas/);
  assert.match(await reason('{"from": "many"}'), /Couldn't parse/);
  assert.match(await reason('nonsense'), /JSON/);
});

test('a second request on one socket ends it', async () => {
  const {reason} = await follow(['{"from": 999999999}', '{"from": 1}'], () => false);
  assert.match(reason, /one request to a socket/);
});
