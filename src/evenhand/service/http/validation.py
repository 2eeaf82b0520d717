"""Pydantic's errors in this project's words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import is_dataclass
from types import NoneType
from typing import Annotated, Any, ClassVar, TypeGuard, get_args, get_origin, get_type_hints

from typing_extensions import is_typeddict

from evenhand.core.errors import nearest
from evenhand.messages.rules import SENTENCES as PATTERNS

MAX_NAME = 200  # letters of a name that are repeated in a message, as many as an arm's name can have
OBJECT, LIST, STRING = "must be an object", "must be a list", "must be a string"
NUMBER, INTEGER, BOOLEAN = "must be a number", "must be a whole number", "must be true or false"

#: The message for each of pydantic's types of errors; the names in braces are those of its context.
SENTENCES: dict[str, str | Callable[[dict[str, Any]], str]] = {
    "missing": "is required",
    "dataclass_type": OBJECT,
    "model_attributes_type": OBJECT,
    "dict_type": OBJECT,
    "list_type": LIST,
    "string_type": STRING,
    "bool_type": BOOLEAN,
    "bool_parsing": BOOLEAN,
    "float_type": NUMBER,
    "float_parsing": NUMBER,
    "finite_number": "must be finite",
    "int_type": INTEGER,
    "int_from_float": INTEGER,
    "int_parsing": INTEGER,
    "int_parsing_size": "has too many digits",
    "greater_than": lambda context: f"must be more than {_bound(context['gt'])}",
    "greater_than_equal": lambda context: f"must be at least {_bound(context['ge'])}",
    "less_than": lambda context: f"must be less than {_bound(context['lt'])}",
    "less_than_equal": lambda context: f"must be at most {_bound(context['le'])}",
    "string_too_short": lambda context: _at_least(context["min_length"], "characters"),
    "string_too_long": "must have at most {max_length} characters",
    "string_pattern_mismatch": lambda context: PATTERNS.get(context["pattern"], "does not have the required format"),
    "too_short": lambda context: _at_least(context["min_length"], "entries"),
    "too_long": "must have at most {max_length} entries",
    "literal_error": "must be {expected}",
    "value_error": "{error}",
}


def described(errors: Sequence[Mapping[str, Any]], request: Any = None, body: Any = None) -> list[tuple[str, str]]:
    """Where a request is invalid, and why, by pydantic's errors; a union of records has the name of one in a place."""
    records = [one for one in map(_bare, get_args(_bare(request))) if _is_record(one)]
    forms: dict[str, type] = {getattr(one, "change", one.__name__): one for one in records}
    details = []
    for one in errors:
        location, form = one["loc"], request
        if forms and location[1:] and location[1] in forms:
            location, form = (location[0], *location[2:]), forms[location[1]]
        if one["type"] in ("unexpected_keyword_argument", "extra_forbidden"):
            others = [fields_of(other) for other in records if not hasattr(other, "change") and other is not form]
            message = _unknown_field(str(location[-1]), _record_at(form, location[1:-1]), others, _at(body, location))
        else:
            message = sentence(one["type"], one.get("ctx", {}), one["msg"])
        if one["type"].startswith("union_tag"):  # the form is unknown, and the error is at the whole
            location = (*location, one["ctx"]["discriminator"].strip("'"))
            message = _unknown_form(one["ctx"].get("tag"), list(forms))
        if location[-1:] == ("[key]",) and location[-2] == one["input"]:
            location, message = location[:-2], f"the name {_short(location[-2])!r} {message}"
        details.append((written_path(location), message))
    return details


def sentence(kind: str, context: dict[str, Any], default: str) -> str:
    """The message for one of pydantic's types of errors and its context."""
    template = SENTENCES.get(kind, "{default}")
    return template(context) if callable(template) else template.format(**{"default": default} | context)


def written_path(location: Sequence[str | int]) -> str:
    """A place in a request, in the notation of programming languages."""
    first, *others = location
    return str(first) + "".join(f"[{part}]" if isinstance(part, int) else f".{_short(part)}" for part in others)


def count_or_promises(text: Any) -> Any:
    """What may be asked for as the best arms: a number, or those that the promises prefer."""
    if isinstance(text, str) and text != "promises" and not text.strip().lstrip("+-").isdecimal():
        raise ValueError(f"must be a number of arms or 'promises', got {_short(text)!r}{nearest(text, ['promises'])}")
    return text


def fields_of(record: type) -> dict[str, Any]:
    """The types of a record's fields, by name."""
    hints = get_type_hints(record, include_extras=True)
    return {name: hint for name, hint in hints.items() if get_origin(hint) is not ClassVar}


def _is_record(hint: Any) -> TypeGuard[type]:
    return isinstance(hint, type) and (is_dataclass(hint) or is_typeddict(hint))


def _record_at(hint: Any, location: Sequence[str | int]) -> type:
    """The record of the object at a location."""
    for part in location:
        hint = _bare(hint)
        hint = fields_of(hint)[str(part)] if _is_record(hint) else get_args(hint)[-1]  # else of a list or an object
    record: type = _bare(hint)
    return record


def _bare(hint: Any) -> Any:
    """A type without its annotations, and without null."""
    if get_origin(hint) is Annotated:
        return _bare(get_args(hint)[0])
    others = [one for one in get_args(hint) if one is not NoneType]
    optional = len(others) == 1 and NoneType in get_args(hint)
    return _bare(others[0]) if optional else hint


def _at(value: Any, location: Sequence[str | int]) -> Any:
    """The object in a body that has the last name of a location."""
    for part in location[1:-1]:
        value = value[part]
    return value


def _unknown_field(name: str, record: type, others: Sequence[dict[str, Any]], given: Any) -> str:
    """The message for an unknown field: one of another form of the request, or a misspelt one."""
    fields = fields_of(record)
    if any(name in other for other in others):
        own = next(field for field in fields if all(field not in other for other in others))
        return f"give either {name!r} or {own!r}, not both"
    free = [field for field in fields if field not in given]
    return f"there is no field {_short(name)!r}{nearest(_short(name), free) if free else ' here'}"


def _unknown_form(tag: str | None, tags: Sequence[str]) -> str:
    if tag is None:
        return f"is required, one of {', '.join(tags)}"
    return f"there is no {_short(tag)!r}{nearest(_short(tag), tags)}"


def _at_least(number: int, what: str) -> str:
    return "must not be empty" if number == 1 else f"must have at least {number} {what}"


def _bound(number: float) -> str:
    """A bound as text."""
    return f"{number:,}" if isinstance(number, int) else f"{number:,.12g}"


def _short(name: str | int) -> str:
    text = str(name)
    return text if len(text) <= MAX_NAME else f"{text[:MAX_NAME]}…"
