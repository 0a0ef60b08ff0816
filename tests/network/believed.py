#!/usr/bin/env python3
"""Whom a blank node believes: not one organisation where the genesis file lists more, nor with it a
node that is in no list; it says what it waits for. With a checkpoint it joins, with a wrong one it
refuses by name, and its operator may let one organisation be enough.

usage: believed.py --build BUILD_DIR
"""
import argparse
import signal
import sys

from members import Network, check, report, wait_for
from snapshot_join import blank, checkpoint, follow, prepare

BLANK, STRANGER = 'borx', 'borw'
PUSHED = 20             # Blocks and certificates of so many heights are pushed to who waits.


def again(net, *lines):
    """Stopped, blank as on the first day, and started with these options."""
    node = net.nodes[BLANK]
    node.stop(signal.SIGTERM)
    blank(net, BLANK)
    ours = ('checkpoint', 'join-with-one-organisation')
    net.config(BLANK, lambda before: [each for each in before if not each.startswith(ours)] + list(lines))
    net.start(BLANK)


def waits(net):
    node = net.nodes[BLANK]
    words = 'connected is bora, and 1 in no list, which do not count'
    said = wait_for('it to say for what it waits', lambda: [
        each for each in [node.ask('/v1/bor/sync')['waiting_for']] if words in each])[0]
    check('two organisations of the genesis list (bora, borb, borc, bord)' in said, said)
    net.goes_on(blocks=PUSHED)
    check(node.final() == 1, 'it took block %d' % node.final())
    check(said in node.log(), 'the log does not say it: ' + node.log()[-2000:])
    wait_for('the doctor to say it', lambda: said in net.cli('doctor', check=False, url=node.socket_url()))
    print('  ' + said)


def run(net):
    net.up()
    right = checkpoint(net)
    prepare(net, STRANGER, 'bord', ['bora', 'borb'])
    net.start(STRANGER)
    follow(net, STRANGER)
    print('one organisation and a stranger', flush=True)
    prepare(net, BLANK, 'bord', ['bora', STRANGER])
    net.start(BLANK)
    waits(net)
    print('a wrong checkpoint', flush=True)
    again(net, 'checkpoint = ' + right[:-2] + ('00' if right[-2:] != '00' else '01'))
    wait_for('it to refuse', lambda: 'block 2 is not the checkpoint' in net.nodes[BLANK].log())
    check(net.nodes[BLANK].final() == 1, 'it took a block')
    print('the right one', flush=True)
    again(net, 'checkpoint = ' + right)
    follow(net, BLANK)
    print('one organisation, as its operator wishes', flush=True)
    again(net, 'join-with-one-organisation = true')
    follow(net, BLANK)
    check('taken from one organisation alone' in net.nodes[BLANK].log(), net.nodes[BLANK].log()[-2000:])


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--build', required=True)
    return report(Network(parser.parse_args().build), run)


if __name__ == '__main__':
    sys.exit(main())
