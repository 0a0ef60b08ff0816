#!/usr/bin/env python3
"""What befalls one of four validators, and what its operator does about it, with real processes: its
safety journal is gone, damaged or put back from a copy; a list says who may connect to it; two get
new disks at once; two are lost for ever. It must come back by itself, and never vote twice: the others
would accuse it in their logs.

usage: operating.py --build BUILD_DIR [--only NAME]
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request

from asking import socket_url
from doctor import explained, healthy, log_of, run, wait_for

LOST = 'bord'
CUT = 20_000        # Bytes: more than a block and its votes take.
ACCUSATION = 'a validator broke a rule'


def get(net, name, path):
    request = urllib.request.Request(net.of(name)['http'] + path, data=b'{}', method='POST')
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.load(answer)


def journal(net):
    folder = os.path.join(net.of(LOST)['data_dir'], 'safety')
    return os.path.join(folder, next(each for each in os.listdir(folder)
                                     if each.endswith('.journal')))


def own(net, name):
    validators = get(net, name, '/v1/bor/finality')['validators']
    mine = [each for each in validators if each['own']]
    if len(mine) != 1:
        raise ValueError('%s calls %d of these its own: %s' % (name, len(mine), validators))
    return mine[0]


def check_votes_again(net):
    """Its key is lost, then votes: three others are not needed any more."""
    said = len(log_of(net, LOST))
    net.start(LOST)
    wait_for('votes of ' + LOST, lambda: (not own(net, LOST)['journal_lost'], own(net, LOST)))
    def explains():
        text = log_of(net, LOST)[said:]
        return 'safety journal' in text and 'votes again' in text, text[-2000:]
    wait_for('the log to say what happened', explains)
    wait_for('health', lambda: (not net.wrong(LOST), net.wrong(LOST)))
    net.stop('bora')
    before = net.final('borb')
    wait_for('finality with ' + LOST, lambda: (net.final('borb') > before + 5, before))
    net.start('bora')
    healthy(net)
    nobody_convicted(net)


def journal_gone(net):
    net.stop(LOST)
    os.remove(journal(net))
    check_votes_again(net)


def journal_damaged(net):
    net.stop(LOST)
    with open(journal(net), 'r+b') as f:
        f.seek(100)
        f.write(b'\xff' * 16)
    kept = journal(net) + '.damaged'
    with open(kept, 'w', encoding='utf-8') as f:
        f.write('of an earlier damage')
    check_votes_again(net)
    if not os.path.exists(kept + '.2') or os.path.getsize(kept) != len('of an earlier damage'):
        raise AssertionError('what was damaged is not kept, or not what was before')


def journal_from_copy(net):
    net.stop(LOST)
    shutil.copyfile(journal(net), journal(net) + '.copy')
    net.start(LOST)
    healthy(net)
    net.stop(LOST)
    os.replace(journal(net) + '.copy', journal(net))
    check_votes_again(net)


def storage_damaged(net):
    """After kill -9 a bit of the tail of RocksDB's log flips, in the rows of a vote: all that comes
    after it is lost. The journal has the vote, and nothing is taken back."""
    promised = own(net, LOST)
    net.stop(LOST)
    with open(newest_log(net, LOST), 'r+b') as f:
        at = f.read().rindex(b'journal_mark/') + 60
        f.seek(at)
        byte = f.read(1)[0]
        f.seek(at)
        f.write(bytes([byte ^ 1]))
    said = len(log_of(net, LOST))
    net.start(LOST)
    healthy(net)
    text = log_of(net, LOST)[said:]
    if 'the storage lacks' not in text or 'votes again' in text:
        raise AssertionError('the log does not say what happened: %s' % text[-2000:])
    now = own(net, LOST)
    for what in ('last_vote', 'lock'):
        if not now[what] or int(now[what]['slot']) < int(promised[what]['slot']):
            raise AssertionError('%s is taken back: %s, and before %s' % (what, now[what], promised[what]))
    net.stop('bora')
    before = net.final('borb')
    wait_for('finality with ' + LOST, lambda: (net.final('borb') > before + 5, before))
    net.start('bora')
    healthy(net)
    nobody_convicted(net)


def storage_log(net):
    """A bit of the very last write flips, which need not be a vote's, or the whole log is gone: log and
    doctor name the storage, and what is missing comes from the peers."""
    folder = os.path.join(net.of(LOST)['data_dir'], 'state')
    for is_gone in (False, True):
        net.stop(LOST)
        logs = sorted((each for each in os.listdir(folder) if each.endswith('.log')),
                      key=lambda name: int(name.split('.')[0]))
        for name in logs if is_gone else []:
            os.remove(os.path.join(folder, name))
        if not is_gone:
            with open(os.path.join(folder, logs[-1]), 'r+b') as f:
                f.seek(-9, os.SEEK_END)
                byte = f.read(1)[0]
                f.seek(-9, os.SEEK_END)
                f.write(bytes([byte ^ 1]))
        said = len(log_of(net, LOST))
        net.start(LOST)
        healthy(net)
        words = 'is gone (no file *.log)' if is_gone else '.log is damaged: '
        text = log_of(net, LOST)[said:]
        found = [each['text'] for each in net.findings(LOST) if each['check'] == 'storage']
        if 'the storage lost writes: ' not in text or words not in text or words not in ''.join(found):
            raise AssertionError('%s: %s' % (found, text[-2000:]))
        if 'put an older journal in its place' in text:
            raise AssertionError('the journal is blamed: %s' % text[-2000:])
        print('  %s' % found[0])
    nobody_convicted(net)


def provider_gone(net):
    """The key of a validator leaves the configuration before it leaves the schedule."""
    home = os.path.dirname(net.of(LOST)['data_dir'])
    config = os.path.join(home, 'config', 'config.ini')
    with open(config, encoding='utf-8') as f:
        before = f.read()
    net.stop(LOST)
    key = net.cli('key', 'create', '--vote', '--journal', net.of(LOST)['data_dir'],
                  '--file', os.path.join(home, 'next.key')).strip().rsplit(' ', 1)[1]
    set_option(net, LOST, 'signature-provider', '%s=KEY:file:%s' % (key, os.path.join(home, 'next.key')))
    net.start(LOST)
    explained(net, LOST, 'silent', LOST + ' is in the schedule with the key', 'no signature-provider')
    net.stop(LOST)
    with open(config, 'w', encoding='utf-8') as f:
        f.write(before)
    net.start(LOST)


def lists(net):
    """A list that is read again on SIGHUP: who is denied goes, and comes back when it is not."""
    node_key = {each['name']: each['node_key'] for each in get(net, 'bora', '/v1/bor/peers')['peers']}['borb']
    path = os.path.join(net.dir, 'access')
    with open(path, 'w', encoding='utf-8') as f:
        f.write('# nobody is denied yet\n')
    net.stop('bora')
    net.commands['bora'] += ['--p2p-access-file', path]
    net.start('bora')
    healthy(net)

    def peers():
        return {each['name'] for each in get(net, 'bora', '/v1/bor/peers')['peers']
                if each['state'] == 'ready'}

    def say(text):
        with open(path, 'w', encoding='utf-8') as f:
            f.write(text)
        net.signal('bora', signal.SIGHUP)

    say('deny %s\n' % node_key)
    wait_for('borb to go', lambda: (peers() == {'borc', 'bord'}, peers()))
    say('deny nobody\n')
    wait_for('a word in the log', lambda: ('the lists stay as they were' in log_of(net, 'bora'), ''))
    if peers() != {'borc', 'bord'}:
        raise AssertionError('a file that is wrong was taken')
    say('')
    wait_for('borb to come back', lambda: (peers() == {'borb', 'borc', 'bord'}, peers()))


def amnesia(net):
    """Two of four get new disks at once: no block can become final that would end the wait of their
    keys. One start of each with --accept-amnesia is enough, and nothing undoes it."""
    renewed = ['borc', 'bord']
    for name in renewed:
        net.stop(name)
    said = {name: len(log_of(net, name)) for name in renewed}
    stood = max(net.final(name) for name in ('bora', 'borb'))
    for name in renewed:
        shutil.rmtree(net.of(name)['data_dir'])
        os.makedirs(net.of(name)['data_dir'])
        net.start(name, more=['--accept-amnesia'])
    wait_for('finality with the new disks', lambda: (net.final('bora') > stood + 5, stood))

    # Both vote: without another one, the three that are left are all needed.
    net.stop('borb')
    before = net.final('bora')
    wait_for('finality with both', lambda: (net.final('bora') > before + 5, before))
    net.start('borb')
    healthy(net)
    wait_for('a record on the chain', lambda: (amnesic(net).keys() == set(renewed), amnesic(net)))
    def reminded():
        texts = [each['text'] for each in net.findings('bora') if each['check'] == 'amnesia']
        return all(any('of %s went on without its safety journal' % name in text for text in texts)
                   for name in renewed), texts
    wait_for('a reminder of their keys', reminded)
    for name in renewed:
        text = log_of(net, name)[said[name]:]
        for words in ('does not know all that key', ' votes again\n'):
            if text.count(words) != 1:
                raise AssertionError('%s says "%s" %d times: %s'
                                     % (name, words.strip(), text.count(words), text[-2000:]))
    # The next start is as any other, and says nothing of it.
    net.stop('bord')
    said['bord'] = len(log_of(net, 'bord'))
    net.start('bord')
    voted = wait_for('the API of bord', lambda: (True, own(net, 'bord')))
    wait_for('a vote of bord', lambda: (slot_of(own(net, 'bord')) > slot_of(voted), voted))
    if 'does not know all that key' in log_of(net, 'bord')[said['bord']:]:
        raise AssertionError('the journal is lost again')


def newest_log(net, name):
    folder = os.path.join(net.of(name)['data_dir'], 'state')
    logs = [each for each in os.listdir(folder) if each.endswith('.log')]
    return os.path.join(folder, max(logs, key=lambda each: int(each.split('.')[0])))


def storages_cut(net):
    """All four lose the end of RocksDB's log at once: the journals hold more than f keys to a block that nobody
    has any more. Their doctors say so, and one start of each with --accept-amnesia goes on."""
    names = list(net.commands)
    for name in names:
        wait_for('rows of ' + name,
                 lambda name=name: (os.path.getsize(newest_log(net, name)) > 3 * CUT, name))
    net.stop_at_once(names)     # None may see another's last vote.
    for name in names:
        path = newest_log(net, name)
        os.truncate(path, os.path.getsize(path) - CUT)
        net.start(name)
    def find_locked():
        """Those that stay so: a peer may have the block on which a validator is locked that stopped earlier."""
        locked = [name for name in names if own(net, name)['lacks_lock']]
        time.sleep(3)
        return len(locked) > 1 and all(own(net, name)['lacks_lock'] for name in locked), locked
    locked = wait_for('keys that are locked', find_locked)
    for name in locked:
        explained(net, name, 'silent', 'is locked on a block that is not in the storage any more')
    stood = max(net.final(name) for name in names)
    before = amnesic(net)
    said = {name: len(log_of(net, name)) for name in locked}
    for name in names:
        net.stop(name)
    for name in names:
        net.start(name, more=['--accept-amnesia'])
    wait_for('finality', lambda: (net.final('bora') > stood + 5, stood))
    def recorded():
        """Three of four make blocks final, which frees the fourth, if it was slower: it gives up nothing then."""
        gave_up = {name for name in locked if 'gives up its lock' in log_of(net, name)[said[name]:]}
        now = amnesic(net)
        newly = {name for name in now if now[name] > before.get(name, 0)}
        return len(gave_up) >= len(locked) - 1 and gave_up == newly, (gave_up, before, now)
    wait_for('a record on the chain of each that gave up its lock', recorded)
    for name in locked:
        wait_for('%s to be free' % name, lambda name=name: (not own(net, name)['lacks_lock'], own(net, name)))
    healthy(net)
    nobody_convicted(net)


def nobody_convicted(net):
    for name in net.commands:
        if ACCUSATION in log_of(net, name):
            raise AssertionError('%s accuses somebody' % name)
        if get(net, name, '/v1/bor/evidence')['convicted']:
            raise AssertionError('somebody was convicted')


def twin(net):
    """A copy of a validator's directory starts at the same moment as the validator. The two never meet, since
    the copy is at an address that nobody dials; the others tell the later of them, which keeps still, but for a
    key that it has alone."""
    net.stop(LOST)
    home = os.path.dirname(net.of(LOST)['data_dir'])
    copy = home + '-copy'
    shutil.copytree(home, copy, ignore=shutil.ignore_patterns('*.sock'))
    config = os.path.join(home, 'config', 'config.ini')
    with open(config, encoding='utf-8') as f:
        before = f.read()
    spares = [add_spare(net, each) for each in (home, copy)]
    for option in ('p2p-listen-endpoint', 'http-server-address'):
        replace_option(copy, option, '127.0.0.1:0')
    said = len(log_of(net, LOST))
    command = [part.replace(home, copy) for part in net.commands[LOST]]
    with open(copy + '.log', 'wb') as log:
        net.start(LOST)
        other = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        def still():
            with open(copy + '.log', encoding='utf-8', errors='replace') as f:
                logs = {'the copy': f.read(), LOST: log_of(net, LOST)[said:]}
            quiet = [name for name, text in logs.items() if 'it signs nothing here' in text]
            return len(quiet) == 1, quiet or logs['the copy'][-2000:]
        quiet = wait_for('one of the two to keep still', still)
        print('  %s keeps still' % quiet[0])
        with open(copy + '.log', encoding='utf-8', errors='replace') as f:
            texts = f.read() + log_of(net, LOST)[said:]
        if any('key %s is used by another machine' % spare in texts for spare in spares):
            raise AssertionError('a key that only one machine has signs nothing: %s' % texts[-2000:])
        if quiet == [LOST]:
            explained(net, LOST, 'twin', 'is used on another machine')
    finally:
        other.kill()
        other.wait()
    net.stop(LOST)
    with open(config, 'w', encoding='utf-8') as f:
        f.write(before)
    net.start(LOST)
    healthy(net)
    nobody_convicted(net)
    shutil.rmtree(copy)


def add_spare(net, home):
    """A key that only the node of this directory has, as while one rotates."""
    file = os.path.join(home, 'spare.key')
    journals = os.path.join(home, os.path.basename(net.of(LOST)['data_dir']))
    key = net.cli('key', 'create', '--vote', '--journal', journals, '--file', file).strip().rsplit(' ', 1)[1]
    with open(os.path.join(home, 'config', 'config.ini'), 'a', encoding='utf-8') as f:
        f.write('signature-provider = %s=KEY:file:%s\n' % (key, file))
    return key


def slot_of(validator):
    return validator['last_vote']['slot'] if validator['last_vote'] else 0


def amnesic(net):
    return {each['producer']: each['amnesia_slot'] for each in get(net, 'bora', '/v1/bor/validators')['candidates']
            if each['amnesia_slot'] is not None}


def set_option(net, name, option, value):
    """Replaces an option in the node's config.ini."""
    replace_option(os.path.dirname(net.of(name)['data_dir']), option, value)


