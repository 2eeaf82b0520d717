"""Modules that the user names, loaded so that they register their parts and algorithms."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import sysconfig
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from traceback import walk_tb
from types import ModuleType
from typing import Any

from evenhand.core.errors import ConfigurationError, EvenhandError, nearest

SENT = "<dynamic-code>"  # the file of code that was sent to another process


def import_source(source: str, folder: Path | None = None) -> ModuleType:
    """Load a module that the user names, a file or an importable module, so that it registers its parts."""
    where = (folder or Path()) / (source if source.endswith(".py") else f"{source}.py")
    try:
        if source.endswith(".py") or where.is_file():
            return _module_of(where)
        return importlib.import_module(source)
    except FileNotFoundError:
        raise ConfigurationError(f"there is no file {where}") from None
    except ModuleNotFoundError as error:
        if error.name and f"{source}.".startswith(f"{error.name}."):
            raise ConfigurationError(f"there is no module {source!r}, and no file {where}") from None
        raise ConfigurationError(f"{source} cannot be loaded: {error}") from error
    except ConfigurationError:
        raise
    except (Exception, SystemExit) as error:
        raise ConfigurationError(f"{source} cannot be loaded: {type(error).__name__}: {error}") from error


def import_object(name: str, folder: Path | None = None) -> Any:
    """The object ``module:name``; for a module that the user names, never one that data from elsewhere name."""
    source, _, attribute = name.rpartition(":")
    module = import_source(source, folder)
    if not hasattr(module, attribute):
        names = [key for key, value in vars(module).items() if getattr(value, "__module__", None) == module.__name__]
        raise ConfigurationError(f"module {source!r} has no {attribute!r}{nearest(attribute, names) if names else ''}")
    return getattr(module, attribute)


def same_definition(one: type | Callable[..., Any], other: type | Callable[..., Any]) -> bool:
    """Whether two classes or functions are one definition, loaded twice: again, or as a script and as a module."""
    if one.__qualname__ != other.__qualname__:
        return False
    return one.__module__ == other.__module__ or None is not _file(one.__module__) == _file(other.__module__)


def is_installed(module: str, file: str | None) -> bool:
    """Whether a module is Python's, Evenhand's or of another installed package, rather than the user's own."""
    folders = (sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib"))
    return module.partition(".")[0] == "evenhand" or (
        file is not None and any(Path(file).is_relative_to(folder) for folder in folders)
    )


def raised_by_own(error: BaseException) -> str | None:
    """What the user's own code raised, and where; None if there is none in the traceback."""
    for frame, line in walk_tb(error.__traceback__):
        code, module = frame.f_code, frame.f_globals.get("__name__", "")
        if code.co_qualname == "EntryPoint.load":  # of an installed package
            entry = frame.f_locals["self"]
            where = f"the entry point {entry.name} = {entry.value!r} of the group {entry.group}"
            return f"{where} cannot be loaded: {type(error).__name__}: {error}"
        generated = code.co_filename.startswith("<") and code.co_filename != SENT
        if not generated and not is_installed(module, code.co_filename):
            where = f"{code.co_qualname} ({module}, line {line})"
            return f"{where} raised {type(error).__name__}: {error}".rstrip(": ")
    return next(iter(getattr(error, "__notes__", ())), None)  # from another process


def is_own(part: object) -> bool:
    """Whether a part is not one of Evenhand's."""
    return part is not None and type(part).__module__.partition(".")[0] != "evenhand"


def misfit(error: Exception, own: Collection[str]) -> str | None:
    """What is said where Evenhand cannot use what one of these parts of one's own gives; None for another error."""
    kinds = AttributeError, LookupError, TypeError, ValueError
    if not own or not isinstance(error, kinds) or isinstance(error, EvenhandError) or raised_by_own(error):
        return None
    gives = f"{' or '.join(sorted(own))} gives what is of another shape or kind than is asked for"
    return f"{gives}: {type(error).__name__}: {' '.join(str(error).split())}"


@contextmanager
def misfits_named(parts: Iterable[object]) -> Iterator[None]:
    """Name the parts of one's own where Evenhand cannot use what one of them gives."""
    try:
        yield
    except Exception as error:
        if message := misfit(error, {type(one).__name__ for one in parts if is_own(one)}):
            raise EvenhandError(message) from error
        raise


def _module_of(path: Path) -> ModuleType:
    """The module of a file, loaded once."""
    name = path.stem
    loaded = sys.modules.get(name)
    for known in ("__main__", name):  # the script that runs need not be loaded a second time
        if _file(known) == path.resolve():
            return sys.modules[known]
    if not path.is_file():
        raise FileNotFoundError(path)
    if loaded is not None or name in sys.stdlib_module_names:
        raise ConfigurationError(f"{path} has the name of another module, {name!r}: give the file another name")
    spec = importlib.util.spec_from_file_location(name, path.resolve())
    if spec is None or spec.loader is None:
        raise ConfigurationError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # so that its classes can be pickled for worker processes
    folder = str(path.resolve().parent)
    sys.path.insert(0, folder)  # as for a script, files beside it can be imported
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    finally:
        sys.path.remove(folder)
    return module


def _file(module: str) -> Path | None:
    """The file that a module was loaded from."""
    file = getattr(sys.modules.get(module), "__file__", None)
    return None if file is None else Path(file).resolve()
