#!/usr/bin/env python3
"""Connects to the peers' port of nodes with a key that no registry knows, from 50 addresses in turn, shakes hands where
it is let, and says how often. Before that it opens half-open connections from 20 more addresses, which it keeps.

usage: strangers.py CERTIFICATE KEY SECONDS RATE ADDRESS...
"""
import selectors
import socket
import ssl
import sys
import time

ORIGINS = 50
HALF_OPEN = 64          # Of each of as many addresses:
HALF_OPEN_ORIGINS = 20
PATIENCE = 1            # Seconds until one is given up.


class Stranger:
    """One connection: TCP, then TLS, then until the node closes it."""
    def __init__(self, context, origin, target):
        plain = socket.socket()
        plain.bind((origin, 0))
        plain.setblocking(False)
        plain.connect_ex(target)
        self.is_up = False
        self.begun = time.monotonic()
        self.tls = context.wrap_socket(plain, do_handshake_on_connect=False)

    def go_on(self):
        """What it waits for next; 0: nothing more."""
        try:
            if not self.is_up:
                self.tls.do_handshake()
                self.is_up = True
            return selectors.EVENT_READ if self.tls.recv(4096) else 0
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return selectors.EVENT_READ
        except (OSError, ValueError):
            return 0


class Flood:
    def __init__(self, certificate, key, targets):
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self.context.check_hostname = False
        self.context.verify_mode = ssl.CERT_NONE
        self.context.load_cert_chain(certificate, key)
        self.targets = targets
        self.selector = selectors.DefaultSelector()
        self.tried = self.shaken = 0

    def begin(self):
        origin = '127.0.1.%d' % (1 + self.tried % ORIGINS)
        target = self.targets[self.tried // ORIGINS % len(self.targets)]
        self.tried += 1
        try:
            stranger = Stranger(self.context, origin, target)
            self.selector.register(stranger.tls, selectors.EVENT_WRITE, stranger)
        except OSError:
            pass    # It was closed at once.

    def end(self, stranger):
        self.shaken += stranger.is_up
        self.selector.unregister(stranger.tls)
        stranger.tls.close()

    def turn(self, seconds):
        for key, _ in self.selector.select(seconds):
            if key.data.go_on() == 0:
                self.end(key.data)
            elif key.events != selectors.EVENT_READ:
                self.selector.modify(key.fileobj, selectors.EVENT_READ, key.data)

    def give_up(self):
        late = time.monotonic() - PATIENCE
        for key in list(self.selector.get_map().values()):
            if key.data.begun < late:
                self.end(key.data)

    def run(self, seconds, rate):
        begun = time.monotonic()
        given_up = begun
        while (now := time.monotonic()) < begun + seconds:
            for _ in range(min(int((now - begun) * rate) - self.tried, rate // 20)):
                self.begin()
            self.turn(0.002)
            if now > given_up + PATIENCE / 4:
                given_up = now
                self.give_up()


def half_open(targets):
    kept = []
    for number in range(HALF_OPEN * HALF_OPEN_ORIGINS):
        silent = socket.socket()
        silent.bind(('127.0.2.%d' % (1 + number % HALF_OPEN_ORIGINS), 0))
        silent.setblocking(False)
        silent.connect_ex(targets[number % len(targets)])
        kept.append(silent)
    return kept


def main():
    certificate, key, seconds, rate, *addresses = sys.argv[1:]
    targets = [(host, int(port)) for host, _, port in (each.rpartition(':') for each in addresses)]
    kept = half_open(targets)
    flood = Flood(certificate, key, targets)
    begun = time.monotonic()
    flood.run(float(seconds), int(rate))
    print('%d connections of strangers a second, of which %d shook hands, beside %d that were silent' %
          (flood.tried / (time.monotonic() - begun), flood.shaken / (time.monotonic() - begun), len(kept)))


if __name__ == '__main__':
    main()
