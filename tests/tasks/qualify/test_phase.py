"""Qualify as a phase: where the candidate starts is left for archaeology, and a mended mirror map is asked again."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from blocks.lake import LeaseLostError, Owner, PhaseKey, acquire_lease, find_manifest
from blocks.phases import PhaseResult, expected_key
from blocks.records import Outcome, Phase, Qualifier, ReasonCode
from blocks.repositories import Repository
from blocks.session import Session
from blocks.settings import QualifySettings, Settings
from blocks.start import START, Start
from blocks.work import hold, perform, under
from blocks.workshop import Workshop
from tasks.qualify import start as start_module
from tasks.qualify.phase import QUALIFY, collect, judge
from tasks.qualify.tables import digest_of_tables
from tests.tasks.qualify.kettle import IDENTITY, Kettle, agent_session, ingest_by_hand
from tests.tasks.qualify.test_start import GONE, WIP, began

pytestmark = pytest.mark.slow

CANDIDATE = "c-0123456789abcdef"


class Desk:
    """One ingested candidate; qualified with whatever mirror map is in force."""

    def __init__(self, home: Path, session: Session) -> None:
        self.home = home
        self.store = Workshop(Settings(home=home)).store
        self.chain = ingest_by_hand(self.store, CANDIDATE, session)

    def key(self, mirrors: dict[str, str]) -> PhaseKey:
        return expected_key(QUALIFY, Settings(home=self.home, mirrors=mirrors), self.chain, "1" * 32)

    def qualify(self, mirrors: dict[str, str]) -> PhaseResult:
        return perform(QUALIFY, self.key(mirrors), Workshop(Settings(home=self.home, mirrors=mirrors)))


def test_a_rejection_for_want_of_a_source_is_not_reused_once_there_is_one(kettle: Kettle, tmp_path: Path) -> None:
    kettle.fix()
    desk = Desk(tmp_path / "home", agent_session(kettle.start))
    nowhere = {IDENTITY: str(tmp_path / "nowhere")}
    lost = desk.qualify(nowhere)
    assert (lost.outcome, lost.reason_code) == (Outcome.REJECTED, ReasonCode.REPOSITORY_UNREACHABLE)
    assert desk.qualify(nowhere).reused
    found = desk.qualify({IDENTITY: str(kettle.history.folder)})
    assert (found.outcome, found.reused) == (Outcome.PASSED, False), found.message


def test_only_what_is_said_of_its_own_repository_makes_another_key(kettle: Kettle, tmp_path: Path) -> None:
    desk = Desk(tmp_path / "home", agent_session(kettle.start))
    plain = desk.key({})
    assert desk.key({"https://example.org/tea/other": "/x"}) == plain
    mapped = desk.key({IDENTITY: "https://git.example.com/kettle"})
    assert mapped != plain
    assert desk.key({"https://example.org/tea/": "https://git.example.com"}) == mapped
    for secret in ("ada:hunter2@", "bob@"):
        assert desk.key({IDENTITY: f"https://{secret}git.example.com/kettle"}) == mapped
    assert desk.key({IDENTITY: "https://git.example.com/kettle", "https://example.org/": "/y"}) == mapped


def test_whatever_decides_is_part_of_the_key(kettle: Kettle, tmp_path: Path) -> None:
    desk = Desk(tmp_path / "home", agent_session(kettle.start))

    def key(**qualify: object) -> PhaseKey:
        settings = Settings(home=desk.home, qualify=QualifySettings.model_validate(qualify))
        return expected_key(QUALIFY, settings, desk.chain, "1" * 32)

    assert key(github_token="t") == key()
    others = [key(github_api=False), key(github_url="https://git.example.com/api"), key(known_benchmarks=False)]
    assert len({one.input_key for one in [key(), *others]}) == 4


def test_what_the_tables_say_is_part_of_the_key(tmp_path: Path) -> None:
    def now(*, benchmarks: bool = True) -> str:
        return digest_of_tables(benchmarks=benchmarks, lists=tmp_path, demands=tmp_path / "demands.toml")

    (tmp_path / "demands.toml").write_text("a")
    without, first = now(benchmarks=False), now()
    (tmp_path / "bench.txt").write_text("x")
    second = now()
    assert first != second and now(benchmarks=False) == without
    (tmp_path / "bench.txt").write_text("y")
    assert now() not in (first, second)
    (tmp_path / "demands.toml").write_text("b")
    assert now(benchmarks=False) != without


def test_the_start_is_left_for_archaeology(kettle: Kettle, tmp_path: Path) -> None:
    kettle.fix()
    seen = (("kettle/boiler.py", str(agent_session(kettle.start).seen_files[0].content)), ("kettle/timer.py", WIP))
    desk = Desk(tmp_path / "home", agent_session(kettle.start, seen=seen))
    mirrors = {IDENTITY: str(kettle.history.folder)}
    assert desk.qualify(mirrors).outcome is Outcome.PASSED
    manifest = find_manifest(desk.store, desk.key(mirrors))
    assert manifest is not None
    start = desk.chain.with_manifest(manifest).record(Phase.QUALIFY, START, Start)
    assert [one.path for one in start.recovered] == ["kettle/timer.py"]
    assert (start.base_commit, start.commit_fidelity, start.start_fidelity) == (kettle.start, 0.5, 1.0)


def test_a_worker_that_lost_its_lease_writes_no_verdict(kettle: Kettle, tmp_path: Path) -> None:
    kettle.fix()
    desk = Desk(tmp_path / "home", agent_session(kettle.start))
    mirrors = {IDENTITY: str(kettle.history.folder)}
    key, workshop = desk.key(mirrors), Workshop(Settings(home=desk.home, mirrors=mirrors))
    lease, later = hold(workshop, key), datetime.now(UTC) + timedelta(hours=1)
    somebody = Owner(host="elsewhere", boot_id="b", pid_namespace="n", pid=1, start_ticks=1)
    acquire_lease(desk.store, key.input_key, owner=somebody, ttl_sec=3600, now=lambda: later)
    with pytest.raises(LeaseLostError):
        lease.renew()
    with under(lease), pytest.raises(LeaseLostError):
        asyncio.run(judge(workshop, key, Qualifier.JOURNEY))
    assert not list(desk.store.list(key.prefix))


@pytest.mark.parametrize("qualifier", Qualifier)
def test_what_stands_in_for_the_start_is_looked_for_once(
    kettle: Kettle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, qualifier: Qualifier
) -> None:
    kettle.fix()
    desk = Desk(tmp_path / "home", began(agent_session(GONE), 10))
    workshop = Workshop(Settings(home=desk.home, mirrors={IDENTITY: str(kettle.history.folder)}))
    found: list[start_module.Base | None] = []
    real = start_module.nearest_base

    def counted(session: Session, repository: Repository) -> start_module.Base | None:
        found.append(real(session, repository))
        return found[-1]

    monkeypatch.setattr(start_module, "nearest_base", counted)
    case = collect(workshop, desk.chain, qualifier)
    [base] = found
    assert base is not None and case.start == base.commit
