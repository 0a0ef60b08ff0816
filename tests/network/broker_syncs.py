#!/usr/bin/env python3
"""When a broker acknowledges, as its system calls show: strace over a node (plugin = bps) under 32 producers, each on
a partition of its own, half of them with acks=1, half with acks=all.

Each batch is a message: its write into a segment, the fdatasync of that file which begins after the write, the answer
that names its offset. No answer leaves before that fdatasync has ended, and there are fewer than one fdatasync for
ten batches.

usage: broker_syncs.py --build BUILD_DIR [--messages N]
"""
import argparse
import os
import re
import signal
import struct
import subprocess
import sys

from broker import PATIENCE, Network, running, soon

PARTITIONS = 32
PRODUCE = 0
SHOWN_BYTES = 1 << 17   # Of what a call reads or writes; frames are told from another by their lengths.
CALLS = 'pwrite64,fdatasync,fsync,read,readv,recvfrom,recvmsg,sendto,sendmsg,write,writev'
READS, SENDS = ('read', 'readv', 'recvfrom', 'recvmsg'), ('sendto', 'sendmsg', 'write', 'writev')
BATCH_BYTES_MIN, MAGIC_AT = 61, 16


class Call:
    """A system call that succeeded. When it began and ended is told by the lines of the trace, whose order is that
    in which strace let the threads go on."""

    def __init__(self, name, text, began, ended, result):
        self.name, self.text, self.began, self.ended, self.result = name, text, began, ended, result
        self.file = re.match(r'\d+<([^>]*)>', text)
        self.file = self.file.group(1) if self.file else ''

    def data(self):
        texts = re.findall(r'"((?:[^"\\]|\\.)*)"(\.\.\.)?', self.text)
        assert not any(cut for _, cut in texts), 'a call that is shown in part: ' + self.text[:200]
        whole = ''.join(text for text, _ in texts)
        return whole.encode('latin-1').decode('unicode_escape').encode('latin-1')[:self.result]


def calls_of(trace):
    """By the order of their beginnings."""
    found, open_calls = [], {}
    with open(trace, encoding='latin-1') as file:
        for number, line in enumerate(file):
            pid, _, rest = line.rstrip('\n').partition(' ')
            rest = rest.lstrip()
            resumed = re.match(r'<\.\.\. (\w+) resumed>', rest)
            if resumed:
                if pid not in open_calls:
                    continue   # It began before the trace.
                name, text, began = open_calls.pop(pid)
                text += rest[resumed.end():]
            else:
                call = re.match(r'(\w+)\(', rest)
                if not call:
                    continue   # A signal, an end.
                name, text, began = call.group(1), rest[call.end():], number
            if text.endswith('<unfinished ...>'):
                open_calls[pid] = (name, text[:-len('<unfinished ...>')], began)
                continue
            result = re.search(r'\) += (-?\d+)(?: [^"]*)?$', text)
            if result and int(result.group(1)) >= 0:
                found.append(Call(name, text, began, number, int(result.group(1))))
    return sorted(found, key=lambda each: each.began)


def frames(calls):
    """Frames of the calls of one socket, each with the call that carried its first byte."""
    buffered, first = b'', None
    for call in calls:
        if not buffered:
            first = call
        buffered += call.data()
        while len(buffered) >= 4:
            size = struct.unpack_from('>i', buffered)[0]
            if len(buffered) < 4 + size:
                break
            yield first, buffered[4:4 + size]
            buffered, first = buffered[4 + size:], call


def by_file(calls, names):
    found = {}
    for call in calls:
        if call.name in names and call.result > 0 and (call.file.startswith('socket:') or call.file.startswith('TCP')):
            found.setdefault(call.file, []).append(call)
    return found


def produced(frame):
    """Partitions and first offsets of an answer to Produce, version 3 to 8; of each its error."""
    at, found = 4, []
    topics = struct.unpack_from('>i', frame, at)[0]
    at += 4
    for _ in range(topics):
        at += 2 + struct.unpack_from('>h', frame, at)[0]
        count = struct.unpack_from('>i', frame, at)[0]
        at += 4
        for _ in range(count):
            index, error, offset = struct.unpack_from('>ihq', frame, at)
            assert error == 0, 'partition %d: error %d' % (index, error)
            found.append((index, offset))
            at += 14 + 16
        # Versions differ in what follows; a producer here has one partition.
        assert topics == count == 1
    return found


