"""The registry of kinds: every part has one name in one slot, and one plain form.

The plain form of a part is a table with its ``kind`` and the arguments of its class. Configuration files, result
files, saved bandits, stored events and HTTP hold this form and no other.
"""

from __future__ import annotations

import importlib
import inspect
import math
from collections.abc import Callable, Mapping
from functools import partial, wraps
from types import FunctionType
from typing import Any, TypeGuard, TypeVar

import numpy as np

from evenhand.core.errors import ConfigurationError, EvenhandError, StateError, nearest, shown
from evenhand.core.frozen import Field, fields
from evenhand.core.late import changed
from evenhand.core.lazy import places
from evenhand.core.state import PerLane

#: The modules in which the parts of each slot are defined, loaded when a kind of the slot is first asked for.
HOMES: dict[str, tuple[str, ...]] = {
    "index": (
        "evenhand.policy.index",
        "evenhand.policy.weights",
        "evenhand.policy.confidence",
        "evenhand.policy.kl",
        "evenhand.policy.doubt",
        "evenhand.policy.best_chance",
        "evenhand.policy.reward_rates",
        "evenhand.policy.contextual",
        "evenhand.policy.chain",
        "evenhand.policy.logistic",
    ),
    "evidence": ("evenhand.policy.evidence", "evenhand.policy.forgetting", "evenhand.policy.since_change"),
    "confidence": ("evenhand.policy.confidence", "evenhand.policy.doubt"),
    "fairness": (
        "evenhand.policy.fairness",
        "evenhand.policy.virtual_queue",
        "evenhand.policy.groups",
        "evenhand.policy.floor_shares",
        "evenhand.policy.group_rank",
    ),
    "merit": ("evenhand.policy.merit",),
    "selection": (
        "evenhand.policy.selection",
        "evenhand.policy.exploration_floor",
        "evenhand.policy.inverse_gap",
    ),
    "schedule": ("evenhand.policy.schedule",),
    "hold": ("evenhand.policy.hold",),
    "size": ("evenhand.policy.hold",),
    "mixing": ("evenhand.policy.mixing",),
    "policy": ("evenhand.policy.composition",),
    "environment": ("evenhand.environment.world",),
    "rewards": ("evenhand.environment.rewards", "evenhand.environment.drift", "evenhand.environment.contextual"),
    "contexts": ("evenhand.environment.contexts",),
    "availability": ("evenhand.environment.availability",),
    "feedback": (
        "evenhand.environment.feedback",
        "evenhand.environment.delays",
        "evenhand.environment.profiles",
        "evenhand.environment.kernel",
        "evenhand.environment.adversary",
    ),
    "metric": ("evenhand.simulation.measures",),
    "features": ("evenhand.features.declaration",),
    "feature": ("evenhand.features.kinds",),
}
ENTRY_POINTS = "evenhand.parts"

P = TypeVar("P", bound=type)
_KINDS: dict[str, dict[str, type]] = {slot: {} for slot in HOMES}
_NAMES: dict[type, tuple[str, str]] = {}
_loaded: set[str] = set()


class Part:
    """What all parts share: a place in the registry, given by the decorator `part`."""

    __slots__ = ()

    def rules(self) -> object:
        """The part's rule for the compiled engine; not asked of a class that inherits it, as that may decide otherwise.

        Returns:
            A plain record; None: it cannot, and NumPy plays.
        """
        return None


def part(slot: str, kind: str) -> Callable[[P], P]:
    """Register a class under a name in a slot; errors of its arguments then name the argument.

    A kind with a profile is written ``"spread/random"``; its plain form has the keys ``kind`` and ``profile``.

    Args:
        slot: one of `HOMES`, such as ``"index"`` or ``"rewards"``.
        kind: the name, such as ``"ucb"``; a slot has each name once.

    Raises:
        EvenhandError: there is no such slot, another class has the name, or the class cannot be such a part.

    Example:
        >>> from attrs import frozen
        >>> from evenhand.policy import Index
        >>> @part("index", "always_one_half")
        ... @frozen
        ... class OneHalf(Index):
        ...     def score(self, state, observation, rng):
        ...         return np.full(state.tally.pulls.shape, 0.5)
        >>> plain(OneHalf()), build("index", "always_one_half")
        ({'kind': 'always_one_half'}, OneHalf())
    """

    def enter(cls: P) -> P:
        register(slot, kind, cls)
        return naming_arguments(cls)

    return enter


