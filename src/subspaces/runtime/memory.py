"""Free memory in bytes, checked before large arrays are made, so that an error can be raised."""

import os
from contextlib import suppress
from pathlib import Path

# Folder, limit and usage of Linux' control groups, version 2 and version 1.
GROUPS = (
    ("/sys/fs/cgroup", "memory.max", "memory.current"),
    ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"),
)

# Bytes up to which a request passes unchecked: the check takes as long as a small fit.
LITTLE = 1 << 22


def available() -> int | None:
    """Return how many bytes the process can still allocate; None on systems other than Linux."""
    found = [*_of_the_machine(), *_of_the_group(), *_of_the_process()]
    return max(min(found), 0) if found else None


def no_room(needed: int) -> str | None:
    """Return why ``needed`` bytes exceed the free memory; None if they fit or it is unknown."""
    free = available() if needed > LITTLE else None
    if free is None or needed <= free:
        return None
    return f"needs about {in_words(needed)} of memory, but only {in_words(free)} is free"


def in_words(n_bytes: int) -> str:
    """Return a number of bytes as text, such as ``2.4 GB``, in units of powers of 1000."""
    size = float(n_bytes)
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} GB" if size < 1000 else f"{size:,.0f} GB"


def _of_the_machine() -> list[int]:
    with suppress(OSError, ValueError, StopIteration):
        return [1024 * _entry(Path("/proc/meminfo"), "MemAvailable:")]
    return []


def _of_the_group() -> list[int]:
    """Return the free bytes of the process's control group (its container), or an empty list.

    Cached contents of files count as free.
    """
    for folder, limit, usage in GROUPS:
        with suppress(OSError, ValueError, StopIteration):
            group = Path(folder)
            used = int((group / usage).read_text()) - _entry(group / "memory.stat", "inactive_file")
            return [int((group / limit).read_text()) - used]
    return []


def _of_the_process() -> list[int]:
    """Return the bytes left under the limit set by ``ulimit -v``; an empty list without a limit."""
    with suppress(ImportError, OSError, ValueError, IndexError):
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        if limit != resource.RLIM_INFINITY:
            return [limit - pages * os.sysconf("SC_PAGE_SIZE")]
    return []


def _entry(path: Path, name: str) -> int:
    """Return the number after ``name`` in a file whose lines are a name and a number."""
    lines = [line.split() for line in path.read_text().splitlines()]
    return next(int(words[1]) for words in lines if words[:1] == [name])