def replace_option(home, option, value):
    path = os.path.join(home, 'config', 'config.ini')
    with open(path, encoding='utf-8') as f:
        lines = [line for line in f.read().splitlines() if not line.startswith(option + ' ')]
    with open(path, 'w', encoding='utf-8') as f:
        f.write('\n'.join([*lines, '%s = %s' % (option, value)]) + '\n')


def refuse_without(net, member, path, name, key):
    """A recovery that leaves out a member is refused by a node which has the state it begins from."""
    with open(path, encoding='utf-8') as f:
        lines = [line for line in f if not line.startswith(('signature ', 'member %s ' % member))]
    other = path + '-other'
    with open(other, 'w', encoding='utf-8') as f:
        f.writelines(lines)
    net.cli('recover', 'sign', other, key)
    confirmed = net.cli('recover', 'check', other,
                        os.path.join(net.dir, 'genesis.json')).strip().rsplit(' ', 1)[1]
    net.stop(name)
    shutil.copyfile(other, os.path.join(net.of(name)['data_dir'], 'recovery.txt'))
    set_option(net, name, 'recover-from', confirmed)
    net.start(name)
    text = 'does not name the member ' + member
    wait_for('a refusal by ' + name, lambda: (text in log_of(net, name), log_of(net, name)[-500:]))


