#!/usr/bin/env python3
"""Clients that mean harm at a node's HTTP port: idle sockets, requests that trickle, answers and a stream that nobody
reads, from one address and from many. Meanwhile another address gets its answers, and the operator his on the
Unix socket. The node takes no more memory than its bounds say.

usage: http_attacks.py --build BUILD_DIR [--only NAME]

Run it in a network namespace of its own: it adds addresses to the loopback device, so that the node sees senders
that are not this machine's own.
"""
import argparse
import base64
import contextlib
import http.client
import json
import os
import resource
import socket
import subprocess
import sys
import time
import urllib.parse

from asking import UnixConnection
from members import Failure, Network, Node, check, report, wait_for

ATTACKER = '10.9.0.%d'      # One of MANY.
MANY = 40
OTHER = '10.9.1.1'
SOCKETS = 1100
CALLS = 300
OF_ADDRESS = 64             # Connections of one address (spec 10).
ALL = 2048                  # http-max-connections.
FLOOR_MS = 20               # Where calls take less when all is quiet, a busy machine alone takes this.
OPERATOR_MS = 100
MEMORY_MAX = 300 << 20      # Answers that nobody takes: 256 MiB in all.


class Attacked(Network):
    def up(self):
        for number in range(1, MANY + 1):
            subprocess.run(['ip', 'address', 'add', ATTACKER % number + '/32', 'dev', 'lo'], check=True)
        subprocess.run(['ip', 'address', 'add', OTHER + '/32', 'dev', 'lo'], check=True)
        self.cli('network', 'up', '--open')
        with open(os.path.join(self.dir, 'network.json'), encoding='utf-8') as f:
            each = json.load(f)['validators'][0]
        self.nodes['bora'] = Node('bora', os.path.dirname(each['log']), each['http'], each['p2p'], each['pid'])
        at = urllib.parse.urlparse(each['http'])
        self.port = at.port

    @property
    def node(self):
        return self.nodes['bora']

    def memory(self):
        with open('/proc/%d/status' % self.node.pid, encoding='utf-8') as f:
            return int(next(line for line in f if line.startswith('VmRSS')).split()[1]) << 10

    def metric(self, name):
        connection = http.client.HTTPConnection('127.0.0.1', self.port, timeout=20)
        connection.request('GET', '/v1/prometheus/metrics')
        text = connection.getresponse().read().decode()
        connection.close()
        return float(next(line for line in text.splitlines() if line.startswith(name + ' ')).split()[1])

    def connect(self, source):
        at = socket.create_connection(('127.0.0.1', self.port), timeout=20, source_address=(source, 0))
        at.settimeout(20)
        return at


def p99(times):
    return sorted(times)[int(len(times) * 0.99)]