def naming_arguments(cls: P) -> P:
    """Let the errors of a class name all arguments that are wrong; for a class without a name in a slot."""
    changed(cls, "__init__", partial(_located, cls))
    return cls


def register(slot: str, kind: str, cls: type) -> None:
    """Give a class a name in a slot; see `part`, which is this as a decorator.

    Args:
        slot: such as ``"fairness"``.
        kind: its name there.
        cls: the class.

    Raises:
        EvenhandError: there is no such slot, another class has the name, or the class is not a part of the slot.

    Example:
        >>> from evenhand.policy import DependentRounding
        >>> register("selection", "dependent_rounding", DependentRounding)
        >>> build("selection", {"kind": "dependent_rounding", "plays": 2})
        DependentRounding(plays=2)
    """
    known = _known(slot).get(kind)
    if known is not None:
        from evenhand.core.imports import same_definition  # which loads what reads files

        if not same_definition(known, cls):
            raise EvenhandError(
                f"two classes are registered as {slot} {kind!r}: {_path(known)} and {_path(cls)}; rename one of them"
            )
    if cls.__module__.partition(".")[0] != "evenhand":  # a test checks those that ship, which takes 12 ms
        from evenhand.core.definition import check_definition

        check_definition(slot, cls)
    _known(slot)[kind] = cls
    _NAMES[cls] = (slot, kind)


def _known(slot: str) -> dict[str, type]:
    """The classes of a slot that are loaded, by their names."""
    if slot not in _KINDS:
        raise ConfigurationError(f"there is no slot {slot!r}{nearest(slot, _KINDS)}")
    return _KINDS[slot]


def kinds(slot: str) -> dict[str, type]:
    """The classes of a slot by their names, with those of installed packages (entry points ``evenhand.parts``)."""
    if slot not in _loaded:
        from importlib.metadata import entry_points  # which loads readers of e-mail

        _known(slot)  # refuses another one
        _loaded.add(slot)
        for module in HOMES[slot]:
            importlib.import_module(module)
        for entry in entry_points(group=ENTRY_POINTS):
            if entry.name.partition(".")[0] == slot:
                register(slot, entry.name.partition(".")[2], entry.load())
        homes = {module: place for place, module in enumerate(HOMES[slot])}  # whatever was loaded first
        known = sorted(_KINDS[slot].items(), key=lambda one: homes.get(one[1].__module__, len(homes)))
        _KINDS[slot] = dict(known)
    return _KINDS[slot]


def own_names() -> list[str]:
    """The names of registered classes that are not Evenhand's."""
    every = (cls for of_slot in _KINDS.values() for cls in of_slot.values())
    return [cls.__name__ for cls in every if cls.__module__.partition(".")[0] != "evenhand"]


def build(slot: str, table: object, importing: Callable[[str], object] | None = None) -> Any:
    """The part that a plain form describes.

    Args:
        slot: what kind of part.
        table: a mapping with ``kind`` and the arguments; a kind's name alone stands for a table without arguments; a
            part is returned as it is.
        importing: how to find a kind of the form ``module:Class``; None refuses it, so that data from elsewhere cannot
            name code.

    Returns:
        An instance of the class that is registered under ``kind``; anything that is neither a string nor a mapping as
        it is.

    Raises:
        ConfigurationError: the kind or an argument is unknown, missing or out of range; every fault has a line.

    Example:
        >>> build("fairness", {"kind": "deficit_first", "fractions": [0.1, 0.2]}).tolerance
        0.0
        >>> build("fairness", {"kind": "deficit_first", "fractions": [0.1, 2.0], "tolerance": -1})
        Traceback (most recent call last):
        ...
        evenhand.core.errors.ConfigurationError: fractions[1] must be a number in [0, 1], got 2.0
        tolerance must be a number of at least 0, got -1
    """
    if isinstance(table, str):
        table = {"kind": table}
    if not isinstance(table, Mapping):
        return table
    cls, arguments = class_of(slot, table, importing)
    values: dict[str, Any] = {}
    faults: list[EvenhandError] = []
    for name, parameter in parameters_of(cls).items():
        if name not in arguments:
            if parameter.required:
                faults.append(ConfigurationError("is missing", name))
            continue
        try:
            values[name] = _value(parameter, arguments[name], importing)
        except EvenhandError as error:
            faults.append(error)
    foreign = [name for name in arguments if name not in parameters_of(cls)]
    faults += [
        ConfigurationError(f"unknown key {name!r}{nearest(name, ('kind', *parameters_of(cls)))}", key=name)
        for name in foreign
    ]
    if faults:
        raise ConfigurationError.together(faults)
    return cls(**values)


