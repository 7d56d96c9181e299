"""A worker whose lease another one took over stops: its container goes, nothing it does is written, no retry begins."""

import asyncio
import json
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from blocks.chain import Chain
from blocks.engine import ContainerSpec, Engine, Role
from blocks.errors import EnvmillError
from blocks.lake import Lease, LeaseLostError, ObjectStore, Owner, PhaseKey, PhaseWriter, acquire_lease
from blocks.phases import Decision, PhaseDefinition, load_chain
from blocks.records import Outcome, Phase, ReasonCode
from blocks.work import hold, perform
from blocks.workshop import Workshop
from flows.phase_run import held
from tests.blocks.test_phases import CANDIDATE, Flow

ELSEWHERE = Owner(host="elsewhere", boot_id="b", pid_namespace="p", pid=7, start_ticks=1)
Work = Callable[[Workshop, Chain, PhaseWriter], Decision]


def taken_over(store: ObjectStore, key: PhaseKey) -> Lease:
    """Another machine takes the lease, as it may after ten minutes without a renewal."""
    later = datetime.now(UTC) + timedelta(hours=1)
    return acquire_lease(store, key.input_key, owner=ELSEWHERE, ttl_sec=3600, now=lambda: later)


def work_on(flow: Flow, work: Work) -> tuple[Workshop, PhaseKey, EnvmillError]:
    """The work as a phase flow does it, with a lease that is looked after every tenth of a second."""
    workshop = Workshop(flow.workshop.settings, "run-of-the-test")
    _, key = load_chain(flow.store, workshop.settings, CANDIDATE, flow.definitions())
    assert key is not None
    definition = PhaseDefinition(Phase.QUALIFY, 1, lambda settings: None, work)

    async def run() -> None:
        async with held(hold(workshop, key), workshop, renew_sec=0.1):
            await asyncio.to_thread(perform, definition, key, workshop)

    with pytest.raises(EnvmillError) as raised:
        asyncio.run(run())
    return workshop, key, raised.value


@pytest.fixture
def flow(tmp_path: Path) -> Flow:
    made = Flow(tmp_path)
    made.ingest()
    return made


def expect_untouched(flow: Flow, key: PhaseKey) -> None:
    """Nothing is committed, and the lease is still the other worker's."""
    assert [info.key for info in flow.store.list(key.prefix) if "/crashes/" not in info.key] == [f"{key.prefix}early"]
    record = json.loads(flow.store.get(f"leases/{key.input_key}.json"))
    assert (record["owner"]["host"], record["released"]) == ("elsewhere", False)


def test_what_is_written_after_the_loss_is_refused(flow: Flow) -> None:
    def work(workshop: Workshop, chain: Chain, writer: PhaseWriter) -> Decision:
        writer.object("early", "before the loss")
        taken_over(flow.store, writer.key)
        assert writer.lease is not None
        while not writer.lease.is_lost:
            time.sleep(0.01)
        with pytest.raises(LeaseLostError):
            writer.object("late", "after it")
        return Decision(outcome=Outcome.PASSED, reason_code=ReasonCode.OK, message="done")

    _, key, error = work_on(flow, work)
    assert isinstance(error, LeaseLostError)
    expect_untouched(flow, key)


@pytest.mark.engine
def test_a_step_that_waits_for_a_container_ends(flow: Flow, engine: Engine, base_image: str) -> None:
    def work(workshop: Workshop, chain: Chain, writer: PhaseWriter) -> Decision:
        writer.object("early", "before the loss")
        spec = ContainerSpec(image=base_image, role=Role.SUBJECT, deadline_sec=300)
        with engine.container(spec) as other, workshop.engine.container(spec) as box:
            taken_over(flow.store, writer.key)
            try:
                box.run(["sleep", "240"], timeout_sec=240)
            finally:
                assert other.is_running(), "of the same process, but of no flow run or of another"
        raise AssertionError("the container outlived the lease")

    _, key, error = work_on(flow, work)
    assert "gone" in str(error) or "ended" in str(error)
    expect_untouched(flow, key)
