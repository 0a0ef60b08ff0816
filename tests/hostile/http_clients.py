"""Who mean harm at bora's HTTP port, from addresses of their own."""
import base64
import contextlib
import json
import multiprocessing
import os
import socket
import subprocess
import time

import poison
from attacked import ATTACKER, MANY, NoAttack, attack, never
from doctor import wait_for

WHO = 'anybody at the HTTP port'
SOCKETS = 1100
OF_ADDRESS = 64             # Connections of one address (spec 10).
ALL = 2048                  # http-max-connections.
GET = b'GET %s HTTP/1.1\r\nHost: localhost\r\nAccept: text/html\r\n\r\n'
UPGRADE = (b'GET /v1/bor/stream HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n'
           b'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\n\r\n')


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
                with contextlib.suppress(OSError):
                    at = stack.enter_context(net.connect(source))
                    held.append(at)
                    at.sendall(say)
        yield held


def has_its_bound(held):
    deadline = time.monotonic() + 20
    while not 0 < alive(held) <= OF_ADDRESS:
        if time.monotonic() > deadline:
            raise NoAttack('%d of its connections are there' % alive(held))
        time.sleep(0.1)


@attack(WHO, probes=True)
def idle(net, _):
    """Sockets that say nothing."""
    refused = net.metric('bor_http_refused_connections')
    with sockets_of(net, [ATTACKER % 1], SOCKETS) as held:
        has_its_bound(held)
        yield never
    if net.metric('bor_http_refused_connections') < refused + SOCKETS - 2 * OF_ADDRESS:
        raise NoAttack('nobody was refused')


@attack(WHO, probes=True)
def trickle(net, _):
    """Headers that do not end."""
    with sockets_of(net, [ATTACKER % 2], SOCKETS, b'POST /v1/chain/get_info HTTP/1.1\r\nX: ') as held:
        has_its_bound(held)
        yield never


@attack(WHO, probes=True)
def unread_answers(net, _):
    """Requests one after another, whose answers nobody reads."""
    with sockets_of(net, [ATTACKER % 3], SOCKETS, 1000 * (GET % b'/' + GET % b'/page.js')):
        yield never


@attack(WHO, probes=True)
def unread_streams(net, _):
    """Streams of blocks that nobody reads."""
    # {"from": 1}, masked with zeros.
    ask = json.dumps({'from': 1}).encode()
    say = UPGRADE % base64.b64encode(os.urandom(16)) + bytes([0x81, 0x80 | len(ask), 0, 0, 0, 0]) + ask
    with sockets_of(net, [ATTACKER % 4], 300, say):
        yield never


@attack(WHO, probes=True)
def half_bodies(net, _):
    """Bodies of the largest size but for their last byte, from many addresses."""
    size = 2 << 20
    say = b'POST /v1/chain/push_transaction HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n' % size
    with sockets_of(net, [ATTACKER % number for number in range(1, MANY + 1)], 4) as held:
        for each in held:
            each.setblocking(False)
            sent = 0
            body = say + b' ' * (size - 1)
            with contextlib.suppress(OSError):
                while sent < len(body):
                    sent += each.send(body[sent:sent + 65536])
        yield never


@attack(WHO, probes=True)
def idle_of_many(net, _):
    """All places are taken, and the longest idle ones make room."""
    closed = net.metric('bor_http_closed_idle_connections')
    with sockets_of(net, [ATTACKER % number for number in range(1, MANY + 1)], OF_ADDRESS) as held:
        wait_for('the node to have as many as it may', lambda: (alive(held) <= ALL, alive(held)))
        yield never
    if net.metric('bor_http_closed_idle_connections') <= closed:
        raise NoAttack('nobody made room')


@attack('anybody at the HTTP port', probes=False)
def dry_runs(net, _):
    """Unsigned calls of a contract that loops, 20 at once."""
    packed = net.poison(unsigned=True)
    # In a process of its own: threads of this one would wait for each other.
    attackers = multiprocessing.Process(target=poison.attack, args=(net, packed))
    attackers.start()
    try:
        yield never
    finally:
        attackers.terminate()
        attackers.join()


@attack(WHO)
def pushes(net, seconds):
    """No harm is meant: good transactions, 3,000 a second, each over a connection of its own. None is refused."""
    with open(net.dir + '/network.json', encoding='utf-8') as f:
        key = json.load(f)['system_key']['private']
    file = net.dir + '/system.key'
    with open(file, 'w', encoding='utf-8', opener=lambda path, flags: os.open(path, flags, 0o600)) as f:
        f.write(key + '\n')
    words = [os.path.join(net.bin, 'bor-hostile'), 'pushes', net.dir + '/genesis.json', str(seconds),
             '--signing', file, '--http', '%s:%d' % (net.host, net.port)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        yield lambda: process.poll() is None
        said = process.communicate(timeout=180)[0]
    print('    ' + said.strip().replace('\n', '\n    '), flush=True)
    lines = said.splitlines()
    if process.returncode != 0 or len(lines) != 2 or not lines[1].endswith('HTTP/1.1 202 Accepted'):
        raise AssertionError('some were refused')


ATTACKS = [pushes, idle, trickle, unread_answers, unread_streams, half_bodies, idle_of_many, dry_runs]
