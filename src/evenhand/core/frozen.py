"""Frozen classes of attrs, without it: their constructors and fields are made here, and the rest by attrs if asked for.

To load attrs and to let it process the classes of a simple policy takes as long as a third of `import numpy`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeVar

from .aside import aside
from .late import fields_of, late, twin

__all__ = ["NOTHING", "evolve", "field", "fields", "frozen"]

T = TypeVar("T")
NAMES = ("__attrs_attrs__", "__delattr__", "__match_args__", "__repr__", "__setattr__")
COMPARED = ("__eq__", "__hash__", "__ne__")
OWN = "__own_fields__"  # what a class has beside those of its bases


class _Nothing:
    def __repr__(self) -> str:
        return "NOTHING"


NOTHING = _Nothing()  # the default of what has none


class Field:
    """A field of a class, as attrs has it; ``made`` makes its default, given the object."""

    def __init__(
        self,
        name: str,
        type: Any,
        *,
        default: Any = NOTHING,
        made: Any = None,
        converter: Any = None,
        validator: Any = None,
        alias: str | None = None,
        init: bool = True,
        kw_only: bool = False,
        metadata: Any = None,
        eq: bool = True,  # this and the next are for attrs alone
        repr: bool = True,
    ) -> None:
        self.name, self.type, self.alias = name, type, alias or name.lstrip("_")
        self.default, self.made, self.converter, self.validator = default, made, converter, validator
        self.init, self.kw_only, self.metadata = init, kw_only, metadata or {}

    @property
    def required(self) -> bool:
        """Whether the constructor must be given it."""
        return self.init and self.default is NOTHING and self.made is None


def _fields(cls: type) -> tuple[Field, ...]:
    """The fields of a class of attrs or of one that is made here; none for another one."""
    found: dict[str, Field] = {}
    for base in reversed(cls.__mro__):
        for one in vars(base)[OWN] if OWN in vars(base) else _of_attrs(base):
            found.pop(one.name, None)
            found[one.name] = one
    return tuple(found.values())


fields: Callable[[type], tuple[Field, ...]] = cache(_fields)


def evolve(record: T, **changes: Any) -> T:
    """A copy of an object of such a class, with other values of some fields."""
    same = {one.alias: getattr(record, one.name) for one in fields(type(record)) if one.init}
    return type(record)(**(same | changes))


def _of_attrs(cls: type) -> list[Field]:
    """The fields of a class that attrs has made, without those of its bases."""
    own = [one for one in vars(cls).get("__attrs_attrs__", ()) if not one.inherited]
    if not own:
        return []
    from attrs import NOTHING as NONE
    from attrs import Factory

    def default_of(one: Any) -> dict[str, Any]:
        if not isinstance(one.default, Factory):  # type: ignore[arg-type]
            return {} if one.default is NONE else {"default": one.default}
        make = one.default.factory
        return {"made": make if one.default.takes_self else lambda record: make()}

    names = ("name", "type", "converter", "validator", "alias", "init", "kw_only", "metadata")
    return [Field(**{name: getattr(one, name) for name in names}, **default_of(one)) for one in own]


if TYPE_CHECKING:
    from attrs import field as field
    from attrs import frozen as frozen
else:

    class field:  # noqa: N801
        """`attrs.field`, in a class that is made here."""

        def __init__(self, *, factory=None, **options):
            self.options = options | ({"made": lambda record: factory()} if factory else {})

        def default(self, made):
            """Let a method make the default, as with attrs."""
            self.options["made"] = made
            return made

    @aside
    def frozen(cls=None, *, eq=True, kw_only=False):
        """`attrs.frozen`, with these of its options, and without slots."""
        if cls is None:
            return partial(frozen, eq=eq, kw_only=kw_only)
        body = {"__annotations__": {}, **vars(cls)}
        own = []
        for name in fields_of(cls):
            given = body.get(name, NOTHING)
            options = given.options if isinstance(given, field) else {"default": given}
            own.append(Field(name, body["__annotations__"][name], **{"kw_only": kw_only, **options}))
            # one of a base would stand before the field again, and may be abstract or a property
            if name in body and not any(hasattr(base, name) for base in cls.__bases__):
                delattr(cls, name)
        setattr(cls, OWN, tuple(own))
        names = (*NAMES, *COMPARED) if eq else NAMES
        late(cls, body, partial(_constructor, cls), ("__init__",))
        late(cls, body, partial(_by_attrs, cls, body, eq=eq, kw_only=kw_only), names)
        return cls

    @aside
    def _by_attrs(cls, body, **options):
        """What attrs makes of a class with such a body."""
        import attrs

        def declared(made=None, **given):
            return attrs.field(**given, **({"default": attrs.Factory(made, takes_self=True)} if made else {}))

        made = {name: declared(**one.options) if isinstance(one, field) else one for name, one in body.items()}
        return attrs.frozen(twin(cls, made, ("__init__", *NAMES, *COMPARED)), **options, slots=False)


@aside
def _constructor(cls: type) -> SimpleNamespace:
    """The constructor: it converts, sets and checks what it is given, in the order of the fields."""
    every = fields(cls)
    taken = sorted((one for one in every if one.init), key=lambda one: one.kw_only)
    later = hasattr(cls, "__attrs_post_init__")

    def fill(self: Any, *given: Any) -> None:
        values, own = dict(zip(taken, given, strict=True)), self.__dict__
        for one in every:
            value = values.get(one, one.default)
            if value is NOTHING:
                if one.made is None:
                    continue
                value = one.made(self)
            own[one.name] = value if one.converter is None else one.converter(value)
        for one in every:
            if one.validator is not None:
                one.validator(self, one, own[one.name])
        if later:
            self.__attrs_post_init__()

    words = [one.alias if one.required else f"{one.alias}=_{place}" for place, one in enumerate(taken)]
    if any(one.kw_only for one in taken):
        words.insert(next(place for place, one in enumerate(taken) if one.kw_only), "*")
    names = {f"_{place}": one.default for place, one in enumerate(taken)} | {"fill": fill, "__name__": cls.__module__}
    given = ", ".join(["self", *(one.alias for one in taken)])
    init = eval(f"lambda {', '.join(['self', *words])}: fill({given})", names)
    init.__name__, init.__qualname__ = "__init__", f"{cls.__qualname__}.__init__"
    init.__annotations__ = {one.alias: kind for one in taken if (kind := _taken(one)) is not None} | {"return": None}
    return SimpleNamespace(__init__=init)


def _taken(one: Field) -> Any:
    """The annotation of what a constructor takes: of the converter, if there is one."""
    if one.converter is None:
        return one.type
    return next(iter(getattr(one.converter, "__annotations__", {}).values()), None)
