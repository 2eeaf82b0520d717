"""Packages that only some installs have: the extra of Evenhand that brings each, named where one is missing."""

from __future__ import annotations

import sys

from evenhand.core.lazy import elsewhere

TYPE_CHECKING = False  # without loading `typing`: a command starts sooner
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

#: The extra that installs a package, by the name under which it is imported.
EXTRAS = {
    **dict.fromkeys(("cloudpickle", "joblib", "matplotlib", "pandas", "pyarrow", "tabulate"), "studies"),
    **dict.fromkeys(("rich", "typer"), "cli"),
    **dict.fromkeys(("httpx",), "client"),
    **dict.fromkeys(("alembic", "fastapi", "fastapi_offline", "orjson", "prometheus_client"), "service"),
    **dict.fromkeys(("sqlalchemy", "starlette", "uvicorn"), "service"),
    "dask": "dask",
    "distributed": "dask",
    "jinja2": "papers",
    "numba": "fast",
    "psycopg": "postgresql",
    "ray": "ray",
}


def remedy(package: str) -> str:
    """What to do about a package that is missing."""
    extra = EXTRAS[package]
    return f"{package} is not installed; the extra {extra!r} brings it: in a clone, pip install '.[{extra}]'"


class NamesExtras:
    """The last finder of modules: what no other finds is of an extra, which it names, or public in another module."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Nothing is ever found here.

        Raises:
            ModuleNotFoundError: of a package, with its extra; of a name of Evenhand, with where it is.
        """
        frame = asking = sys._getframe(1)
        while frame.f_back and frame.f_globals.get("__name__", "").startswith("importlib._bootstrap"):
            frame = frame.f_back
        importer = frame.f_globals.get("__name__", "")
        if name in EXTRAS and importer.startswith("evenhand."):  # others may ask without needing it
            raise ModuleNotFoundError(remedy(name), name=name)
        package, _, last = name.rpartition(".")
        imported = asking is not frame  # others may ask for a module that they load themselves
        if imported and package.partition(".")[0] == "evenhand" and (there := elsewhere(last, but=name)):
            raise ModuleNotFoundError(f"{package} has no {last}{there}", name=last)
        return None


def name_missing() -> None:
    """From now on a missing package is named with its extra."""
    if NamesExtras not in sys.meta_path:
        sys.meta_path.append(NamesExtras)
