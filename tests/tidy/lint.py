#!/usr/bin/env python3
"""clang-tidy over every source file, a folder at a time.

lint.py BUILD [PATH...]     BUILD holds compile_commands.json; PATHs: only these files or folders

Most of clang-tidy's time goes into the headers of libraries. The files of a folder are therefore
read as one: a file that includes them all. Where two of them use one name for different things,
one is read apart. That file lies in a copy of the tree that holds nothing but the .clang-tidy files,
in the place of its folder: so the rules of that folder hold for it.
"""
import collections
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

IGNORED = re.compile(r"^(contracts|tests/contracts/[^/]+)/")


def sources():
    files = subprocess.run(["git", "ls-files", "*.cpp"], capture_output=True, text=True, check=True)
    return [f for f in files.stdout.split() if not IGNORED.match(f)]


def flags_by_file(build):
    """The flags that decide what a file means. What this build does not compile gets the union."""
    flags = {}
    for entry in json.load(open(os.path.join(build, "compile_commands.json"))):
        words = shlex.split(entry["command"])
        found = [w for w in words if w.startswith(("-I", "-D", "-std="))]
        found += [x for w, v in zip(words, words[1:]) if w == "-isystem" for x in (w, v)]
        for file in batched(entry["file"], build):
            flags[os.path.relpath(file)] = tuple(found)
    return flags


def batched(file, build):
    """The sources that a file of cmake/batches.py includes; any other file itself."""
    if not os.path.relpath(file, build).startswith("batches/"):
        return [file]
    text = open(file).read()
    return [os.path.normpath(os.path.join(os.path.dirname(file), name))
            for name in re.findall(r'#include "(.*)"', text)]


def groups_of(files, flags):
    groups = collections.defaultdict(list)
    for file in files:
        of_file = flags.get(file, ("-std=c++20", "-I" + os.getcwd()))
        groups[os.path.dirname(file), of_file].append(file)
    return groups


def copy_rules(directory):
    listed = subprocess.run(["git", "ls-files", "-co", ".clang-tidy", "*/.clang-tidy"],
                            capture_output=True, text=True, check=True)
    for rules in listed.stdout.split():
        copy = os.path.join(directory, rules)
        os.makedirs(os.path.dirname(copy), exist_ok=True)
        shutil.copy(rules, copy)


def include_all(files, directory):
    path = os.path.join(directory, files[0] + f"_and_{len(files) - 1}.cpp")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as out:
        out.writelines(f'#include "{os.path.abspath(f)}"\n' for f in files)
    return path


def unambiguous(files, flags, directory):
    """The files as lists that can be read as one file each."""
    if len(files) == 1:
        return [files]
    parsed = subprocess.run(["clang++-16", "-fsyntax-only", "-w", "-ferror-limit=0", *flags,
                             include_all(files, directory)], capture_output=True, text=True)
    if parsed.returncode == 0:
        return [files]
    wrong = {line.split(":")[0] for line in parsed.stderr.splitlines() if " error: " in line}
    clashing = [f for f in files[1:] if os.path.abspath(f) in wrong] or files[len(files) // 2:]
    rest = [f for f in files if f not in clashing]
    return unambiguous(rest, flags, directory) + unambiguous(clashing, flags, directory)


def lint(files, flags, directory):
    """Whether nothing is found; findings are printed."""
    unit = include_all(files, directory) if len(files) > 1 else files[0]
    command = ["clang-tidy-16", "--quiet", "--checks=-bugprone-suspicious-include", unit,
               "--", "-Wno-everything", *flags]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        print(done.stdout + done.stderr, flush=True)
    return done.returncode == 0


def lint_folder(files, flags, directory):
    return all([lint(part, flags, directory) for part in unambiguous(files, flags, directory)])


def main():
    build, paths = sys.argv[1], [p.rstrip("/") for p in sys.argv[2:]]
    files = [f for f in sources() if not paths or f in paths or os.path.dirname(f) in paths]
    groups = groups_of(files, flags_by_file(build))
    with tempfile.TemporaryDirectory() as directory, ThreadPoolExecutor(os.cpu_count()) as pool:
        copy_rules(directory)
        work = [pool.submit(lint_folder, group, flags, directory)
                for (_, flags), group in sorted(groups.items(), key=lambda g: -len(g[1]))]
        clean = all([w.result() for w in work])
    print(f"clang-tidy: {len(files)} files, " + ("no finding" if clean else "findings above"))
    sys.exit(0 if clean else 1)


main()
