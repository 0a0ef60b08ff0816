"""Watches what becomes final."""
import threading
import time


class Finality:
    """The times between final blocks at whichever of `net`'s nodes has the newest, until stop()."""

    def __init__(self, net):
        self.net, self.is_over = net, False
        self.height, self.last = 0, time.monotonic()
        self.gaps = []
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        while not self.is_over:
            for name in self.net.names():
                try:
                    info = self.net.post(name, '/v1/chain/get_info', patience=2)
                    height = info['last_irreversible_block_num']
                except (OSError, ValueError, KeyError):
                    continue        # It is down, or starting.
                if height > self.height:
                    self.end_gap()
                    self.height = height
            time.sleep(0.02)
        self.end_gap()

    def end_gap(self):
        now = time.monotonic()
        self.gaps.append(now - self.last)
        self.last = now

    def stop(self):
        self.is_over = True
        self.thread.join()

    @property
    def gap(self):
        return max(self.gaps)

    @property
    def p99(self):
        return sorted(self.gaps)[int(len(self.gaps) * 0.99)]
