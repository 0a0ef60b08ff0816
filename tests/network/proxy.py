#!/usr/bin/env python3
"""A node behind nginx, with the configuration that README.md shows, and behind a line that passes all on, as
`ssh -L` does: reads, pushes and the stream come through. An operator's call comes from this machine then, and
needs the token all the same.

usage: proxy.py --build BUILD_DIR
"""
import argparse
import base64
import http.client
import json
import os
import re
import ssl
import subprocess
import sys

from asking import OPERATORS
from members import Network, Node, check, free_port, report, wait_for
from slow_line import SlowLine

NAME = 'bor.example'
NGINX = '/usr/sbin/nginx'
README = os.path.join(os.path.dirname(os.path.realpath(__file__)), '..', '..', 'README.md')
NO_LIMIT = 10**9        # Bytes a second.
REFUSES = 'return 403'  # The line by which nginx lets no operator's call through.


class Proxied(Network):
    def up(self):
        path, self.token, self.accounts = os.path.join(self.dir, 'token'), os.urandom(32).hex(), 0
        with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), 'w', encoding='utf-8') as f:
            f.write(self.token + '\n')
        self.cli('network', 'up', '--open', '--node-option', '--http-alias=' + NAME,
                 '--node-option', '--http-operator-token-file=' + path)
        with open(os.path.join(self.dir, 'network.json'), encoding='utf-8') as f:
            file = json.load(f)
        self.system_key = file['system_key']['public']
        each = file['validators'][0]
        self.nodes['bora'] = Node('bora', os.path.dirname(each['log']), each['http'], each['p2p'], each['pid'])

    def transaction(self):
        """One that nobody has sent yet, packed and signed."""
        self.accounts += 1
        return json.loads(self.cli('create', 'account', 'eosio', 'alice%d' % self.accounts, self.system_key,
                                   '-d', '-t'))


class Line:
    """A plain TCP forwarder."""

    def __init__(self, net):
        self.line = SlowLine(net.nodes['bora'].url.split('//')[1], NO_LIMIT)
        # As with ssh -L of the node's own port.
        self.host = 'localhost'

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.line.cut()

    def connection(self):
        return http.client.HTTPConnection(self.line.near, timeout=20)


def shown_configuration():
    with open(README, encoding='utf-8') as f:
        found = re.search(r'^## Behind a reverse proxy\n.*?^```\n(.*?)^```$', f.read(), re.MULTILINE | re.DOTALL)
    check(found, 'README.md shows no configuration')
    return found.group(1)


class Nginx:
    """As README.md shows it; or it lets operator's calls through."""

    def __init__(self, net, lets_operators):
        self.host, self.port, self.dir = NAME, free_port(), os.path.join(net.dir, 'nginx')
        os.makedirs(self.dir, exist_ok=True)
        self.make_certificate()
        self.write(net.nodes['bora'].url, lets_operators)
        self.child = None

    def path(self, name):
        return os.path.join(self.dir, name)

    def make_certificate(self):
        subprocess.run(['openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes',
                        '-keyout', self.path('tls.key'), '-out', self.path('tls.pem'), '-days', '2', '-subj',
                        '/CN=' + NAME, '-addext', 'subjectAltName=DNS:%s,IP:127.0.0.1' % NAME],
                       check=True, capture_output=True)

    def write(self, url, lets_operators):
        text = shown_configuration()
        check(text.count(REFUSES) == 1, 'no line with "%s" in %s' % (REFUSES, README))
        if lets_operators:
            text = ''.join(line for line in text.splitlines(keepends=True) if REFUSES not in line)
        for shown, here in (('listen 443 ssl', 'listen 127.0.0.1:%d ssl' % self.port), ('http://127.0.0.1:8888', url),
                            ('/etc/ssl/bor.example.pem', self.path('tls.pem')),
                            ('/etc/ssl/bor.example.key', self.path('tls.key'))):
            check(shown in text, 'no "%s" in %s' % (shown, README))
            text = text.replace(shown, here)
        # What Debian's nginx.conf has around it, but in a folder of its own, and as who runs this.
        folders = ''.join('%s_temp_path %s;\n' % (each, self.path(each))
                          for each in ('client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'))
        with open(self.path('nginx.conf'), 'w', encoding='utf-8') as f:
            f.write('daemon off;\n%spid %s;\nevents {}\nhttp {\naccess_log off;\n%s%s}\n'
                    % ('user root;\n' if os.geteuid() == 0 else '', self.path('pid'), folders, text))

    def log(self):
        with open(self.path('log'), encoding='utf-8') as f:
            return f.read()

    def __enter__(self):
        with open(self.path('log'), 'w', encoding='utf-8') as log:
            self.child = subprocess.Popen([NGINX, '-e', 'stderr', '-p', self.dir, '-c', self.path('nginx.conf')],
                                          stdout=log, stderr=log)
        try:
            wait_for('nginx to answer', self.answers, patience=20)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.child.terminate()
        self.child.wait(20)

    def answers(self):
        if self.child.poll() is not None:
            raise RuntimeError('nginx ended: ' + self.log())
        return ask(self, '/v1/chain/get_info')[0] == 200

    def connection(self):
        return http.client.HTTPSConnection('127.0.0.1', self.port, timeout=20,
                                           context=ssl.create_default_context(cafile=self.path('tls.pem')))


