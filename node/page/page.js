// The page at `/`. It sets texts only, never HTML: what accounts, contracts and peers contain stays
// text. It asks this node and nobody else.
'use strict';

const kBlocks = 12, kTransactions = 12, kRefreshMs = 1000, kJoinRefreshMs = 60000;
const at = id => document.getElementById(id);
let shown = 0, blocks = [], transactions = [], finalHeight = 0;
let searches = 0;

// ---------------------------------------------------------------- the node

async function ask(path, body) {
  const options = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
  const answer = await fetch(path, options);
  const json = await answer.json();
  if (answer.ok) return json;
  const details = json.error && json.error.details || [];
  throw new Error(details.length ? details[0].message : json.message);
}
const getBlock = id => ask('/v1/chain/get_block', { block_num_or_id: id });

// ---------------------------------------------------------------- elements

function make(tag, text, className) {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  if (className) element.className = className;
  return element;
}
// A link to what the search shows of `text`; `label` is what it says.
function link(text, label = text, className) {
  const a = make('a', label, className);
  a.href = '#' + encodeURIComponent(text);
  return a;
}
function cell(content, className) {
  const td = make('td', undefined, className);
  td.append(content);
  return td;
}
function fill(body, lines) {
  body.replaceChildren(...lines.map(cells => {
    const tr = make('tr');
    tr.append(...cells);
    return tr;
  }));
}
const short = id => id.slice(0, 14) + '…';
const time = text => text.slice(11, 23);
const dash = '–';

// ---------------------------------------------------------------- what is going on

function showNumbers(finality) {
  const { head, final, pool } = finality;
  finalHeight = final.block_num;
  at('head').textContent = head.block_num;
  at('head-note').textContent = head.timestamp + ' by ' + head.producer;
  at('final').textContent = final.block_num;
  at('final-note').textContent = final.timestamp + ' by ' + final.producer;
  at('lag').textContent = finality.lag_ms + ' ms';
  at('lag-note').textContent = finality.lag_blocks + ' blocks are not final yet';
  at('pool').textContent = pool.transactions;
  at('pool-note').textContent = 'transactions, ' + pool.bytes + ' bytes';
}
function showState(text, why) {
  at('state').textContent = text;
  at('state').className = 'badge ' + (why ? 'bad' : 'good');
  at('trouble').textContent = why;
  at('trouble').hidden = !why;
}
// What is wrong with validators, though finality may go on.
function showFindings(findings, trouble) {
  const texts = findings.map(each => each.text).filter(each => each !== trouble);
  at('findings').hidden = texts.length === 0;
  at('findings').replaceChildren(...texts.map(each => make('li', each)));
}
function troubleOf(finality) {
  if (finality.trouble) return ['in trouble', finality.trouble];
  if (finality.paused) return ['paused', 'Production is paused.'];
  if (finality.waiting) return ['waiting', finality.waiting];
  return ['running', ''];
}
const place = ref => ref ? ref.kind ? ref.kind + ' ' + ref.block_num : String(ref.block_num) : dash;
const milliseconds = value =>
  value === null || value === undefined ? dash : value.toFixed(Math.abs(value) < 10 ? 1 : 0) + ' ms';

function showValidators(validators) {
  fill(at('validators'), validators.map(each => {
    const voted = each.voted_final;
    const connection = each.own ? 'this node' : each.connected ? 'connected' : 'not connected';
    return [cell(link(each.producer)),
      voted === null ? cell(dash) : cell(voted ? 'voted' : 'not counted', voted ? 'good' : 'muted'),
      cell(place(each.last_vote)), cell(place(each.lock)),
      cell(connection, each.own || each.connected ? '' : 'bad'),
      cell(milliseconds(each.clock_offset_ms)), cell(each.vote_key, 'id')];
  }));
}
const bytes = count => count < 1e4 ? count + ' B' : count < 1e7 ? (count / 1e3).toFixed(0) + ' kB' :
  (count / 1e6).toFixed(0) + ' MB';

