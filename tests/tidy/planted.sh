#!/usr/bin/env bash
# The guards must be able to fail: plants one violation of each kind in a copy of a small tree
# and requires that each is found.
set -euo pipefail
tidy=$(realpath "$1")
source=$(realpath "$(dirname "$0")/../..")
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
cd "$root"

# must_find <guard command> -- <file> <<< contents
must_find() {
  local name=$1 file=$2 text=$3
  shift 3
  mkdir -p "$(dirname "$file")"
  printf '%s\n' "$text" > "$file"
  if "$@" > /dev/null 2>&1; then
    echo "guard '$name' did not find the violation planted in $file" >&2
    exit 1
  fi
  rm -f "$file"
}

must_find layering chain/types/a.hpp '#include "node/core/core.hpp"' "$tidy" .
must_find clock consensus/a.cpp 'auto t = std::chrono::steady_clock::now();' "$tidy" .
must_find thread base/a.cpp 'std::thread worker;' "$tidy" .
must_find mutex chain/a.cpp 'std::mutex lock;' "$tidy" .
must_find floating chain/state/a.cpp 'double sum = 0;' "$tidy" .
must_find order chain/a.cpp 'std::unordered_map<int, int> map;' "$tidy" .
must_find columns base/a.cpp "// $(printf 'x%.0s' {1..110})" "$tidy" .
must_find lines base/a.cpp "$(yes '// line' | head -601)" "$tidy" .
must_find relative base/a.cpp '#include "a.hpp"' "$tidy" .
cp "$source/.clang-format" "$source/.clang-tidy" .
must_find format base/a.cpp 'int   main( ){return 0 ;}' clang-format-16 --dry-run -Werror base/a.cpp

# clang-tidy as ./test.sh runs it: files together, and apart where their names clash.
git init -q .
echo '[]' > compile_commands.json
lint() { git add -A && "$source/tests/tidy/lint.py" .; }
mkdir -p base
echo 'static int twice(int x) { return 2 * x; } int b() { return twice(1); }' > base/b.cpp
lint > /dev/null
must_find clang-tidy base/a.cpp 'int* make() { return new int(1); }' lint
must_find clang-tidy base/a.cpp 'static int twice(int x) { return 2 * x; }
int* make() { return new int(twice(1)); }' lint
rm base/b.cpp
"$tidy" .
echo "12 planted violations found"
