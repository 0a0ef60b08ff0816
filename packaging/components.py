#!/usr/bin/env python3
"""What the package's programs are made of, as an SPDX 2.3 document: components.py BUILD_DIR VERSION

Debian packages whose libraries are loaded, and those whose headers are compiled in, as ninja recorded it when it built
the programs, and those that the contracts are compiled with. The time is SOURCE_DATE_EPOCH, else that of bor-node.
"""
import hashlib
import json
import os
import re
import subprocess
import sys
import time
import urllib.parse

CONTRACTS = {'libc++-16-dev-wasm32', 'libclang-rt-16-dev-wasm32'}
PROGRAMS = ('bor-node', 'bor-cli', 'bor-wallet', 'bor-transport-probe', 'bor-transport-bench')


def output(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def headers_of(build):
    """{an object file: the headers of the system that it includes}."""
    found, current = {}, None
    for line in output('ninja', '-C', build, '-t', 'deps').splitlines():
        if line and not line.startswith(' '):
            current = found.setdefault(line.split(': #deps')[0], set())
        elif line.startswith('    /usr/') and not line.startswith('    /usr/local/'):
            current.add(os.path.realpath(line.strip()))
    return found


def libraries_of(program):
    """The libraries that a program names itself; those that they need in turn are of their packages."""
    named = set(re.findall(r'\(NEEDED\).*\[(.*)\]', output('readelf', '-d', program)))
    return {os.path.realpath(path) for name, path in re.findall(r'(\S+) => (/\S+)', output('ldd', program)) if name in named}


def files_of(build):
    """The libraries and the headers that the programs need."""
    headers, libraries, compiled_in = headers_of(build), set(), set()
    for name in PROGRAMS:
        program = os.path.join(build, 'bin', name)
        if not os.path.exists(program):   # A build without RDMA has three.
            continue
        libraries |= libraries_of(program)
        for each in output('ninja', '-C', build, '-t', 'inputs', 'bin/' + name).splitlines():
            compiled_in |= headers.get(each, set())
    return libraries, compiled_in


def packages_of(files):
    """Those that own these files. A file of none is an error: the list would not be whole."""
    names = set()
    wanted = sorted(files)
    for start in range(0, len(wanted), 500):
        part = wanted[start:start + 500]
        # A path that was merged into /usr is recorded without it.
        tried = part + [each[len('/usr'):] for each in part if each.startswith('/usr/lib/')]
        lines = subprocess.run(['dpkg-query', '-S', *tried], check=False, capture_output=True, text=True).stdout.splitlines()
        owners = {line.rsplit(': ', 1)[1]: line.rsplit(': ', 1)[0] for line in lines}
        for each in part:
            owner = owners.get(each) or owners.get(each[len('/usr'):])
            if owner is None:
                sys.exit('components.py: no package has ' + each)
            names.update(name.strip() for name in owner.split(','))
    return names


def described(name):
    form = '${Package}\\t${Version}\\t${source:Package}\\t${source:Version}\\t${Architecture}\\t${Homepage}\\n'
    fields = output('dpkg-query', '-W', '-f', form, name).rstrip('\n').split('\t')
    package, version, source, source_version, architecture, homepage = fields
    return {
        'SPDXID': 'SPDXRef-' + package.replace('+', '-plus').replace('_', '-'),
        'name': package,
        'versionInfo': version,
        'supplier': 'Organization: Debian',
        'downloadLocation': 'NOASSERTION',
        'filesAnalyzed': False,
        'licenseConcluded': 'NOASSERTION',
        'licenseDeclared': 'NOASSERTION',
        'copyrightText': 'NOASSERTION',
        'sourceInfo': 'of the source package %s %s; licence: /usr/share/doc/%s/copyright' % (source, source_version, package),
        **({'homepage': homepage} if homepage else {}),
        'externalRefs': [{'referenceCategory': 'PACKAGE-MANAGER', 'referenceType': 'purl',
                          'referenceLocator': 'pkg:deb/debian/%s@%s?arch=%s' % (*(urllib.parse.quote(word, safe='') for word in (package, version)), architecture)}]}


def document(build, version):
    libraries, compiled_in = (packages_of(files) for files in files_of(build))
    compiled_in |= CONTRACTS
    ours = {'SPDXID': 'SPDXRef-bor', 'name': 'bor', 'versionInfo': version, 'supplier': 'Organization: The BoR authors',
            'downloadLocation': 'NOASSERTION', 'filesAnalyzed': False, 'licenseConcluded': 'MIT', 'licenseDeclared': 'MIT',
            'copyrightText': 'Copyright (c) 2026 The BoR authors'}
    packages = [ours] + [described(name) for name in sorted(libraries | compiled_in)]
    ids = {each['name']: each['SPDXID'] for each in packages}
    relations = [{'spdxElementId': 'SPDXRef-DOCUMENT', 'relationshipType': 'DESCRIBES', 'relatedSpdxElement': 'SPDXRef-bor'}]
    for kind, names in (('DYNAMIC_LINK', libraries), ('STATIC_LINK', compiled_in)):
        relations += [{'spdxElementId': 'SPDXRef-bor', 'relationshipType': kind, 'relatedSpdxElement': ids[name.split(':')[0]]}
                      for name in sorted(names)]
    digest = hashlib.sha256(json.dumps(packages).encode()).hexdigest()[:16]
    made = int(os.environ.get('SOURCE_DATE_EPOCH') or os.path.getmtime(os.path.join(build, 'bin', PROGRAMS[0])))
    return {'spdxVersion': 'SPDX-2.3', 'dataLicense': 'CC0-1.0', 'SPDXID': 'SPDXRef-DOCUMENT', 'name': 'bor-' + version,
            'documentNamespace': 'https://bor.invalid/spdx/bor-%s-%s' % (version, digest),
            'creationInfo': {'created': time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(made)),
                             'creators': ['Organization: The BoR authors', 'Tool: packaging/components.py']},
            'packages': packages, 'relationships': relations}


if __name__ == '__main__':
    if len(sys.argv) != 3:
        sys.exit('usage: components.py BUILD_DIR VERSION')
    print(json.dumps(document(sys.argv[1], sys.argv[2]), indent=1))
