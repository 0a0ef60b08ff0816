#!/usr/bin/python3
"""kafka-python as Debian has it, with its defaults, by a client certificate: its SASL is one that the broker refuses."""
import glob
import os
import time
import unittest

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import (ACL, ACLFilter, ACLOperation, ACLPermissionType, ConfigResource, ConfigResourceType,
                         NewPartitions, NewTopic, ResourcePattern, ResourcePatternFilter, ResourceType)
from kafka.errors import NoBrokersAvailable, TopicAlreadyExistsError
from kafka.structs import OffsetAndMetadata

from running import BROKER, cli, node_log, run, soon

TLS = {'bootstrap_servers': BROKER['address'], 'security_protocol': 'SSL', 'ssl_cafile': BROKER['certificate']}
ALICE = {**TLS, 'ssl_certfile': BROKER['client_certificate'], 'ssl_keyfile': BROKER['client_key']}
ADMIN = KafkaAdminClient(**ALICE)
# The last one that the package writes and this interpreter has the library for.
CODECS = [None, 'gzip']


def new_topic(name, partitions=1, **more):
    ADMIN.create_topics([NewTopic(name, partitions, 1, **more)])
    soon('topic %s has its leaders' % name, lambda: [
        [part['leader'] for part in each['partitions']] for each in ADMIN.describe_topics([name])] ==
        [[1] * partitions])
    return name


def produce(topic, records, **settings):
    producer = KafkaProducer(**{**ALICE, **settings})
    sent = [producer.send(topic, **each) for each in records]
    producer.close()
    return [each.get(0).offset for each in sent]


def read(count, *topics, **settings):
    consumer = KafkaConsumer(*topics, **{**ALICE, 'auto_offset_reset': 'earliest', 'consumer_timeout_ms': 30000,
                                         **settings})
    found = []
    for message in consumer:
        found.append(message)
        if len(found) == count:
            break
    consumer.close()
    assert len(found) == count, '%d messages, not %d' % (len(found), count)
    return found


class Clients(unittest.TestCase):
    def test_records_come_back_equal(self):
        for codec in CODECS:
            topic = new_topic('py.records.%s' % codec)
            records = [{'key': b'k%d' % (i % 3), 'value': b'%d' % i * 50 if i % 5 else None, 'partition': 0,
                        'headers': [('n', b'%d' % i)]} for i in range(300)]
            self.assertEqual(produce(topic, records, compression_type=codec, acks='all'), list(range(300)))
            self.assertEqual([{'key': each.key, 'value': each.value, 'partition': each.partition,
                               'headers': each.headers} for each in read(300, topic)], records)

    def test_a_group_goes_on_where_it_was(self):
        topic = new_topic('py.group')
        produce(topic, [{'value': b'%d' % i} for i in range(10)])
        consumer = KafkaConsumer(topic, **ALICE, group_id='py.group', auto_offset_reset='earliest',
                                 enable_auto_commit=False, max_poll_records=4)
        part = TopicPartition(topic, 0)
        soon('four are read', lambda: len(consumer.poll(500).get(part, [])) == 4)
        consumer.commit({part: OffsetAndMetadata(4, 'note')})
        self.assertEqual(consumer.committed(part), 4)
        self.assertEqual((consumer.beginning_offsets([part]), consumer.end_offsets([part])), ({part: 0}, {part: 10}))
        consumer.close()
        self.assertEqual(ADMIN.list_consumer_group_offsets('py.group'), {part: OffsetAndMetadata(4, 'note')})
        self.assertEqual([each.offset for each in read(6, topic, group_id='py.group')], [4, 5, 6, 7, 8, 9])
        self.assertEqual(ADMIN.list_consumer_group_offsets('py.group')[part].offset, 10)
        group, = ADMIN.describe_consumer_groups(['py.group'])
        self.assertEqual((group.error_code, group.state), (0, 'Empty'))
        self.assertIn(('py.group', 'consumer'), ADMIN.list_consumer_groups())
        (name, error), = ADMIN.delete_consumer_groups(['py.group'])
        self.assertEqual((name, error.errno), ('py.group', 0))
        self.assertEqual(ADMIN.list_consumer_group_offsets('py.group'), {})

    def test_offsets_by_time(self):
        topic = new_topic('py.times')
        now = int(time.time() * 1000) - 10000
        produce(topic, [{'value': b'x', 'timestamp_ms': now + i * 1000} for i in range(3)])
        self.assertEqual([each.timestamp for each in read(3, topic)], [now, now + 1000, now + 2000])
        consumer, part = KafkaConsumer(**ALICE), TopicPartition(topic, 0)
        for asked, wanted in ((now, 0), (now + 1, 1), (now + 2000, 2)):
            self.assertEqual(consumer.offsets_for_times({part: asked})[part].offset, wanted)
        self.assertEqual(consumer.offsets_for_times({part: now + 2001}), {part: None})
        consumer.close()

    def test_topics_settings_and_rights(self):
        topic = new_topic('py.topic', topic_configs={'retention.ms': '60000'})
        with self.assertRaises(TopicAlreadyExistsError):
            ADMIN.create_topics([NewTopic(topic, 1, 1)])
        ADMIN.create_partitions({topic: NewPartitions(3)})
        self.assertEqual(len(ADMIN.describe_topics([topic])[0]['partitions']), 3)

        def setting(name):
            response, = ADMIN.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)])
            return {each[0]: each[1] for each in response.resources[0][4]}[name]
        self.assertEqual(setting('retention.ms'), '60000')
        ADMIN.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, {'segment.ms': '65000'})])
        self.assertEqual((setting('retention.ms'), setting('segment.ms')), ('604800000', '65000'))
        acl = ACL('User:guest', '*', ACLOperation.READ, ACLPermissionType.ALLOW,
                  ResourcePattern(ResourceType.TOPIC, topic))
        self.assertEqual(ADMIN.create_acls([acl]), {'succeeded': [acl], 'failed': []})
        asked = ACLFilter(None, None, ACLOperation.ANY, ACLPermissionType.ANY,
                          ResourcePatternFilter(ResourceType.TOPIC, topic, acl.resource_pattern.pattern_type))
        self.assertEqual(ADMIN.describe_acls(asked)[0], [acl])
        (_, deleted, _), = ADMIN.delete_acls([asked])
        self.assertEqual([each for each, _ in deleted], [acl])
        self.assertEqual(ADMIN.describe_acls(asked)[0], [])
        ADMIN.delete_topics([topic])
        self.assertNotIn(topic, ADMIN.list_topics())

    def test_its_sasl_without_frames_is_refused(self):
        for settings in ({'sasl_mechanism': 'PLAIN', 'sasl_plain_username': 'alice@active',
                          'sasl_plain_password': BROKER['tokens']['alice']},):
            with self.assertRaises(NoBrokersAvailable):
                KafkaConsumer(**{**TLS, 'security_protocol': 'SASL_SSL', **settings})
        self.assertIn('SaslHandshake 0; version 1 and SaslAuthenticate are spoken', node_log())


if __name__ == '__main__':
    run()
