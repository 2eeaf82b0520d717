"""The arguments of a route, read strictly from a request.

The framework could read them, too; this is less than half the work, and takes no body for anything but JSON.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, get_type_hints

from fastapi import Request
from fastapi.params import Header, Query
from pydantic import TypeAdapter, ValidationError

from evenhand.errors import nearest
from evenhand.online.service.faults import SHOWN, Refused, senseless
from evenhand.online.service.wire import Unreadable, parsed
from evenhand.online.service.wording import details


@dataclass(frozen=True)
class _Part:
    """An argument that stands in the path, in the query or in a header."""

    name: str
    where: str
    alias: str
    hint: Any
    adapter: TypeAdapter[Any]
    default: Any


class Arguments:
    """What an endpoint wants to know of a request, as its signature says in the words of FastAPI.

    Args:
        endpoint: takes the request, parts of the path, of the query and of headers, and a message, which is the body.
        path: names of the parts of the path.

    Example:
        >>> from pydantic import BaseModel
        >>> class Tea(BaseModel): ...
        >>> def brew(request: Request, name: str, tea: Tea) -> None: ...
        >>> arguments = Arguments(brew, ["name"])
        >>> arguments.has_body, [part.where for part in arguments.parts]
        (True, ['path'])
    """

    def __init__(self, endpoint: Callable[..., Any], path: Collection[str]) -> None:
        hints, defaults = get_type_hints(endpoint, include_extras=True), inspect.signature(endpoint).parameters
        self.parts: list[_Part] = []
        self._request, self._body, self._hint, self._message = "", "", Any, TypeAdapter[Any](Any)
        for name in defaults:
            declared = next(
                (one for one in getattr(hints[name], "__metadata__", ()) if isinstance(one, Header | Query)), None
            )
            if hints[name] is Request:
                self._request = name
            elif name in path or declared is not None:
                where = "path" if name in path else "header" if isinstance(declared, Header) else "query"
                alias = name if declared is None else declared.alias or name
                self.parts.append(
                    _Part(name, where, alias, hints[name], TypeAdapter(hints[name]), defaults[name].default)
                )
            else:
                self._body, self._hint, self._message = name, hints[name], TypeAdapter(hints[name])
        self._queries = {part.alias for part in self.parts if part.where == "query"}

    @property
    def has_body(self) -> bool:
        """Whether there is a message."""
        return bool(self._body)

    def check_query(self, request: Request) -> None:
        """Refuse a query with what the endpoint would not heed: it may be a slip of the pen.

        Raises:
            Refused: there is such.
        """
        for name in request.query_params if request.scope["query_string"] else ():
            if name not in self._queries:
                hint = nearest(name, self._queries) if self._queries else ""
                where, message = f"query.{name[:100]}", f"there is no such parameter{hint}"
                raise Refused("invalid", f"{where}: {message}", [(where, message)])

    async def read(self, request: Request) -> dict[str, Any]:
        """The arguments, by name.

        Raises:
            Refused: one of them is missing, or has no sense.
        """
        values: dict[str, Any] = {self._request: request} if self._request else {}
        wrong: list[tuple[str, str]] = []
        number = 0
        for part in self.parts:
            value = _found(request, part)
            try:
                values[part.name] = part.default if value is None else part.adapter.validate_python(value)
            except ValidationError as error:
                wrong += details(error, part.hint, value, (part.where, part.alias), SHOWN)
                number += error.error_count()
        if self._body:
            body = await _value(request)
            try:
                values[self._body] = self._message.validate_python(body)
            except ValidationError as error:
                wrong += details(error, self._hint, body, ("body",), SHOWN)
                number += error.error_count()
        if wrong:
            raise senseless(wrong, number)
        return values


def _found(request: Request, part: _Part) -> str | None:
    value: str | None
    if part.where == "path":
        value = request.path_params[part.name]
    elif part.where == "header":
        value = request.headers.get(part.alias)
    else:
        value = request.query_params.get(part.alias)
    return value


async def _value(request: Request) -> Any:
    """The value of the body."""
    given = request.headers.getlist("content-type")
    if len(given) != 1 or not _is_json(given[0]):
        told = repr(given[0][:100]) if given else "nothing"
        raise Refused("unsupported_media_type", f"the body must be sent as Content-Type: application/json, got {told}")
    try:
        return parsed(await request.body())
    except Unreadable as error:
        raise Refused("invalid", str(error), [("body", str(error))]) from None


def _is_json(content_type: str) -> bool:
    if content_type == "application/json":
        return True
    kind, *options = (part.strip().lower() for part in content_type.split(";"))
    return kind == "application/json" and options in ([], [""], ["charset=utf-8"], ['charset="utf-8"'])