def answers_of(calls):
    """{partition, first offset} with the call that began to send the answer."""
    requests = {}
    for socket, reads in by_file(calls, READS).items():
        for _, frame in frames(reads):
            key, version, correlation = struct.unpack_from('>hhi', frame)
            requests[(socket, correlation)] = (key, version)
    for socket, sends in by_file(calls, SENDS).items():
        for call, frame in frames(sends):
            key, version = requests.get((socket, struct.unpack_from('>i', frame)[0]), (None, None))
            if key != PRODUCE:
                continue
            assert 3 <= version <= 8, 'Produce of version %d' % version
            for each in produced(frame):
                yield each, call


def batches_of(calls, directory):
    """{partition, first offset} with the write of the batch."""
    found = {}
    for call in calls:
        at = re.search(re.escape(directory) + r'/\d+-(\d+)/\d{20}\.log$', call.file)
        if call.name != 'pwrite64' or not at:
            continue
        data = call.data()
        assert len(data) > BATCH_BYTES_MIN and data[MAGIC_AT] == 2 and call.result == len(data), call.text[:200]
        found[(int(at.group(1)), struct.unpack_from('>q', data)[0])] = call
    return found


def check(calls, directory):
    batches = batches_of(calls, directory)
    syncs = {}
    for call in calls:
        if call.name in ('fdatasync', 'fsync'):
            syncs.setdefault(call.file, []).append(call)
    answers = list(answers_of(calls))
    early = []
    for key, answer in answers:
        write = batches[key]
        covers = any(sync.began > write.ended and sync.ended < answer.began for sync in syncs.get(write.file, []))
        if not covers:
            early.append((key, write.began, answer.began))
    if early:
        raise AssertionError('%d of %d answers left before their batch was durable, as that of partition %d, offset '
                             '%d: written in line %d of the trace, answered in line %d' % (
                                 len(early), len(answers), *early[0][0], early[0][1] + 1, early[0][2] + 1))
    data_syncs = sum(len(syncs.get(name, [])) for name in {write.file for write in batches.values()})
    return len(batches), len(answers), data_syncs


def produce(network, messages):
    """All of them acknowledged; each message is a batch."""
    given = ''.join('message %d\n' % i for i in range(messages))
    producers = [subprocess.Popen(
        ['kcat', '-b', network.address, '-P', '-t', 'synced', '-p', str(index), '-X', 'batch.num.messages=1', '-X',
         'acks=' + ('all' if index % 2 == 0 else '1')], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for index in range(PARTITIONS)]
    for producer in producers:
        producer.stdin.write(given)
        producer.stdin.close()
    for producer in producers:
        said = producer.stderr.read()
        assert producer.wait(PATIENCE) == 0, said


def traced(network, messages):
    """The trace of a node that is started anew under strace, which stops it for the calls that it shows only."""
    trace = os.path.join(network.dir, 'trace')
    with open('/proc/%d/cmdline' % network.node()['pid'], encoding='utf-8') as file:
        command = file.read().split('\0')[:-1]
    network.end(signal.SIGTERM)
    before = network.log().count('has started, boot')
    with open(network.node()['log'], 'ab') as log:
        tracer = subprocess.Popen(['strace', '-f', '--seccomp-bpf', '-y', '-s', str(SHOWN_BYTES), '-e',
                                   'trace=' + CALLS, '-o', trace, *command], stdout=log, stderr=log)
    try:
        soon('the broker starts', lambda: network.log().count('has started, boot') > before)
        produce(network, messages)
    finally:
        # strace lets it go on to its end.
        with open('/proc/%d/task/%d/children' % (tracer.pid, tracer.pid), encoding='utf-8') as file:
            os.kill(int(file.read().split()[0]), signal.SIGTERM)
        tracer.wait(PATIENCE)
    return trace


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    parser.add_argument('--build', required=True)
    parser.add_argument('--messages', type=int, default=200, help='of each producer')
    arguments = parser.parse_args()
    with running(Network(arguments.build)) as network:
        network.topic('synced', PARTITIONS)
        trace = traced(network, arguments.messages)
        batches, answers, syncs = check(calls_of(trace), os.path.join(network.node()['data_dir'], 'bps'))
        wanted = PARTITIONS * arguments.messages
        assert batches == answers == wanted, '%d batches, %d answers, not %d' % (batches, answers, wanted)
        print('%d batches, each acknowledged after its fdatasync; %d fdatasync, one for %.1f batches' % (
            batches, syncs, batches / syncs))
        assert 10 * syncs < batches, 'one fdatasync for less than ten batches'
    return 0


if __name__ == '__main__':
    sys.exit(main())
