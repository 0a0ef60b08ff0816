#!/usr/bin/python3
"""librdkafka (C), by confluent-kafka for Python as Debian has them, with its defaults, against a broker."""
import glob
import os
import time
import unittest

from confluent_kafka import (Consumer, KafkaError, KafkaException, Producer, TopicPartition, OFFSET_BEGINNING, OFFSET_END,
                             TIMESTAMP_CREATE_TIME, TIMESTAMP_LOG_APPEND_TIME)
from confluent_kafka.admin import AdminClient, ConfigResource, NewPartitions, NewTopic

from running import BROKER, PATIENCE, cli, node_log, run, soon, token

CODECS = {'none': 0, 'gzip': 1, 'snappy': 2, 'lz4': 3, 'zstd': 4}
FOREVER = 3600


def plain(who, secret=None):
    return {'bootstrap.servers': BROKER['address'], 'security.protocol': 'SASL_SSL',
            'ssl.ca.location': BROKER['certificate'], 'sasl.mechanisms': 'PLAIN',
            'sasl.username': who + '@active', 'sasl.password': secret or BROKER['tokens'][who]}


def bearer(secret):
    settings = plain('alice')
    del settings['sasl.username'], settings['sasl.password']
    return {**settings, 'sasl.mechanisms': 'OAUTHBEARER', 'oauth_cb': lambda _: (secret, time.time() + FOREVER)}


ALICE = plain('alice')
ADMIN = AdminClient(ALICE)


def done(futures):
    return {name: future.result(PATIENCE) for name, future in futures.items()}


def new_topic(name, partitions=1, **config):
    settings = {key.replace('_', '.'): value for key, value in config.items()}
    done(ADMIN.create_topics([NewTopic(name, partitions, 1, config=settings)]))
    soon('topic %s has its leaders' % name, lambda: all(
        each.leader == 1 for each in ADMIN.list_topics(name, PATIENCE).topics[name].partitions.values()))
    return name


def produce(topic, values, settings=None, **more):
    """Sends them, and the offsets of those that are acknowledged."""
    producer, offsets, errors = Producer({**(settings or ALICE)}), [], []

    def told(error, message):
        if error is None:
            offsets.append(message.offset())
        else:
            errors.append(error)
    for value in values:
        producer.produce(topic, value, on_delivery=told, **more)
    left = producer.flush(PATIENCE)
    if errors:
        raise KafkaException(errors[0])
    assert left == 0, left
    return offsets


def read(consumer, count):
    messages = []
    deadline = time.monotonic() + PATIENCE
    while len(messages) < count and time.monotonic() < deadline:
        message = consumer.poll(0.1)
        if message is None:
            continue
        if message.error():
            raise KafkaException(message.error())
        messages.append(message)
    assert len(messages) == count, '%d messages, not %d' % (len(messages), count)
    return messages


def from_start(topic, count, settings=None):
    consumer = Consumer({**(settings or ALICE), 'group.id': 'none', 'enable.auto.commit': False})
    consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    try:
        return read(consumer, count)
    finally:
        consumer.close()


def stored_batches(topic, was):
    """The attributes and sizes of the batches of its only partition, as they are on disk."""
    directories = set(glob.glob(os.path.join(BROKER['logs'], '*-0'))) - was
    assert len(directories) == 1, (topic, directories)
    with open(glob.glob(os.path.join(directories.pop(), '*.log'))[0], 'rb') as file:
        log = file.read()
    batches, at = [], 0
    while at < len(log):
        size = int.from_bytes(log[at + 8:at + 12], 'big')
        batches.append((int.from_bytes(log[at + 21:at + 23], 'big'), size))
        at += 12 + size
    return batches


