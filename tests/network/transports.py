#!/usr/bin/env python3
"""Four validators of one host: they speak by shared memory, go back to TCP where that ends, and
find it again: when one is killed, stands still for long or for a moment, or is told to use TCP only.

usage: transports.py --build BUILD_DIR [--only NAME]
"""
import json
import signal
import sys
import time

from doctor import healthy, run, wait_for

SILENCE = 3     # Seconds until a path is given up whose other end says nothing.


def get(net, name, what):
    return json.loads(net.cli('-j', 'net', what, url=net.of(name)['http']))


def paths(net, name):
    """{peer: what /v1/bor/transports says of it}, of peers that are ready."""
    return {each['name']: each for each in get(net, name, 'transports')['peers']
            if each['state'] == 'ready'}


def kinds(net, name):
    return {peer: path['kind'] for peer, path in paths(net, name).items()}


def expected(net, apart):
    """Shared memory between all but those of `apart`."""
    return {name: {peer: 'tcp' if {name, peer} & apart else 'shm'
                   for peer in net.commands if peer != name} for name in net.commands}


def settled(net, what, apart=frozenset()):
    """Every pair speaks by what it should, and blocks become final at all."""
    def look():
        now = {name: kinds(net, name) for name in net.commands}
        return now == expected(net, apart), now
    wait_for(what, look)
    before = {name: net.final(name) for name in net.commands}
    wait_for(what + ': finality', lambda: (
        all(net.final(name) > before[name] + 5 for name in net.commands), before))


def shared_memory(net):
    settled(net, 'shared memory between all')
    table = net.cli('net', 'peers', url=net.of('bora')['http'])
    print(table, end='')
    if table.count(' shm ') != 3:
        raise AssertionError('bor-cli net peers shows something else:\n' + table)
    for path in paths(net, 'bora').values():
        if path['why_not_faster'] or not int(path['bytes_in']) or path['round_trip_ms'] is None:
            raise AssertionError('not of a working path: %s' % path)


def killed(net):
    net.stop('bord')
    def gone():
        now = kinds(net, 'bora')
        return 'bord' not in now, now
    wait_for('the death of bord', gone)
    net.start('bord')
    settled(net, 'shared memory after kill -9')


def stopped(net):
    """Long enough for its peers to give the whole connection up."""
    net.signal('bord', signal.SIGSTOP)
    try:
        time.sleep(10)
    finally:
        net.signal('bord', signal.SIGCONT)
    settled(net, 'shared memory after 10 s of standing still')


def silent(net):
    """Long enough for a path, not for its connection: TCP goes on where shared memory ended. On a
    busy machine the process may stand still for too long, so it does so again."""
    for _ in range(5):
        before = paths(net, 'bora')['bord']
        net.signal('bord', signal.SIGSTOP)
        try:
            time.sleep(SILENCE + 0.7)
        finally:
            net.signal('bord', signal.SIGCONT)
        def back():
            path = paths(net, 'bora').get('bord', {})
            fell = path.get('channel') == before['channel'] and path['fallbacks'] > before['fallbacks']
            new = path.get('channel', before['channel']) != before['channel']
            return fell or new, path
        path = wait_for('the end of a path', back)
        if path['channel'] == before['channel']:
            print('  bora: bord by %s: %s' % (path['kind'], path['why_not_faster']))
            return settled(net, 'shared memory again')
        settled(net, 'shared memory of another connection')
    raise AssertionError('the connection never outlived its path')


def tcp_only(net):
    net.stop('borc')
    usual = net.commands['borc']
    net.commands['borc'] = [*usual, '--transport', 'tcp']
    net.start('borc')
    settled(net, 'TCP with one of four', apart={'borc'})
    reason = paths(net, 'bora')['borc']['why_not_faster']
    print('  bora: borc by tcp: %s' % reason)
    if 'offers no' not in reason:
        raise AssertionError('no reason for TCP: "%s"' % reason)
    net.stop('borc')
    net.commands['borc'] = usual
    net.start('borc')
    settled(net, 'shared memory again')


SITUATIONS = [shared_memory, killed, stopped, silent, tcp_only]


if __name__ == '__main__':
    sys.exit(run(__doc__, SITUATIONS))
