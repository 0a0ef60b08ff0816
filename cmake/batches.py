#!/usr/bin/env python3
"""Which sources are compiled together: batches.py OUT SOURCE...

Most of a compiler's time goes into headers and templates, the same ones in each file of a folder.
This script writes files into OUT that include up to FILES sources each, and prints their paths with
semicolons between. Two sources share a file only where neither has a word that the other declares in
an anonymous namespace, so that no name changes its meaning.
"""
import os
import re
import sys

FILES, LINES = 10, 2500
ANONYMOUS = re.compile(r"^namespace \{\n(.*?)^\}  // namespace$", re.M | re.S)
# What clang-format leaves at the first column is declared in the namespace itself.
DECLARED = re.compile(r"^(?!template|using|static_assert|TEST_CASE)"
                      r"(?:.*?\b(?:struct|enum class|class|enum) (\w+)|[^\s/#}].*?\b(\w+)\s*[(={\[;])", re.M)
ALIAS = re.compile(r"^using (\w+) =", re.M)
USED = re.compile(r"^ *using ((?:\w+::)+)(\w+);", re.M)
# These would reach the sources that follow: macros, and headers that exclude others.
APART = re.compile(r"^#\s*(?:define|undef)|^#include <linux/|^// Compiled apart", re.M)
# A place in which a rule of production can be left out (chain/types/rule.hpp): such sources are
# compiled twice, and nothing else may come with them.
SWITCHED = re.compile(r"is_left_out\((?:chain::)?Rule::")


class Source:
    def __init__(self, path):
        self.path = path
        with open(path) as file:
            text = file.read()
        self.lines = text.count("\n")
        self.kind = (os.path.dirname(path), bool(SWITCHED.search(text)),
                     path if APART.search(text) else "")
        # Members, and names that say which namespace is meant, are nobody else's.
        code = re.sub(r'//.*|"(?:[^"\\\n]|\\.)*"|(?:\.|->|::)\w+', "", text)
        self.words = set(re.findall(r"\w+", code))
        self.used = {name: space for space, name in USED.findall(text)}
        self.hidden = {name for part in ANONYMOUS.findall(text)
                       for found in DECLARED.findall(part) for name in found if name}
        self.hidden.update(ALIAS.findall(text))

    def clashes(self, other):
        return (self.hidden & other.words or other.hidden & self.words
                or self.brings(other) or other.brings(self))

    def brings(self, other):
        """Whether a name that is used here from a namespace means something else there."""
        return {name for name, space in self.used.items()
                if name in other.words and other.used.get(name) != space}


def batches(sources):
    out = []
    for source in sources:
        for batch in out:
            if (batch[0].kind == source.kind and len(batch) < FILES
                    and sum(s.lines for s in batch) + source.lines <= LINES
                    and not any(source.clashes(s) for s in batch)):
                batch.append(source)
                break
        else:
            out.append([source])
    return out


def write(path, text):
    """Leaves a file alone that says this already: what is built from it stays valid."""
    try:
        with open(path) as file:
            if file.read() == text:
                return
    except FileNotFoundError:
        pass
    with open(path, "w") as file:
        file.write(text)


def main():
    directory, paths = sys.argv[1], sys.argv[2:]
    os.makedirs(directory, exist_ok=True)
    out = []
    for batch in batches([Source(p) for p in sorted(paths)]):
        if len(batch) == 1:
            out.append(batch[0].path)
            continue
        first = os.path.splitext(os.path.basename(batch[0].path))[0]
        path = os.path.join(directory, f"{first}_and_{len(batch) - 1}.cpp")
        # Relative, so that a compiler's cache serves another place of the same tree.
        write(path, "".join(f'#include "{os.path.relpath(s.path, directory)}"\n' for s in batch))
        out.append(path)
    print(";".join(out), end="")


main()
