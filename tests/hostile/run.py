#!/usr/bin/env python3
"""Acts as each sender of SECURITY.md's table against four validators under load, and says what others wait for before,
during and after it: the times between final blocks (p99 and the largest), transfers until they are final (p99), the
validators' processors, the memory of the largest, the lines of its log for one cause, and at the HTTP port the calls of
another address (p99) and of the operator (the slowest).

usage: run.py --build BUILD_DIR [--only NAME,...] [--whole] [--at-once SECONDS]

Run it in a network namespace of its own: it adds addresses to the loopback device.

--whole      each attack longer, and what comes after it
--at-once    all of them by chance, up to three beside each other, for so long: nothing acknowledged is lost, no
             validator ends, nobody honest is sent away, memory comes back
"""
import argparse
import contextlib
import os
import random
import resource
import sys
import time

sys.path.append(os.path.join(os.path.dirname(os.path.realpath(__file__)), '..', 'network'))

# pylint: disable=wrong-import-position
import accounts   # noqa: E402
import broker_clients   # noqa: E402
import http_clients   # noqa: E402
import nodes   # noqa: E402
from attacked import MIB, Attacked, Measured, NoAttack   # noqa: E402
from doctor import healthy   # noqa: E402

ATTACKS = nodes.ATTACKS + http_clients.ATTACKS + accounts.ATTACKS + broker_clients.ATTACKS
TRIES = 3           # This machine does other things, too.
SECONDS, SECONDS_WHOLE = 5, 20
HEADS = ('attack', 'final p99, ms', 'largest gap', 'client p99', 'processors', 'MiB before, peak, after', 'lines',
         'others, operator, ms')


def show(words):
    print('  %-16s | %-16s | %-18s | %-18s | %-16s | %-18s | %5s | %s' % tuple(words), flush=True)


def measured(net, attack, is_whole):
    """The first of three tries in which the attack does no harm."""
    seconds = SECONDS_WHOLE if is_whole else SECONDS
    for net.tries in range(TRIES):
        try:
            result = Measured(net, attack.name, attack, seconds, seconds if is_whole else 0)
            show(result.row())
            return result.check()
        except (AssertionError, NoAttack) as error:
            if net.tries == TRIES - 1:
                raise
            print('    once more: %s' % error, flush=True)


def at_once(net, seconds):
    """Each attack begins by chance, and ends some time later."""
    seed = random.randrange(1 << 32)
    print('seed %d' % seed, flush=True)
    chance = random.Random(seed)
    before = net.memory()
    running, counts = [], {}
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        now = time.monotonic()
        for each in [each for each in running if each[0] <= now]:
            running.remove(each)
            with contextlib.suppress(NoAttack):
                each[1].__exit__(None, None, None)
        if len(running) < 3:
            going = [each for _, _, each in running]
            has_stopped = any(each.stops for each in going)
            chosen = chance.choice([each for each in ATTACKS
                                    if each not in going and not (each.stops and has_stopped)])
            context = chosen.acts(net, 20)
            with contextlib.suppress(NoAttack):
                context.__enter__()
                running.append((now + chance.randrange(10, 40), context, chosen))
                counts[chosen.name] = counts.get(chosen.name, 0) + 1
        p99 = net.load(5)
        print('  %6.0f s: %s, client p99 %.0f ms, %s MiB' % (
            seconds - (deadline - time.monotonic()), ' + '.join(each.name for _, _, each in running), p99,
            '/'.join('%d' % (each // MIB) for each in net.memory().values())), flush=True)
    for each in running:
        with contextlib.suppress(NoAttack):
            each[1].__exit__(None, None, None)
    healthy(net)
    print('attacks: %s' % counts)
    grown = {name: after / before[name] for name, after in net.memory().items()}
    print('memory, times that of the beginning: %s' % grown)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--build', required=True)
    parser.add_argument('--only', default='')
    parser.add_argument('--whole', action='store_true')
    parser.add_argument('--at-once', type=int, default=0)
    options = parser.parse_args()
    names = [each.name for each in ATTACKS]
    chosen = options.only.split(',') if options.only else names
    if unknown := set(chosen) - set(names):
        parser.error('no attack is called %s; there are %s' % (', '.join(unknown), ', '.join(names)))
    net = Attacked(options.build)
    try:
        net.up()
        healthy(net)
        if options.at_once:
            return at_once(net, options.at_once)
        show(HEADS)
        who = ''
        for each in [each for each in ATTACKS if each.name in chosen]:
            if each.who != who:
                who = each.who
                print(who, flush=True)
            measured(net, each, options.whole)
        print('%d attacks, no harm' % len(chosen))
    finally:
        net.down()
    return 0


if __name__ == '__main__':
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    sys.exit(main())
