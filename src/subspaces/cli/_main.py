"""From the words typed to an exit code: 0 done, 1 failed, 2 bad input, 130 interrupted."""

import errno
import os
import re
import sys
from collections.abc import Sequence

import typer

from subspaces.cli._say import say_error

# What the library calls a thing, and how to ask for it here.
OPTIONS = {
    "n_clusters": "--clusters",
    "n_components": "--dims",
    "n_variables": "--variables",
    "max_clusters": "--max-clusters",
    "max_components": "--max-dims",
    "top_variables": "--top-variables",
    "random_state": "--seed",
    "criterion": "--criterion",
    "samples": "--samples",
    "labels": "--labels",
    "floor": "--floor",
    "kind": "--kind",
    "center": "--center",
    "affine": "--affine",
}

# What is wrong with a path that cannot be written or read, rather than with the machine.
UNUSABLE = {
    errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT, errno.ENOTDIR, errno.EISDIR,
    errno.ENAMETOOLONG, errno.ELOOP, errno.EINVAL, errno.EILSEQ,
}  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; whatever goes wrong is one line on stderr."""
    from subspaces.cli.app import app

    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        code = app(args=given or ["--help"], prog_name="subspaces", standalone_mode=False)
        sys.stdout.flush()
    except KeyboardInterrupt:
        code = 130
    except Exception as error:
        if "SUBSPACES_TRACEBACK" in os.environ:
            raise
        if isinstance(error, OSError) and error.filename is None:
            _give_up_output()
        say_error(_described(error))
        return 2 if _is_bad_input(error) else 1
    if code == 130:
        say_error("interrupted; earlier results are as they were")
    return code if isinstance(code, int) else 0


def _is_bad_input(error: Exception) -> bool:
    """Whether other words would have done; a full disk is not the user's fault."""
    if isinstance(error, OSError):
        return error.filename is not None and error.errno in UNUSABLE
    return isinstance(error, (typer.TyperException, TypeError, ValueError))


def _give_up_output() -> None:
    """Let what could not be written go: the interpreter would try once more as it ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _described(error: Exception) -> str:
    """One line: what, where, what would do."""
    if isinstance(error, typer.TyperException):
        context = getattr(error, "ctx", None)
        more = f" (see: {context.command_path} --help)" if context else ""
        return error.format_message().replace("Value error, ", "").rstrip(".") + more
    if isinstance(error, OSError) and error.strerror:
        full = error.errno == errno.ENOSPC and error.filename is not None
        done = "; earlier results are as they were, make room and run again" if full else ""
        done = "; another path would do" if _is_bad_input(error) else done
        return f"{error.filename or 'standard output'}: {error.strerror}{done}"
    if isinstance(error, MemoryError):
        return (
            in_options(str(error))
            or "not enough memory; --top-variables, or fewer samples, would do"
        )
    if isinstance(error, (ImportError, TypeError, ValueError)):
        return in_options(str(error))
    return (
        f"{type(error).__name__}: {error}; this should not happen, and SUBSPACES_TRACEBACK=1 "
        "shows where it did"
    )


def in_options(message: str) -> str:
    """A message of the library, in the words of the command line."""
    message = " ".join(message.split())
    message = message.replace("log='no'", "--no-log").replace("log='yes'", "--log")
    message = message.replace("margins='normal' in select_n_clusters", "--normal-scores")
    for name, option in OPTIONS.items():
        message = re.sub(rf"(?<![\w-]){name}=(\'([^\' ]*)\'|)", rf"{option} \2", message)
        if "_" in name:
            message = re.sub(rf"(?<![\w-]){name}\b", option, message)
    return message