class Records(unittest.TestCase):
    def test_each_codec_is_read_back_and_stored_compressed(self):
        for codec, number in CODECS.items():
            with self.subTest(codec):
                was = set(glob.glob(os.path.join(BROKER['logs'], '*-0')))
                topic = new_topic('rd.codec.' + codec)
                values = [b'%d %s' % (i, b'x' * 1000) for i in range(200)]
                self.assertEqual(produce(topic, values, {**ALICE, 'compression.type': codec}), list(range(200)))
                self.assertEqual([each.value() for each in from_start(topic, 200)], values)
                batches = stored_batches(topic, was)
                self.assertEqual({attributes & 7 for attributes, _ in batches}, {number})
                size, sent = sum(size for _, size in batches), sum(map(len, values))
                self.assertTrue(size > sent if codec == 'none' else size < sent / 4, (size, sent))

    def test_a_topic_says_how_records_are_stored(self):
        values = [b'%d %s' % (i, b'x' * 1000) for i in range(200)]
        for codec, number in CODECS.items():
            with self.subTest(codec):
                was = set(glob.glob(os.path.join(BROKER['logs'], '*-0')))
                topic = new_topic('rd.stored.' + codec,
                                  compression_type='uncompressed' if codec == 'none' else codec)
                sent = 'lz4' if codec == 'gzip' else 'gzip'
                self.assertEqual(produce(topic, values, {**ALICE, 'compression.type': sent,
                                                         'enable.idempotence': True}), list(range(200)))
                self.assertEqual([each.value() for each in from_start(topic, 200)], values)
                self.assertEqual({attributes & 7 for attributes, _ in stored_batches(topic, was)}, {number})

    def test_keys_headers_and_tombstones(self):
        topic = new_topic('rd.headers')
        headers = [('a', b'1'), ('a', b'2'), ('none', None), ('', b'')]
        produce(topic, [b'value', None], key='key', headers=headers)
        first, second = from_start(topic, 2)
        self.assertEqual((first.key(), first.value(), first.headers()), (b'key', b'value', headers))
        self.assertEqual((second.key(), second.value(), second.headers()), (b'key', None, headers))

    def test_timestamps_of_both_kinds_and_offsets_by_time(self):
        now = int(time.time() * 1000)
        topic = new_topic('rd.times')
        for i in range(5):
            produce(topic, [b'%d' % i], timestamp=now + i * 1000 - 10000)
        self.assertEqual([each.timestamp() for each in from_start(topic, 5)],
                         [(TIMESTAMP_CREATE_TIME, now + i * 1000 - 10000) for i in range(5)])
        consumer = Consumer({**ALICE, 'group.id': 'none'})
        for asked, offset in ((now - 10001, 0), (now - 10000, 0), (now - 9999, 1), (now - 6000, 4), (now, OFFSET_END)):
            self.assertEqual(consumer.offsets_for_times([TopicPartition(topic, 0, asked)], PATIENCE)[0].offset, offset)
        self.assertEqual(consumer.get_watermark_offsets(TopicPartition(topic, 0), PATIENCE), (0, 5))
        consumer.close()
        topic = new_topic('rd.append', message_timestamp_type='LogAppendTime')
        produce(topic, [b'one'], timestamp=1)
        kind, stamp = from_start(topic, 1)[0].timestamp()
        self.assertEqual(kind, TIMESTAMP_LOG_APPEND_TIME)
        self.assertTrue(now <= stamp <= time.time() * 1000, stamp)

    def test_an_idempotent_producer(self):
        topic = new_topic('rd.idempotent')
        values = [b'%d' % i for i in range(5000)]
        offsets = produce(topic, values, {**ALICE, 'enable.idempotence': True, 'linger.ms': 0,
                                          'batch.num.messages': 100})
        self.assertEqual(offsets, list(range(5000)))
        self.assertEqual([each.value() for each in from_start(topic, 5000)], values)

    def test_acks_0_1_and_all(self):
        topic = new_topic('rd.acks')
        for acks in ('0', '1', 'all'):
            produce(topic, [acks.encode()], {**ALICE, 'acks': acks})
        self.assertEqual([each.value() for each in from_start(topic, 3)], [b'0', b'1', b'all'])

    def test_read_committed_reads_all(self):
        topic = new_topic('rd.committed')
        produce(topic, [b'one'])
        for level in ('read_committed', 'read_uncommitted'):
            self.assertEqual(len(from_start(topic, 1, {**ALICE, 'isolation.level': level})), 1)

    def test_a_transactional_producer_ends_within_5_s(self):
        began = time.monotonic()
        with self.assertRaises(KafkaException) as ended:
            Producer({**ALICE, 'transactional.id': 'x'}).init_transactions(20)
        self.assertTrue(ended.exception.args[0].fatal(), ended.exception)
        self.assertIn('TRANSACTIONAL_ID', ended.exception.args[0].name())
        self.assertLess(time.monotonic() - began, 5)