def expect_refusal(net, text, *words, **options):
    """The command fails, and says so."""
    try:
        said = net.cli(*words, **options)
    except RuntimeError as error:
        if text in str(error):
            return
        raise
    raise AssertionError('%s is not refused: %s' % (' '.join(words), said))


def refuses_remote_answer(net, name):
    """Nobody asks for an answer over TCP: the node would sign nothing more."""
    body = json.dumps({'chain_id': get(net, name, '/v1/chain/get_info')['chain_id']}).encode()
    request = urllib.request.Request(net.of(name)['http'] + '/v1/bor/answer_recovery', data=body, method='POST')
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            said = answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        said = error.code, error.read().decode()
    if said[0] != 403 or "only served on the node's Unix socket" not in said[1]:
        raise AssertionError('%s answers over TCP: %s' % (name, said))


def one_head(net, names):
    """Those that are left have told each other all that they have."""
    heads = {get(net, name, '/v1/chain/get_info')['head_block_id'] for name in names}
    return len(heads) == 1, heads


def refuse_what_was_changed(net, path, words):
    """recover make names what no node could use, before anybody signs it."""
    with open(path + '-borb', encoding='utf-8') as f:
        lines = f.read().splitlines()
    key = next(line for line in lines if line.startswith('replaces ') and ' borc ' in line).split()[-1]
    member = next(line for line in lines if line.startswith('member borb '))
    other = next(line for line in lines if line.startswith('member bord '))
    changed = path + '-changed'
    with open(changed, 'w', encoding='utf-8') as f:
        f.write('\n'.join('member borb ' + other.split()[2] if line == member else line for line in lines) + '\n')
    expect_refusal(net, 'the member borb is not the same in both', 'recover', 'make', path,
                   *words[:-1], changed)
    expect_refusal(net, 'is of the schedule that is replaced', 'recover', 'make', path, *words,
                   '--validator', 'borc=' + key)
    expect_refusal(net, 'leave it out', 'recover', 'make', path, *words, '--give-up-final')
    expect_refusal(net, 'once for each validator', 'recover', 'make', path, '--give-up-final')


