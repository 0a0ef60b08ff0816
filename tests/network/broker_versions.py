#!/usr/bin/env python3
"""Every version from 0 to 20 of every key from 0 to 100 of Kafka's protocol, sent to a broker (plugin = bps).

What is listed is answered, and each answer has the form that tests/vectors/kafka/messages.txt describes, to its last
byte; what is not is refused as the spec says. The table of both is printed: key, name, versions that are answered,
and how others end. A request has one element in each array and a value in each field.

usage: broker_versions.py --build BUILD_DIR
"""
import argparse
import os
import re
import socket
import struct
import sys
import time

from broker import Network, equal, running

KEYS, VERSIONS = range(101), range(21)
# Of the spec.
LISTED = {0: (0, 9), 1: (4, 12), 2: (1, 7), 3: (0, 9), 8: (2, 8), 9: (1, 7), 10: (0, 3), 11: (0, 7), 12: (0, 4),
          13: (0, 4), 14: (0, 5), 15: (0, 5), 16: (0, 4), 17: (0, 1), 36: (0, 2), 18: (0, 3), 19: (0, 5), 20: (0, 5),
          21: (0, 2), 22: (0, 4), 23: (0, 4), 29: (0, 2), 30: (0, 2), 31: (0, 2), 32: (0, 4), 33: (0, 2), 37: (0, 3),
          42: (0, 2), 43: (0, 2), 44: (0, 1), 45: (0, 0), 46: (0, 0), 47: (0, 0), 60: (0, 1)}
PRODUCE, SASL_HANDSHAKE, API_VERSIONS, SASL_AUTHENTICATE = 0, 17, 18, 36
UNSUPPORTED_VERSION, UNSUPPORTED_FORMAT = 35, 43
MESSAGES = os.path.join(os.path.dirname(os.path.realpath(__file__)), '..', 'vectors', 'kafka', 'messages.txt')
TOPIC = GROUP = 'versions'
# By their fields' names; others are empty or 0.
STRINGS = {'Mechanism': 'PLAIN', 'ProtocolType': 'consumer', 'TransactionalId': None, 'GroupInstanceId': None,
           'Topic': TOPIC, 'TopicName': TOPIC, 'Name': TOPIC, 'ResourceName': TOPIC, 'TopicNames': TOPIC, 'GroupId':
           GROUP, 'Group': GROUP, 'Key': GROUP, 'Groups': GROUP, 'GroupsNames': GROUP, 'ResourceNameFilter': TOPIC,
           'PrincipalFilter': None, 'HostFilter': None, 'Host': '*', 'Principal': 'User:guest'}
NUMBERS = {'Acks': -1, 'TimeoutMs': 1000, 'timeoutMs': 1000, 'GenerationId': -1, 'GenerationIdOrMemberEpoch': -1,
           'SessionTimeoutMs': 6000, 'RebalanceTimeoutMs': 6000, 'ResourceType': 2, 'ResourceTypeFilter': 2,
           'PatternType': 3, 'PatternTypeFilter': 3, 'ResourcePatternType': 3, 'Operation': 3, 'PermissionType': 3,
           'CurrentLeaderEpoch': -1, 'LeaderEpoch': -1, 'CommittedLeaderEpoch': -1, 'ProducerId': -1,
           'ProducerEpoch': -1, 'RetentionTimeMs': -1, 'ReplicaId': -1, 'Timestamp': -1, 'PartitionMaxBytes': 1000,
           'MaxBytes': 1000, 'EndpointType': 1}
# What is answered to that; all else is without an error. Most of these change the chain, for which the broker has no
# delegation (44): it names what would have to be typed.
ERRORS = {0: {87}, 11: {0, 79}, 12: {25}, 13: {0, 25}, 14: {25}, 19: {36}, 20: {44}, 30: {44}, 33: {44}, 36: {34},
          37: {44}, 42: {68}, 43: {0, 84}, 44: {44}, 45: {0, 44}, 47: {68}}
LATER = {14, 15}   # Asked again.
INTEGERS = {'bool': '>b', 'int8': '>b', 'int16': '>h', 'int32': '>i', 'int64': '>q'}


def versions_of(text):
    if text == 'none':
        return range(0)
    first, _, last = text.rstrip('+').partition('-')
    return range(int(first), 1000 if text.endswith('+') else int(last or first) + 1)


class Field:
    def __init__(self, line):
        words = line.split()
        self.name, self.type, self.versions = words[0], words[1], versions_of(words[2])
        self.is_tagged = 'tag' in words
        self.fields = []


def descriptions():
    """By key: the name, and of request and response the flexible versions and the fields."""
    found, stack = {}, []
    with open(MESSAGES, encoding='utf-8') as file:
        for line in file:
            if line.startswith('#') or not line.strip():
                continue
            depth = (len(line) - len(line.lstrip())) // 2
            if depth == 0:
                key, name = line.split()[:2]
                kind = 'Request' if name.endswith('Request') else 'Response'
                fields = []
                found.setdefault(int(key), {'name': name[:-len(kind)]})[kind] = (
                    versions_of(re.search(r'flexible (\S+)', line).group(1)), fields)
                stack = [fields]
            else:
                field = Field(line)
                stack[depth - 1:] = [stack[depth - 1], field.fields]
                stack[depth - 1].append(field)
    return found


def varint(number):
    out = b''
    while number > 127:
        out, number = out + bytes([number & 127 | 128]), number >> 7
    return out + bytes([number])


