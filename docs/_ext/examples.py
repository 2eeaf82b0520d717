"""The examples of the pages: found, run, compared with what is shown, and brought up to date.

A page with the line ``<!-- examples: with a service -->`` finds one running, at the address in ``EVENHAND_URL``.

``python docs/_ext/examples.py`` runs every page, or those that are named, and puts the present output where another
one is shown; what a page leaves out (``…``) stays left out. Needed when random streams or messages change, since the
tests compare to the last digit.
"""

from __future__ import annotations

import contextlib
import doctest
import importlib
import io
import os
import re
import runpy
import shlex
import shutil
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from joblib.externals.loky import get_reusable_executor

DOCS = Path(__file__).parents[1]
BLOCK = re.compile(r"^```(?:\{code-block\} )?(\w+)\n(?::caption: (\S+)\n)?(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
SERVED = "<!-- examples: with a service -->"
NUMBER = re.compile(r"-?\d[\d,]*(\.\d+)?")


@dataclass(frozen=True)
class Block:
    """A block of code; a file name as its caption marks a complete example."""

    language: str
    file: str
    content: str


@dataclass(frozen=True)
class Output:
    """What a page shows of an example's output, and what it printed."""

    source: str
    shown: str
    got: str

    @property
    def agrees(self) -> bool:
        """Whether it is the same; ``…`` stands for what is left out, and rules may differ in length."""
        want, got = (re.sub("─+", "─", text) for text in (self.shown.replace("…", "..."), self.got))
        return doctest.OutputChecker().check_output(want, got, FLAGS)


def pages() -> list[str]:
    """Every page, relative to the folder of the documentation."""
    return sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md") if "_build" not in path.parts)


def blocks(text: str) -> list[Block]:
    """Every block of code of a page."""
    return [Block(*found) for found in BLOCK.findall(text)]


def runs(text: str) -> bool:
    """Whether a page shows anything that `run` runs."""
    return any(one.language in ("console", "pycon") or (one.language == "python" and one.file) for one in blocks(text))


def earlier(page: str) -> str:
    """The files of the notebooks before this one on its path, as the blocks that they are written in."""
    folder, _, name = page.rpartition("/")
    before = sorted(path for path in (DOCS / folder).glob("*.md") if path.name < name) if "paths/" in page else []
    found = [one for path in before for one in BLOCK.finditer(path.read_text(encoding="utf-8")) if one[2]]
    return "".join(f"{one[0]}\n" for one in found)


def write_files(text: str, before: str = "") -> list[Path]:
    """Write the complete examples of a page, those before it and the project's own into the working directory."""
    shutil.copytree(DOCS.parent / "examples", "examples", dirs_exist_ok=True)
    files = []
    for block in blocks(before + text):
        if block.file:
            Path(block.file).write_text(block.content, encoding="utf-8")
            files.append(Path(block.file))
    return files


def run(text: str, before: str = "") -> Iterator[Output]:
    """Run what a page shows, with the files before it, in the working directory and in the order of the page."""
    write_files(text, before)
    names: dict[str, Any] = {}
    with service() if SERVED in text else contextlib.nullcontext():
        for block in blocks(text):
            if block.language == "python" and block.file:
                run_tests_of(vars(importlib.import_module(Path(block.file).stem)))
            elif block.language == "console":
                for line, shown in commands_of(block.content):
                    yield Output(line, shown, run_command(line))
            elif block.language == "pycon":
                yield from run_session(block.content, names)


@contextlib.contextmanager
def service() -> Iterator[None]:
    """A service on a database in the working directory; its address is in the environment meanwhile."""
    import uvicorn

    from evenhand.service.http.app import create_app
    from evenhand.service.http.settings import Settings
    from evenhand.service.store import Store

    store = Store.open("evenhand.db")
    server = uvicorn.Server(
        uvicorn.Config(create_app(store, Settings(no_keys=True)), log_level="error", lifespan="off", ws="none")
    )
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        try:
            with mock.patch.dict(os.environ, EVENHAND_URL=f"http://127.0.0.1:{listening.getsockname()[1]}"):
                yield
        finally:
            server.should_exit = True
            thread.join()
            store.close()


def commands_of(content: str) -> list[tuple[str, str]]:
    """The commands of a console block, each with the output that is shown."""
    pieces = re.split(r"^\$ (.+)\n", content, flags=re.MULTILINE)[1:]
    return list(zip(pieces[::2], pieces[1::2], strict=True))


def run_command(line: str) -> str:
    """What a command prints: first standard output, then standard error."""
    from evenhand.cli import main as cli

    program, *arguments = shlex.split(line)
    out, err = io.StringIO(), io.StringIO()
    with (
        # A page shows a command on a machine that is not busy, where no answer takes so long that the client says so.
        mock.patch("evenhand.client.transport.NOTICE_AFTER", threading.TIMEOUT_MAX),
        mock.patch.object(sys, "argv", [program, *arguments]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        contextlib.suppress(SystemExit),
    ):
        if program == "python":
            runpy.run_path(arguments[0], run_name="__main__")
        elif program == "evenhand":
            cli.main()
        else:
            raise ValueError(f"not one of the commands of the pages: {line}")
    return out.getvalue() + err.getvalue()


def run_session(content: str, names: dict[str, Any]) -> Iterator[Output]:
    """Run what stands behind the prompts; ``names`` are kept from block to block."""
    for example in doctest.DocTestParser().get_examples(content):
        test = doctest.DocTest([example], names, "page", None, None, None)
        runner = _Listening(optionflags=FLAGS)
        runner.run(test, out=lambda text: None, clear_globs=False)
        names.update(test.globs)
        yield Output(example.source, example.want, example.want if runner.got is None else runner.got)


class _Listening(doctest.DocTestRunner):
    """Remembers the output of an example that shows another one."""

    got: str | None = None

    def report_failure(self, out: Any, test: Any, example: Any, got: str) -> None:
        self.got = got

    def report_unexpected_exception(self, out: Any, test: Any, example: Any, exc_info: Any) -> None:
        self.got = f"{exc_info[0].__name__}: {exc_info[1]}\n"


def run_tests_of(namespace: dict[str, Any]) -> None:
    """The tests of a module, for every value of their one parameter."""
    for test in [thing for name, thing in namespace.items() if name.startswith("test_")]:
        for mark in test.pytestmark:
            for value in mark.args[1]:
                test(**{mark.args[0]: value})


def renewed(output: Output) -> str:
    """What is shown, with the lines of today where only numbers differ; the whole output where words do."""
    if "…" not in output.shown:
        return trimmed(output.got)
    fresh = output.got.splitlines()
    lines = []
    for line in output.shown.splitlines():
        place = next((i for i, other in enumerate(fresh) if _words(other) == _words(line)), None)
        if place is not None and _words(line):
            lines.append(fresh[place].rstrip())
            fresh = fresh[place + 1 :]
        else:
            lines.append(line)
    return "\n".join(lines) + "\n"


def trimmed(text: str) -> str:
    """Output without blanks at the ends of lines, and without blank lines."""
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines() if line.strip())


def _words(line: str) -> str:
    return " ".join(NUMBER.sub("#", re.sub("─+", "─", line)).split())


@contextlib.contextmanager
def workplace() -> Iterator[None]:
    """A folder of its own as the working directory, from which modules can be imported.

    Algorithms that are registered within it are forgotten after it.
    """
    from evenhand.algorithms.registry import ALGORITHMS

    with tempfile.TemporaryDirectory(prefix="evenhand-") as folder:
        home, path, modules = os.getcwd(), list(sys.path), set(sys.modules)
        algorithms = dict(ALGORITHMS)
        os.chdir(folder)
        sys.path.insert(0, folder)
        # Processes that began earlier do not know the folder.
        get_reusable_executor().shutdown(wait=True)
        try:
            yield
        finally:
            os.chdir(home)
            sys.path[:] = path
            ALGORITHMS.clear()
            ALGORITHMS.update(algorithms)
            for name in set(sys.modules) - modules:
                if str(getattr(sys.modules[name], "__file__", "")).startswith(folder):
                    del sys.modules[name]


def main() -> None:
    """Bring every page up to date, or those that are named."""
    for page in sys.argv[1:] or pages():
        path = DOCS / page
        text = path.read_text(encoding="utf-8")
        with workplace():
            stale = [output for output in run(text, earlier(page)) if not output.agrees]
        for output in stale:
            print(f"{page}: {output.source.strip()}")
            if text.count(output.shown) == 1 and output.shown.strip() not in ("", "…"):
                text = text.replace(output.shown, renewed(output))
            else:
                print(f"  cannot be renewed by itself; it is now:\n{output.got}")
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