def recovery(net):
    """Two of four are lost for ever: the others answer with what they know and sign nothing more, and the
    members sign a new first schedule. They are those of the chain as it is, who have other keys than in
    the genesis file."""
    survivors = ['bora', 'borb']
    began = {name: len(log_of(net, name)) for name in net.commands}
    with open(os.path.join(net.dir, 'network.json'), encoding='utf-8') as f:
        system_key = json.load(f)['system_key']['public']
    new_key = net.cli('wallet', 'create_key').split()[-1]
    for name in ('bora', 'borb', 'borc'):
        sent = json.loads(net.cli('-j', 'set', 'account', 'permission', name, 'active', new_key, 'owner',
                                  '-p', name + '@owner'))['transaction_id']
        wait_for('the new key of %s to be final' % name, lambda sent=sent: (
            'IRREVERSIBLE' in net.cli('get', 'transaction-status', sent), sent))
    expect_refusal(net, 'there is nothing to recover', 'recover', 'answer', os.path.join(net.dir, 'none'), '--yes',
                   url=socket_url(net.of('bora')['data_dir']))
    for name in net.commands:
        net.stop(name)
    keys = {}
    for name in survivors:
        home = os.path.dirname(net.of(name)['data_dir'])
        said = net.cli('key', 'create', '--vote', '--journal', net.of(name)['data_dir'],
                       '--file', os.path.join(home, 'recovery.key'))
        keys[name] = said.strip().rsplit(' ', 1)[1]
    for name in survivors:
        net.start(name)
    finals = {}
    for name in survivors:
        finals[name] = wait_for('the API of ' + name, lambda name=name: (True, net.final(name)))
    path = os.path.join(net.dir, 'recovery')
    words = [word for name in survivors for word in ('--validator', '%s=%s' % (name, keys[name]))]
    expect_refusal(net, 'signs nothing more', 'recover', 'answer', path, url=net.of('bora')['http'])
    wait_for('one head of both', lambda: one_head(net, survivors))
    for name in survivors:
        answer = path + '-' + name
        refuses_remote_answer(net, name)
        socket = socket_url(net.of(name)['data_dir'])
        # A path that cannot be written costs nobody his key.
        expect_refusal(net, '/nowhere/answer', 'recover', 'answer', '/nowhere/answer', '--yes', url=socket)
        if 'has answered a recovery' in net.cli('doctor', url=net.of(name)['http'], check=False):
            raise AssertionError(name + ' has stopped, and its answer is nowhere')
        net.cli('recover', 'answer', answer, '--yes', url=socket)
        words += ['--answer', answer]
    stopped = net.cli('doctor', url=net.of('bora')['http'], check=False)
    if 'has answered a recovery' not in stopped:
        raise AssertionError('doctor does not say that bora has stopped: ' + stopped)
    expect_refusal(net, '1 of 4 validators of schedule', 'recover', 'make', path, *words[:-2])
    refuse_what_was_changed(net, path, words)
    net.cli('recover', 'make', path, *words)
    genesis = os.path.join(net.dir, 'genesis.json')
    expect_refusal(net, 'members have signed', 'recover', 'check', path, genesis)
    net.cli('recover', 'sign', path, system_key)
    for text, key in (('has signed it already', system_key), ('is no key of a member', keys['bora']),
                      ("'bora' is no public key", 'bora')):
        expect_refusal(net, text, 'recover', 'sign', path, key)
    expect_refusal(net, 'choose another name, or remove it', 'recover', 'make', path, *words)
    expect_refusal(net, '1 of 4 members have signed', 'recover', 'check', path, genesis)
    net.cli('recover', 'sign', path, new_key)
    confirmed = net.cli('recover', 'check', path, genesis).strip().rsplit(' ', 1)[1]
    refuse_without(net, 'bord', path, 'bora', new_key)
    for name in survivors:
        net.stop(name)
        home = os.path.dirname(net.of(name)['data_dir'])
        shutil.copyfile(path, os.path.join(net.of(name)['data_dir'], 'recovery.txt'))
        set_option(net, name, 'recover-from', confirmed)
        set_option(net, name, 'signature-provider',
                   '%s=KEY:file:%s' % (keys[name], os.path.join(home, 'recovery.key')))
        net.start(name)
    before = max(finals.values())
    for name in survivors:
        wait_for('finality of ' + name, lambda name=name: (net.final(name) > before + 5, before))
    print('  final again from block %d on' % before)
    proved(net, path, confirmed, before)
    recovered(net, path, confirmed)
    for name in net.commands:
        if 'bad_block' in log_of(net, name)[began[name]:]:
            raise AssertionError('%s knows of a bad block: who follows another recovery is no offender' % name)