def several(value: Any) -> list[Any]:
    """The entries of a list; what stands alone, a part, a name or a table, is a list of one."""
    return [value] if isinstance(value, str | Mapping) or not np.iterable(value) else list(value)


def of_arms(value: object) -> TypeGuard[Mapping[str, Any]]:
    """Whether values are given by the names of arms."""
    return isinstance(value, Mapping) and not {"kind", "per_lane"} & set(value)


def plain(part: object) -> Any:
    """The plain form of a part: a table with its kind and every argument, made of JSON values only.

    Arrays become lists; infinity and NaN become the strings ``"inf"``, ``"-inf"`` and ``"nan"``; rows of `PerLane`
    become ``{"per_lane": [...]}``.

    Args:
        part: the part, or a value in one.

    Returns:
        The plain form.

    Raises:
        StateError: a part is not registered, or an argument is a function, which has no plain form.

    Example:
        >>> from evenhand.policy import TopM
        >>> plain(TopM(plays=2))
        {'kind': 'top_m', 'plays': 2, 'ties': 'first'}
    """
    if isinstance(part, Part) or fields(type(part)):
        arguments = {name: plain(getattr(part, one.name)) for name, one in parameters_of(type(part)).items()}
        return _kind(type(part)) | arguments
    if isinstance(part, PerLane):
        return {"per_lane": plain(part.tolist())}
    if isinstance(part, np.ndarray | np.generic):
        return plain(part.tolist())
    if isinstance(part, Mapping):
        return {str(key): plain(value) for key, value in part.items()}
    if isinstance(part, list | tuple):
        return [plain(item) for item in part]
    if isinstance(part, float) and not math.isfinite(part):
        return str(part)
    if part is None or isinstance(part, str | int | float | bool):
        return part
    what = f"the function {part.__qualname__}" if isinstance(part, FunctionType) else repr(part)
    raise StateError(
        f"{what} cannot be saved: make it a registered part (evenhand.part), or give numbers, texts, lists or tables"
    )


def class_of(
    slot: str, table: Mapping[str, object], importing: Callable[[str], object] | None = None
) -> tuple[type, dict[str, object]]:
    """The class that a table names, and the other keys of the table; see `build`."""
    arguments = {str(key): value for key, value in table.items()}
    kind = arguments.pop("kind", None)
    if not isinstance(kind, str):
        names = dict.fromkeys(name.partition("/")[0] for name in kinds(slot))
        raise ConfigurationError(
            f"needs a kind{nearest('', names)}" if kind is None else f"unknown kind {kind!r}", key="kind"
        )
    if (known := _known(slot).get(kind)) is not None:
        return known, arguments  # without loading the others
    if ":" in kind and kind not in kinds(slot):
        if importing is None:
            raise ConfigurationError(
                f"unknown kind {kind!r}: register your own parts first, with evenhand.part, and give their name",
                key="kind",
            )
        cls = importing(kind)
        if not isinstance(cls, type) or not (fields(cls) or issubclass(cls, Part)):
            raise ConfigurationError(f"kind {kind!r} must name the class of a part, got {cls!r}", key="kind")
        if cls not in _NAMES:
            register(slot, kind, cls)
        return cls, arguments
    profiles = [name.partition("/")[2] for name in kinds(slot) if name.startswith(f"{kind}/")]
    if profiles:
        profile = arguments.pop("profile", None)
        if profile not in profiles:
            fault = "needs a profile" if profile is None else f"unknown profile {profile!r}"
            raise ConfigurationError(f"{fault}{nearest(str(profile or ''), profiles)}", key="profile")
        kind = f"{kind}/{profile}"
    if kind not in kinds(slot):
        names = dict.fromkeys(name.partition("/")[0] for name in kinds(slot))
        raise ConfigurationError(f"unknown kind {kind!r}{_algorithm(kind) or _own(nearest(kind, names))}", key="kind")
    return kinds(slot)[kind], arguments


