"""What the class of a part must look like, checked when it is registered: mistakes are reported where they are made."""

from __future__ import annotations

import inspect
from typing import ClassVar, get_origin

from evenhand.core.errors import EvenhandError, nearest

#: Where users find the base classes that are not in `evenhand.policy`.
PUBLIC = {slot: f"evenhand.{slot}" for slot in ("merit", "rewards", "contexts", "availability", "feedback")} | {
    "metric": "evenhand",
    "feature": "evenhand.features",
}
#: The module and the name of the base class of each slot.
BASES: dict[str, tuple[str, str]] = {
    "index": ("evenhand.policy.index", "Index"),
    "evidence": ("evenhand.policy.evidence", "Evidence"),
    "fairness": ("evenhand.policy.claim", "Fairness"),
    "merit": ("evenhand.policy.merit", "Merit"),
    "selection": ("evenhand.policy.selection", "Selection"),
    "schedule": ("evenhand.policy.schedule", "Schedule"),
    "hold": ("evenhand.policy.hold", "Hold"),
    "size": ("evenhand.policy.hold", "Size"),
    "mixing": ("evenhand.policy.mixing", "MixingRule"),
    "rewards": ("evenhand.environment.rewards", "Rewards"),
    "contexts": ("evenhand.environment.contexts", "Contexts"),
    "availability": ("evenhand.environment.availability", "Availability"),
    "feedback": ("evenhand.environment.feedback", "FeedbackModel"),
    "metric": ("evenhand.simulation.metrics", "Metric"),
    "feature": ("evenhand.features.kinds", "Feature"),
}


def slot_of(cls: type) -> str:
    """The slot of whose base class a class derives; empty if of none."""
    bases = [(base.__module__, base.__name__) for base in cls.__mro__]
    return next((slot for slot, base in BASES.items() if base in bases), "")


def check_definition(slot: str, cls: type) -> None:
    """Refuse a class that cannot be a part of the slot, with the remedy."""
    fault = _wrong_base(slot, cls) or _not_frozen(cls) or _missing_method(cls) or _wrong_arguments(cls)
    if fault:
        raise EvenhandError(f"{cls.__name__} cannot be a part in slot {slot!r}: {fault}")


def _wrong_base(slot: str, cls: type) -> str:
    """What is wrong with its base classes, which are compared by name, so that no other module has to be imported."""
    bases = [(base.__module__, base.__name__) for base in cls.__mro__]
    if slot not in BASES or BASES[slot] in bases:
        return ""
    for other, base in BASES.items():
        if base in bases:
            return f"it derives from {base[1]}, the base class of slot {other!r}"
    return f"derive it from {PUBLIC.get(slot, 'evenhand.policy')}.{BASES[slot][1]}"


def _not_frozen(cls: type) -> str:
    if "__attrs_attrs__" in vars(cls):
        return ""
    fields = [name for name, hint in inspect.get_annotations(cls).items() if not _of_class(hint)]
    takes = fields or ("__init__" in vars(cls) and len(inspect.signature(cls).parameters) > 0)
    return "put @frozen (from attrs import frozen) below @part, for its parameters" if takes else ""


def _of_class(hint: object) -> bool:
    return "ClassVar" in hint if isinstance(hint, str) else hint is ClassVar or get_origin(hint) is ClassVar


def _missing_method(cls: type) -> str:
    missing = sorted(getattr(cls, "__abstractmethods__", ()))
    if not missing:
        return ""
    own = [name for name, value in vars(cls).items() if inspect.isfunction(value) and not name.startswith("_")]
    hint = nearest(missing[0], own) if own else ""
    return f"it needs {_call(cls, missing[0])}{hint if 'did you mean' in hint else ''}"


def _wrong_arguments(cls: type) -> str:
    for name, method in vars(cls).items():
        base = next((vars(one)[name] for one in cls.__mro__[1:] if name in vars(one)), None)
        if name.startswith("_") or not inspect.isfunction(method) or not inspect.isfunction(base):
            continue
        try:
            inspect.signature(method).bind(*inspect.signature(base).parameters)
        except TypeError:
            return f"{name} must take the arguments of {_call(cls.__mro__[1], name)}"
    return ""


def _call(cls: type, name: str) -> str:
    """A method with the arguments that it takes."""
    return f"{name}({', '.join(inspect.signature(getattr(cls, name)).parameters)})"
