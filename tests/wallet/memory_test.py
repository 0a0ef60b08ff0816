#!/usr/bin/env python3
"""Searches the memory of a running bor-wallet for what it was given in secret.

A private key must be there once, in binary, while its wallet is unlocked, and never else; its
text and the password never at all. Needs the right to read another process's memory that cannot
be dumped (root); without it the test is skipped (exit status 77).
"""
import http.client
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time

KEY = '5KQwrPbwdL6PhXujxW37FSSQZ1JiwsST4cqQzDeyXtP79zkvFD3'
SECRET = bytes.fromhex('d2653ff7cbb2d8ff129ac27ef5781ce68b2558c41a74af1f2ddca635cbeef07d')


class Connection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__('localhost', timeout=20)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)


def call(path, name, body=None):
    connection = Connection(path)
    connection.request('POST', '/v1/wallet/' + name, json.dumps(body))
    answer = connection.getresponse()
    text = answer.read()
    assert answer.status < 300, text
    connection.close()
    return json.loads(text)


def count(pid, needles):
    found = [0] * len(needles)
    with open(f'/proc/{pid}/maps') as maps, open(f'/proc/{pid}/mem', 'rb', 0) as memory:
        for line in maps:
            start, end, mode = re.match(r'(\w+)-(\w+) (\S+)', line).groups()
            if 'r' not in mode:
                continue
            try:
                memory.seek(int(start, 16))
                data = memory.read(int(end, 16) - int(start, 16))
            except (OSError, OverflowError):
                continue  # Pages of the kernel, and the area's unreadable fences.
            found = [n + data.count(needle) for n, needle in zip(found, needles)]
    return found


def expect(pid, needles, wanted):
    """Waits until it is so: the server gives a connection's buffers back after its answer."""
    end = time.monotonic() + 60
    while (found := count(pid, needles)) != wanted:
        assert time.monotonic() < end, f'found {found}, expected {wanted}'
        time.sleep(0.1)


def needles_with(password):
    return [SECRET, KEY[2:34].encode(), password[4:36].encode()]


def check_new(daemon, path):
    password = call(path, 'create', 'w')
    needles = needles_with(password)
    call(path, 'import_key', ['w', KEY])
    assert call(path, 'list_keys', ['w', password])[0][1] == KEY
    expect(daemon.pid, needles, [1, 0, 0])
    call(path, 'lock_all')
    expect(daemon.pid, needles, [0, 0, 0])
    call(path, 'unlock', ['w', password])
    expect(daemon.pid, needles, [1, 0, 0])
    return password


def check_restarted(daemon, path, password):
    """The first request of a process carries a secret, through code that never ran before."""
    needles = needles_with(password)
    call(path, 'unlock', ['w', password])
    expect(daemon.pid, needles, [1, 0, 0])
    call(path, 'lock_all')
    expect(daemon.pid, needles, [0, 0, 0])


def with_daemon(directory, check, *arguments):
    path = directory + '/bor-wallet.sock'
    daemon = subprocess.Popen([sys.argv[1], '--data-dir', directory])
    try:
        while not os.path.exists(path):
            assert daemon.poll() is None, 'bor-wallet ended'
            time.sleep(0.05)
        return check(daemon, path, *arguments)
    finally:
        daemon.terminate()
        daemon.wait()
        if os.path.exists(path):
            os.unlink(path)


def main():
    if os.geteuid() != 0:
        return 77
    with tempfile.TemporaryDirectory() as directory:
        password = with_daemon(directory, check_new)
        with_daemon(directory, check_restarted, password)
    return 0


if __name__ == '__main__':
    sys.exit(main())
