"""Checks the files in deploy/ with the programs that read them: ``python tools/deploy.py``.

``promtool``, ``nginx`` and ``systemd-analyze`` are taken from the path; those that are not there are unpacked from
their Debian packages into a temporary folder, which needs ``apt-get``. Nothing is installed.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

DEPLOY = Path(__file__).parent.parent / "deploy"
PACKAGES = {"promtool": "prometheus", "nginx": "nginx", "systemd-analyze": "systemd"}


def program(name: str, folder: Path) -> str:
    """The path of a program, which is unpacked from its package if it is not installed."""
    found = shutil.which(name)
    if found is None:
        subprocess.run(["apt-get", "download", "-qq", PACKAGES[name]], cwd=folder, check=True)
        for package in folder.glob(f"{PACKAGES[name]}_*.deb"):
            subprocess.run(["dpkg", "--extract", str(package), str(folder / "root")], check=True)
        found = shutil.which(name, path=f"{folder}/root/usr/bin:{folder}/root/usr/sbin")
    assert found is not None, f"{name} is not in the package {PACKAGES[name]}"
    return found


def prometheus(folder: Path) -> None:
    """The scrape configuration, the rules, and what raises each of them."""
    promtool = program("promtool", folder)
    config = (DEPLOY / "prometheus" / "prometheus.yaml").read_text().replace("/run/secrets", str(folder))
    (folder / "prometheus.yaml").write_text(config)
    (folder / "prometheus.key").write_text("evh_")
    shutil.copy(DEPLOY / "prometheus" / "rules.yaml", folder)
    run([promtool, "check", "config", str(folder / "prometheus.yaml")])
    run([promtool, "test", "rules", str(DEPLOY / "prometheus" / "rules_test.yaml")])


def nginx(folder: Path) -> None:
    """The proxy, with a certificate made for the check."""
    certificate, key = folder / "certificate.pem", folder / "certificate.key"
    options = ["-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=decisions.example.org", "-days", "1"]
    run(["openssl", "req", *options, "-out", str(certificate), "-keyout", str(key)])
    site = (DEPLOY / "nginx.conf").read_text()
    site = site.replace("/etc/ssl/certs/decisions.example.org.pem", str(certificate))
    site = site.replace("/etc/ssl/private/decisions.example.org.key", str(key))
    (folder / "evenhand.conf").write_text(site)
    (folder / "logs").mkdir()
    paths = "".join(f"{kind}_temp_path {folder};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    http = f"access_log off; {paths} include {folder}/evenhand.conf;"
    (folder / "nginx.conf").write_text(f"error_log stderr; pid {folder}/pid; events {{}} http {{ {http} }}")
    run([program("nginx", folder), "-t", "-p", str(folder), "-c", str(folder / "nginx.conf"), "-e", "stderr"])


def systemd(folder: Path) -> None:
    """The unit; the path of its program is one that exists here."""
    unit = (DEPLOY / "evenhand.service").read_text().replace("/opt/evenhand/bin/evenhand", sys.executable)
    (folder / "evenhand.service").write_text(unit)
    verify = [program("systemd-analyze", folder), "verify", "--man=no", str(folder / "evenhand.service")]
    print("$", *verify, flush=True)
    found = subprocess.run(verify, check=True, capture_output=True, text=True).stderr
    assert not found, found  # an unknown word is only a warning


def run(command: list[str]) -> None:
    """Run a command, which must succeed."""
    print("$", *command, flush=True)
    subprocess.run(command, check=True)


def main() -> None:
    """Run all checks."""
    for check in (prometheus, nginx, systemd):
        with tempfile.TemporaryDirectory() as folder:
            check(Path(folder))


if __name__ == "__main__":
    main()
