#!/usr/bin/env python3
"""Four validators under load make snapshots at heights in a row, which are equal byte for byte, also where
finality jumps over a height. A fifth node begins with one, follows the head, and makes the same ones.
Snapshots that were tampered with are refused by name and change nothing; kill -9 while one is loaded or made
leaves a node that starts, and SIGTERM ends a load. A folder of
a web server is loaded like one of this machine, over http and https, though its lines break.

usage: snapshots.py --build BUILD_DIR
"""
import argparse
import http.server
import json
import os
import re
import shutil
import signal
import ssl
import subprocess
import sys
import threading
import time

from members import FOUR, Load, Network, Node, check, free_port, report, wait_for

FIFTH = 'bore'
HEIGHTS = 50
SPACING = 1
JUMPED = 6              # Heights that become final at once.
EVERY = 20              # Blocks, by the parameter of the chain.


def snapshots(node):
    return node.ask('/v1/bor/snapshots')


def folder(node, height):
    """Of the snapshot at this height; None: there is none."""
    listed = snapshots(node)
    for each in listed['snapshots']:
        if each['block_num'] == height:
            return os.path.join(listed['directory'], each['name'])
    return None


def read(*parts):
    with open(os.path.join(*parts), 'rb') as f:
        return f.read()


def change(path, offset, byte):
    data = bytearray(read(path))
    data[offset] ^= byte
    # The file may be shared with another snapshot.
    os.remove(path)
    with open(path, 'wb') as f:
        f.write(data)


def schedule(node, start, end, spacing):
    return node.ask('/v1/producer/schedule_snapshot',
                    {'start_block_num': start, 'end_block_num': end, 'block_spacing': spacing})


def equal_on_all(net, names, heights):
    """Manifests of these heights are equal; what is missing was skipped, and counted."""
    last = max(heights)
    for name in names:
        wait_for('%s to pass block %d' % (name, last), lambda n=name: net.nodes[n].final() > last)
        wait_for('%s to be done' % name,
                 lambda n=name: int(snapshots(net.nodes[n])['making_ms']) == 0)
    compared = 0
    for height in heights:
        manifests = {}
        for name in names:
            path = folder(net.nodes[name], height)
            if path is not None:
                manifests[name] = read(path, 'manifest.bin')
        check(len(set(manifests.values())) <= 1,
              'the manifests of block %d differ: %s' % (height, sorted(manifests)))
        compared += len(manifests) > 1
    for name in names:
        missing = sum(folder(net.nodes[name], height) is None for height in heights)
        state = snapshots(net.nodes[name])
        check(missing <= int(state['skipped_busy']),
              '%s lacks %d snapshots without a reason: %s' % (name, missing, state))
    return compared