def proved(net, path, confirmed, before):
    """A proof leads over the recovery for who confirms it, and for nobody else."""
    proof = path + '-proof'
    names = ['--recover-from', confirmed]
    for height in ('2', str(before + 2)):
        expect_refusal(net, 'set recover-from = %s (--recover-from' % confirmed, 'proof', 'get', height)
        said = net.cli('proof', 'get', height, '--file', proof, *names)
        if 'recover-from ' + confirmed not in said:
            raise AssertionError('it does not say how to check it: ' + said)
        for more in ([], ['--recovery', path]):
            said = net.cli('proof', 'verify', proof, *names, *more)
            if 'proved: block %s ' % height not in said:
                raise AssertionError('block %s: %s' % (height, said))
        expect_refusal(net, 'set recover-from = %s (--recover-from' % confirmed, 'proof', 'verify', proof)
    expect_refusal(net, 'needs --recover-from ID', 'proof', 'verify', proof, '--recovery', path)
    other = '00' * 32
    expect_refusal(net, 'recovery %s, which recover-from names, is not among them' % other,
                   'proof', 'get', '2', *names, '--recover-from', other)
    said = net.cli('fork-proof', net.of('bora')['http'], net.of('borb')['http'], *names)
    if 'both agree' not in said:
        raise AssertionError(said)


