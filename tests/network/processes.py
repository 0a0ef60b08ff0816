"""Processes that are no children of the test."""


def has_ended(pid):
    """Ended, though its parent may not have noticed. Its first thread may end before others, and these hold its
    files."""
    try:
        with open('/proc/%d/status' % pid, encoding='utf-8') as file:
            status = file.read()
    except (FileNotFoundError, ProcessLookupError):
        return True
    return 'State:\tZ' in status and 'Threads:\t1\n' in status
