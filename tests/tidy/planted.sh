#!/usr/bin/env bash
# The guards must be able to fail: plants one violation of each kind in a copy of a small tree
# and requires that each is found.
set -euo pipefail
tidy=$(realpath "$1")
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
must_find format base/a.cpp 'int   main( ){return 0 ;}' clang-format-16 --dry-run -Werror base/a.cpp
must_find clang-tidy base/a.cpp 'int* make() { return new int(1); }' clang-tidy-16 --quiet \
  --checks=-*,cppcoreguidelines-owning-memory --warnings-as-errors=* base/a.cpp --
"$tidy" .
echo "11 planted violations found"
