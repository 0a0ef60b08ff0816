"""Where a node answers a call: one of an operator on its Unix socket, any other over TCP."""
import http.client
import os
import socket
import urllib.parse

SOCKET = 'bor.sock'     # In the data directory.
OPERATORS = ('/v1/producer/', '/v1/net/', '/v1/db_size/', '/v1/bor/snapshots', '/v1/bor/remove_snapshot')


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__('localhost', timeout=timeout)
        self.socket_path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.socket_path)


def connection_for(call, url, data, timeout):
    """Not connected yet. `data` is the node's data directory."""
    if call.startswith(OPERATORS):
        return UnixConnection(os.path.join(data, SOCKET), timeout)
    at = urllib.parse.urlparse(url)
    return http.client.HTTPConnection(at.hostname, at.port, timeout=timeout)


def socket_url(data):
    """For bor-cli -u."""
    return 'unix://' + os.path.join(data, SOCKET)