def calls_of_another(net):
    """p99 in ms of calls, each over a connection of its own."""
    times = []
    for _ in range(CALLS):
        began = time.monotonic()
        with net.connect(OTHER) as at:
            at.sendall(b'POST /v1/chain/get_info HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
            got = b''
            while part := at.recv(65536):
                got += part
        check(got.startswith(b'HTTP/1.1 200'), 'another address gets %r' % got[:80])
        times.append(1000 * (time.monotonic() - began))
    return p99(times)


def calls_of_operator(net):
    times = []
    for _ in range(CALLS // 3):
        began = time.monotonic()
        connection = UnixConnection(net.node.path('data', 'bor.sock'), timeout=20)
        connection.request('POST', '/v1/producer/paused')
        check(connection.getresponse().read() == b'false', 'the operator gets no answer')
        connection.close()
        times.append(1000 * (time.monotonic() - began))
    return max(times)


def measured(net, what, attack):
    """`attack` yields once it goes on."""
    quiet, before = calls_of_another(net), net.memory()
    with attack(net):
        during, operator, peak = calls_of_another(net), calls_of_operator(net), net.memory()
    print('  %s: p99 of another address %.1f ms, %.1f before; operator at most %.1f ms; memory %d MiB, %d before'
          % (what, during, quiet, operator, peak >> 20, before >> 20), flush=True)
    check(during <= 3 * max(quiet, FLOOR_MS), 'another address waits')
    check(operator <= OPERATOR_MS, 'the operator waits')
    check(peak - before <= MEMORY_MAX, 'it takes memory')


def alive(sockets):
    """Those that the node has not closed."""
    count = 0
    for each in sockets:
        each.setblocking(False)
        try:
            count += len(each.recv(1, socket.MSG_PEEK)) > 0
        except BlockingIOError:
            count += 1
        except ConnectionError:
            pass
    return count


@contextlib.contextmanager
def sockets_of(net, sources, count, say=b''):
    with contextlib.ExitStack() as stack:
        held = []
        for source in sources:
            for _ in range(count):
                with contextlib.suppress(ConnectionError):
                    at = stack.enter_context(net.connect(source))
                    held.append(at)
                    at.sendall(say)
        yield held


@contextlib.contextmanager
def idle(net):
    with sockets_of(net, [ATTACKER % 1], SOCKETS) as held:
        wait_for('the address to have its bound', lambda: alive(held) <= OF_ADDRESS)
        check(alive(held) > OF_ADDRESS // 2, 'nobody is there')
        yield
    check(net.metric('bor_http_refused_connections') >= SOCKETS - 2 * OF_ADDRESS, 'nobody was refused')


@contextlib.contextmanager
def trickle(net):
    with sockets_of(net, [ATTACKER % 1], SOCKETS, b'POST /v1/chain/get_info HTTP/1.1\r\nX: ') as held:
        wait_for('the address to have its bound', lambda: alive(held) <= OF_ADDRESS)
        yield


@contextlib.contextmanager
def unread_answers(net):
    say = b'GET / HTTP/1.1\r\nHost: localhost\r\nAccept: text/html\r\n\r\nGET /page.js HTTP/1.1\r\nHost: localhost\r\n\r\n'
    with sockets_of(net, [ATTACKER % 1], SOCKETS, 1000 * say):
        yield


@contextlib.contextmanager
def unread_streams(net):
    key = base64.b64encode(os.urandom(16))
    say = (b'GET /v1/bor/stream HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n'
           b'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ' + key + b'\r\n\r\n')
    # {"from": 1}, masked with zeros.
    ask = json.dumps({'from': 1}).encode()
    with sockets_of(net, [ATTACKER % 1], 300, say + bytes([0x81, 0x80 | len(ask), 0, 0, 0, 0]) + ask):
        yield


@contextlib.contextmanager
def idle_of_many(net):
    """All places are taken, and the longest idle ones make room."""
    with sockets_of(net, [ATTACKER % number for number in range(1, MANY + 1)], OF_ADDRESS) as held:
        wait_for('the node to have as many as it may', lambda: alive(held) <= ALL)
        yield
        check(alive(held) < ALL, 'nobody made room')
    check(net.metric('bor_http_closed_idle_connections') > CALLS // 2, 'nobody was closed')


SITUATIONS = {each.__name__: each for each in (idle, trickle, unread_answers, unread_streams, idle_of_many)}


def best_of_three(net, what, attack):
    """This machine does other things, too."""
    for left in (2, 1, 0):
        try:
            return measured(net, what, attack)
        except Failure as failure:
            if left == 0:
                raise
            print('  once more: %s' % failure, flush=True)


def run(net, only):
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit[1], limit[1]))
    net.up()
    for name, attack in SITUATIONS.items():
        if only in (None, name):
            best_of_three(net, name, attack)


if __name__ == '__main__':
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--build', required=True)
    parser.add_argument('--only', choices=sorted(SITUATIONS))
    args = parser.parse_args()
    sys.exit(report(Attacked(args.build), lambda net: run(net, args.only)))