def scheduled(net):
    start = net.nodes['bora'].final() + 10
    heights = [start + SPACING * i for i in range(HEIGHTS)]
    requests = {name: schedule(net.nodes[name], start, heights[-1], SPACING) for name in FOUR}
    check(all(each['snapshot_request_id'] == 0 for each in requests.values()), str(requests))
    compared = equal_on_all(net, FOUR, heights)
    print('  %d of %d heights compared on four validators: equal' % (compared, HEIGHTS))
    check(compared >= HEIGHTS // 2, 'too few snapshots were made')
    nothing_scheduled(net)


def nothing_scheduled(net):
    for name in FOUR:
        left = net.nodes[name].ask('/v1/producer/get_snapshot_requests')['snapshot_requests']
        check(left == [], '%s still has requests: %s' % (name, left))


def jump(net):
    """Two validators stand still, so that nothing becomes final; then several heights do at once. Returns these
    heights, and what was final before."""
    bora = net.nodes['bora']
    start = bora.final() + 6
    heights = [start + i for i in range(JUMPED)]
    for name in FOUR:
        schedule(net.nodes[name], start, heights[-1], 1)
    wait_for('block %d' % (start - 4), lambda: bora.final() >= start - 4, pause=0.02)
    still = [net.nodes[name] for name in FOUR[2:]]
    for node in still:
        os.kill(node.pid, signal.SIGSTOP)
    try:
        wait_for('block %d' % (heights[-1] + 2),
                 lambda: bora.ask('/v1/chain/get_info')['head_block_num'] >= heights[-1] + 2)
        final = bora.final()
    finally:
        for node in still:
            os.kill(node.pid, signal.SIGCONT)
    return heights, final


def jumped(net):
    # On a busy machine the two may stand still too late, or a snapshot takes so long that the next is skipped.
    for _ in range(3):
        heights, final = jump(net)
        compared = equal_on_all(net, FOUR, heights)
        print('  from block %d on; %d of %d heights compared on four validators: equal'
              % (final, compared, JUMPED))
        if final <= heights[0] and compared == JUMPED:
            break
    check(final <= heights[0], 'block %d was final before the jump, it was to be below %d' % (final, heights[0]))
    check(compared == JUMPED, 'too few snapshots were made')
    nothing_scheduled(net)


def periodic(net):
    """Nobody asked for them: the chain says at which heights all make one."""
    net.push('setchain', [[{'name': 'snapshot_period', 'value': EVERY}]], 'eosio')
    first = (net.nodes['bora'].final() // EVERY + 2) * EVERY
    compared = equal_on_all(net, FOUR, [first, first + EVERY])
    print('  blocks %d and %d: %d compared on four validators: equal' % (first, first + EVERY, compared))
    check(compared == 2, 'too few snapshots were made')
    net.push('setchain', [[{'name': 'snapshot_period', 'value': 0}]], 'eosio')


def created(net):
    node = net.nodes['bora']
    made = node.ask('/v1/producer/create_snapshot')
    check(os.path.isdir(made['snapshot_name']), 'there is no %s' % made)
    print(net.cli('snapshot', 'info', made['snapshot_name']), end='')
    print('  ' + net.cli('snapshot', 'verify', made['snapshot_name'],
                         '--genesis', os.path.join(net.dir, 'genesis.json')), end='')
    return made['snapshot_name']


def load_words(net, path, *more):
    return [os.path.join(net.bin, 'bor-cli'), '--dir', net.dir, 'snapshot', 'load', path, '--data-dir',
            os.path.join(net.dir, FIFTH, 'data'), '--genesis', os.path.join(net.dir, 'genesis.json'), *more]


def contents(path):
    found = {}
    for home, _, files in os.walk(path):
        for name in files:
            found[os.path.relpath(os.path.join(home, name), path)] = read(home, name)
    found.pop('lock', None)
    return found


def largest_chunks(path):
    chunks = os.path.join(path, 'chunks')
    return sorted((os.path.join(chunks, each) for each in os.listdir(chunks)),
                  key=os.path.getsize)[-2:]


def truncate(path):
    chunk = largest_chunks(path)[1]
    data = read(chunk)
    os.remove(chunk)
    with open(chunk, 'wb') as f:
        f.write(data[:-1])
    return os.path.basename(chunk)


def swap(path):
    one, other = largest_chunks(path)
    data = read(one), read(other)
    for chunk, content in ((one, data[1]), (other, data[0])):
        os.remove(chunk)
        with open(chunk, 'wb') as f:
            f.write(content)
    return 'chunks/'


def flip(path):
    chunk = largest_chunks(path)[1]
    change(chunk, os.path.getsize(chunk) // 2, 1)
    return os.path.basename(chunk)


def lose(path):
    chunk = largest_chunks(path)[1]
    os.remove(chunk)
    return os.path.basename(chunk)


def other_chain(path):
    change(os.path.join(path, 'manifest.bin'), 10, 1)
    return 'is of chain'


def other_lanes(path):
    change(os.path.join(path, 'manifest.bin'), os.path.getsize(os.path.join(path, 'manifest.bin')) - 1, 1)
    return 'manifest.bin'


def forged_proof(path):
    change(os.path.join(path, 'proof.bin'), 40, 1)
    return 'proof.bin'


def tampered(net, good):
    data = os.path.join(net.dir, FIFTH, 'data')
    before = contents(data)
    for how in (truncate, swap, flip, lose, other_chain, other_lanes, forged_proof):
        copy = os.path.join(net.dir, 'copy')
        net.cli('snapshot', 'export', good, copy)
        named = how(copy)
        done = subprocess.run(load_words(net, copy), capture_output=True, text=True, timeout=60)
        check(done.returncode == 1 and named in done.stderr,
              '%s: exit %d, not named "%s": %s' % (how.__name__, done.returncode, named, done.stderr))
        check(contents(data) == before, '%s changed the data directory' % how.__name__)
        print('  %s: %s' % (how.__name__, done.stderr.strip().splitlines()[-1][-150:]))
        shutil.rmtree(copy)
    genesis_block = net.nodes['bora'].ask('/v1/chain/get_block', {'block_num_or_id': 2})['id']
    wrong = '2:00000002' + 'ab' * 28
    done = subprocess.run(load_words(net, good, '--checkpoint', wrong), capture_output=True, text=True,
                          timeout=60)
    check(done.returncode == 1 and 'checkpoint 2:' in done.stderr and genesis_block in done.stderr,
          'a wrong checkpoint: %s' % done.stderr)
    check(contents(data) == before, 'a wrong checkpoint changed the data directory')
    return '2:' + genesis_block


def killed_loads(net, good, checkpoint):
    """Kills a load later and later, until one was faster. Each next one begins anew."""
    data = os.path.join(net.dir, FIFTH, 'data')
    kills, wait = 0, 0.005
    while True:
        load = subprocess.Popen(load_words(net, good, '--checkpoint', checkpoint),
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            _, said = load.communicate(timeout=wait)
        except subprocess.TimeoutExpired:
            load.kill()
            load.communicate()
            kills += 1
            wait += 0.01
            if any(re.fullmatch(r'state(\.\d+)?', name) for name in os.listdir(data)):
                break               # Killed when it had switched to it.
            continue
        check(load.returncode == 0, 'load: ' + said)
        break
    check(kills > 0, 'no load was killed')
    print('  %d loads were killed before one was done' % kills)
    again = subprocess.run(load_words(net, good), capture_output=True, text=True, timeout=60)
    check(again.returncode == 1 and 'has a state already' in again.stderr,
          'a second load: %s' % again.stderr)


class WebFolder(http.server.BaseHTTPRequestHandler):
    """Of the server's `folder`. The first answer of each file ends in the middle; its `wrong` has a bit flipped.
    Where it `is_stuck`, each answer begins anew and ends soon, now after a byte more and now after one less."""

    protocol_version = 'HTTP/1.1'

    def log_message(self, *_):
        pass

    def do_GET(self):
        server, name = self.server, self.path.removeprefix('/')
        server.asked.append((name, self.headers.get('Range')))
        if server.is_stuck:
            self.send_response(200)
            self.send_header('Content-Length', '100')
            self.end_headers()
            self.wfile.write(b'z' * (10 + len(server.asked) % 2))
            self.close_connection = True
            return
        path = os.path.join(server.folder, name)
        if not os.path.isfile(path):
            self.send_error(404)
            return
        data = bytearray(read(path))
        if name == server.wrong:
            data[len(data) // 2] ^= 1
        first = int(self.headers['Range'].removeprefix('bytes=').rstrip('-')) if 'Range' in self.headers else 0
        self.send_response(206 if first else 200)
        self.send_header('Content-Length', str(len(data) - first))
        if first:
            self.send_header('Content-Range', 'bytes %d-%d/%d' % (first, len(data) - 1, len(data)))
        self.end_headers()
        is_cut = name not in server.cut and len(data) > 1000
        server.cut.add(name)
        self.wfile.write(data[first:len(data) // 2] if is_cut else data[first:])
        self.close_connection = is_cut


class Web:
    def __init__(self, net, folder, secure=False):
        self.server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), WebFolder)
        self.server.folder, self.server.asked, self.server.cut, self.server.wrong = folder, [], set(), None
        self.server.is_stuck = False
        self.authority = os.path.join(net.dir, 'web.pem')
        if secure:
            key = os.path.join(net.dir, 'web.key')
            subprocess.run(['openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj',
                            '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost', '-keyout', key,
                            '-out', self.authority], check=True, capture_output=True)
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(self.authority, key)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.url = '%s://localhost:%d/' % ('https' if secure else 'http', self.server.server_port)

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def load_by_web(net, url, data, **environment):
    return subprocess.run(
        [os.path.join(net.bin, 'bor-cli'), 'snapshot', 'load', url, '--data-dir', data, '--genesis',
         os.path.join(net.dir, 'genesis.json')],
        capture_output=True, text=True, timeout=120, env={**os.environ, **environment})


def by_web(net, good):
    """By http with broken lines, by https, from a liar, from nowhere."""
    data = os.path.join(net.dir, 'by-web')
    chunk = 'chunks/' + os.path.basename(largest_chunks(good)[1])
    with Web(net, good) as web:
        web.server.wrong = chunk
        done = load_by_web(net, web.url, data)
        check(done.returncode == 1 and web.url + chunk in done.stderr, 'a liar: %s' % done.stderr)
        fetched = {name for name, _ in web.server.asked} - {chunk}
        web.server.wrong = None
        web.server.asked.clear()
        web.server.cut.clear()
        done = load_by_web(net, web.url, data)
        check(done.returncode == 0 and 'loaded: ' in done.stdout, 'by http: %s' % done.stderr)
        ranges = [each for each in web.server.asked if each[1]]
        check(len(ranges) > 0, 'no line was cut: %s' % web.server.asked)
        again = [name for name, _ in web.server.asked if name.startswith('chunks/') and name in fetched]
        check(len(again) <= 2, 'fetched again: %s' % again)
        check(os.listdir(os.path.join(data, 'joining')) == [], 'what was fetched is still there')
        missing = load_by_web(net, web.url + 'nothing', os.path.join(net.dir, 'by-web-2'))
        check(missing.returncode == 1 and 'nothing/manifest.bin is not there' in missing.stderr,
              'no such folder: %s' % missing.stderr)
        print('  http: %d files asked for, %d by a range; %s' % (
            len(web.server.asked), len(ranges), done.stdout.splitlines()[0]))
        web.server.is_stuck = True
        stuck = load_by_web(net, web.url, os.path.join(net.dir, 'by-web-2'))
        check(stuck.returncode == 1 and 'manifest.bin: the answer ended' in stuck.stderr, 'stuck: %s' % stuck.stderr)
        web.server.is_stuck = False
    shutil.rmtree(data)
    with Web(net, good, secure=True) as web:
        stranger = load_by_web(net, web.url, data)
        check(stranger.returncode == 1 and 'TLS: certificate verify failed' in stranger.stderr,
              'a certificate of nobody: %s' % stranger.stderr)
        done = load_by_web(net, web.url, data, SSL_CERT_FILE=web.authority)
        check(done.returncode == 0 and 'loaded: ' in done.stdout, 'by https: %s' % done.stderr)
    shutil.rmtree(data)
    gone = load_by_web(net, web.url, data)
    check(gone.returncode == 1 and 'Connection refused' in gone.stderr, 'nobody: %s' % gone.stderr)
    print('  ' + gone.stderr.strip()[-150:])


def stopped_load(net, good):
    """SIGTERM, which waits from the start on, ends a node that loads a snapshot; nothing has changed."""
    node = net.nodes[FIFTH]
    before = contents(node.path('data'))

    def pend():
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
        os.kill(os.getpid(), signal.SIGTERM)

    done = subprocess.run(
        [os.path.join(net.bin, 'bor-node'), '--config-dir', node.path('config'), '--data-dir', node.path('data'),
         '--genesis-json', os.path.join(net.dir, 'genesis.json'), '--snapshot', good],
        preexec_fn=pend, capture_output=True, text=True, timeout=30)
    said = (done.stdout + done.stderr).strip()
    check(done.returncode == 0 and 'stopped before it was done' in said,
          'exit %d: %s' % (done.returncode, said))
    check(contents(node.path('data')) == before, 'a load that was stopped changed the data directory')
    print('  ' + said.splitlines()[-1][-150:])


def prepare_fifth(net):
    """An observer: no key of a validator, so no journal."""
    home = os.path.join(net.dir, FIFTH)
    for part in ('config', 'data'):
        os.makedirs(os.path.join(home, part))
    node = Node(FIFTH, home, 'http://127.0.0.1:%d' % free_port(), '127.0.0.1:%d' % free_port())
    node_key = net.make_key('--r1', '--node', '--file', node.path('node.key'))
    lines = ['http-server-address = ' + node.url.split('//')[1], 'p2p-listen-endpoint = ' + node.p2p,
             'p2p-node-key = ' + node.path('node.key'), 'plugin = net_api_plugin',
             'plugin = producer_api_plugin']
    lines += ['p2p-peer-address = ' + net.nodes[name].p2p for name in FOUR[:2]]
    with open(node.path('config', 'config.ini'), 'w', encoding='utf-8') as f:
        f.write('\n'.join(lines) + '\n')
    net.cli('node', 'add', 'bora', FIFTH, node_key, '--role', 'observer')
    net.nodes[FIFTH] = node
    return node


def follows(net, began_at):
    """The fifth node is at the head; its snapshot of a later block is that of the others."""
    node = net.nodes[FIFTH]
    net.start(FIFTH)
    began = time.monotonic()
    goal = net.nodes['bora'].final()
    wait_for('%s to reach block %d' % (FIFTH, goal), lambda: node.final() >= goal)
    print('  began at block %d, at block %d %.1f s after its start'
          % (began_at, goal, time.monotonic() - began))
    height = net.nodes['bora'].final() + 10
    names = ['bora', FIFTH]
    for name in names:
        schedule(net.nodes[name], height, height, 0)
    check(equal_on_all(net, names, [height]) == 1, 'there is no snapshot of block %d' % height)
    below = node.ask('/v1/chain/get_info')['earliest_available_block_num']
    check(1 < below <= began_at, 'its earliest block is %s' % below)


def names(node):
    return [each['name'] for each in snapshots(node)['snapshots']]


def kill_capture(net, node, making):
    """Kills the node while it makes a snapshot. Returns which others it had, and whether the kill came in time."""
    net.start(FIFTH, '--snapshot-rate', '1')
    wait_for('%s to serve' % FIFTH, node.final)
    before = names(node)
    asking = subprocess.Popen([os.path.join(net.bin, 'bor-cli'), '-u', node.socket_url(), 'snapshot', 'create'],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for('a chunk, or an end', lambda: (os.path.isdir(making) and os.listdir(making)) or names(node) != before,
             pause=0.005)
    node.stop(signal.SIGKILL)
    asking.wait(10)
    return before, os.path.isdir(making)


def killed_capture(net):
    """With one MiB a second a snapshot takes a while; the next start removes the half of it."""
    node = net.nodes[FIFTH]
    making = os.path.join(snapshots(node)['directory'], '.making', 'chunks')
    node.stop(signal.SIGTERM)
    for _ in range(10):
        before, is_amid = kill_capture(net, node, making)
        if is_amid:
            break
    check(is_amid, 'each snapshot was finished before the kill')
    net.start(FIFTH)
    wait_for('%s to serve' % FIFTH, node.final)
    check(not os.path.exists(making), 'the half of a snapshot is still there')
    check(names(node) == before, 'the list changed')
    goal = net.nodes['bora'].final() + 5
    wait_for('%s to go on' % FIFTH, lambda: node.final() >= goal)


def stopped_node(net):
    """On a node that does not run: create, list, remove."""
    node = net.nodes[FIFTH]
    words = ('--data-dir', node.path('data'))
    refused = subprocess.run([os.path.join(net.bin, 'bor-cli'), 'snapshot', 'create', *words],
                             capture_output=True, text=True, timeout=60)
    check(refused.returncode == 1 and 'in use by another process' in refused.stderr,
          'a running node: ' + refused.stderr)
    node.stop(signal.SIGTERM)
    made = json.loads(net.cli('-j', 'snapshot', 'create', *words))
    listed = json.loads(net.cli('-j', 'snapshot', 'list', *words))
    check(made['name'] in [each['name'] for each in listed['snapshots']], str(listed))
    path = os.path.join(listed['directory'], made['name'])
    net.cli('snapshot', 'verify', path, *words)
    net.cli('snapshot', 'remove', made['name'], *words)
    check(not os.path.exists(path), 'it was not removed')


def run(net):
    net.up()
    prepare_fifth(net)
    with Load(net, rate=100) as load:
        for part in (scheduled, created):
            print(part.__name__, flush=True)
            good = part(net)
        print('tampered', flush=True)
        checkpoint = tampered(net, good)
        print('by web', flush=True)
        by_web(net, good)
        print('stopped load', flush=True)
        stopped_load(net, good)
        print('killed loads', flush=True)
        killed_loads(net, good, checkpoint)
        print('follows', flush=True)
        follows(net, int(os.path.basename(good).split('-')[0]))
        print('killed capture', flush=True)
        killed_capture(net)
    print('jumped', flush=True)
    jumped(net)
    print('periodic', flush=True)
    periodic(net)
    print('stopped node', flush=True)
    stopped_node(net)
    return '%d transfers meanwhile' % load.sent


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--build', required=True)
    return report(Network(parser.parse_args().build), run)


if __name__ == '__main__':
    sys.exit(main())
