"""Commands about this machine: `doctor`, `setup`, `up`."""

import contextlib
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Annotated

import typer
from rich.markup import escape

from blocks.engine import Engine, Owner
from blocks.engine.retention import stored_images
from blocks.errors import EnvmillError, ServiceMissingError
from blocks.lake import open_store
from blocks.settings import Settings, load_settings
from blocks.workshop import Workshop
from flows.commands.output import console, print_json


def doctor(as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False) -> None:
    """Look whether everything a run needs is there; exit 3 where something is missing."""
    settings = load_settings()
    found = {
        "python": _said(lambda: _python()),
        "git": _said(lambda: _git()),
        "lake": _said(lambda: _lake(settings)),
        "engine": _said(lambda: _engine(settings)),
        "secret scanner": _said(lambda: _scanner()),
    }
    if found["engine"][0]:
        found["images"] = _said(lambda: _images(settings))
    if as_json:
        print_json({name: {"ok": ok, "message": message} for name, (ok, message) in found.items()})
    else:
        for name, (ok, message) in found.items():
            console.print(
                f"{'[green]ok[/green]     ' if ok else '[red]missing[/red]'} {name}: {escape(message)}", soft_wrap=True
            )
    if not all(ok for ok, _ in found.values()):
        raise typer.Exit(3)


def up(
    port: Annotated[int, typer.Option(help="Port of the Prefect server, on loopback.")] = 4200,
    logs_only: Annotated[bool, typer.Option(help="Only the logs: where a Prefect server is running already.")] = False,
) -> None:
    """Serve the Prefect UI on the data of past runs, and the logs it links to; ends with Ctrl-C."""
    from flows.server import serve_argv, server_environment

    settings = load_settings()
    with _logs(settings):
        if logs_only:
            with contextlib.suppress(KeyboardInterrupt):
                threading.Event().wait()
            return
        (settings.home / "prefect").mkdir(parents=True, exist_ok=True)
        url = f"http://127.0.0.1:{port}"
        console.print(f"Prefect UI: {url}  (for runs: export PREFECT_API_URL={url}/api)")
        server = subprocess.run(serve_argv(port), env=server_environment(settings.home, port), check=False)
    raise typer.Exit(server.returncode)


@contextlib.contextmanager
def _logs(settings: Settings) -> Iterator[None]:
    """Serve logs where links to them point to; nothing where another machine does."""
    from flows.logs import local_port, serving_logs

    log_port = local_port(settings.log_url)
    if log_port is None:
        console.print(f"Logs: served at {settings.log_url}, not by this command")
        yield
        return
    workshop = Workshop(settings)
    with serving_logs(lambda: workshop.store, log_port):
        console.print(f"Logs of {settings.lake_url}: {settings.log_url}")
        yield


def _said(check: Callable[[], str]) -> tuple[bool, str]:
    try:
        return True, check()
    except EnvmillError as error:
        return False, str(error)


def _python() -> str:
    return sys.version.split()[0]


def _git() -> str:
    path = shutil.which("git")
    if path is None:
        raise ServiceMissingError("git is not on the PATH; install it (Debian: apt-get install git)")
    return subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout.strip()


def _lake(settings: Settings) -> str:
    open_store(settings)
    return settings.lake_url


def _engine(settings: Settings) -> str:
    engine = Engine.connect(settings.engine, Owner.current())
    return engine.describe()


def _images(settings: Settings) -> str:
    workshop = Workshop(settings)
    found = stored_images(workshop.engine.api, workshop.last_use)
    budget_gb = settings.engine.disk_budget_gb
    limit = f"budget {budget_gb:g} GB" if budget_gb is not None else "no budget: ENVMILL_ENGINE__DISK_BUDGET_GB"
    return f"{len(found)}, {sum(image.own_bytes for image in found) / 1e9:.1f} GB ({limit})"


def _scanner() -> str:
    from tasks.ingest.redact import open_scanner

    open_scanner()
    return "finds the token made up to test it"
