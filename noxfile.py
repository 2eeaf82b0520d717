"""One command for each thing that a developer does: ``nox -s NAME``; ``nox -l`` lists them.

Every session has an environment of its own in ``.nox``; no other environment is read or changed.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import nox

PYTHONS = ("3.11", "3.12", "3.13")
WORDED = (
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "CODE_OF_CONDUCT.md",
    "OWNER.md",
    "paper",
    "src",
    "docs",
    "examples",
    "benchmarks",
    "clients",
    "tools",
    "noxfile.py",
)
#: A worker more than the usual machine has cores: a third of the time is waiting. With four the run takes 43 s longer.
WORKERS = ("-n", "3")
QUICK_BENCHMARKS = ("start", "speed", "merit", "anonymous")

nox.needs_version = ">=2024.10"
nox.options.default_venv_backend = "uv"
nox.options.reuse_venv = "yes"
nox.options.sessions = ["lint", "types", "tests"]


@nox.session
def tests(session: nox.Session) -> None:
    """The tests, with the Python that runs nox; arguments go to pytest."""
    session.install("-e", ".[test]")
    session.run("pytest", *(session.posargs or WORKERS))


@nox.session(python=PYTHONS)
def pythons(session: nox.Session) -> None:
    """The tests with each supported Python; one that cannot be had is skipped."""
    session.install("-e", ".[test]")
    session.run("pytest", *(session.posargs or WORKERS))


@nox.session(python=PYTHONS[0])
def lowest(session: nox.Session) -> None:
    """The tests with the lowest versions of the dependencies that pyproject.toml declares."""
    session.install("--resolution", "lowest-direct", "-e", ".[test]")
    session.run("pytest", *(session.posargs or WORKERS))


@nox.session
def slow(session: nox.Session) -> None:
    """The tests that the main run leaves out, and every experiment of the papers in its reduced size."""
    session.install("-e", ".[test]")
    session.run("pytest", *WORKERS, "-m", "slow", *session.posargs, success_codes=[0, 5])  # 5: none is marked
    session.run("evenhand", "reproduce", "all", "--quick", "--out", session.create_tmp())


@nox.session
def faults(session: nox.Session) -> None:
    """Breaks fifty places of the core, one at a time: the tests must notice each; about half an hour."""
    session.install("-e", ".[test]")
    session.run("python", "tools/faults.py", *session.posargs)


@nox.session
def clusters(session: nox.Session) -> None:
    """Sweeps on local clusters of Dask and Ray, with workers that are killed."""
    session.install("-e", ".[test,dask,ray]")
    session.run("pytest", "-n", "0", "-m", "clusters", "tests/studies", *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Ruff's rules and format, who may import whom, words that are not used, and who asks for the class of a part."""
    session.install("ruff>=0.12", "import-linter>=2.6", "grimp>=3.5")
    session.run("ruff", "check")
    session.run("ruff", "format", "--check")
    session.run("lint-imports", "--no-cache", "--no-logo", env={"PYTHONPATH": "src"})
    session.run("python", "tools/imports.py", env={"PYTHONPATH": "src"})
    session.run("python", "tools/words.py", *WORDED)
    session.run("python", "tools/rooms.py")


@nox.session(name="format")
def format_code(session: nox.Session) -> None:
    """Formats the code and mends what ruff can mend."""
    session.install("ruff>=0.12")
    session.run("ruff", "check", "--fix")
    session.run("ruff", "format")


@nox.session
def types(session: nox.Session) -> None:
    """Mypy, strict."""
    session.install("-e", ".[test,lint]")
    session.run("mypy", *session.posargs)


@nox.session
def typescript(session: nox.Session) -> None:
    """The TypeScript client: generates its types, compiles it, and tests it with a service; needs Node 20 and npm."""
    session.install("-e", ".[service]")
    session.chdir("clients/typescript")
    session.run("npm", "ci", "--no-audit", "--no-fund", external=True)
    session.run("python", "../../tools/served.py", "npm", "run", "check")


@nox.session
def client_package(session: nox.Session) -> None:
    """Builds `evenhand-client`, and tries it with a service in an environment that has nothing else."""
    session.install("-e", ".[service]")
    place = Path(session.create_tmp()).resolve()
    python = place / "venv/bin/python"
    session.run("uv", "venv", "-q", "--clear", "--python", session.python or sys.executable, str(place / "venv"))
    session.run("uv", "build", "-q", "--wheel", "--clear", "--out-dir", str(place / "wheel"), "clients/python")
    (wheel,) = (place / "wheel").glob("*.whl")
    session.run("uv", "pip", "install", "-q", "--python", str(python), str(wheel))
    session.run("python", "tools/served.py", str(python), "-P", "-W", "error", "clients/python/check.py")


