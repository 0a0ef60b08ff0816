// The page at `/` in Chromium: what it shows, what it finds, and that nothing on the chain becomes
// HTML in it. BOR_SCREENSHOT=FILE keeps a picture of it.
'use strict';
const test = require('node:test');
const assert = require('node:assert/strict');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const {chromium} = require('playwright-core');
const chain = require('./chain');

// The browser talks to nobody but the page: without these it looks for updates and hosts of its
// maker. As root, Chromium has no sandbox.
const flags = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
  '--disable-background-networking', '--disable-component-update', '--disable-sync'];
const profile = fs.mkdtempSync(path.join(os.tmpdir(), 'bor-page-'));
const hostile = '<img src=x onerror="window.injected=1"><script>window.injected=1</script>';
const complaints = [];
const requests = [];
let browser;
let page;

const text = async (id) => (await page.locator('#' + id).textContent()).trim();
const number = async (id) => Number(await text(id));

// Waits until the page shows it; fails with what it shows instead.
async function shows(id, pattern, ms = 30000) {
  const deadline = Date.now() + ms;
  while (!pattern.test(await text(id))) {
    assert.ok(Date.now() < deadline, `#${id} shows '${await text(id)}', not ${pattern}`);
    await chain.sleep(50);
  }
}

// Clicks on the first of its rows, which the page makes anew each second, perhaps amid a click.
async function opens(selector, pattern) {
  for (let i = 0; ; ++i) {
    await page.locator(selector).first().click();
    try {
      return await shows('found-title', pattern, 3000);
    } catch (error) {
      if (i === 3) throw error;
    }
  }
}

async function search(query) {
  await page.fill('#query', query);
  await page.click('#search button');
}

test.before(async () => {
  browser = await chromium.launchPersistentContext(profile, {
    executablePath: '/usr/bin/chromium', headless: true, args: flags, chromiumSandbox: false,
    viewport: {width: 1280, height: 1000},
  });
  page = browser.pages()[0] ?? await browser.newPage();
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('request', (request) => requests.push(request.url()));
  await page.goto(chain.url + '/');
});

test.after(async () => {
  await browser?.close();
  fs.rmSync(profile, {recursive: true, force: true});
});

test('the head advances and becomes final', async () => {
  await shows('state', /^running$/);
  await shows('head', /^[0-9]+$/);
  const head = await number('head');
  await page.waitForFunction((seen) => Number(document.getElementById('head').textContent) > seen + 3, head);
  await page.waitForFunction((seen) => Number(document.getElementById('final').textContent) > seen, head);
  assert.equal(await text('chain'), (await chain.rpc.get_info()).chain_id);
});

test('each validator with its vote for the final block', async () => {
  const schedule = (await chain.rpc.get_producer_schedule()).active.producers;
  const rows = page.locator('#validators tr');
  await page.waitForFunction((count) => document.querySelectorAll('#validators tr').length === count,
    schedule.length);
  for (const [i, producer] of schedule.entries()) {
    assert.match(await rows.nth(i).textContent(), new RegExp(`^${producer.producer_name}`));
  }
  await shows('validators', /voted/);
});

test('how others join, or why nobody can', async () => {
  await shows('no-join', /^None: this node has no p2p-listen-endpoint/);
  assert.equal(await page.locator('#join-how').isVisible(), false);
});

test('the broker of the node', async () => {
  await shows('broker-id', /^1$/);
  await shows('broker-serves', /^[0-9]+ clients and [0-9]+ groups at 127\.0\.0\.1:[0-9]+; it leads 0 of its 0 partitions$/);
  await shows('broker-data', /^0 records/);
  assert.equal(await page.locator('#broker-trouble').isVisible(), false);
});

test('hostile text on the chain stays text', async () => {
  const owner = chain.network.system_key.public;
  const token = await chain.newAccount(chain.freshName('page'), chain.authority(owner));
  await chain.deploy(chain.system, token, ...chain.contract('token'));
  const action = (name, data) => ({account: token, name, authorization: chain.auth(token), data});
  const issue = (memo) => action('issue', {to: token, quantity: '10.0000 SYS', memo});
  await chain.transact(chain.system,
    [action('create', {issuer: token, maximum_supply: '1000.0000 SYS'})]);
  let result;
  // Once a second the page looks at the newest 12 blocks: on a slow machine it passes over some.
  for (let i = 0; ; ++i) {
    result = await chain.transact(chain.system, [issue(hostile), issue(`${i}`)]);
    await chain.final(result.transaction_id);
    try {
      await shows('transactions', new RegExp(`${token}::issue, ${token}::issue`), 4000);
      break;
    } catch (error) {
      if (i === 5) throw error;
    }
  }
  await search(result.transaction_id);
  await shows('found-body', /IRREVERSIBLE/);
  assert.ok((await text('found-body')).includes('<img src=x'), 'the memo is shown as text');
  await search(hostile.slice(0, 60));
  await shows('found-title', /^Nothing found for <img/);
  await page.goto(chain.url + '/#' + encodeURIComponent(hostile));
  await shows('found-title', /^Nothing found for <img/);
  assert.equal(await page.evaluate(() => window.injected), undefined);
  assert.equal(await page.locator('img').count(), 0);
  assert.equal(await page.locator('script').count(), 1);
  // Those two were refused by the node, which the browser notes.
  const refused = complaints.splice(0).filter((each) => !/status of (400|500)/.test(each));
  assert.deepEqual(refused, []);
});

test('search finds blocks, transactions and accounts', async () => {
  await search('1');
  await shows('found-title', /^Block 1$/);
  const block = await chain.rpc.get_block(2);
  await search(block.id);
  await shows('found-title', /^Block 2$/);
  assert.ok((await text('found-body')).includes(block.previous));
  await search('eosio');
  await shows('found-title', /^Account eosio$/);
  await shows('found-body', /permission owner/);
  await opens('#transactions a', /^Transaction$/);
  await opens('#blocks a', /^Block [0-9]+$/);
  await page.goBack();
  await shows('found-title', /^Transaction$/);
  await page.click('#close');
  await page.locator('#found').waitFor({state: 'hidden', timeout: 30000});
});

test('no complaint of the browser, and no request to anybody else', async () => {
  await shows('state', /^running$/);
  if (process.env.BOR_SCREENSHOT) await page.screenshot({path: process.env.BOR_SCREENSHOT, fullPage: true});
  assert.deepEqual(complaints, []);
  const foreign = requests.filter((each) => !each.startsWith(chain.url + '/') && !each.startsWith('data:'));
  assert.deepEqual(foreign, []);
});

test('only who asks for HTML gets the page', async () => {
  const refused = await fetch(chain.url + '/', {headers: {accept: 'application/json'}});
  assert.equal(refused.status, 404);
  const answer = await fetch(chain.url + '/', {headers: {accept: 'text/html'}});
  assert.equal(answer.status, 200);
  const policy = answer.headers.get('content-security-policy');
  assert.match(policy, /default-src 'none'/);
  assert.doesNotMatch(policy, /unsafe/);
});
