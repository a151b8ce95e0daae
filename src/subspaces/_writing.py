"""A file that appears whole or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex


@contextmanager
def written_whole(target: Path) -> Iterator[Path]:
    """A path beside the target, to be written to; once that is done it takes the target's place."""
    part = target.with_name(f".{token_hex(8)}.part")
    try:
        yield part
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)
