// A page of another origin in Chromium tries each of the operator's calls by form, fetch, GET and
// WebSocket, and under a name that it has bound to the node's address: nothing changes. The node's own
// page and the one that access-control-allow-origin names do what they ask for.
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

// What the calls change.
async function state(url = chain.url) {
  const found = {};
  for (const each of ['producer/paused', 'producer/get_runtime_options', 'producer/get_greylist',
    'producer/get_whitelist_blacklist', 'producer/get_snapshot_requests', 'net/connections']) {
    const answer = await fetch(`${url}/v1/${each}`, {method: 'POST'});
    assert.ok(answer.ok, `${each}: ${answer.status}`);
    found[each] = await answer.json();
  }
  const made = await fetch(`${url}/v1/bor/snapshots`, {method: 'POST'});
  found.snapshots = await made.json();
  return found;
}

// All that a page can do about a call; what it was told where its browser let it see that.
const attack = ({url, tried}) => (async () => {
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
  const told = await page.evaluate(attack, {url: chain.url, tried: calls});
  // 0: sent, and the answer is hidden from the page.
  assert.deepEqual(new Set(told), new Set([0, 'refused']));
  assert.equal(await page.evaluate(socket, chain.url), 'refused');
  assert.deepEqual(await state(), before);
});

test('a name that is bound to the address of the node is refused', async () => {
  const {page, status} = await at(chain.url.replace('127.0.0.1', 'rebound.example'));
  assert.equal(status, 400);
  const before = await state();
  const told = await page.evaluate(attack, {url: '', tried: calls});
  assert.deepEqual(new Set(told), new Set([400]));
  assert.deepEqual(await state(), before);
});

test('the own page of the node does all of it', async () => {
  const {page} = await at(`${chain.url}/`);
  const post = (call, body) => page.evaluate(async ([target, text]) =>
    (await fetch(target, {method: 'POST', body: text})).status, [call, body]);
  const before = await state();
  assert.equal(await post('/v1/producer/pause', ''), 201);
  assert.equal((await state())['producer/paused'], true);
  assert.equal(await post('/v1/producer/resume', ''), 201);
  assert.equal(await post('/v1/producer/add_greylist_accounts', '{"accounts": ["eosio"]}'), 201);
  assert.notDeepEqual((await state())['producer/get_greylist'], before['producer/get_greylist']);
  assert.equal(await post('/v1/producer/remove_greylist_accounts', '{"accounts": ["eosio"]}'), 201);
  assert.equal(await page.evaluate(socket, chain.url), 'open');
  assert.deepEqual(await state(), before);
});

test('the page of an origin that is named does, too; another one does not', async () => {
  other = fs.mkdtempSync(path.join(os.tmpdir(), 'bor-named-'));
  const named = `http://dapp.example:${port}`;
  execFileSync(path.join(process.env.BOR_BIN, 'bor-cli'), ['--dir', other, 'network', 'up', '--open',
    '--node-option', `--access-control-allow-origin=${named}`]);
  const {http: url} = JSON.parse(fs.readFileSync(path.join(other, 'network.json'), 'utf8')).validators[0];
  const pause = (target) => fetch(`${target}/v1/producer/pause`, {method: 'POST'}).then(
    (answer) => answer.status, () => 'refused');
  const {page: dapp} = await at(named);
  assert.equal(await dapp.evaluate(pause, url), 201);
  assert.equal((await state(url))['producer/paused'], true);
  assert.equal(await dapp.evaluate(socket, url), 'open');
  const {page: evil} = await at(`http://evil.example:${port}/`);
  assert.equal(await evil.evaluate(pause, url), 'refused');
  assert.equal(await evil.evaluate(socket, url), 'refused');
});
