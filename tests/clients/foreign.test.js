// A page of another origin in Chromium tries each of the operator's calls by form, fetch, GET and
// WebSocket, also with the operator's token, and under a name that it has bound to the node's address:
// nothing changes. The node's own page and the one that access-control-allow-origin names do with the
// token what they ask for, and nothing without it.
'use strict';
const test = require('node:test');
const assert = require('node:assert/strict');
const {execFileSync} = require('node:child_process');
const fs = require('node:fs');
const http = require('node:http');
const os = require('node:os');
const path = require('node:path');
const {chromium} = require('playwright-core');
const chain = require('./chain');

const flags = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
  '--disable-background-networking', '--disable-component-update', '--disable-sync',
  '--host-resolver-rules=MAP *.example 127.0.0.1'];
const profile = fs.mkdtempSync(path.join(os.tmpdir(), 'bor-foreign-'));
const tokenFile = process.env.BOR_TOKEN_FILE;
const authorization = `Bearer ${fs.readFileSync(tokenFile, 'utf8').trim()}`;
const calls = [
  ['/v1/producer/pause', ''],
  ['/v1/producer/update_runtime_options', '{"max_transaction_time": 25}'],
  ['/v1/producer/add_greylist_accounts', '{"accounts": ["eosio"]}'],
  ['/v1/producer/set_whitelist_blacklist', '{"actor_blacklist": ["eosio"]}'],
  ['/v1/producer/schedule_snapshot', '{"start_block_num": 4000000000}'],
  ['/v1/producer/create_snapshot', ''],
  ['/v1/net/connect', '"127.0.0.1:9"'],
];
let browser;
let server;
let port;
let other;

// The node's answer on its Unix socket, where no token is asked for.
const answerOf = (node, call) => new Promise((done, fail) => {
  const options = {socketPath: path.join(node.data_dir, 'bor.sock'), path: `/v1/${call}`, method: 'POST'};
  const request = http.request(options, (answer) => {
    let text = '';
    answer.setEncoding('utf8');
    answer.on('data', (piece) => { text += piece; });
    answer.on('end', () => done({status: answer.statusCode, text}));
  });
  request.on('error', fail);
  request.end();
});

// What the calls change.
async function state(node = chain.network.validators[0]) {
  const found = {};
  for (const each of ['producer/paused', 'producer/get_runtime_options', 'producer/get_greylist',
    'producer/get_whitelist_blacklist', 'producer/get_snapshot_requests', 'net/connections',
    'bor/snapshots']) {
    const {status, text} = await answerOf(node, each);
    assert.ok(status < 300, `${each}: ${status} ${text}`);
    found[each] = JSON.parse(text);
  }
  return found;
}

// All that a page can do about a call; what it was told where its browser let it see that.
const attack = ({url, tried, token}) => (async () => {
  const told = [];
  const ask = async (target, options) => {
    try {
      told.push((await fetch(target, options)).status);
    } catch (error) {
      told.push('refused');
    }
  };
  const loaded = (element, attribute, value) => new Promise((done) => {
    element.onload = element.onerror = done;
    setTimeout(done, 3000);
    element[attribute] = value;
    document.body.append(element);
  });
  const submit = async (action, method, body) => {
    const frame = document.createElement('iframe');
    frame.name = `frame${Math.random()}`;
    document.body.append(frame);
    const form = Object.assign(document.createElement('form'),
      {action, method, enctype: 'text/plain', target: frame.name});
    // As text/plain a form sends name=value.
    const [name, value] = [body.slice(0, body.indexOf('":') + 2), body.slice(body.indexOf('":') + 2)];
    if (body) form.append(Object.assign(document.createElement('input'), {name, value}));
    document.body.append(form);
    await new Promise((done) => {
      frame.onload = done;
      setTimeout(done, 3000);
      form.submit();
    });
  };
  for (const [call, body] of tried) {
    const target = url + call;
    for (const mode of ['no-cors', 'cors']) {
      await ask(target, {method: 'POST', mode, body});
      await ask(target, {method: 'GET', mode});
    }
    await ask(target, {method: 'POST', body, headers: {'Content-Type': 'application/json'}});
    await ask(target, {method: 'POST', body, headers: {Authorization: token}});
    await loaded(document.createElement('img'), 'src', target);
    await loaded(document.createElement('iframe'), 'src', target);
    await submit(target, 'POST', body);
    await submit(target, 'GET', body);
    navigator.sendBeacon(target, body);
  }
  return told;
})();

const socket = (url) => new Promise((done) => {
  const made = new WebSocket(`${url.replace('http', 'ws')}/v1/bor/stream`);
  made.onopen = () => done('open');
  made.onerror = () => done('refused');
});

