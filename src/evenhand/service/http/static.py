"""Static files: the page, and the description of the routes with its viewer; nothing is loaded from elsewhere."""

from __future__ import annotations

import hashlib
import mimetypes
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

import orjson
from fastapi import APIRouter, Depends, Request, Response
from starlette.exceptions import HTTPException

from evenhand.core.glossary import terms
from evenhand.service.http.dependencies import public

TYPES = {".js": "text/javascript", ".mjs": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
SUFFIXES = (*TYPES, ".png", ".txt", ".woff2")  # of the files for browsers; the folders have others for developers
VIEWER = ("swagger-ui-bundle.js", "swagger-ui.css")  # of the package fastapi-offline
GLOSSARY = "glossary.json"  # what the words of the page mean, by the words

router = APIRouter(include_in_schema=False, dependencies=[Depends(public)])


@dataclass(frozen=True)
class File:
    """A file to be sent."""

    content: bytes
    kind: str
    etag: str

    @classmethod
    def of(cls, content: bytes, name: str) -> File:
        """The file with a content and a name."""
        kind = TYPES.get(_suffix(name)) or mimetypes.guess_type(name)[0] or "application/octet-stream"
        if kind.startswith("text/"):
            kind += "; charset=utf-8"
        return cls(content, kind, f'"{hashlib.sha256(content).hexdigest()[:32]}"')

    def response(self, request: Request) -> Response:
        """The file, or 304 if it is unchanged; browsers check every time, so that a new version is used at once."""
        headers = {"etag": self.etag, "cache-control": "no-cache"}
        etags = request.headers.get("if-none-match", "").split(",")
        if self.etag in (etag.strip().removeprefix("W/") for etag in etags):
            return Response(status_code=304, headers=headers)
        return Response(self.content, media_type=self.kind, headers=headers)


@cache
def assets() -> dict[str, File]:
    """The files of the page, by their paths; among them the glossary of the command line and the documentation."""
    words = {name: term.plain for name, term in terms().items()}
    glossary = {GLOSSARY: File.of(orjson.dumps(words), GLOSSARY)}
    return dict(_files_in(files("evenhand.service") / "page")) | glossary


@cache
def viewer() -> dict[str, File]:
    """The files of the page with the description of the routes, by their names."""
    library, own = files("fastapi_offline") / "static", files("evenhand.service.http") / "docs"
    paths = {name: library / name for name in VIEWER} | {name: own / name for name in ("index.html", "docs.js")}
    return {name: File.of(path.read_bytes(), name) for name, path in paths.items()}


@router.get("/")
async def page(request: Request) -> Response:
    """The page for people."""
    return _send(request, assets(), "index.html")


@router.get("/assets/{path:path}")
async def asset(request: Request, path: str) -> Response:
    """A file of the page."""
    return _send(request, assets(), path)


@router.get("/docs")
async def docs(request: Request) -> Response:
    """The description of the routes, with forms to try them."""
    return _send(request, viewer(), "index.html")


@router.get("/docs/{name}")
async def docs_file(request: Request, name: str) -> Response:
    """A file of the description."""
    return _send(request, viewer(), name)


@router.get("/openapi.json")
async def openapi(request: Request) -> Response:
    """The description of the routes, for programs."""
    return File.of(orjson.dumps(request.app.openapi()), "openapi.json").response(request)


def _send(request: Request, files_by_path: dict[str, File], path: str) -> Response:
    if path not in files_by_path:
        raise HTTPException(404)
    return files_by_path[path].response(request)


def _files_in(folder: Traversable, prefix: str = "") -> Iterator[tuple[str, File]]:
    """All files in a folder and its subfolders, with their paths."""
    for path in folder.iterdir():
        name = prefix + path.name
        if path.is_dir():
            yield from _files_in(path, f"{name}/")
        elif _suffix(name) in SUFFIXES or name == "index.html":
            yield name, File.of(path.read_bytes(), name)


def _suffix(name: str) -> str:
    return "." + name.rpartition(".")[2]
