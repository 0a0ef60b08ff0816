#pragma once

#include <string_view>

namespace node {

// HTML, style and script of the page at `/`, in one. The script sets texts only, never HTML, so
// that what contracts and accounts contain stays text.
inline constexpr std::string_view kPageText = R"page(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>BoR node</title>
<style>
:root { color-scheme: light dark; font: 15px/1.45 system-ui, sans-serif; }
body { max-width: 62rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.3rem; margin: 0 0 .2rem; } h2 { font-size: 1rem; margin: 1.6rem 0 .4rem; }
.muted { opacity: .65; } .bad { color: #c0392b; font-weight: 600; }
.numbers { display: flex; flex-wrap: wrap; gap: 1.5rem; margin: 1rem 0; }
.numbers div span { display: block; font-size: 1.6rem; font-variant-numeric: tabular-nums; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .25rem .6rem .25rem 0; border-bottom: 1px solid #8884;
  font-variant-numeric: tabular-nums; }
code, pre { font: 12.5px/1.4 ui-monospace, monospace; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; background: #8881; padding: .7rem; }
input { font: inherit; width: min(100%, 34rem); padding: .35rem .5rem; }
button { font: inherit; padding: .35rem .8rem; }
a { cursor: pointer; color: inherit; text-decoration: underline dotted; }
</style>
</head>
<body>
<h1>BoR node</h1>
<div class="muted">chain <code id="chain"></code> &middot; <span id="version"></span></div>
<div id="trouble" class="bad" role="alert"></div>
<div class="numbers">
 <div>head<span id="head">&ndash;</span></div>
 <div>final<span id="final">&ndash;</span></div>
 <div>lag<span id="lag">&ndash;</span></div>
 <div>waiting<span id="pool">&ndash;</span></div>
</div>
<form id="search"><input id="query" placeholder="block number or id, transaction id, account"
 aria-label="search" autocomplete="off"> <button>Search</button></form>
<pre id="result" hidden></pre>
<h2>Validators</h2>
<table><thead><tr><th>validator</th><th>vote key</th><th>voted for the final block</th></tr></thead>
<tbody id="validators"></tbody></table>
<h2>Peers</h2>
<p class="muted" id="peers">none: this node is the whole network</p>
<h2>Latest blocks</h2>
<table><thead><tr><th>block</th><th>time</th><th>producer</th><th>transactions</th><th>id</th></tr>
</thead><tbody id="blocks"></tbody></table>
<h2>Latest transactions</h2>
<table><thead><tr><th>transaction</th><th>block</th><th>actions</th></tr></thead>
<tbody id="transactions"></tbody></table>
<script>
'use strict';
const at = id => document.getElementById(id);
const kBlocks = 12, kTransactions = 15;
let shown = 0, rows = [], transactions = [];

async function ask(path, body) {
  const answer = await fetch(path, body === undefined ? {} :
    { method: 'POST', body: JSON.stringify(body) });
  const json = await answer.json();
  if (!answer.ok) {
    const details = json.error && json.error.details || [];
    throw new Error(details.length ? details[0].message : json.message);
  }
  return json;
}
function cell(text, action) {
  const td = document.createElement('td');
  const inner = document.createElement(action ? 'a' : 'span');
  inner.textContent = text;
  if (action) inner.onclick = action;
  td.append(inner);
  return td;
}
function fill(body, lines) {
  body.replaceChildren(...lines.map(cells => {
    const tr = document.createElement('tr');
    tr.append(...cells);
    return tr;
  }));
}
function show(value) {
  at('result').hidden = false;
  at('result').textContent = typeof value === 'string' ? value : JSON.stringify(value, null, 1);
}
async function search(text) {
  text = text.trim();
  if (!text) return;
  at('query').value = text;
  try {
    if (/^[0-9]{1,10}$/.test(text)) {
      return show(await ask('/v1/chain/get_block', { block_num_or_id: text }));
    }
    if (/^[0-9a-fA-F]{64}$/.test(text)) {
      const status = await ask('/v1/chain/get_transaction_status', { id: text });
      if (status.state !== 'UNKNOWN') {
        const found = { status };
        if (status.block_number) {
          const block = await ask('/v1/chain/get_block', { block_num_or_id: status.block_number });
          found.transaction = block.transactions.find(each => each.trx.id === text.toLowerCase());
        }
        return show(found);
      }
      return show(await ask('/v1/chain/get_block', { block_num_or_id: text }));
    }
    show(await ask('/v1/chain/get_account', { account_name: text }));
  } catch (error) { show(error.message); }
}
function addBlock(block) {
  rows.unshift([cell(block.block_num, () => search(String(block.block_num))), cell(block.timestamp),
    cell(block.producer), cell(block.transactions.length), cell(block.id.slice(0, 20) + '…')]);
  rows = rows.slice(0, kBlocks);
  for (const each of block.transactions) {
    const id = each.trx.id || each.trx;
    const actions = each.trx.transaction ?
      each.trx.transaction.actions.map(a => a.account + '::' + a.name).join(', ') : '';
    transactions.unshift([cell(id.slice(0, 20) + '…', () => search(id)), cell(block.block_num),
      cell(actions)]);
  }
  transactions = transactions.slice(0, kTransactions);
}
function showValidators(schedule, certificate) {
  const bits = certificate && certificate.bitmaps ? certificate.bitmaps[0] : '';
  const byte = i => parseInt(bits.slice(2 * (i >> 3), 2 * (i >> 3) + 2) || '0', 16);
  const voted = i => (byte(i) >> (i & 7)) & 1;
  const entries = schedule.entries;
  fill(at('validators'), entries.map((each, i) => [cell(each.producer),
    cell(each.vote_key), cell(certificate ? (voted(i) ? 'yes' : 'no') : '–')]));
}
async function refresh() {
  try {
    const finality = await ask('/v1/bor/finality');
    const head = finality.head.block_num;
    at('head').textContent = head;
    at('final').textContent = finality.final.block_num;
    at('lag').textContent = finality.lag_ms + ' ms';
    at('pool').textContent = finality.pool.transactions;
    at('trouble').textContent = finality.trouble || (finality.paused ? 'production is paused' : '');
    for (let n = Math.max(shown + 1, head - kBlocks + 1, 1); n <= head; ++n) {
      addBlock(await ask('/v1/chain/get_block', { block_num_or_id: n }));
      shown = n;
    }
    fill(at('blocks'), rows);
    fill(at('transactions'), transactions);
    showValidators((await ask('/v1/bor/schedule')).active, finality.certificate);
  } catch (error) { at('trouble').textContent = 'the node does not answer: ' + error.message; }
  setTimeout(refresh, 1000);
}
at('search').onsubmit = event => { event.preventDefault(); search(at('query').value); };
ask('/v1/chain/get_info').then(info => {
  at('chain').textContent = info.chain_id;
  at('version').textContent = info.server_version_string;
}).catch(() => {});
refresh();
</script>
</body>
</html>
)page";

}  // namespace node