async function at(address) {
  const page = await browser.newPage();
  const answer = await page.goto(address);
  return {page, status: answer.status()};
}

test.before(async () => {
  server = http.createServer((request, response) => {
    response.setHeader('Content-Type', 'text/html');
    response.end('<!doctype html><title>another page</title><body>');
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  port = server.address().port;
  browser = await chromium.launchPersistentContext(profile, {
    executablePath: '/usr/bin/chromium', headless: true, args: flags, chromiumSandbox: false,
  });
});

test.after(async () => {
  await browser?.close();
  server?.close();
  if (other) execFileSync(path.join(process.env.BOR_BIN, 'bor-cli'), ['--dir', other, 'network', 'down']);
  for (const each of [profile, other]) {
    if (each) fs.rmSync(each, {recursive: true, force: true});
  }
});

test('a page of another origin changes nothing, and gets no stream', async () => {
  const before = await state();
  const {page} = await at(`http://evil.example:${port}/`);
  const told = await page.evaluate(attack, {url: chain.url, tried: calls, token: authorization});
  // 0: sent, and the answer is hidden from the page.
  assert.deepEqual(new Set(told), new Set([0, 'refused']));
  assert.equal(await page.evaluate(socket, chain.url), 'refused');
  assert.deepEqual(await state(), before);
});

test('a name that is bound to the address of the node is refused', async () => {
  const {page, status} = await at(chain.url.replace('127.0.0.1', 'rebound.example'));
  assert.equal(status, 400);
  const before = await state();
  const told = await page.evaluate(attack, {url: '', tried: calls, token: authorization});
  assert.deepEqual(new Set(told), new Set([400]));
  assert.deepEqual(await state(), before);
});

test('the own page of the node does all of it with the token, and nothing without', async () => {
  const {page} = await at(`${chain.url}/`);
  const post = (call, body, headers = {Authorization: authorization}) =>
    page.evaluate(async ([target, options]) => (await fetch(target, options)).status,
      [call, {method: 'POST', body, headers}]);
  const before = await state();
  for (const headers of [{}, {Authorization: 'Bearer 0123456789abcdef'}, {Authorization: 'Bearer'}]) {
    for (const [call, body] of calls) assert.equal(await post(call, body, headers), 401, call);
  }
  assert.deepEqual(await state(), before);
  assert.equal(await post('/v1/producer/pause', ''), 201);
  assert.equal((await state())['producer/paused'], true);
  assert.equal(await post('/v1/producer/resume', ''), 201);
  assert.equal(await post('/v1/producer/add_greylist_accounts', '{"accounts": ["eosio"]}'), 201);
  assert.notDeepEqual((await state())['producer/get_greylist'], before['producer/get_greylist']);
  assert.equal(await post('/v1/producer/remove_greylist_accounts', '{"accounts": ["eosio"]}'), 201);
  assert.equal(await page.evaluate(socket, chain.url), 'open');
  assert.deepEqual(await state(), before);
});

test('the page of an origin that is named does, too; another one does not, though it has the token', async () => {
  other = fs.mkdtempSync(path.join(os.tmpdir(), 'bor-named-'));
  const named = `http://dapp.example:${port}`;
  execFileSync(path.join(process.env.BOR_BIN, 'bor-cli'), ['--dir', other, 'network', 'up', '--open',
    '--node-option', `--http-operator-token-file=${tokenFile}`,
    '--node-option', `--access-control-allow-origin=${named}`,
    // Without it no browser lets the page send its token.
    '--node-option', '--access-control-allow-headers=Authorization,Content-Type']);
  const [node] = JSON.parse(fs.readFileSync(path.join(other, 'network.json'), 'utf8')).validators;
  const url = node.http;
  const pause = ([target, headers]) => fetch(`${target}/v1/producer/pause`, {method: 'POST', headers}).then(
    (answer) => answer.status, () => 'refused');
  const withToken = [url, {Authorization: authorization}];
  const without = [url, {}];
  const {page: dapp} = await at(named);
  assert.equal(await dapp.evaluate(pause, without), 401);
  const {page: evil} = await at(`http://evil.example:${port}/`);
  for (const each of [without, withToken]) assert.equal(await evil.evaluate(pause, each), 'refused');
  assert.equal((await state(node))['producer/paused'], false);
  assert.equal(await dapp.evaluate(pause, withToken), 201);
  assert.equal((await state(node))['producer/paused'], true);
  assert.equal(await dapp.evaluate(socket, url), 'open');
  assert.equal(await evil.evaluate(socket, url), 'refused');
});
