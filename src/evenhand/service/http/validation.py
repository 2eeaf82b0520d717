"""Pydantic's errors in this project's words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from types import NoneType
from typing import Annotated, Any, get_args, get_origin

from pydantic import BaseModel, Tag, ValidationError
from pydantic_core import ErrorDetails

from evenhand.core.errors import nearest
from evenhand.messages.rules import SENTENCES as PATTERNS

MAX_NAME = 200  # letters of a name that are repeated in a message, as many as an arm's name can have
OBJECT, LIST, STRING = "must be an object", "must be a list", "must be a string"
NUMBER, INTEGER, BOOLEAN = "must be a number", "must be a whole number", "must be true or false"

#: The message for each of pydantic's types of errors; the names in braces are those of its context.
SENTENCES: dict[str, str | Callable[[dict[str, Any]], str]] = {
    "missing": "is required",
    "model_type": OBJECT,
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


def describe_errors(
    error: ValidationError, hint: Any, value: Any, place: tuple[str, ...], limit: int
) -> list[tuple[str, str]]:
    """Where a request is invalid, and why.

    Args:
        error: pydantic's.
        hint: the declared type.
        value: the invalid value.
        place: where in the request the value is.
        limit: number of errors that are described.

    Example:
        >>> from pydantic import TypeAdapter
        >>> from evenhand.messages.requests import CountedRounds
        >>> try:
        ...     TypeAdapter(CountedRounds).validate_python({"cuont": 3})
        ... except ValidationError as error:
        ...     describe_errors(error, CountedRounds, {"cuont": 3}, ("body",), 20)
        [('body.cuont', "there is no field 'cuont'; did you mean 'count'?")]
    """
    forms, discriminator = _forms(hint)
    details = []
    for one in islice(error.errors(include_url=False), limit):
        location, form = one["loc"], hint
        if one["type"].startswith("union_tag"):  # the form is unknown, and the error has no location
            details.append((written_path((*place, discriminator)), _unknown_form(one, list(forms))))
            continue
        if forms and location:  # its first part is the tag of the form, which is not a part of the request
            form, location = forms[str(location[0])], location[1:]
        if one["type"] == "extra_forbidden":
            inside = _at(value, location[:-1])
            message = _unknown_field(str(location[-1]), _model_at(form, location[:-1]), inside, forms)
        else:
            message = sentence(one["type"], one.get("ctx", {}), one["msg"])
        if location[-1:] == ("[key]",) and location[-2] == one["input"]:
            location, message = location[:-2], f"the name {_short(location[-2])!r} {message}"
        details.append((written_path((*place, *location)), message))
    return details


def sentence(kind: str, context: dict[str, Any], default: str) -> str:
    """The message for one of pydantic's types of errors and its context.

    Example:
        >>> sentence("greater_than_equal", {"ge": 1}, "")
        'must be at least 1'
    """
    template = SENTENCES.get(kind, "{default}")
    return template(context) if callable(template) else template.format(**{"default": default} | context)


def written_path(location: Sequence[str | int]) -> str:
    """A place in a request, in the notation of programming languages.

    Example:
        >>> written_path(("body", "rewards", 0, "decision"))
        'body.rewards[0].decision'
    """
    first, *others = location
    return str(first) + "".join(f"[{part}]" if isinstance(part, int) else f".{_short(part)}" for part in others)


def _forms(hint: Any) -> tuple[dict[str, type[BaseModel]], str]:
    """The models of a union by their tags, and the field with the tag; none if the type is not a tagged union."""
    union, *metadata = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    discriminator = next((part.discriminator for part in metadata if getattr(part, "discriminator", None)), None)
    if discriminator is None:
        return {}, ""
    forms: dict[str, type[BaseModel]] = {}
    for member in get_args(union):
        if get_origin(member) is Annotated:
            forms |= {part.tag: get_args(member)[0] for part in get_args(member) if isinstance(part, Tag)}
        else:
            forms |= dict.fromkeys(get_args(member.model_fields[discriminator].annotation), member)
    return forms, discriminator if isinstance(discriminator, str) else ""


def _model_at(hint: Any, location: Sequence[str | int]) -> type[BaseModel]:
    """The model of the object at a location."""
    for part in location:
        hint = _bare(hint)
        if isinstance(hint, type) and issubclass(hint, BaseModel):
            hint = hint.model_fields[str(part)].annotation
        else:  # a list or an object
            hint = get_args(hint)[-1]
    model: type[BaseModel] = _bare(hint)
    return model


def _bare(hint: Any) -> Any:
    """A type without its annotations, and without null."""
    if get_origin(hint) is Annotated:
        return _bare(get_args(hint)[0])
    others = [one for one in get_args(hint) if one is not NoneType]
    optional = len(others) == 1 and NoneType in get_args(hint)
    return _bare(others[0]) if optional else hint


def _at(value: Any, location: Sequence[str | int]) -> Any:
    for part in location:
        value = value[part]
    return value


def _unknown_field(name: str, model: type[BaseModel], value: Any, forms: dict[str, type[BaseModel]]) -> str:
    """The message for an unknown field: one of another form of the message, or a misspelt one."""
    form = next((tag.removesuffix("…") for tag in forms if tag.endswith("…") and forms[tag] is model), "")
    if form and any(name in other.model_fields for other in forms.values()):
        return f"give either {name!r} or {form!r}, not both"
    free = [field for field in model.model_fields if field not in value]
    return f"there is no field {_short(name)!r}{nearest(_short(name), free) if free else ' here'}"


def _unknown_form(error: ErrorDetails, tags: list[str]) -> str:
    if error["type"] == "union_tag_not_found":
        return f"is required, one of {', '.join(tags)}"
    tag = _short(str(error["ctx"]["tag"]))
    return f"there is no {tag!r}{nearest(tag, tags)}"


def _at_least(number: int, what: str) -> str:
    return "must not be empty" if number == 1 else f"must have at least {number} {what}"


def _bound(number: float) -> str:
    """A bound as text.

    Example:
        >>> _bound(2**31), _bound(1e10), _bound(0.0)
        ('2,147,483,648', '10,000,000,000', '0')
    """
    return f"{number:,}" if isinstance(number, int) else f"{number:,.12g}"


def _short(name: str | int) -> str:
    text = str(name)
    return text if len(text) <= MAX_NAME else f"{text[:MAX_NAME]}…"
