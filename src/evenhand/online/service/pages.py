"""Files for people: the page, and the description of the routes with its viewer; nothing comes from elsewhere."""

from __future__ import annotations

import hashlib
import mimetypes
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

import orjson
from fastapi import Request, Response
from starlette.exceptions import HTTPException

from evenhand.online.service.guard import PUBLIC, needs, routes

TYPES = {".js": "text/javascript", ".mjs": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
SENT = (
    *TYPES,
    ".png",
    ".txt",
    ".woff2",
)  # files for browsers; others in the folders are for those who work on the page
VIEWER = ("swagger-ui-bundle.js", "swagger-ui.css")  # of the package fastapi-offline, which exists to ship them

router = routes("pages", described=False)


@dataclass(frozen=True)
class File:
    """A file as it is sent.

    Attributes:
        content: its bytes.
        kind: its media type.
        tag: names its content.
    """

    content: bytes
    kind: str
    tag: str

    @classmethod
    def of(cls, content: bytes, name: str) -> File:
        """A file with that content and name.

        Example:
            >>> File.of(b"let tea", "tea.js").kind
            'text/javascript; charset=utf-8'
        """
        kind = TYPES.get(_suffix(name)) or mimetypes.guess_type(name)[0] or "application/octet-stream"
        if kind.startswith("text/"):
            kind += "; charset=utf-8"
        return cls(content, kind, f'"{hashlib.sha256(content).hexdigest()[:32]}"')

    def sent(self, request: Request) -> Response:
        """The file, or that it is still the same; browsers ask every time, so that a new version is seen at once."""
        headers = {"etag": self.tag, "cache-control": "no-cache"}
        given = request.headers.get("if-none-match", "")
        if self.tag in (one.strip().removeprefix("W/") for one in given.split(",")):
            return Response(status_code=304, headers=headers)
        return Response(self.content, media_type=self.kind, headers=headers)


@cache
def assets() -> dict[str, File]:
    """The files of the page, by their paths."""
    return dict(_found(files("evenhand.online") / "page"))


@cache
def viewer() -> dict[str, File]:
    """The files of the page that shows the description of the routes, by their names."""
    shipped, own = files("fastapi_offline") / "static", files("evenhand.online.service") / "docs"
    made = {name: File.of((shipped / name).read_bytes(), name) for name in VIEWER}
    return made | {name: File.of((own / name).read_bytes(), name) for name in ("index.html", "docs.js")}


@router.get("/", **needs(PUBLIC))
async def page(request: Request) -> Response:
    """The page for people."""
    return _send(request, assets(), "index.html")


@router.get("/assets/{path:path}", **needs(PUBLIC))
async def asset(request: Request, path: str) -> Response:
    """A file of the page."""
    return _send(request, assets(), path)


@router.get("/docs", **needs(PUBLIC))
async def docs(request: Request) -> Response:
    """The description of the routes, to read and to try."""
    return _send(request, viewer(), "index.html")


@router.get("/docs/{name}", **needs(PUBLIC))
async def docs_file(request: Request, name: str) -> Response:
    """A file of that."""
    return _send(request, viewer(), name)


@router.get("/openapi.json", **needs(PUBLIC))
async def openapi(request: Request) -> Response:
    """The description of the routes, for programs."""
    return File.of(orjson.dumps(request.app.openapi()), "openapi.json").sent(request)


def _send(request: Request, there: dict[str, File], path: str) -> Response:
    if path not in there:
        raise HTTPException(404)
    return there[path].sent(request)


def _found(folder: Traversable, before: str = "") -> Iterator[tuple[str, File]]:
    """All files in a folder and those below, with their paths."""
    for path in folder.iterdir():
        name = before + path.name
        if path.is_dir():
            yield from _found(path, f"{name}/")
        elif _suffix(name) in SENT or name == "index.html":
            yield name, File.of(path.read_bytes(), name)


def _suffix(name: str) -> str:
    return "." + name.rpartition(".")[2]