class Writer:
    def __init__(self, version, flexible):
        self.version, self.flexible = version, flexible

    def length(self, size, short):
        return varint(size + 1) if self.flexible else struct.pack('>h' if short else '>i', size)

    def value(self, kind, field):
        if kind in INTEGERS:
            return struct.pack(INTEGERS[kind], NUMBERS.get(field.name, 0))
        if kind == 'uuid':
            return bytes(16)
        if kind in ('string', 'bytes', 'records'):
            text = STRINGS.get(field.name, '')
            if text is None:
                return self.length(-1, kind == 'string')
            text = text.encode()
            return self.length(len(text), kind == 'string') + text
        if kind.startswith('[]'):
            return self.length(1, False) + self.value(kind[2:], field)
        return self.fields(field.fields)

    def fields(self, fields):
        out = b''.join(self.value(each.type, each) for each in fields
                       if self.version in each.versions and not each.is_tagged)
        return out + (b'\0' if self.flexible else b'')


class Reader:
    def __init__(self, data, version, flexible):
        self.data, self.at, self.version, self.flexible, self.errors = data, 0, version, flexible, set()

    def take(self, size):
        assert 0 <= size <= len(self.data) - self.at, 'it ends within a field'
        self.at += size
        return self.data[self.at - size:self.at]

    def number(self, form):
        return struct.unpack(form, self.take(struct.calcsize(form)))[0]

    def varint(self):
        number, shift = 0, 0
        while True:
            byte = self.take(1)[0]
            number, shift = number | (byte & 127) << shift, shift + 7
            if byte < 128:
                return number

    def length(self, short):
        return self.varint() - 1 if self.flexible else self.number('>h' if short else '>i')

    def value(self, kind, field):
        if kind in INTEGERS:
            number = self.number(INTEGERS[kind])
            if field.name == 'ErrorCode':
                self.errors.add(number)
        elif kind == 'uuid':
            self.take(16)
        elif kind in ('string', 'bytes', 'records'):
            self.take(max(0, self.length(kind == 'string')))
        elif kind.startswith('[]'):
            for _ in range(max(0, self.length(False))):
                self.value(kind[2:], field)
        else:
            self.fields(field.fields)

    def fields(self, fields):
        for each in fields:
            if self.version in each.versions and not each.is_tagged:
                self.value(each.type, each)
        if self.flexible:
            self.tagged()

    def tagged(self):
        for _ in range(self.varint()):
            self.varint()
            self.take(self.varint())


def ask(network, key, version, about):
    """The answer's bytes behind its correlation; None: the connection is closed without one."""
    header = struct.pack('>hhi', key, version, 77)
    if about is None:
        body = struct.pack('>h', -1)
    else:
        flexible, fields = about['Request']
        is_flexible = version in flexible
        body = struct.pack('>h', 1) + b'c' + (b'\0' if is_flexible else b'')
        body += Writer(version, is_flexible).fields(fields)
    with socket.create_connection(('127.0.0.1', network.port), 60) as client:
        stream = client.makefile('rb')
        client.sendall(struct.pack('>i', len(header + body)) + header + body)
        size = stream.read(4)
        if not size:
            return None
        answer = stream.read(struct.unpack('>i', size)[0])
        equal(answer[:4], header[4:])
        return answer[4:]


def errors_of(answer, version, about, key):
    """The error codes of an answer, which has its form to the last byte."""
    flexible, fields = about['Response']
    is_flexible = version in flexible
    reader = Reader(answer, version, is_flexible)
    if is_flexible and key != API_VERSIONS:
        reader.tagged()
    reader.fields(fields)
    equal(reader.at, len(answer))
    return reader.errors


def outcome(network, key, version, about):
    for _ in range(100):
        answer = ask(network, key, version, about)
        if answer is None:
            return 'closed'
        assert about is not None, 'it is answered'
        # What the broker says of versions that it does not have is for a client of the first.
        form = 0 if key == API_VERSIONS and version > LISTED[key][1] else version
        errors = errors_of(answer, form, about, key)
        if not errors & LATER:
            return sorted(errors)
        time.sleep(0.1)
    return sorted(errors)


def wanted(key, version, found):
    first, last = LISTED.get(key, (1, 0))
    if key == API_VERSIONS and version > last:
        return [UNSUPPORTED_VERSION]
    if not first <= version <= last:
        return 'closed'
    if key == PRODUCE and version < 3:
        return [UNSUPPORTED_FORMAT]
    if key == SASL_HANDSHAKE and version == 0:
        return [UNSUPPORTED_VERSION]
    errors = ERRORS.get(key, {0})
    return found if found != 'closed' and set(found) <= errors else 'an answer with errors of %s' % errors


def table(network):
    described = descriptions()
    equal(sorted(described), sorted(LISTED))
    for key in KEYS:
        about = described.get(key)
        row = []
        for version in VERSIONS:
            try:
                found = outcome(network, key, version, about)
                equal(found, wanted(key, version, found))
            except (AssertionError, OSError) as error:
                raise AssertionError('key %d version %d: %s' % (key, version, error)) from error
            if found != 'closed':
                row.append('%d:%s' % (version, '+'.join(map(str, found)) or 'ok'))
        if row:
            print('%3d %-28s %s; others: closed' % (key, about['name'], ' '.join(row)), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    parser.add_argument('--build', required=True)
    with running(Network(parser.parse_args().build)) as network:
        network.topic(TOPIC)
        network.produce(TOPIC, ['zero'])
        # With the first group come the topics for groups.
        equal(network.kcat('-G', GROUP, '-e', '-q', '-X', 'auto.offset.reset=earliest', TOPIC).stdout, 'zero\n')
        began = time.monotonic()
        table(network)
        print('%d requests in %.1f s' % (len(KEYS) * len(VERSIONS), time.monotonic() - began))
        # Nothing of it has harmed the broker.
        network.produce(TOPIC, ['one'])
        equal(network.consume(TOPIC), ['zero', 'one'])
    return 0


if __name__ == '__main__':
    sys.exit(main())
