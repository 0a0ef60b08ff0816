#!/usr/bin/env python3
"""Checks that contracts are what the virtual machine takes: WebAssembly 1.0 without later features,
host functions with their exact signatures as the only imports, apply(i64, i64, i64) as entry.

usage: check_wasm.py HOST_FUNCTIONS WASM...      exit status 1 when something is found
"""
import subprocess
import sys

LATER_FEATURES = ['mutable-globals', 'saturating-float-to-int', 'sign-extension', 'simd',
                  'multi-value', 'bulk-memory', 'reference-types']
TYPES = {0x7f: 'i32', 0x7e: 'i64', 0x7d: 'f32', 0x7c: 'f64'}
INITIALIZED_BYTES_MAX = 65536   # Antelope's max_linear_memory_init.
INITIAL_PAGES_MAX = 2
STACK_BYTES = 8192
MODULE_BYTES_MAX = 128 * 1024   # Ours, for the broker; the chain takes 512 KiB.


class Module:
    """The parts of a module that are checked."""

    def __init__(self, data):
        self.data, self.at = data, 8
        self.types, self.imports, self.functions, self.exports = [], [], [], {}
        self.pages, self.initialized, self.stack_pointer, self.start = 0, 0, 0, False
        while self.at < len(data):
            section = self.byte()
            end = self.number() + self.at
            {1: self.read_types, 2: self.read_imports, 3: self.read_functions,
             5: self.read_memory, 6: self.read_globals, 7: self.read_exports,
             8: self.read_start, 11: self.read_data}.get(section, lambda: None)()
            self.at = end

    def byte(self):
        self.at += 1
        return self.data[self.at - 1]

    def number(self, signed=False):
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value - (1 << shift) if signed and byte & 64 else value

    def text(self):
        size = self.number()
        self.at += size
        return self.data[self.at - size:self.at].decode()

    def value_types(self):
        return [TYPES[self.byte()] for _ in range(self.number())]

    def read_types(self):
        for _ in range(self.number()):
            self.byte()
            parameters = ' '.join(self.value_types()) or '-'
            self.types.append(parameters + ' -> ' + (' '.join(self.value_types()) or '-'))

    def read_imports(self):
        for _ in range(self.number()):
            module, name, kind = self.text(), self.text(), self.byte()
            if kind != 0:
                raise ValueError('imports something that is not a function: ' + name)
            self.imports.append((module, name, self.types[self.number()]))

    def read_functions(self):
        self.functions = [self.types[self.number()] for _ in range(self.number())]

    def read_memory(self):
        for _ in range(self.number()):
            flags = self.number()
            self.pages = self.number()
            if flags:
                self.number()

    def read_globals(self):
        if self.number() > 0:
            self.at += 3            # The type, whether it is mutable, and i32.const.
            self.stack_pointer = self.number(signed=True)

    def read_exports(self):
        for _ in range(self.number()):
            name, kind = self.text(), self.byte()
            self.exports[name] = (kind, self.number())

    def read_start(self):
        self.start = True

    def read_data(self):
        for _ in range(self.number()):
            self.number()
            self.byte()
            offset = self.number(signed=True)
            self.byte()
            size = self.number()
            self.at += size
            self.initialized = max(self.initialized, offset + size)


def findings(path, host):
    validate = ['wasm-validate'] + ['--disable-' + feature for feature in LATER_FEATURES]
    run = subprocess.run(validate + [path], capture_output=True, text=True, check=False)
    if run.returncode != 0:
        return ['not valid: ' + run.stderr.strip()]
    with open(path, 'rb') as file:
        data = file.read()
    module = Module(data)
    found = ['imports %s.%s %s' % each for each in module.imports
             if each[0] != 'env' or host.get(each[1]) != each[2]]
    kind, index = module.exports.get('apply', (None, 0))
    if kind != 0 or module.functions[index - len(module.imports)] != 'i64 i64 i64 -> -':
        found.append('does not export apply(i64, i64, i64)')
    if set(module.exports) != {'apply', 'memory'}:
        found.append('exports %s' % sorted(module.exports))
    if module.start:
        found.append('has a start function')
    if module.pages > INITIAL_PAGES_MAX:
        found.append('begins with %d pages of memory' % module.pages)
    if module.initialized > INITIALIZED_BYTES_MAX:
        found.append('initializes memory up to %d' % module.initialized)
    if module.stack_pointer != STACK_BYTES:
        found.append('the stack does not begin at %d: %d' % (STACK_BYTES, module.stack_pointer))
    if len(data) > MODULE_BYTES_MAX:
        found.append('has %d bytes, more than %d' % (len(data), MODULE_BYTES_MAX))
    return found


def main():
    with open(sys.argv[1], encoding='ascii') as file:
        lines = [line.rstrip('\n') for line in file if not line.startswith('#')]
    host = dict(line.split(' ', 1) for line in lines)
    bad = 0
    for path in sys.argv[2:]:
        for finding in findings(path, host):
            print('%s: %s' % (path, finding))
            bad = 1
    print('%d contracts' % len(sys.argv[2:]))
    return bad


if __name__ == '__main__':
    sys.exit(main())
