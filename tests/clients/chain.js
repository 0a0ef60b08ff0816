// The running network, and what every client test needs of it: accounts, keys, contracts.
'use strict';
const fs = require('node:fs');
const path = require('node:path');
const {Api, JsonRpc, Serialize} = require('eosjs');
const {JsSignatureProvider} = require('eosjs/dist/eosjs-jssig');

const network = JSON.parse(fs.readFileSync(process.env.BOR_NETWORK, 'utf8'));
const url = network.validators[0].http;
const rpc = new JsonRpc(url, {fetch});

// An eosjs client that signs with these private keys.
function client(...keys) {
  return new Api({
    rpc,
    signatureProvider: new JsSignatureProvider(keys),
    textDecoder: new TextDecoder(),
    textEncoder: new TextEncoder(),
  });
}

const system = client(network.system_key.private);
const tapos = {blocksBehind: 0, expireSeconds: 60};

const auth = (actor, permission = 'active') => [{actor, permission}];
const authority = (...keys) => ({
  threshold: 1,
  keys: keys.sort().map((key) => ({key, weight: 1})),
  accounts: [],
  waits: [],
});

let made = 0;
// A name that no other test has.
function freshName(prefix = 'acct') {
  const letters = 'abcdefghijklmnopqrstuvwxyz';
  let text = prefix.slice(0, 5);
  let number = (Date.now() % 100000000) * 16 + (made++ % 16);
  while (text.length < 12) {
    text += letters[number % 26];
    number = Math.floor(number / 26);
  }
  return text;
}

async function transact(api, actions, more = {}) {
  return api.transact({actions: Array.isArray(actions) ? actions : [actions], ...more.transaction},
    {...tapos, ...more.options});
}

async function newAccount(name, ownerAuthority, activeAuthority = ownerAuthority) {
  await transact(system, {
    account: 'eosio',
    name: 'newaccount',
    authorization: auth('eosio'),
    data: {creator: 'eosio', name, owner: ownerAuthority, active: activeAuthority},
  });
  return name;
}

// setcode and setabi, as every deploy script for eosjs does it.
async function deploy(api, account, wasmFile, abiFile) {
  const wasm = fs.readFileSync(wasmFile).toString('hex');
  const abiJson = JSON.parse(fs.readFileSync(abiFile, 'utf8'));
  const definition = api.abiTypes.get('abi_def');
  for (const field of definition.fields) {
    if (!(field.name in abiJson)) abiJson[field.name] = [];
  }
  const buffer = new Serialize.SerialBuffer({textEncoder: api.textEncoder, textDecoder: api.textDecoder});
  definition.serialize(buffer, abiJson);
  await transact(api, [
    {
      account: 'eosio', name: 'setcode', authorization: auth(account),
      data: {account, vmtype: 0, vmversion: 0, code: wasm},
    },
    {
      account: 'eosio', name: 'setabi', authorization: auth(account),
      data: {account, abi: Buffer.from(buffer.asUint8Array()).toString('hex')},
    },
  ]);
}

const contract = (name) => [
  path.join(process.env.BOR_CONTRACTS, name, `${name}.wasm`),
  path.join(process.env.BOR_CONTRACTS, name, `${name}.abi`),
];
const testContract = (name) => [
  path.join(process.env.BOR_TEST_CONTRACTS, name, `${name}.wasm`),
  path.join(process.env.BOR_TEST_CONTRACTS, name, `${name}.abi`),
];

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function post(route, body) {
  const response = await fetch(url + route, {
    method: 'POST',
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  return {status: response.status, json: await response.json()};
}

// Waits until a transaction is final and returns its status.
async function final(id) {
  const deadline = Date.now() + 30000;
  while (Date.now() < deadline) {
    const {json} = await post('/v1/chain/get_transaction_status', {id});
    if (json.state === 'IRREVERSIBLE') return json;
    await sleep(25);
  }
  throw new Error(`transaction ${id} is not final after 30 s`);
}

// The first text of the node's error, as a client sees it.
async function refusal(promise) {
  try {
    await promise;
  } catch (error) {
    const details = error.json?.error?.details ?? error.response?.json?.error?.details;
    return details?.[0]?.message ?? error.message;
  }
  throw new Error('expected a refusal, but it was accepted');
}

module.exports = {
  network, url, rpc, client, system, tapos, auth, authority, freshName, transact, newAccount,
  deploy, contract, testContract, sleep, post, final, refusal, Serialize,
};