def ask(way, path, method='POST', body=None, **headers):
    """Status and text, as who comes this way gets them."""
    connection = way.connection()
    try:
        connection.request(method, path, json.dumps(body) if body is not None else None,
                           {'Host': way.host, **headers})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def expect(what, said, *statuses):
    check(said[0] in statuses, '%s: %s instead of %s' % (what, said, statuses))


def operators_calls(net):
    """All that the node has. The list of snapshots is another thing: over TCP it is there where it is named."""
    apis = net.nodes['bora'].ask('/v1/node/get_supported_apis')['apis']
    found = [each for each in apis if each.startswith(OPERATORS) and each != '/v1/bor/snapshots']
    check(len(found) > 20 and '/v1/producer/pause' in found, 'the operator has few calls: %s' % found)
    return found


def serves_clients(net, way):
    """Reads, a push, the stream; not what is for the socket alone."""
    for method in ('GET', 'POST'):
        expect('get_info by ' + method, ask(way, '/v1/chain/get_info', method), 200)
    expect('a push', ask(way, '/v1/chain/push_transaction', body=net.transaction()), 202)
    key = base64.b64encode(os.urandom(16)).decode()
    expect('the stream', ask(way, '/v1/bor/stream', 'GET', Upgrade='websocket', Connection='Upgrade',
                             **{'Sec-WebSocket-Key': key, 'Sec-WebSocket-Version': '13'}), 101)
    chain = net.nodes['bora'].ask('/v1/chain/get_info')['chain_id']
    for headers in ({}, {'Authorization': 'Bearer ' + net.token}):
        expect('answer_recovery', ask(way, '/v1/bor/answer_recovery', body={'chain_id': chain}, **headers), 403)


def asks_for_token(net, way):
    """Though all that comes this way comes from loopback."""
    calls = operators_calls(net)
    for path in calls:
        for headers in ({}, {'Authorization': 'Bearer ' + 'ab' * 32}, {'Authorization': net.token}):
            said = ask(way, path, **headers)
            expect(path + ' without the token', said, 401)
            error = json.loads(said[1])
            check(error['code'] == 401 and error['error']['details'], 'no error of Antelope: %s' % said[1])
        expect(path + ' by GET', ask(way, path, 'GET', Authorization='Bearer ' + net.token), 405)
    check(net.nodes['bora'].ask('/v1/producer/paused') is False, 'it is paused')
    with_token = {'Authorization': 'Bearer ' + net.token}
    for path in ('/v1/db_size/get', '/v1/net/connections', '/v1/producer/pause'):
        expect(path + ' with the token', ask(way, path, **with_token), 200, 201)
    check(net.nodes['bora'].ask('/v1/producer/paused') is True, 'it is not paused')
    expect('resume', ask(way, '/v1/producer/resume', **with_token), 201)
    return len(calls)


def lets_no_operator(net, way):
    """Nginx as README.md shows it: with the token neither."""
    for path in operators_calls(net):
        said = ask(way, path, Authorization='Bearer ' + net.token)
        expect(path + ' through nginx', said, 403)
        check('nginx' in said[1], 'it was the node that refused %s: %s' % (path, said))


def run(net):
    net.up()
    with Nginx(net, lets_operators=False) as way:
        serves_clients(net, way)
        lets_no_operator(net, way)
        print('  nginx as README.md shows it: clients are served, and no operator', flush=True)
    with Nginx(net, lets_operators=True) as way:
        serves_clients(net, way)
        print('  nginx that passes all on: %d calls need the token' % asks_for_token(net, way), flush=True)
    with Line(net) as way:
        serves_clients(net, way)
        print('  a TCP forwarder: %d calls need the token' % asks_for_token(net, way), flush=True)


if __name__ == '__main__':
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--build', required=True)
    sys.exit(report(Proxied(parser.parse_args().build), run))
