"""A TCP line of so many bytes a second: what comes from the far end is passed on at this rate, and what comes from
either end after a delay."""
import queue
import socket
import threading
import time

PIECE = 32 * 1024
AT_ONCE = 0.05          # Seconds of the rate that may go out at once.


class SlowLine:
    """To `far` ("host:port"), from a port of its own (`near`). One thread each way a connection."""

    def __init__(self, far, rate, delay=0.0):
        host, port = far.rsplit(':', 1)
        self.far, self.rate, self.delay = (host, int(port)), rate, delay
        self.sent, self.stopped, self.sockets = 0, False, []
        self.lock = threading.Lock()
        self.free_at = 0.0              # When the line has passed on what it has.
        self.listener = socket.socket()
        self.listener.bind(('127.0.0.1', 0))
        self.listener.listen(8)
        self.near = '127.0.0.1:%d' % self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while not self.stopped:
            try:
                near, _ = self.listener.accept()
                far = socket.socket()
                # Little waits at this end of the line.
                far.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2 * PIECE)
                far.connect(self.far)
            except OSError:
                return
            self.sockets += [near, far]
            for one, other, slow in ((near, far, False), (far, near, True)):
                threading.Thread(target=self.carry, args=(one, other, slow), daemon=True).start()

    def carry(self, one, other, slow):
        # What is on the way, each with the time at which it comes.
        on_way = queue.Queue()
        threading.Thread(target=self.deliver, args=(on_way, one, other, slow), daemon=True).start()
        try:
            while data := one.recv(PIECE):
                if slow:
                    self.wait(len(data))
                on_way.put((time.monotonic() + self.delay, data))
        except OSError:
            pass
        on_way.put((time.monotonic() + self.delay, b''))

    def deliver(self, on_way, one, other, slow):
        try:
            while True:
                comes, data = on_way.get()
                if (pause := comes - time.monotonic()) > 0:
                    time.sleep(pause)
                if not data:
                    break
                other.sendall(data)
                if slow:
                    self.sent += len(data)
        except OSError:
            pass
        for each in (one, other):
            self.close(each)

    def wait(self, size):
        """Until the line is free for these bytes."""
        with self.lock:
            now = time.monotonic()
            self.free_at = max(self.free_at, now - AT_ONCE) + size / self.rate
            pause = self.free_at - now
        if pause > 0:
            time.sleep(pause)

    def cut(self):
        """At once, and for ever."""
        self.stopped = True
        for each in [self.listener, *self.sockets]:
            self.close(each)

    @staticmethod
    def close(each):
        try:
            each.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        each.close()
