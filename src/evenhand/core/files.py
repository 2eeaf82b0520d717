"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from .errors import DataError, EvenhandError, shown

NOT_UTF8 = "its text is not UTF-8; save it as UTF-8"


def path_of(path: str | os.PathLike[str], name: str = "path") -> Path:
    """The path of a file or a folder."""
    if not isinstance(path, str | os.PathLike):
        raise EvenhandError(f"{name} must be a string or a Path, got {shown(path)}")
    return Path(path)


def write_whole(path: Path, write: Callable[[Path], object], private: bool = False) -> None:
    """Let ``write(temporary path)`` write a file, and move it to its place when it is complete."""
    with whole(path, private) as temporary:
        write(temporary)


def write_text(path: Path, text: str) -> None:
    """Write a text, whole or not at all."""
    with whole(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_page(path: str | os.PathLike[str], page: str) -> None:
    """Write a report, or say why that is impossible."""
    try:
        write_text(path_of(path), page)
    except OSError as error:
        raise DataError(f"the report could not be written to {path}: {error.strerror or error}") from None


@contextmanager
def whole(path: Path, private: bool = False) -> Iterator[Path]:
    """A temporary path, which is moved to ``path`` after the block; a block that fails leaves nothing."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-", suffix=path.suffix)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o600 if private else 0o666 & ~umask)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def check_folder(folder: Path) -> None:
    """Make the folder, and complain before any work if nothing can be written there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / f".evenhand-{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise EvenhandError(
            f"cannot write to the folder {folder}: {error.strerror or error}; choose another with --out"
        ) from None


@contextmanager
def alone_in(folder: Path, shared: bool = False) -> Iterator[None]:
    """Keep other processes that ask for it out of a folder during the block; a process that dies lets go."""
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            raise EvenhandError(
                f"another run is writing to {folder}; wait for it, or choose another with --out"
            ) from None
        yield
    finally:
        os.close(handle)


def check_header(path: Path, header: Sequence[str]) -> None:
    """Refuse a CSV file that is empty, or whose cells are not separated by commas."""
    if not header:
        raise DataError(f"{path} is empty")
    if found := [one for one in ";\t" if len(header) == 1 and one in header[0]]:
        remedy = "save it with commas between cells and points in numbers, such as 0.5"
        raise DataError(f"{path}: the separator looks like {found[0]!r}; {remedy}")
