"""Prefect tasks of the phase: list an inbox, take in one item of it."""

import asyncio
import tempfile
import traceback
from pathlib import Path

from prefect import task
from prefect.runtime import flow_run

from blocks.errors import EnvmillError, PermanentError
from blocks.lake import ObjectStore
from blocks.lake.open import open_store_at
from blocks.prefect_options import RETRY
from blocks.records import Outcome, ReasonCode, Record
from blocks.settings import Settings
from blocks.workshop import Workshop, open_workshop
from tasks.ingest.commit import commit_contribution, find_committed
from tasks.ingest.contribution import ingest_contribution
from tasks.ingest.inbox import download_item, find_folders, read_item
from tasks.ingest.raw import clean

_REMOTE = "s3://"


class Taken(Record):
    """What became of one item of an inbox. Holds no content."""

    name: str
    contribution_id: str
    accepted: bool
    reason_code: ReasonCode
    message: str
    reused: bool
    """It was seen before: nothing of it was read again but for its hash."""


@task(task_run_name="list-inbox", **RETRY)
async def list_inbox(inbox: str) -> list[str]:
    """Addresses of the items of an inbox, which is a folder or an `s3://bucket/prefix`."""
    return await asyncio.to_thread(_addresses, inbox, open_workshop(flow_run.id).settings)


@task(task_run_name="take-in", **RETRY)
async def take_in(address: str) -> Taken:
    """Read, check, redact and commit one item; a bad one is a value."""
    return await asyncio.to_thread(_take_in, address, open_workshop(flow_run.id))


def take(folder: Path, store: ObjectStore, flow_run_id: str | None = None) -> Taken:
    """Ingest one folder."""
    item = read_item(folder)
    committed = find_committed(store, item)
    manifest = committed
    if manifest is None:
        manifest = commit_contribution(store, item, ingest_contribution(item), flow_run_id=flow_run_id).contribution
    return Taken(
        name=item.name,
        contribution_id=item.contribution_id,
        accepted=manifest.outcome is Outcome.PASSED,
        reason_code=manifest.reason_code,
        message=manifest.message,
        reused=committed is not None,
    )


def _take_in(address: str, workshop: Workshop) -> Taken:
    """The boundary where the text of unexpected errors ends: it may hold what was not redacted, and Prefect keeps it."""
    try:
        return _taken(address, workshop)
    except EnvmillError:
        raise
    except Exception as error:  # noqa: BLE001 - named boundary, see above
        place = traceback.extract_tb(error.__traceback__)[-1]
        said = f"{type(error).__name__} at {Path(place.filename).name}:{place.lineno}"
    raise PermanentError(f"{clean(address.rpartition('/')[2])}: {said}; this is a fault of envmill, please report it")


def _taken(address: str, workshop: Workshop) -> Taken:
    """Items of a remote inbox are copied into a temporary folder: what is not redacted stays nowhere."""
    if not address.startswith(_REMOTE):
        return take(Path(address), workshop.store, workshop.flow_run_id)
    inbox, _, name = address.rpartition("/")
    with tempfile.TemporaryDirectory(prefix="envmill-inbox-") as folder:
        copy = download_item(open_store_at(inbox, workshop.settings), name, Path(folder))
        return take(copy, workshop.store, workshop.flow_run_id)


def _addresses(inbox: str, settings: Settings) -> list[str]:
    if inbox.startswith(_REMOTE):
        names = {info.key.split("/", 1)[0] for info in open_store_at(inbox, settings).list() if "/" in info.key}
        return [f"{inbox.rstrip('/')}/{name}" for name in sorted(names)]
    folder = Path(inbox)
    if not folder.exists() and inbox == str(settings.home / "inbox"):
        folder.mkdir(parents=True)
    return [str(item) for item in find_folders(folder)]
