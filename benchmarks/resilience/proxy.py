"""Runs nginx with the shipped configuration in front of a server, to measure what its limits do."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.peers import ROOT
from benchmarks.processes import started
from benchmarks.targets import free_port

SHIPPED = ROOT / "docs/deploy/nginx.conf"
MAIN = """
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
events {{ worker_connections 4096; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
{site}
}}
"""


def nginx() -> str | None:
    """Return the path of nginx, or None if it is not installed. The variable NGINX names another program."""
    return os.environ.get("NGINX") or shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")


def site_configuration(port: int, server_port: int) -> str:
    """Return the shipped configuration without TLS, listening on `port`, with one server as its upstream."""
    text = SHIPPED.read_text()
    text = re.sub(r"listen 443 ssl;", f"listen 127.0.0.1:{port};", text)
    text = re.sub(r"^ *ssl_certificate.*\n", "", text, flags=re.MULTILINE)
    first, *others = re.findall(r"^ *server 127\.0\.0\.1:\d+ .*\n", text, flags=re.MULTILINE)
    for other in others:
        text = text.replace(other, "")
    return text.replace(first, f"    server 127.0.0.1:{server_port};\n")


@contextmanager
def proxied(program: str, server_port: int, folder: Path) -> Iterator[int]:
    """Run nginx in front of a server until the end of the block; return the port on which it listens."""
    port = free_port()
    home = folder / f"nginx-{port}"
    home.mkdir()
    configuration = home / "nginx.conf"
    configuration.write_text(MAIN.format(folder=home, site=site_configuration(port, server_port)))
    with started([program, "-c", str(configuration), "-p", str(home), "-e", "stderr"]) as process:
        process.wait_for(f"http://127.0.0.1:{port}/healthz")
        yield port
