#!/usr/bin/env python3
"""Searches the memory of a running validator, as root, for its private keys: those of its blocks and of its node.

Each may be in memory that is left out of core dumps (the flag `dd` of a mapping), and nowhere else: neither whole nor by
halves, neither in binary nor as text. A core file as gdb's gcore makes it holds none. Needs gdb, and the right to
read another process's memory that cannot be dumped (root); without them the test is skipped (exit status 77).

usage: memory_test.py BOR_NODE BOR_CLI [--dump]

--dump    the system dumps what it can (fs.suid_dumpable = 2), without a limit, and the validator is killed by a signal
          that dumps: it leaves no core file, or one without keys. It changes settings of the whole system: only for
          a machine of its own (tests/rdma/vm).
"""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'


def secret_of(text):
    """The 32 bytes of a private key in WIF or as PVT_R1_..."""
    body = text.rsplit('_', 1)[-1]
    number = 0
    for each in body:
        number = number * 58 + ALPHABET.index(each)
    raw = number.to_bytes(37 if body == text else 36, 'big')
    return raw[1:33] if body == text else raw[:32]


def needles_of(text):
    secret = secret_of(text)
    return [secret[:16], secret[16:], secret[:16][::-1], secret[16:][::-1], text[-40:].encode()]


def mappings(pid):
    """(start, end, whether it is left out of core dumps) of each that can be read."""
    start = end = 0
    mode = ''
    with open('/proc/%d/smaps' % pid, encoding='ascii', errors='replace') as file:
        for line in file:
            head = re.match(r'([0-9a-f]+)-([0-9a-f]+) (\S+)', line)
            if head:
                start, end, mode = int(head[1], 16), int(head[2], 16), head[3]
            elif line.startswith('VmFlags:') and 'r' in mode:
                yield start, end, ' dd' in line


def found_in_memory(pid, needles):
    """Needles in memory that a core dump would have, and the names of those that the area for secrets has."""
    found, kept = [], set()
    with open('/proc/%d/mem' % pid, 'rb', 0) as memory:
        for start, end, is_left_out in mappings(pid):
            position = start
            while position < end:   # In parts: the stacks and the pools are large.
                size = min(end - position, 64 << 20)
                try:
                    memory.seek(position)
                    data = memory.read(size)
                except (OSError, OverflowError):
                    break
                if not data:
                    break
                for name, needle in needles:
                    if needle in data and is_left_out:
                        kept.add(name)
                    elif needle in data:
                        found.append('%s at %x' % (name, position + data.index(needle)))
                position += len(data)
    return found, kept


def cli(directory, *words):
    return subprocess.run([sys.argv[2], '--dir', directory, *words], check=True, capture_output=True, text=True).stdout


def core_of(pid, folder):
    """Kills it by a signal that dumps, with no limit to its size. The core file, or nothing."""
    subprocess.run(['prlimit', '--pid', str(pid), '--core=unlimited:unlimited'], check=True)
    os.kill(pid, signal.SIGQUIT)
    for _ in range(600):
        try:
            with open('/proc/%d/stat' % pid, encoding='ascii') as file:
                if file.read().rsplit(')', 1)[1].split()[0] == 'Z':
                    break
        except FileNotFoundError:
            break
        time.sleep(0.1)
    path = os.path.join(folder, 'core.%d' % pid)
    if not os.path.exists(path):
        return None
    with open(path, 'rb') as file:
        return file.read()


def check_dumped(directory, pid, needles):
    for name, value in (('fs/suid_dumpable', '2'), ('kernel/core_pattern', directory + '/core.%p')):
        with open('/proc/sys/' + name, 'w', encoding='ascii') as file:
            file.write(value)
    with subprocess.Popen(['sleep', '1000']) as other:
        assert core_of(other.pid, directory), 'this system dumps nobody: the test finds nothing'
    core = core_of(pid, directory)
    assert not os.path.exists('/proc/%d/exe' % pid), 'it goes on'
    assert core is None or not [name for name, needle in needles if needle in core], 'the core file holds a private key'
    print('killed by a signal that dumps: %s' % ('no core file' if core is None else 'a core file without keys'))


def check(directory):
    cli(directory, 'network', 'up', '-n', '2', '--block-interval', '200')
    pid = int(re.search(r'"pid": *(\d+)', open(os.path.join(directory, 'network.json'), encoding='utf-8').read())[1])
    needles = []
    for name in ('validator', 'node'):
        with open(os.path.join(directory, 'bora', name + '.key'), encoding='ascii') as file:
            needles += [(name, each) for each in needles_of(file.read().split()[0])]
    if sys.argv[3:] == ['--dump']:
        return check_dumped(directory, pid, needles)
    time.sleep(3)   # It makes blocks meanwhile.
    found, kept = found_in_memory(pid, needles)
    assert not found, 'private keys lie in memory that is dumped: %s' % found
    assert kept == {'validator', 'node'}, 'the test finds only the keys %s at all' % sorted(kept)
    core = os.path.join(directory, 'core')
    subprocess.run(['gdb', '-nx', '-batch', '-p', str(pid), '-ex', 'generate-core-file ' + core], check=True, capture_output=True)
    with open(core, 'rb') as file:
        data = file.read()
    assert b'bor-node' in data, 'the core file is empty'
    assert not [name for name, needle in needles if needle in data], 'the core file holds a private key'


def main():
    if os.geteuid() != 0 or not shutil.which('gdb') and sys.argv[3:] != ['--dump']:
        return 77
    with tempfile.TemporaryDirectory() as directory:
        try:
            check(directory)
        finally:
            subprocess.run([sys.argv[2], '--dir', directory, 'network', 'down'], check=False, capture_output=True)
    return 0


if __name__ == '__main__':
    sys.exit(main())
