"""What code a result comes from: the definitions that functions and classes (the roots) use, wherever they stand.

Modules are read, not imported. A definition is compared without comments, docstrings, annotations, messages of errors
and imports, so that a digest changes with what is computed and not with where it is written.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

PACKAGE = __name__.partition(".")[0]
#: Decorators of classes whose annotated attributes are fields.
RECORDS = ("frozen", "define", "dataclass")
#: Decorators that give a part its name in the registry, which its plain form holds.
NAMING = ("part", "register", "naming_arguments")


#: What has names of its own.
SCOPES = (
    *(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda),
    *(ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp),
)


class Root(NamedTuple):
    """A definition at the top of a module."""

    module: str
    name: str
    fields: bool = True  # whether the defaults of a record count; not where the values of an instance are known


def roots_of(value: object, seen: set[int] | None = None) -> Iterator[Root]:
    """Where classes, functions, and the classes of instances and of all that is in them are defined."""
    seen = set() if seen is None else seen
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, list | tuple | dict):
        for one in value.values() if isinstance(value, dict) else value:
            yield from roots_of(one, seen)
    elif isinstance(value, type) or hasattr(value, "__qualname__"):
        yield from _own(getattr(value, "__mro__", (value,)), fields=True)
    elif any(_own(type(value).__mro__, fields=False)):
        yield from _own(type(value).__mro__, fields=False)
        fields = [field.name for field in getattr(type(value), "__attrs_attrs__", ())]
        for name in fields or list(getattr(value, "__dict__", {})):
            yield from roots_of(getattr(value, name), seen)


def _own(definitions: Iterable[Any], fields: bool) -> list[Root]:
    """The definitions that stand in the package."""
    modules = [(one.__module__ or "", one.__qualname__.partition(".")[0]) for one in definitions]
    return [Root(module, name, fields) for module, name in modules if module.partition(".")[0] == PACKAGE]


class Source:
    """The source of a package."""

    def __init__(self, folder: Path = Path(__file__).parents[1]) -> None:
        self._folder = folder
        self.module, self._read = cache(self._module), cache(self._definition)

    def digest(self, roots: Iterable[Root]) -> str:
        """A digest of the roots and all definitions that they use."""
        texts = sorted({text for root in self.used(roots) for text in self._read(root)[0]})
        return hashlib.sha256("\n".join(texts).encode()).hexdigest()

    def used(self, roots: Iterable[Root]) -> set[Root]:
        """The roots and all definitions that they use."""
        found: set[Root] = set()
        waiting = list(roots)
        while waiting:
            root = waiting.pop()
            if root not in found:
                found.add(root)
                waiting += self._read(root)[1]
        return found

    def find(self, module: str, name: str) -> Root | str | None:
        """What a name in a module stands for: a definition, another module (its name), or nothing of the package."""
        source = self.module(module)
        if source is None:
            return None
        if name in source.defined:
            return Root(module, name)
        return self.imported(*source.imports[name]) if name in source.imports else None

    def imported(self, module: str, name: str) -> Root | str | None:
        """What an import brings: a definition, a module (its name), or nothing of the package."""
        whole = f"{module}.{name}" if name else module
        return whole if self.module(whole) is not None else self.find(module, name)

    def statements(self, root: Root) -> list[Any]:
        """The statements that make a definition."""
        source = self.module(root.module)
        return [] if source is None else source.defined.get(root.name, [])

    def is_class(self, root: Root) -> bool:
        """Whether a definition is a class."""
        return any(isinstance(one, ast.ClassDef) for one in self.statements(root))

    def is_aside(self, root: Root) -> bool:
        """Whether a definition decides no results."""
        return any(
            _called(mark) == "aside" for one in self.statements(root) for mark in getattr(one, "decorator_list", ())
        )

    def fields_aside(self, root: Root) -> set[str]:
        """The fields of a class that decide no results."""
        classes = (one for one in self.statements(root) if isinstance(one, ast.ClassDef))
        return {name for one in classes for field in one.body if (name := _field_aside(field))}

    def _module(self, name: str) -> _Module | None:
        package, *path = name.split(".")
        place = self._folder.joinpath(*path)
        file = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
        return _Module(file.read_bytes()) if package == PACKAGE and file.is_file() else None

    def _definition(self, root: Root) -> tuple[list[str], set[Root]]:
        """The texts of a definition, and what it uses."""
        reader = _Reader(self, root)
        return [ast.unparse(reader.visit(deepcopy(one))) for one in self.statements(root)], reader.used


class _Module:
    """The definitions and the imports at the top of a module."""

    def __init__(self, text: bytes) -> None:
        self._tree = ast.parse(text)
        self.imports = imports_in(self._tree.body)

    @cached_property
    def defined(self) -> dict[str, list[ast.stmt]]:
        """The statements that define each name, and those that change it."""
        found: dict[str, list[ast.stmt]] = {}
        others = []
        for one in self._tree.body:
            if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                found.setdefault(one.name, []).append(one)
            elif isinstance(one, ast.Assign | ast.AnnAssign):
                for target in ast.walk(one):
                    if isinstance(target, ast.Name) and isinstance(target.ctx, ast.Store):
                        found.setdefault(target.id, []).append(one)
            elif not isinstance(one, ast.Import | ast.ImportFrom):
                others.append(one)
        for one in others:
            for inner in ast.walk(one):
                if isinstance(inner, ast.FunctionDef | ast.ClassDef):
                    found.setdefault(inner.name, [])
            names = {getattr(node, "id", getattr(node, "name", "")) for node in ast.walk(one)}
            for name in names & found.keys():
                found[name].append(one)
        return found


def imports_in(statements: Iterable[ast.AST]) -> dict[str, tuple[str, str]]:
    """The names that imports bring, each with its module and its name there; empty for the module itself."""
    found: dict[str, tuple[str, str]] = {}
    for one in statements:
        if isinstance(one, ast.ImportFrom) and one.module:
            found |= {alias.asname or alias.name: (one.module, alias.name) for alias in one.names}
        elif isinstance(one, ast.Import):
            found |= {alias.asname: (alias.name, "") for alias in one.names if alias.asname}
    return found


class _Reader(ast.NodeTransformer):
    """Keeps of a definition what decides results, and collects what it uses."""

    def __init__(self, source: Source, root: Root) -> None:
        self.used: set[Root] = set()
        self._source, self._root = source, root
        self._imports: dict[str, tuple[str, str]] = {}
        self._local: list[set[str]] = []

    def visit(self, node: Any) -> Any:
        """A node without what decides nothing: where it stands, its types, what it says of errors."""
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                node.returns = None
                return self._inside(node, _arguments(node) | _stored(node.body), self._block)
            case ast.Lambda():
                return self._inside(node, _arguments(node), self.generic_visit)
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                return self._inside(node, _stored([one.target for one in node.generators]), self.generic_visit)
            case ast.ClassDef():
                return self._class(node)
            case ast.arg():
                node.annotation = None
            case ast.AnnAssign():
                node.annotation = ast.Name("ClassVar" if _of_class(node) else "_", ast.Load())
            case ast.Import() | ast.ImportFrom() | ast.Assert():
                return ast.Pass()
            case ast.Raise():  # a run that raises has no results
                return ast.Raise(ast.Name(_called(node.exc), ast.Load()) if _called(node.exc) else None, None)
            case ast.Call(func=ast.Name("isinstance" | "issubclass")):
                node.args = [self.visit(node.args[0]), *map(self._compared, node.args[1:])]
                return node
            case ast.Compare():
                node.left, node.comparators = self.visit(node.left), [*map(self._compared, node.comparators)]
                return node
            case ast.Call(func=ast.Name(id), keywords=[_, *_]) if isinstance(root := self._find(id), Root):
                without = self._source.fields_aside(root)
                node.keywords = [one for one in node.keywords if one.arg not in without]
            case ast.Name():
                return self._use(self._find(node.id), node)
            case ast.Attribute(value=ast.Name(id)) if isinstance(module := self._find(id), str):
                return self._use(self._source.find(module, node.attr), ast.Name(node.attr, node.ctx))
        return self.generic_visit(node)

    def _class(self, node: ast.ClassDef) -> Any:
        """Without fields that decide nothing, defaults of known values, and `rules`, which change no results."""
        node.body = [one for one in node.body if not (_field_aside(one) or getattr(one, "name", "") == "rules")]
        if not self._root.fields and any(_called(one) in RECORDS for one in node.decorator_list):
            for one in node.body:
                if isinstance(one, ast.AnnAssign) and not _of_class(one):
                    one.value = _kept(one.value)
        return self._block(node)

    def _inside(self, node: Any, names: set[str], visit: Callable[[Any], Any]) -> Any:
        self._local.append(names)
        new = visit(node)
        self._local.pop()
        return new

    def _compared(self, node: ast.expr) -> Any:
        """What is compared with a class uses none of its defaults."""
        if not isinstance(node, ast.Name | ast.Attribute | ast.Tuple):
            return self.visit(node)
        before, self.used = self.used, set()
        new = self.visit(node)
        self.used = before | {root._replace(fields=not self._source.is_class(root)) for root in self.used}
        return new

    def _find(self, name: str) -> Root | str | None:
        if any(name in names for names in self._local):
            return None
        if name in self._imports:
            return self._source.imported(*self._imports[name])
        return self._source.find(self._root.module, name)

    def _use(self, found: Root | str | None, node: ast.Name) -> ast.Name:
        """A definition goes by its own name."""
        if not isinstance(found, Root):
            return node
        if not self._source.is_aside(found):
            self.used.add(found)
        return ast.Name(found.name, node.ctx)

    def _block(self, node: Any) -> Any:
        self._imports = {**self._imports, **imports_in(ast.walk(node))}
        node.decorator_list = [one for one in node.decorator_list if _called(one) not in NAMING]
        node.body = [one for one in node.body if not _is_text(one)] or [ast.Pass()]
        return self.generic_visit(node)


def _called(node: Any) -> str:
    """The name of a decorator or of an error, with arguments or without."""
    node = node.func if isinstance(node, ast.Call) else node
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _arguments(node: Any) -> set[str]:
    return {one.arg for one in ast.walk(node.args) if isinstance(one, ast.arg)}


def _stored(nodes: Iterable[ast.AST]) -> set[str]:
    """The names that are assigned, outside of functions, classes and comprehensions in them."""
    found: set[str] = set()
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        if not isinstance(node, SCOPES):
            waiting += ast.iter_child_nodes(node)
    return found


def _of_class(node: ast.AnnAssign) -> bool:
    return ast.unparse(node.annotation).startswith("ClassVar")


def _field_aside(node: ast.stmt) -> str:
    """The name of a field that decides no results; empty for another statement."""
    found = isinstance(node, ast.AnnAssign) and "aside" in map(_called, ast.walk(node.annotation))
    return ast.unparse(node.target) if found and isinstance(node, ast.AnnAssign) else ""


def _kept(value: ast.expr | None) -> ast.expr | None:
    """What counts of a field whose value is known: whether it is computed, and nothing else."""
    computed = isinstance(value, ast.Call) and any(one.arg == "init" for one in value.keywords)
    return value if computed else None


def _is_text(line: ast.stmt) -> bool:
    return isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant) and isinstance(line.value.value, str)


def bare(source: bytes) -> str:
    """Code without comments and without strings that stand alone, as docstrings do."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = [line for line in node.body if not _is_text(line)] or [ast.Pass()]
    return ast.unparse(tree)


@cache
def digest_of(roots: frozenset[Root]) -> str:
    """A short digest of the roots and all definitions that they use."""
    return _source().digest(roots)[:10]


@cache
def _source() -> Source:
    return Source()