def _algorithm(kind: str) -> str:
    """A hint that a kind is the name of an algorithm, which is a whole policy; empty for any other."""
    return "".join(f"; it is an algorithm: {one}(…) is a policy" for one in places(kind, "evenhand.algorithms"))


def _own(hint: str) -> str:
    """A hint at known names; where none is near, also at parts of one's own."""
    ours = "; your own: import its module first, on the command line with --import FILE"
    return hint if "did you mean" in hint else f"{hint}{ours}"


def rules_of(part: Part | None) -> Any:
    """The rules of a part; None for a class that only inherits them."""
    return part.rules() if part is not None and "rules" in vars(type(part)) else None


def parameters_of(cls: type) -> dict[str, Field]:
    """The arguments of a part's class, by the names that the constructor takes."""
    return {parameter.alias: parameter for parameter in fields(cls) if parameter.init}


def _value(parameter: Field, value: object, importing: Callable[[str], object] | None) -> object:
    """An argument from its plain form, converted and checked."""
    slot = parameter.metadata.get("slot")
    try:
        if slot is not None and isinstance(value, Mapping | str):
            value = build(slot, value, importing)
        elif isinstance(value, Mapping) and set(value) == {"per_lane"}:
            value = PerLane(value["per_lane"])
    except EvenhandError as error:
        raise error.at(parameter.alias) from None
    if isinstance(value, str) and value in ("inf", "-inf", "nan") and parameter.type not in ("str", str):
        value = float(value)
    return _checked(parameter, value)


def _checked(parameter: Field, value: Any) -> Any:
    """An argument converted and checked; an error names it, as validators do by themselves."""
    if parameter.converter is not None:
        try:
            value = parameter.converter(value)
        except EvenhandError as error:
            raise error.at(parameter.alias) from None
        except (TypeError, ValueError) as error:  # of the user's own converter
            raise EvenhandError(f"{error}, got {shown(value)}", parameter.alias) from None
    if parameter.validator is not None:
        try:
            parameter.validator(None, parameter, value)
        except EvenhandError:
            raise
        except (TypeError, ValueError) as error:  # one of attrs
            raise EvenhandError(*_said(error, parameter, value)) from None
    return value


def _said(error: Exception, parameter: Field, value: object) -> tuple[str, str]:
    """What a validator says of an argument, and its name where that is not in it, as of text compared with a number."""
    text, name = str(error.args[0]), parameter.alias
    return (
        (text, "")
        if name in text.replace("'", " ").split()
        else (f"is of the wrong type, got {shown(value)}: {text}", name)
    )


def _decorator(cls: type) -> str:
    """How a class would be registered."""
    from evenhand.core.definition import slot_of  # which loads inspection, as above

    return f"@evenhand.part({slot_of(cls)!r}, 'a_name_of_its_own')"


def _kind(cls: type) -> dict[str, str]:
    if cls not in _NAMES:
        raise StateError(f"{_path(cls)} is not registered: decorate it with {_decorator(cls)}")
    kind, _, profile = _NAMES[cls][1].partition("/")
    return {"kind": kind, "profile": profile} if profile else {"kind": kind}


def _located(cls: type, init: Callable[..., None]) -> Callable[..., None]:
    """A constructor whose errors name the arguments that are wrong, all of them."""

    @wraps(init)
    def located(self: object, *args: object, **kwargs: object) -> None:
        try:
            init(self, *args, **kwargs)
        except (TypeError, ValueError):
            arguments = inspect.signature(init).bind(self, *args, **kwargs).arguments
            faults = []
            for name, parameter in parameters_of(cls).items():
                if name in arguments:
                    try:
                        _checked(parameter, arguments[name])
                    except EvenhandError as error:
                        faults.append(error)
            if not faults:
                raise
            raise EvenhandError.together(faults) from None

    return located


def _path(cls: type) -> str:
    return f"{cls.__module__}:{cls.__qualname__}"
