"""What is pending, asked of the catalog alone, is what the lake says candidate by candidate."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NoReturn, cast

import pytest

from blocks.catalog import index, rebuild
from blocks.chain import Chain
from blocks.lake import ObjectStore, ask_retry
from blocks.phases import PhaseDefinition, load_chain, result_of
from blocks.records import Outcome, Phase, Record
from blocks.settings import Settings
from blocks.standing import Standing, standings
from tests.blocks.test_phases import CANDIDATE, Flow


class Mirror(Record):
    of: str


class Silent:
    """A store that nobody may ask."""

    def __getattr__(self, name: str) -> NoReturn:
        raise AssertionError(f"the store was asked: {name}")


def stand(flow: Flow, definitions: list[PhaseDefinition] | None = None) -> Standing:
    """Where the candidate stands, by the catalog; it is what the lake says too."""
    settings, phases = flow.workshop.settings, definitions or flow.definitions()
    index(flow.store, settings)
    [found] = standings(settings.catalog_path, cast(ObjectStore, Silent()), settings, phases)
    chain, pending = load_chain(flow.store, settings, CANDIDATE, phases)
    assert found.candidate == chain.candidate()
    assert found.results == tuple(result_of(manifest, reused=True) for manifest in chain.manifests.values())
    assert found.keys == tuple(manifest.key for manifest in list(chain.manifests.values())[1:])
    assert found.is_pending is (pending is not None)
    return found


@pytest.fixture
def flow(tmp_path: Path) -> Flow:
    made = Flow(tmp_path)
    made.ingest()
    return made


def test_from_ingest_to_the_end(flow: Flow) -> None:
    assert stand(flow).is_pending
    flow.run()
    assert not stand(flow).is_pending
    flow.ingest("2" * 32)
    assert [result.phase for result in stand(flow).results] == [Phase.INGEST]
    flow.run()
    assert not stand(flow).is_pending


def test_a_rejection_is_an_end_until_a_retry_is_asked_for(flow: Flow) -> None:
    flow.outcomes[Phase.ARCHAEOLOGY] = Outcome.REJECTED
    flow.run()
    assert not stand(flow).is_pending
    ask_retry(flow.store, CANDIDATE, Phase.ARCHAEOLOGY)
    assert [result.phase for result in stand(flow).results] == [Phase.INGEST, Phase.QUALIFY]
    assert rebuild(flow.store, flow.workshop.settings).retries == 1
    assert stand(flow).is_pending
    flow.run()
    ask_retry(flow.store, CANDIDATE, Phase.QUALIFY)
    ask_retry(flow.store, CANDIDATE, Phase.QUALIFY)
    assert [result.phase for result in stand(flow).results] == [Phase.INGEST]


@pytest.mark.parametrize("phase", [Phase.QUALIFY, Phase.CONTAINERIZE])
def test_what_changes_the_keys(flow: Flow, phase: Phase) -> None:
    flow.run()

    def own(answer: str) -> Callable[[Settings, Chain], Record]:
        return lambda settings, chain: Mirror(of=f"{chain.candidate().repository} {answer}")

    for change in ({"version": 2}, {"own_config": own("here")}, {"own_config": own("there")}):
        changed = [replace(each, **change) if each.phase is phase else each for each in flow.definitions()]
        assert stand(flow, changed).is_pending
    assert not stand(flow).is_pending


def test_withdrawn_ones_and_others_are_left_out(flow: Flow) -> None:
    settings = flow.workshop.settings
    stand(flow)
    store = cast(ObjectStore, Silent())
    assert standings(settings.catalog_path, store, settings, flow.definitions(), ["c-other"]) == []
    assert len(standings(settings.catalog_path, store, settings, flow.definitions(), [CANDIDATE])) == 1
    for mark in ("x-1", CANDIDATE):
        flow.store.put(f"tombstones/{mark}.json", b"{}")
        index(flow.store, settings)
        assert standings(settings.catalog_path, store, settings, flow.definitions()) == []
        flow.store.delete(f"tombstones/{mark}.json")
