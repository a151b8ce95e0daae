"""How much memory there is, asked before it is used: a refusal is kinder than a killed process."""

import os
from contextlib import suppress
from pathlib import Path

# Version 2 and version 1 of Linux' control groups.
GROUPS = (
    ("/sys/fs/cgroup", "memory.max", "memory.current"),
    ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"),
)

# Nobody is asked for so many bytes: the answer would take as long as a small fit.
LITTLE = 1 << 22


def available() -> int | None:
    """Bytes that can still be had; None where the system does not say (Linux does)."""
    found = [*_of_the_machine(), *_of_the_group(), *_of_the_process()]
    return max(min(found), 0) if found else None


def no_room(needed: int) -> str | None:
    """Why so many bytes are too many; None where they are not, or nobody knows."""
    free = available() if needed > LITTLE else None
    if free is None or needed <= free:
        return None
    return f"needs about {in_words(needed)} of memory, and {in_words(free)} are free"


def in_words(n_bytes: int) -> str:
    """``2.4 GB``; the units are powers of 1000."""
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
    """What the container has left; files that it only keeps at hand do not count."""
    for folder, limit, usage in GROUPS:
        with suppress(OSError, ValueError, StopIteration):
            home = Path(folder)
            used = int((home / usage).read_text()) - _entry(home / "memory.stat", "inactive_file")
            return [int((home / limit).read_text()) - used]
    return []


def _of_the_process() -> list[int]:
    """What ``ulimit -v`` has left."""
    with suppress(ImportError, OSError, ValueError, IndexError):
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        if limit != resource.RLIM_INFINITY:
            return [limit - pages * os.sysconf("SC_PAGE_SIZE")]
    return []


def _entry(path: Path, name: str) -> int:
    """A number of a file that has a name and a number in every line."""
    lines = [line.split() for line in path.read_text().splitlines()]
    return next(int(words[1]) for words in lines if words[:1] == [name])