@nox.session
def references(session: nox.Session) -> None:
    """Compares estimators of logs with sb-obp and vw-estimators, in an environment with NumPy 1, and linear models.

    Those are compared with river and MABWiser.
    """
    session.install("-e", ".[bench,test]")
    session.run("python", "benchmarks/contexts.py", "--check")
    place = Path(session.create_tmp()).resolve()
    python = str(place / "venv/bin/python")
    session.run("uv", "venv", "-q", "--clear", "--python", session.python or sys.executable, str(place / "venv"))
    session.run("uv", "pip", "install", "-q", "--python", python, "sb-obp", "vw-estimators")
    session.run(python, "-P", "tools/references.py", "write", str(place / "kept.json"), external=True)
    session.run("python", "tools/references.py", "check", str(place / "kept.json"))


@nox.session
def release(session: nox.Session) -> None:
    """Builds both packages into dist/, checks them, and runs the README's two lines with the wheel alone."""
    session.install("twine>=6", "check-wheel-contents>=0.6")
    wheels = {}
    shutil.rmtree("dist", ignore_errors=True)
    for name, folder in (("evenhand", "."), ("evenhand_client", "clients/python")):
        kinds = (
            ["--wheel"] if folder != "." else []
        )  # the client's files are outside its folder, so an sdist lacks them
        session.run("uv", "build", "-q", *kinds, "--out-dir", "dist", folder)
        (wheels[name],) = Path("dist").glob(f"{name}-{version()}-*.whl")
    session.run("twine", "check", "--strict", *map(str, sorted(Path("dist").glob(f"*{version()}*"))))
    # Licences of the page are among those of the package, too; Alembic finds migrations by their numbers.
    session.run("check-wheel-contents", "--ignore", "W002,W004", *map(str, wheels.values()))
    place = Path(session.create_tmp()).resolve() / "venv"
    session.run("uv", "venv", "-q", "--clear", "--python", session.python or sys.executable, str(place))
    python = str(place / "bin/python")
    session.run("uv", "pip", "install", "-q", "--python", python, str(wheels["evenhand"]))
    session.run(
        python, "-P", "-c", "import evenhand as eh; print(eh.Bandit(['a', 'b'], 'fucb', fractions=[0.2, 0]).audit())"
    )
    session.run("uv", "pip", "install", "-q", "--python", python, f"{wheels['evenhand']}[test]")
    session.run(
        str(place / "bin/evenhand"), "simulate", "examples/films.toml", "--out", session.create_tmp(), external=True
    )
    session.run(
        python, "-P", "-m", "pytest", *WORKERS, *(session.posargs or ["tests"]), env={"PYTHONPATH": "."}, external=True
    )


def version() -> str:
    """The version of this code."""
    return re.findall(r'"(\d[^"]*)"', Path("src/evenhand/core/version.py").read_text(encoding="utf-8"))[0]


@nox.session
def docs(session: nox.Session) -> None:
    """The documentation, into docs/_build/html; every warning is an error, and so is what is kept and out of date."""
    session.install("-e", ".[docs]")
    session.run("python", "docs/_ext/kept.py", "--check")
    session.run("python", "docs/_ext/keep_report.py", "--check")
    session.run("python", "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", "docs", "docs/_build/html")


@nox.session
def links(session: nox.Session) -> None:
    """Whether the links of the documentation to other places still lead somewhere; needs a network."""
    session.install("-e", ".[docs]")
    session.run("python", "-m", "sphinx", "-q", "-b", "linkcheck", "docs", "docs/_build/links", *session.posargs)


@nox.session
def figures(session: nox.Session) -> None:
    """Draws the figures in docs/_static/figures that are out of date; ``-- --all`` draws all of them."""
    session.install("-e", ".[all]")
    session.run("python", "docs/_ext/kept.py", *session.posargs)


@nox.session
def pages(session: nox.Session) -> None:
    """Puts the present output of the examples into the pages of the documentation."""
    session.install("-e", ".[test]")
    session.run("python", "docs/_ext/examples.py")


@nox.session(venv_backend="none")
def commands(session: nox.Session) -> None:
    """Runs the shell commands of the pages as they are written, in a clone and an environment of their own."""
    session.run(sys.executable, "docs/_ext/shell.py", external=True)


@nox.session
def examples(session: nox.Session) -> None:
    """Runs every example; their files go to a temporary folder."""
    session.install("-e", ".[all]")
    for path in sorted(Path("examples").glob("*.py")):
        session.run("python", str(path), session.create_tmp(), silent=True)


@nox.session(venv_backend="none")
def deploy(session: nox.Session) -> None:
    """Checks the files in deploy/ with their programs, and runs the Containerfile's steps by chroot; root on Debian."""
    session.run("python3", "tools/deploy.py", external=True)
    session.run("python3", "tools/container.py", external=True)


@nox.session
def benchmarks(session: nox.Session) -> None:
    """Benchmarks by name, those of some minutes by default; ``-- speed --write`` puts the tables into the README."""
    session.install("-e", ".[bench,test]")
    options = [argument for argument in session.posargs if argument.startswith("-")]
    for name in [argument for argument in session.posargs if argument not in options] or QUICK_BENCHMARKS:
        session.run("python", f"benchmarks/{name}.py", *options)


@nox.session(venv_backend="none")
def ci(session: nox.Session) -> None:
    """What the continuous integration runs, in a clone of the last commit."""
    session.run(".ci/run", external=True)
