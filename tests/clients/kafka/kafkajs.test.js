// kafkajs with its defaults: topics, records, groups and their offsets, settings, rights, logins.
'use strict';
const {test, after} = require('node:test');
const assert = require('node:assert');
const fs = require('node:fs');
const {
  Kafka, CompressionTypes, ConfigResourceTypes, AclResourceTypes, AclOperationTypes, AclPermissionTypes,
  ResourcePatternTypes, logLevel,
} = require('kafkajs');

const broker = JSON.parse(fs.readFileSync(process.env.BOR_BROKER, 'utf8'));
const plain = (who, token = broker.tokens[who]) =>
  ({mechanism: 'plain', username: `${who}@active`, password: token});

function client(sasl, more = {}) {
  return new Kafka({
    clientId: 'kafkajs', brokers: [broker.address], ssl: {ca: [fs.readFileSync(broker.certificate)]}, sasl,
    logLevel: logLevel.NOTHING, ...more,
  });
}

const kafka = client(plain('alice'));
const admin = kafka.admin();
const open = [];
async function opened(each) {
  await each.connect();
  open.push(each);
  return each;
}
const ready = opened(admin);
after(async () => {
  for (const each of open.reverse()) await each.disconnect();
});

async function topic(name, more = {}) {
  await ready;
  assert.strictEqual(await admin.createTopics({topics: [{topic: name, ...more}]}), true);
  return name;
}

