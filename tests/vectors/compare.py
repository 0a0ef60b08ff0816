"""How an answer is compared with the recorded one: see README.md."""
import re

# Values that differ from run to run even where a case is compared strictly.
VOLATILE = re.compile(r'(^|\.)(file|line_number|elapsed|total_cpu_usage_us|cpu_usage_us|message'
                      r'|thread_name|timestamp|method)(\.|\[|$)')
# Values that are always compared.
EXACT = re.compile(r'(^|\.)(code|name|what)$')


def kind(value):
    if isinstance(value, bool):
        return 'bool'
    if isinstance(value, (int, float)):
        return 'number'
    return {str: 'string', dict: 'object', list: 'array', type(None): 'null'}[type(value)]


def diff_objects(want, got, path, strict):
    found = []
    for key in want:
        if key in got:
            found += diff(want[key], got[key], path + '.' + key, strict)
        else:
            found.append('%s.%s: missing' % (path, key))
    return found + ['%s.%s: not in the recording' % (path, key) for key in got if key not in want]


def diff_lists(want, got, path, strict):
    found = []
    counts = '%s: %d entries expected, got %d' % (path, len(want), len(got))
    # Which transactions share a block is chance; deltas depend on the cases before.
    by_chance = path.endswith('.transactions')
    if bool(want) != bool(got) and not path.endswith('account_ram_deltas'):
        found.append(counts)
    elif strict and not by_chance and len(want) != len(got):
        found.append(counts)
    for i, (left, right) in enumerate(zip(want, got)):
        at = '%s[%d]' % (path, i)
        if by_chance and isinstance(left, dict) and isinstance(right, dict):
            found += ['%s.%s: only on one side' % (at, key) for key in set(left) ^ set(right)]
        else:
            found += diff(left, right, at, strict and not by_chance)
    return found


def diff(want, got, path='', strict=False):
    """What differs in structure, and in values where they are compared."""
    if path.endswith('last_handshake.time'):
        return []       # 0 before the first handshake, then a string of nanoseconds.
    if kind(want) != kind(got):
        return ['%s: %s expected, got %s' % (path or '.', kind(want), kind(got))]
    if isinstance(want, dict):
        return diff_objects(want, got, path, strict)
    if isinstance(want, list):
        return diff_lists(want, got, path, strict)
    compared = EXACT.search(path) or strict and not VOLATILE.search(path)
    return ['%s: %r expected, got %r' % (path, want, got)] if compared and want != got else []


def diff_errors(want, got):
    error, other = want['error'], got.get('error') or {}
    found = ['%s: %r expected, got %r' % (key, want.get(key), got.get(key))
             for key in ('code', 'message') if want.get(key) != got.get(key)]
    if isinstance(error, dict):
        found += ['error.%s: %r expected, got %r' % (key, error.get(key), other.get(key))
                  for key in ('code', 'name', 'what') if error.get(key) != other.get(key)]
        if set(error) != set(other):
            found.append('error keys: %s expected, got %s' % (sorted(error), sorted(other)))
    return found


def compare(case, status, value, answer='response', status_key='status', strict=False):
    """A line for each difference; none: the answer agrees."""
    how, want = case.get('compare', 'structure'), case[answer]
    found = []
    if status != case[status_key]:
        found.append('status %s expected, got %s' % (case[status_key], status))
    if how == 'status':
        return found
    if isinstance(want, dict) and 'error' in want and isinstance(value, dict):
        return found + diff_errors(want, value)
    return found + diff(want, value, strict=strict or how == 'exact')
