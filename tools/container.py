"""Carries out deploy/Containerfile without a container engine: ``python tools/container.py``, as root on Debian.

Each stage runs by chroot in a copy of a minimal Debian, which debootstrap makes; only its Python is not the
image's. Then the service runs as the image's user, in a network of its own: it gets a key, becomes healthy, decides,
and stops at the image's signal. Layers, volumes and the health checks of an engine are not tried.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parent.parent
SUITE = "bookworm"
PACKAGES = "python3,python3-venv,ca-certificates"
SEARCH_PATH = "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
HEALTHY = 60.0  # seconds within which the service must be healthy
#: Where pip finds packages here, if not at its usual place; an engine has its own settings for that.
PIP = {name: value for name, value in os.environ.items() if name.startswith("PIP_") or name.endswith("_proxy")}
DECIDE = """
import json, urllib.request as web
def post(path, body):
    headers = {"Authorization": "Bearer " + SECRET, "Content-Type": "application/json"}
    request = web.Request("http://127.0.0.1:8000/v1/allocations" + path, json.dumps(body).encode(), headers)
    return json.load(web.urlopen(request, timeout=10))
post("", {"name": "drinks", "arms": ["tea", "coffee"], "missing": "never", "algorithm": "ucb1"})
print(post("/drinks/decisions", {})["decisions"][0]["id"])
"""


def instructions(text: str) -> list[tuple[str, str]]:
    """The instructions of a Containerfile, each with its arguments.

    Example:
        >>> instructions("# tea\\nRUN a \\\\\\n  b\\nUSER c")
        [('RUN', 'a    b'), ('USER', 'c')]
    """
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    joined = re.sub(r"\\\n", " ", "\n".join(lines))
    return [(name, rest) for name, _, rest in (line.partition(" ") for line in joined.splitlines() if line.strip())]


@dataclass
class Image:
    """A stage of the build, in a folder that becomes its root."""

    root: Path
    user: str = "root"
    folder: str = "/"
    environment: dict[str, str] = field(
        default_factory=lambda: {"PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
    )
    words: dict[str, list[str]] = field(default_factory=dict)  # of ENTRYPOINT, CMD, HEALTHCHECK

    def command(self, words: list[str]) -> list[str]:
        """A command as the image runs it."""
        variables = [f"{name}={value}" for name, value in (PIP | self.environment).items()]
        inside = ["env", "-i", *variables, "sh", "-c", 'cd "$0" && exec "$@"', self.folder, *words]
        return ["chroot", f"--userspec={self.user}", str(self.root), *inside]

    def run(self, words: list[str]) -> None:
        """Run a command, which must succeed."""
        subprocess.run(self.command(words), check=True)

    def copy(self, sources: list[str], target: str, origin: Path) -> None:
        """Copy files into it, as COPY does."""
        to = self.root / os.path.join(self.folder, target).lstrip("/")
        for source in sources:
            path = origin / source.lstrip("/")
            if path.is_dir():
                shutil.copytree(
                    path, to, symlinks=True, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__")
                )
            else:
                to.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, to)


def build(containerfile: str, folder: Path) -> Image:
    """The last stage, after all instructions have been carried out."""
    base = folder / "base"
    subprocess.run(["debootstrap", "--variant=minbase", f"--include={PACKAGES}", SUITE, str(base)], check=True)
    (base / "usr/local/bin/python").symlink_to("/usr/bin/python3")
    shutil.copy("/etc/resolv.conf", base / "etc/resolv.conf")
    shutil.copy("/etc/ssl/certs/ca-certificates.crt", base / "etc/ssl/certs/ca-certificates.crt")
    stages: dict[str, Image] = {}
    image = Image(base)
    for name, rest in instructions(containerfile):
        print(f"{name} {rest}", flush=True)
        words = shlex.split(rest)
        match name:
            case "FROM":
                image = Image(folder / f"stage{len(stages)}")
                subprocess.run(["cp", "--archive", str(base), str(image.root)], check=True)
                stages[words[2] if len(words) > 2 else "last"] = image
            case "ENV":
                for word in words:
                    variable, _, value = word.partition("=")
                    image.environment[variable] = value.replace("$PATH", image.environment["PATH"])
            case "WORKDIR":
                image.folder = rest
                (image.root / rest.lstrip("/")).mkdir(parents=True, exist_ok=True)
            case "USER":
                image.user = rest
            case "RUN":
                image.run(["sh", "-c", rest])
            case "COPY":
                option, *paths = words if words[0].startswith("--from=") else ["", *words]
                origin = stages[option.removeprefix("--from=")].root if option else ROOT
                image.copy(paths[:-1], paths[-1], origin)
            case "ENTRYPOINT" | "CMD":
                image.words[name] = json.loads(rest)
            case "HEALTHCHECK":
                image.words[name] = json.loads(rest.partition("CMD")[2])
            case "STOPSIGNAL":
                image.words[name] = words
            case "VOLUME" | "EXPOSE":
                pass
            case _:
                raise SystemExit(f"this script does not know the instruction {name}")
    return image


def serve(image: Image) -> None:
    """Create a key, serve, become healthy, decide, and stop."""
    entry = image.words["ENTRYPOINT"]
    refused = subprocess.run(image.command([*entry, *image.words["CMD"]]), capture_output=True, text=True)
    assert refused.returncode == 2, refused
    assert "keys create" in refused.stderr, refused.stderr
    create = [*entry, "keys", "create", "shop", "--scope", "administer", "--scope", "decide"]
    secret = subprocess.run(image.command(create), check=True, capture_output=True, text=True).stdout.strip()
    network = ["unshare", "--net", "--", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
    log = image.root / "log"
    with log.open("wb") as file:
        server = subprocess.Popen([*network, *image.command([*entry, *image.words["CMD"]])], stderr=file)
    try:
        inside = ["nsenter", f"--net=/proc/{server.pid}/ns/net"]
        check, until = [*inside, *image.command(image.words["HEALTHCHECK"])], time.monotonic() + HEALTHY
        time.sleep(1.0)  # the server is in its network by then
        while subprocess.run(check, stderr=subprocess.DEVNULL).returncode:
            assert server.poll() is None, log.read_text()
            assert time.monotonic() < until, log.read_text()
            time.sleep(1.0)
        code = DECIDE.replace("SECRET", repr(secret))
        decided = subprocess.run([*inside, *image.command(["python", "-c", code])], check=True, capture_output=True)
        assert decided.stdout == b"1\n", decided
    finally:
        server.send_signal(signal.Signals[image.words["STOPSIGNAL"][0]])
        status = server.wait(60.0)
    assert status == 0, status
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert any(line.get("path", "").endswith("/decisions") and line["status"] == 200 for line in lines), lines
    assert secret not in log.read_text()
    database = (image.root / "data/evenhand.db").stat()
    assert (database.st_uid, database.st_mode & 0o777) == (10001, 0o600), database


def main() -> None:
    """Build, serve, and say how large the result is."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        image = build((ROOT / "deploy" / "Containerfile").read_text(), Path(name))
        serve(image)
        size = subprocess.run(
            ["du", "-sm", str(image.root / "opt/evenhand")], check=True, capture_output=True, text=True
        )
        print(f"all steps were carried out; the environment has {size.stdout.split()[0]} MB")


if __name__ == "__main__":
    main()