function showPeers(peers) {
  at('no-peers').hidden = peers.length > 0;
  at('peer-table').hidden = peers.length === 0;
  fill(at('peers'), peers.map(each => [cell(each.name || short(each.node_key || '')),
    cell(each.address), cell(each.transport), cell(each.state), cell(each.head.block_num),
    cell(milliseconds(each.round_trip_ms)), cell(milliseconds(each.clock_offset_ms)),
    cell(bytes(each.bytes_in) + ' / ' + bytes(each.bytes_out))]));
}
// The broker for Kafka's clients, if this node has one.
function showBroker(broker) {
  at('broker').hidden = broker.broker === null;
  if (broker.broker === null) return;
  const serves = broker.boot !== null && !broker.trouble;
  at('broker-id').textContent = broker.broker;
  const trouble = broker.trouble ? 'It serves nobody: ' + broker.trouble :
    !serves ? 'It serves nobody yet: its start is not in a final block.' :
    broker.disk_low ? 'It takes no records: less than 5 % of its disk is free.' :
    broker.unserved ? 'It does not serve ' + broker.unserved + ' of its partitions: ' +
      broker.unserved_reasons.join('; ') : '';
  at('broker-trouble').hidden = !trouble;
  at('broker-trouble').textContent = trouble;
  at('broker-serves').hidden = !serves;
  at('broker-serves').textContent = broker.connections + ' clients and ' + broker.groups +
    ' groups at ' + broker.listen.join(', ') + '; it leads ' + broker.led + ' of its ' +
    broker.partitions + ' partitions';
  at('broker-data').textContent = broker.in_records + ' records (' + bytes(broker.in_bytes) +
    ') taken and ' + bytes(broker.out_bytes) + ' sent since its start; ' + bytes(broker.log_bytes) +
    ' on disk';
}
const idOf = receipt => receipt.trx.id || receipt.trx;
function actionsOf(receipt) {
  const transaction = receipt.trx.transaction;
  return transaction ? transaction.actions.map(a => a.account + '::' + a.name).join(', ') : '';
}
function addBlock(block) {
  blocks.unshift(block);
  blocks = blocks.slice(0, kBlocks);
  for (const receipt of block.transactions) transactions.unshift({ receipt, block });
  transactions = transactions.slice(0, kTransactions);
}
function showLatest() {
  fill(at('blocks'), blocks.map(each => {
    const isFinal = each.block_num <= finalHeight;
    const number = cell(link(each.block_num));
    number.append(' ', make('small', isFinal ? 'final' : 'not final', isFinal ? 'good' : 'muted'));
    return [number, cell(time(each.timestamp)), cell(link(each.producer)),
      cell(each.transactions.length)];
  }));
  at('no-transactions').hidden = transactions.length > 0;
  at('transaction-table').hidden = transactions.length === 0;
  fill(at('transactions'), transactions.map(({ receipt, block }) => [
    cell(link(idOf(receipt), short(idOf(receipt)), 'id')), cell(link(block.block_num)),
    cell(actionsOf(receipt), 'wrap')]));
}

// The line that a new node joins by; its block becomes older.
async function showJoin() {
  try {
    const { line, why_not } = await ask('/v1/bor/join');
    at('join').textContent = line || dash;
    at('join-how').hidden = !line;
    at('no-join').hidden = !!line;
    at('no-join').textContent = 'None: ' + why_not;
  } catch { /* The page says already that the node does not answer. */ }
  setTimeout(showJoin, kJoinRefreshMs);
}

async function refresh() {
  try {
    const finality = await ask('/v1/bor/finality');
    showNumbers(finality);
    const [state, trouble] = troubleOf(finality);
    showState(state, trouble);
    showFindings(finality.findings, trouble);
    showValidators(finality.validators);
    showPeers((await ask('/v1/bor/peers')).peers);
    showBroker(await ask('/v1/bor/broker'));
    const head = finality.head.block_num;
    // A head that went back: another branch has won.
    if (head < shown) shown = 0, blocks = [], transactions = [];
    for (let n = Math.max(shown + 1, head - kBlocks + 1, 1); n <= head; ++n) {
      addBlock(await getBlock(n));
      shown = n;
    }
    showLatest();
  } catch (error) { showState('no answer', 'The node does not answer: ' + error.message); }
  setTimeout(refresh, kRefreshMs);
}

// ---------------------------------------------------------------- the search