class Groups(unittest.TestCase):
    def members(self, topic, group, settings):
        """One after the other, each with its partitions once the group has come to rest."""
        consumers = [Consumer({**ALICE, 'group.id': group, 'auto.offset.reset': 'earliest', **each})
                     for each in settings]
        for consumer in consumers:
            consumer.subscribe([topic])
        return consumers

    def shared(self, consumers, partitions):
        def is_shared():
            for each in consumers:
                each.poll(0.1)
            owned = [sorted(part.partition for part in each.assignment()) for each in consumers]
            return sorted(sum(owned, [])) == list(range(partitions)) and all(owned)
        soon('the partitions are shared', is_shared)
        return [sorted(part.partition for part in each.assignment()) for each in consumers]

    def test_every_assignor(self):
        for assignor in ('range', 'roundrobin', 'cooperative-sticky'):
            with self.subTest(assignor):
                topic = new_topic('rd.group.' + assignor, 4)
                consumers = self.members(topic, 'rd.' + assignor,
                                         [{'partition.assignment.strategy': assignor}] * 2)
                owned = self.shared(consumers, 4)
                self.assertEqual([len(each) for each in owned], [2, 2])
                consumers[0].close()
                self.assertEqual(self.shared(consumers[1:], 4), [[0, 1, 2, 3]])
                consumers[1].close()

    def test_offsets_are_committed_and_gone_on_from(self):
        topic = new_topic('rd.offsets')
        produce(topic, [b'%d' % i for i in range(10)])
        consumer, = self.members(topic, 'rd.offsets', [{'enable.auto.commit': False}])
        read(consumer, 4)
        consumer.commit(offsets=[TopicPartition(topic, 0, 4)], asynchronous=False)
        self.assertEqual(consumer.committed([TopicPartition(topic, 0)], PATIENCE)[0].offset, 4)
        consumer.close()
        consumer, = self.members(topic, 'rd.offsets', [{}])
        self.assertEqual([each.offset() for each in read(consumer, 6)], [4, 5, 6, 7, 8, 9])
        consumer.close()
        consumer, = self.members(topic, 'rd.offsets', [{}])
        self.assertEqual(consumer.committed([TopicPartition(topic, 0)], PATIENCE)[0].offset, 10)
        consumer.close()

    def test_a_static_member_comes_back_without_a_rebalance(self):
        topic = new_topic('rd.static', 2)
        static = [{'group.instance.id': each, 'session.timeout.ms': 30000} for each in ('one', 'two')]
        consumers = self.members(topic, 'rd.static', static)
        owned = self.shared(consumers, 2)
        heard = []
        consumers[0].unsubscribe()
        consumers[0].subscribe([topic], on_revoke=lambda *_: heard.append('revoked'))
        owned = self.shared(consumers, 2)
        heard.clear()
        # A static member that closes says nothing; who comes with its name has its partitions.
        consumers[1].close()
        again, = self.members(topic, 'rd.static', static[1:])
        self.assertEqual(self.shared([consumers[0], again], 2), owned)
        self.assertEqual(heard, [])
        consumers[0].close()
        again.close()

    def test_a_second_one_of_the_same_name_fences_the_first(self):
        topic = new_topic('rd.fenced')
        one, = self.members(topic, 'rd.fenced', [{'group.instance.id': 'same'}])
        self.shared([one], 1)
        two, = self.members(topic, 'rd.fenced', [{'group.instance.id': 'same'}])

        def is_fenced():
            two.poll(0.1)
            message = one.poll(0.1)
            return message is not None and message.error() is not None and \
                message.error().code() in (KafkaError._FATAL, KafkaError.FENCED_INSTANCE_ID)
        soon('the first is fenced', is_fenced)
        two.close()
        one.close()

    def test_listed(self):
        topic = new_topic('rd.listed')
        consumer, = self.members(topic, 'rd.listed', [{'client.id': 'lister'}])
        self.shared([consumer], 1)
        group, = ADMIN.list_groups('rd.listed', PATIENCE)
        self.assertEqual((group.state, group.protocol, [each.client_id for each in group.members]),
                         ('Stable', 'range', ['lister']))
        self.assertIn('rd.listed', [each.id for each in ADMIN.list_groups(timeout=PATIENCE)])
        consumer.close()


class Administration(unittest.TestCase):
    def test_topics(self):
        topic = new_topic('rd.topic', 2, retention_ms='60000')
        with self.assertRaises(KafkaException) as ended:
            done(ADMIN.create_topics([NewTopic(topic, 1, 1)]))
        self.assertEqual(ended.exception.args[0].name(), 'TOPIC_ALREADY_EXISTS')
        done(ADMIN.create_partitions([NewPartitions(topic, 5)]))
        self.assertEqual(len(ADMIN.list_topics(topic, PATIENCE).topics[topic].partitions), 5)
        resource = ConfigResource('topic', topic)
        self.assertEqual(done(ADMIN.describe_configs([resource]))[resource]['retention.ms'].value, '60000')
        done(ADMIN.alter_configs([ConfigResource('topic', topic, {'segment.ms': '65000'})]))
        shown = done(ADMIN.describe_configs([resource]))[resource]
        self.assertEqual((shown['retention.ms'].value, shown['segment.ms'].value), ('604800000', '65000'))
        with self.assertRaises(KafkaException) as ended:
            done(ADMIN.alter_configs([ConfigResource('topic', topic, {'no.such': '1'})]))
        self.assertEqual(ended.exception.args[0].name(), 'INVALID_CONFIG')
        broker = ConfigResource('broker', '1')
        self.assertTrue(done(ADMIN.describe_configs([broker]))[broker])
        done(ADMIN.delete_topics([topic]))
        self.assertNotIn(topic, ADMIN.list_topics(timeout=PATIENCE).topics)
        # Made again under its name, it has nothing of the old one.
        self.assertEqual(len(ADMIN.list_topics(new_topic(topic), PATIENCE).topics[topic].partitions), 1)


