#!/usr/bin/env python3
"""Two validators on two virtual machines that share the memory of a PCI device with doorbells, and a
network with RDMA: of both they choose the device, agree by it, and again after one of them was
killed, and stood still for 10 s. The device is removed in use, with its driver and, when it is back,
without: they go on by RDMA, as with one that is told of no device. The network is made here; each
machine of vm/run.sh runs one validator, and the second machine asks both.

usage: pci_network.py --build BUILD_DIR
"""
import argparse
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.parse

import network

DEVICES = '/sys/bus/pci/devices'
IVSHMEM = '0x1110'
END_PORT = 7000


# --- Outside: the network is made ---

def outside(options):
    return network.run_inside(
        options, 2, ['--nodes', '2', '--cpus', '1', '--mem', '1536M', '--ivshmem', 'doorbell',
                     '--iommu', '--modules', 'vfio-pci vfio_iommu_type1'])


# --- Inside: it runs ---

def address(machine):
    return '10.77.0.%d' % (machine + 1)


def read(path):
    with open(path, encoding='utf-8') as f:
        return f.read()


def write(path, text):
    with open(path, 'w', encoding='utf-8') as f:
        f.write(text)


def device_with_doorbells():
    """Gives the device to vfio-pci: its slot."""
    slot = next(name for name in sorted(os.listdir(DEVICES))
                if read(os.path.join(DEVICES, name, 'device')).strip() == IVSHMEM)
    write('/sys/module/vfio_iommu_type1/parameters/allow_unsafe_interrupts', 'Y')
    write(os.path.join(DEVICES, slot, 'driver_override'), 'vfio-pci')
    write('/sys/bus/pci/drivers_probe', slot)
    return slot


class Machines(network.Nodes):
    """One validator a machine; this one's is started here, both are asked."""

    def __init__(self, plan):
        super().__init__(plan)
        del self.plan[network.BLANK]
        self.children = {}
        for machine, each in enumerate(self.plan.values()):
            each['http'] = 'http://%s:%d' % (address(machine),
                                             urllib.parse.urlsplit(each['http']).port)

    def set_up(self, name):
        """What differs from a network on one machine: the addresses."""
        command = self.plan[name]['command']
        file = os.path.join(command[command.index('--config-dir') + 1], 'config.ini')
        ours, theirs = ((address(i) for i in (self.device(name), 1 - self.device(name))))
        out = ['transport = auto']
        for line in read(file).splitlines():
            key = line.split('=')[0].strip()
            if key in ('http-server-address', 'p2p-listen-endpoint'):
                line = line.replace('127.0.0.1', ours)
            if key == 'p2p-peer-address':
                line = line.replace('127.0.0.1', theirs)
            out.append(line)
        write(file, '\n'.join(out) + '\n')

    def start(self, name, *options):
        with open('/tmp/%s.log' % name, 'ab') as log:
            self.children[name] = subprocess.Popen([*self.plan[name]['command'], *options],
                                                   stdout=log, stderr=log)

    def settled(self, what, kind):
        """They speak by this kind, and blocks become final."""
        names = list(self.plan)

        def paths():
            kinds = [self.kinds(name) for name in names]
            return kinds == [{names[1]: kind}, {names[0]: kind}], \
                [self.ask(name, '/v1/bor/transports') for name in names]
        network.wait_for(what, paths)
        network.goes_on(self, '  finality', names)


def serve(nodes, name, slot):
    """Until the other machine has asked all that it wants to know."""
    with socket.create_server((address(0), END_PORT)) as server:
        nodes.start(name, '--ntb-device', slot)
        server.settimeout(600)
        connection, _ = server.accept()
        connection.close()


def stopped(nodes, name):
    """Long enough for the other to give it up."""
    other = next(each for each in nodes.plan if each != name)
    nodes.children[name].send_signal(signal.SIGSTOP)
    try:
        time.sleep(10)
        network.wait_for('no window to %s, which stands still' % name, lambda: (
            nodes.kinds(other).get(name) != 'ntb', nodes.reasons([other])))
    finally:
        nodes.children[name].send_signal(signal.SIGCONT)
    nodes.settled('the window again after 10 s of standing still', 'ntb')


def remove(nodes, name, slot):
    """Returns when nobody has the device any more."""
    write(os.path.join(DEVICES, slot, 'remove'), '1')
    nodes.settled('RDMA after the device was removed in use', 'rdma')
    reason = next(each['why_not'] for each in nodes.ask(name, '/v1/bor/transports')['transports']
                  if each['kind'] == 'ntb')
    if 'PCI device has been removed' not in reason:
        raise AssertionError('the device was removed, and the node says: %s' % reason)


def ask(nodes, name, slot):
    nodes.start(name, '--ntb-device', slot)
    nodes.settled('a window between two machines', 'ntb')
    if 'doorbells=true' not in read('/tmp/%s.log' % name):
        raise AssertionError('the device has no doorbells')
    nodes.stop(name)
    nodes.start(name, '--ntb-device', slot)
    nodes.settled('the window again after kill -9', 'ntb')
    stopped(nodes, name)
    print('  bytes that each has of the other: %s' % [
        int(peer['bytes_in']) for each in nodes.plan for peer in nodes.paths(each)])
    remove(nodes, name, slot)
    nodes.stop(name)
    # Without its driver: it is looked at instead of ringing, and goes without a question.
    write('/sys/bus/pci/rescan', '1')
    nodes.start(name, '--ntb-device', slot)
    nodes.settled('the window again without a driver', 'ntb')
    remove(nodes, name, slot)
    nodes.stop(name)
    nodes.start(name)
    nodes.settled('RDMA with a node that names no device', 'rdma')


def tell_end():
    """To the other machine. It may have failed before; what failed here is not to be hidden."""
    try:
        socket.create_connection((address(0), END_PORT), timeout=30).close()
    except OSError as error:
        print('the other machine could not be told of the end: %s' % error, file=sys.stderr)


def inside(options):
    nodes = Machines(options.inside)
    machine = int(os.environ['RDMA_NODE'])
    name = list(nodes.plan)[machine]
    nodes.set_up(name)
    try:
        (serve, ask)[machine](nodes, name, device_with_doorbells())
        return 0
    except Exception:
        subprocess.run(['tail', '-n', '25', '/tmp/%s.log' % name], check=False)
        raise
    finally:
        if machine == 1:
            tell_end()
        for each in list(nodes.children):
            nodes.stop(each)


if __name__ == '__main__':
    sys.exit(network.main(
        argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter),
        outside, inside))