function facts(lines) {
  const table = make('table'), body = make('tbody');
  fill(body, lines.map(([name, value]) => [cell(name, 'muted'), cell(value, 'wrap')]));
  table.append(body);
  return table;
}
function actionList(actions) {
  const table = make('table'), body = make('tbody');
  fill(body, actions.map(each => [cell(each.account + '::' + each.name),
    cell((each.authorization || []).map(a => a.actor + '@' + a.permission).join(', ')),
    cell(typeof each.data === 'object' ? JSON.stringify(each.data) : String(each.data), 'wrap')]));
  table.append(body);
  return table;
}
function display(title, json, ...parts) {
  at('found').hidden = false;
  at('found-title').textContent = title;
  at('found-body').replaceChildren(...parts);
  at('found-json').textContent = JSON.stringify(json, null, 1);
}
function displayBlock(block) {
  const isFinal = block.block_num <= finalHeight;
  const table = make('table'), body = make('tbody');
  fill(body, block.transactions.map(each => [cell(link(idOf(each), short(idOf(each)), 'id')),
    cell(each.status), cell(actionsOf(each), 'wrap')]));
  table.append(body);
  display('Block ' + block.block_num, block, facts([['id', make('code', block.id)],
    ['state', isFinal ? 'final' : 'not final yet'], ['time', block.timestamp],
    ['producer', link(block.producer)], ['previous', link(block.previous, block.previous, 'id')],
    ['transactions', block.transactions.length]]), table);
}
async function findTransaction(id, status) {
  const lines = [['id', make('code', id)], ['state', status.state]];
  if (status.reason) lines.push(['reason', status.reason]);
  if (!status.block_number) return () => display('Transaction', status, facts(lines));
  const block = await getBlock(status.block_number);
  const receipt = block.transactions.find(each => idOf(each) === id);
  lines.push(['block', link(status.block_number)], ['time', status.block_timestamp]);
  const transaction = receipt && receipt.trx.transaction;
  return () => display('Transaction', { status, receipt }, facts(lines),
    actionList(transaction ? transaction.actions : []));
}
function authorityText(authority) {
  const parts = [...authority.keys.map(each => each.key + ' +' + each.weight),
    ...authority.accounts.map(each =>
      each.permission.actor + '@' + each.permission.permission + ' +' + each.weight)];
  return 'threshold ' + authority.threshold + ': ' + parts.join(', ');
}
function displayAccount(account) {
  const lines = [['created', account.created],
    ['RAM', account.ram_usage + (account.ram_quota < 0 ? ' bytes' :
      ' of ' + account.ram_quota + ' bytes')]];
  for (const each of account.permissions) {
    lines.push(['permission ' + each.perm_name, authorityText(each.required_auth)]);
  }
  display('Account ' + account.account_name, account, facts(lines));
}

const kHash = /^[0-9a-f]{64}$/i, kNumber = /^[0-9]{1,10}$/;

// Asks for what `text` may name; returns how to show it.
async function find(text) {
  if (kHash.test(text)) {
    const id = text.toLowerCase();
    const status = await ask('/v1/chain/get_transaction_status', { id });
    if (status.state !== 'UNKNOWN') return findTransaction(id, status);
    const block = await getBlock(id);
    return () => displayBlock(block);
  }
  if (kNumber.test(text)) {
    const block = await getBlock(text).catch(() => null);
    if (block) return () => displayBlock(block);
  }
  const account = await ask('/v1/chain/get_account', { account_name: text });
  return () => displayAccount(account);
}
async function search() {
  const number = ++searches;
  let text = location.hash.slice(1);
  try { text = decodeURIComponent(text); } catch { /* Typed by hand: as it is. */ }
  at('query').value = text;
  if (!text) {
    at('found').hidden = true;
    return;
  }
  const show = await find(text).catch(error => () =>
    display('Nothing found for ' + text, { error: error.message }, make('p', error.message)));
  // Meanwhile something else may have been asked for, or this closed.
  if (number === searches) show();
}

at('search').onsubmit = event => {
  event.preventDefault();
  const hash = '#' + encodeURIComponent(at('query').value.trim());
  if (location.hash === hash) search(); else location.hash = hash;
};
window.onhashchange = search;
ask('/v1/chain/get_info').then(info => {
  at('chain').textContent = info.chain_id;
  at('version').textContent = info.server_version_string;
}).catch(() => {});
refresh();
showJoin();
search();
