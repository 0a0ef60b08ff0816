"""What the Python tests share: the broker that runs, and waiting. See run.py."""
import json
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), '..', '..', 'network'))
import broker   # noqa: E402  pylint: disable=wrong-import-position

with open(os.environ['BOR_BROKER'], encoding='utf-8') as described:
    BROKER = json.load(described)
PATIENCE = 30   # Seconds until something that must happen counts as failed.


def cli(*words):
    """What bor-cli prints."""
    done = subprocess.run([*BROKER['cli'], *words], capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        raise AssertionError('bor-cli %s: %s%s' % (' '.join(words), done.stdout, done.stderr))
    return done.stdout


def token(*words):
    """Of bor-cli: its text and its id."""
    made = json.loads(cli('-j', 'bps', 'token', *words))
    return made['token'], made['id']


def node_log():
    with open(BROKER['node_log'], encoding='utf-8', errors='replace') as file:
        return file.read()


def soon(what, happens):
    broker.soon(what, happens, within=PATIENCE)


def run():
    """The tests of the program, or those that its command line names."""
    unittest.main(argv=sys.argv, verbosity=2)
