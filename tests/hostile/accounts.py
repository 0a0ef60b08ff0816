"""Accounts whose contract, or whose transactions, mean harm."""
import contextlib
import threading

import poison
from attacked import NoAttack, attack, never


@contextlib.contextmanager
def again_and_again(act):
    """Calls act(number) in a thread of its own, until the end; gives how often it was called, as a function."""
    count, is_over = [0], threading.Event()

    def run():
        while not is_over.wait(0.02):
            act(count[0])
            count[0] += 1
    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield lambda: count[0]
    finally:
        is_over.set()
        thread.join()


@attack('an account with a contract')
def loops(net, _):
    """Transactions that loop, each sent to all validators."""
    lifetime = 600 + 100 * net.tries
    with again_and_again(lambda number: poison.send_to_all(net, net.poison(lifetime=lifetime + number))) as done:
        yield never
        if done() < 3:
            raise NoAttack('%d were sent' % done())


@attack('an account whose transactions fail')
def failing(net, _):
    """Transactions of one account that compute a lot and fail."""
    lifetime = 600 + 300 * net.tries
    flood = [net.poison(account='failing', lifetime=lifetime + each) for each in range(200)]
    refused = []

    def push(number):
        answer = net.post('bora', '/v1/chain/push_transaction', flood[number % len(flood)])
        if poison.BUDGET in poison.error_of(answer)[1]:
            refused.append(number)
    with again_and_again(push):
        yield never
    if not refused:
        raise NoAttack('it was never refused by its budget')


ATTACKS = [loops, failing]