async function until(wanted, what) {
  for (let i = 0; i < 300; ++i) {
    if (wanted()) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  assert.fail(`not within 30 s: ${what}`);
}

const text = (buffer) => (buffer === null || buffer === undefined ? null : buffer.toString());
const record = ({key, value, headers}) => ({
  key: text(key), value: text(value),
  headers: Object.fromEntries(Object.entries(headers).map(([name, each]) => [name, text(each)])),
});

// Reads as a member of a group until there are so many; its offsets are committed when it ends.
async function read(group, name, count, more = {}) {
  const consumer = kafka.consumer({groupId: group, ...more});
  await consumer.connect();
  await consumer.subscribe({topics: [name], fromBeginning: true});
  const found = [];
  await new Promise((resolve, reject) => {
    consumer.on(consumer.events.CRASH, ({payload}) => reject(payload.error));
    consumer.run({
      eachMessage: async ({partition, message}) => {
        found.push({partition, ...message});
        if (found.length === count) resolve();
      },
    }).catch(reject);
  });
  await consumer.disconnect();
  return found;
}

const offsetsOf = async (group, name) => {
  const [{partitions}] = await admin.fetchOffsets({groupId: group, topics: [name]});
  return partitions.sort((a, b) => a.partition - b.partition).map((each) => each.offset);
};

test('a topic is made as its defaults say, seen, given more partitions, and deleted', async () => {
  await topic('js.made');
  const [made] = (await admin.fetchTopicMetadata({topics: ['js.made']})).topics;
  assert.deepStrictEqual(made.partitions.map(({partitionId, leader, replicas, isr}) =>
    ({partitionId, leader, replicas, isr})), [{partitionId: 0, leader: 1, replicas: [1], isr: [1]}]);
  // That it exists is false, not an error.
  assert.strictEqual(await admin.createTopics({topics: [{topic: 'js.made'}]}), false);
  assert.ok((await admin.listTopics()).includes('js.made'));
  await admin.createPartitions({topicPartitions: [{topic: 'js.made', count: 3}]});
  const [grown] = (await admin.fetchTopicMetadata({topics: ['js.made']})).topics;
  assert.strictEqual(grown.partitions.length, 3);
  await admin.deleteTopics({topics: ['js.made']});
  assert.ok(!(await admin.listTopics()).includes('js.made'));
  const cluster = await admin.describeCluster();
  assert.deepStrictEqual(cluster.brokers.map(({nodeId}) => nodeId), [1]);
  assert.strictEqual(cluster.controller, 1);
});

for (const [codec, compression] of [['none', CompressionTypes.None], ['gzip', CompressionTypes.GZIP]]) {
  test(`records come back equal, ${codec}`, async () => {
    const name = await topic(`js.records.${codec}`);
    const producer = await opened(kafka.producer());
    const sent = Array.from({length: 500}, (each, i) => ({
      key: i % 5 ? `key ${i % 7}` : null,
      value: i % 11 ? `value ${i} ${'x'.repeat(i)}` : null,   // A tombstone.
      headers: {number: String(i)},
    }));
    const [{errorCode, baseOffset}] = await producer.send({topic: name, compression, messages: sent});
    assert.deepStrictEqual([errorCode, baseOffset], [0, '0']);
    const found = await read(`js.${codec}`, name, sent.length);
    assert.deepStrictEqual(found.map(record), sent);
    assert.deepStrictEqual(found.map(({offset}) => Number(offset)), sent.map((each, i) => i));
    assert.deepStrictEqual(await offsetsOf(`js.${codec}`, name), ['500']);
  });
}

test('a group goes on where it was, with offsets that are committed by hand and by itself', async () => {
  const name = await topic('js.group', {numPartitions: 2});
  const producer = await opened(kafka.producer());
  const sendTo = (from, count) => producer.send({
    topic: name,
    messages: Array.from({length: count}, (each, i) => ({partition: i % 2, value: `${from + i}`})),
  });
  await sendTo(0, 20);
  assert.strictEqual((await read('js.readers', name, 20)).length, 20);
  assert.deepStrictEqual(await offsetsOf('js.readers', name), ['10', '10']);
  await sendTo(20, 4);
  assert.deepStrictEqual((await read('js.readers', name, 4)).map(({value}) => Number(value)).sort(),
    [20, 21, 22, 23]);
  const {groups: [group]} = await admin.describeGroups(['js.readers']);
  assert.deepStrictEqual([group.state, group.members], ['Empty', []]);
  assert.ok((await admin.listGroups()).groups.some(({groupId}) => groupId === 'js.readers'));
  await admin.setOffsets({groupId: 'js.readers', topic: name, partitions: [{partition: 0, offset: '11'}]});
  assert.deepStrictEqual(await offsetsOf('js.readers', name), ['11', '12']);
  assert.deepStrictEqual((await read('js.readers', name, 1)).map(({offset}) => offset), ['11']);
  await admin.resetOffsets({groupId: 'js.readers', topic: name, earliest: true});
  assert.strictEqual((await read('js.readers', name, 24)).length, 24);
  await admin.deleteGroups(['js.readers']);
  assert.deepStrictEqual(await offsetsOf('js.readers', name), ['-1', '-1']);
});

test('two members share the partitions, and one takes over what the other leaves', async () => {
  const name = await topic('js.shared', {numPartitions: 4});
  const owned = new Map();
  const member = async (who) => {
    // It says that it is there, and hears of the other, only between two fetches.
    const consumer = kafka.consumer({groupId: 'js.shared', heartbeatInterval: 500, maxWaitTimeInMs: 500});
    consumer.on(consumer.events.GROUP_JOIN, ({payload}) =>
      owned.set(who, payload.memberAssignment[name] ?? []));
    await consumer.connect();
    await consumer.subscribe({topics: [name]});
    await consumer.run({eachMessage: async () => {}});
    return consumer;
  };
  const one = await member('one');
  await until(() => owned.get('one')?.length === 4, 'one has all');
  const two = await member('two');
  await until(() => owned.get('one')?.length === 2 && owned.get('two')?.length === 2, 'they share');
  assert.deepStrictEqual([...owned.get('one'), ...owned.get('two')].sort(), [0, 1, 2, 3]);
  await one.disconnect();
  await until(() => owned.get('two')?.length === 4, 'two has all');
  await two.disconnect();
});

test('offsets by time, and records deleted from the front', async () => {
  const name = await topic('js.times');
  const producer = await opened(kafka.producer());
  const began = Date.now() - 100000;
  await producer.send({
    topic: name,
    messages: [1000, 2000, 3000, 4000].map((each) => ({value: `${each}`, timestamp: String(began + each)})),
  });
  const found = await read('js.times', name, 4);
  const times = found.map(({timestamp}) => Number(timestamp));
  assert.deepStrictEqual(times.map((each) => each - times[0]), [0, 1000, 2000, 3000]);
  for (const [time, offset] of [[times[0] - 5, '0'], [times[1], '1'], [times[1] + 1, '2'], [times[3] + 1, '4']]) {
    assert.strictEqual((await admin.fetchTopicOffsetsByTimestamp(name, time))[0].offset, offset);
  }
  await admin.deleteTopicRecords({topic: name, partitions: [{partition: 0, offset: '3'}]});
  const [{low, high}] = await admin.fetchTopicOffsets(name);
  assert.deepStrictEqual([low, high], ['3', '4']);
  assert.deepStrictEqual((await read('js.late', name, 1)).map(({offset}) => offset), ['3']);
});

test('settings are shown and replaced', async () => {
  const name = await topic('js.settings', {configEntries: [{name: 'retention.ms', value: '60000'}]});
  const asked = {type: ConfigResourceTypes.TOPIC, name};
  const shown = async (of) => {
    const {resources: [{configEntries}]} = await admin.describeConfigs({resources: [asked]});
    return configEntries.find(({configName}) => configName === of).configValue;
  };
  assert.strictEqual(await shown('retention.ms'), '60000');
  await admin.alterConfigs({
    resources: [{...asked, configEntries: [{name: 'max.message.bytes', value: '2000'}]}],
  });
  assert.deepStrictEqual([await shown('retention.ms'), await shown('max.message.bytes')], ['604800000', '2000']);
  const producer = await opened(kafka.producer({retry: {retries: 0}}));
  await assert.rejects(producer.send({topic: name, messages: [{value: 'x'.repeat(3000)}]}),
    {type: 'MESSAGE_TOO_LARGE'});
  await assert.rejects(
    admin.alterConfigs({resources: [{...asked, configEntries: [{name: 'no.such', value: '1'}]}]}),
    /no\.such|INVALID_CONFIG|onfiguration is invalid/);
});

test('a right is given by an ACL, seen, and taken back', async () => {
  const name = await topic('js.rights');
  const producer = await opened(kafka.producer());
  await producer.send({topic: name, messages: [{value: 'one'}]});
  const guest = await opened(client(plain('guest'), {retry: {retries: 0}}).admin());
  const seen = (of = name) => guest.fetchTopicOffsets(of).then(([{high}]) => high, (error) => error.type);
  // What is forbidden, and what is not there, answer alike.
  assert.strictEqual(await seen(), 'TOPIC_AUTHORIZATION_FAILED');
  assert.strictEqual(await seen('js.no.such'), 'TOPIC_AUTHORIZATION_FAILED');
  const acl = {
    resourceType: AclResourceTypes.TOPIC, resourceName: name, resourcePatternType: ResourcePatternTypes.LITERAL,
    principal: 'User:guest', host: '*', operation: AclOperationTypes.READ,
    permissionType: AclPermissionTypes.ALLOW,
  };
  assert.strictEqual(await admin.createAcls({acl: [acl]}), true);
  assert.strictEqual(await seen(), '1');
  const {resources} = await admin.describeAcls(acl);
  assert.deepStrictEqual(resources.map(({resourceName, acls: [{principal, operation}]}) =>
    ({resourceName, principal, operation})), [{resourceName: name, principal: 'User:guest', operation: acl.operation}]);
  const {filterResponses: [{matchingAcls}]} = await admin.deleteAcls({filters: [acl]});
  assert.strictEqual(matchingAcls.length, 1);
  assert.strictEqual(await seen(), 'TOPIC_AUTHORIZATION_FAILED');
});

test('an idempotent producer', async () => {
  const name = await topic('js.idempotent');
  const producer = await opened(kafka.producer({idempotent: true, maxInFlightRequests: 1}));
  for (let i = 0; i < 10; ++i) await producer.send({topic: name, messages: [{value: `${i}`}]});
  assert.deepStrictEqual((await read('js.idempotent', name, 10)).map(({value}) => Number(value)),
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
});

test('a transactional producer is refused within 5 s', async () => {
  const began = Date.now();
  const producer = kafka.producer({transactionalId: 'js', idempotent: true, maxInFlightRequests: 1});
  await assert.rejects(producer.connect().then(() => producer.transaction()),
    /KafkaJSGroupCoordinatorNotFound|TRANSACTIONAL_ID_AUTHORIZATION_FAILED/);
  assert.ok(Date.now() - began < 5000, `after ${Date.now() - began} ms`);
  await producer.disconnect();
});

test('a login by OAUTHBEARER, and logins that are refused', async () => {
  const bearer = (value) => client({mechanism: 'oauthbearer', oauthBearerProvider: async () => ({value})},
    {retry: {retries: 0}}).admin();
  const alice = await opened(bearer(broker.tokens.alice));
  assert.ok((await alice.listTopics()).length > 0);
  // kafkajs takes the refusal for success (RFC 7628 has it in JSON), and is closed at its first request.
  const torn = bearer(broker.tokens.alice.slice(0, -4));
  await assert.rejects(torn.connect().then(() => torn.listTopics()));
  await torn.disconnect();
  await until(() => /client gone .* reason=token: 63 bytes of signatures/.test(
    fs.readFileSync(broker.node_log, 'utf8')), 'the log says why');
  const mallory = client(plain('guest', broker.tokens.alice), {retry: {retries: 0}}).admin();
  await assert.rejects(mallory.connect(), /not whom the token is for: give alice@active/);
});