def recovered(net, path, confirmed):
    """A blank node joins the chain that went through a recovery if its operator confirms that, and refuses
    it by name if not."""
    data = net.of(LOST)['data_dir']
    shutil.rmtree(data)
    os.makedirs(data)
    began = len(log_of(net, LOST))
    net.start(LOST)
    text = 'a recovery that this node does not know'
    wait_for('a refusal by ' + LOST,
             lambda: (text in log_of(net, LOST)[began:], log_of(net, LOST)[began:][-3000:]))
    # The file alone does nothing, which the log says.
    for recover_from, text in (('', 'recovery.txt is not followed: set recover-from to its ID'),
                               (confirmed, 'goes on from block')):
        net.stop(LOST)
        shutil.copyfile(path, os.path.join(data, 'recovery.txt'))
        set_option(net, LOST, 'recover-from', recover_from)
        began = len(log_of(net, LOST))
        net.start(LOST)
        wait_for('what %s says of its recovery' % LOST,
                 lambda began=began, text=text: (text in log_of(net, LOST)[began:], log_of(net, LOST)[began:][-3000:]))
    goal = net.final('bora')
    wait_for('%s at block %d' % (LOST, goal), lambda: (net.final(LOST) >= goal, net.final(LOST)))
    # A new node hears of it before its first start.
    line = net.cli('network', 'invite').strip()
    with subprocess.Popen([os.path.join(net.bin, 'bor-cli'), '--dir', os.path.join(net.dir, 'new'), 'network', 'up',
                           '--join', line, '--name', 'new1'], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True) as joining:
        said = ''
        while 'waiting until this node is registered' not in said:
            said += joining.stdout.readline() or '\n(ended)'
            if '(ended)' in said:
                break
        joining.kill()
    if 'recover-from = ' + confirmed not in said:
        raise AssertionError('it does not name the recovery: ' + said)


SITUATIONS = [journal_gone, journal_damaged, journal_from_copy, storage_damaged, storage_log, provider_gone, twin,
              lists, amnesia, storages_cut, recovery]     # The last is for ever.


if __name__ == '__main__':
    sys.exit(run(__doc__, SITUATIONS))