class Session:
    """A client that waits for records, and what it says of its connections."""
    def __init__(self, settings):
        self.words = []
        self.client = Consumer({**settings, 'group.id': 'none', 'enable.auto.commit': False,
                                'error_cb': lambda error: self.words.append(str(error))})

    def read_one(self, topic):
        self.client.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
        read(self.client, 1)
        return self

    def ends(self, why, patience=PATIENCE):
        """What it said until that."""
        deadline = time.monotonic() + patience
        while not any(why in each for each in self.words):
            self.client.poll(0.1)
            assert time.monotonic() < deadline, 'no %r in %s' % (why, self.words)
        self.client.close()
        return ' '.join(self.words)


class Logins(unittest.TestCase):
    def refused(self, settings):
        """Why the client does not get in, in its own words."""
        return Session(settings).ends('AUTHENTICATION')

    def test_by_either_mechanism(self):
        topic = new_topic('rd.login')
        produce(topic, [b'one'], plain('alice'))
        produce(topic, [b'two'], bearer(BROKER['tokens']['alice']))
        for settings in (plain('alice'), bearer(BROKER['tokens']['alice'])):
            self.assertEqual([each.value() for each in from_start(topic, 2, settings)], [b'one', b'two'])

    def test_a_token_holds_within_its_scope(self):
        topic = new_topic('rd.scope')
        produce(topic, [b'one'])
        scoped, _ = token('alice', topic + ':consume')
        self.assertEqual(len(from_start(topic, 1, bearer(scoped))), 1)
        with self.assertRaises(KafkaException) as ended:
            produce(topic, [b'no'], bearer(scoped))
        self.assertEqual(ended.exception.args[0].name(), 'TOPIC_AUTHORIZATION_FAILED')

    def test_a_revoked_token_ends_its_session_and_is_refused(self):
        topic = new_topic('rd.revoked')
        produce(topic, [b'one'])
        for login in (plain, lambda _, secret: bearer(secret)):
            secret, number = token('alice')
            settings = login('alice', secret)
            session = Session(settings).read_one(topic)
            cli('bps', 'token', 'revoke', 'alice', number)
            session.ends('is revoked')
            self.assertIn('is revoked', self.refused(settings))
            # Once for the session that ended, and for each login.
            said = 'reason=the token %s of alice is revoked' % number
            soon('the log says it twice', lambda: node_log().count(said) >= 2)

    def test_what_is_no_token_of_the_user(self):
        alice = BROKER['tokens']['alice']
        for settings, why in ((plain('guest', alice), 'not whom the token is for'),
                              (plain('alice', alice[:-4]), 'token: '),
                              (bearer(alice.replace('.', '.x', 1)), 'token: '),
                              ({**plain('alice'), 'sasl.mechanisms': 'SCRAM-SHA-256'}, 'PLAIN')):
            self.assertIn(why, self.refused(settings))


class Tomorrow(unittest.TestCase):
    """The last: its token, the shortest that bor-cli makes, grows old while the others run."""
    @classmethod
    def start(cls):
        cls.secret, cls.number = token('alice', '--minutes', '1')
        topic = new_topic('rd.expired')
        produce(topic, [b'one'])
        cls.session = Session(plain('alice', cls.secret)).read_one(topic)

    def test_an_expired_token_ends_its_session_and_is_refused(self):
        self.session.ends('has expired', 60 + PATIENCE)
        for settings in (plain('alice', self.secret), bearer(self.secret)):
            self.assertIn('has expired', Session(settings).ends('AUTHENTICATION'))
        said = 'reason=the token %s of alice has expired' % self.number
        soon('the log says it three times', lambda: node_log().count(said) >= 3)


def setUpModule():   # pylint: disable=invalid-name
    Tomorrow.start()


if __name__ == '__main__':
    run()
