"""Writing files so that a failed write leaves the file that was there."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path


def write_bytes(path: str | Path, data: bytes) -> None:
    """Write a file: first beside its place, then renamed into it.

    Parameters
    ----------
    path : path
        A link stays a link, and the file that it points to is replaced. A file keeps its permissions. Pipes, devices
        and the files of ``/dev/fd`` are written directly.
    data : bytes

    Raises
    ------
    OSError
        The file could not be written. The file that was there is as before. The error has the path.
    """
    try:
        if is_special(path):
            with Path(path).open("wb") as file:
                file.write(data)
        else:
            _replace(os.path.realpath(path), data)
    except OSError as error:
        # Errors of writing have no name of a file, or that of the file beside.
        raise OSError(error.errno, error.strerror or str(error), str(path)) from None


def is_special(path: str | Path) -> bool:
    """Whether a path is that of a pipe or a device, or of a file that the program has open, as in ``/dev/fd``."""
    place = os.path.abspath(path)  # noqa: PTH100  a link is not followed
    if place.startswith(("/dev/", "/proc/")) and not place.startswith("/dev/shm/"):
        return True
    try:
        kind = os.stat(path).st_mode  # noqa: PTH116  the path may be a str
    except OSError:
        return False
    return not stat.S_ISREG(kind) and not stat.S_ISDIR(kind)


def check_writable(path: str | Path) -> None:
    """Raise an OSError if a file cannot be written for a reason that shows before writing."""
    if is_special(path):
        return
    target = Path(os.path.realpath(path))
    number = 0
    if target.is_dir():
        number = errno.EISDIR
    elif not target.parent.exists():
        number = errno.ENOENT
    elif not target.parent.is_dir():
        number = errno.ENOTDIR
    elif not os.access(target.parent, os.W_OK | os.X_OK) or (target.exists() and not os.access(target, os.W_OK)):
        number = errno.EACCES
    if number:
        raise OSError(number, os.strerror(number), str(path))


def _replace(target: str, data: bytes) -> None:
    check_writable(target)
    beside = Path(target).with_name(f".spanscore-{secrets.token_hex(8)}.part")
    try:
        with beside.open("xb") as file:
            _copy_permissions(target, file.fileno())
            file.write(data)
            file.flush()
            # Some file systems find out only here that the disk is full.
            os.fsync(file.fileno())
        beside.replace(target)
    except BaseException:
        with suppress(OSError):
            beside.unlink()
        raise


def _copy_permissions(target: str, descriptor: int) -> None:
    """Give an open file the owner and the permissions of another file, if that exists."""
    if not hasattr(os, "fchown"):  # Windows
        return
    with suppress(FileNotFoundError):
        before = os.stat(target)  # noqa: PTH116
        # Only root may give a file to another owner.
        with suppress(PermissionError):
            os.fchown(descriptor, before.st_uid, before.st_gid)
        os.fchmod(descriptor, stat.S_IMODE(before.st_mode))
