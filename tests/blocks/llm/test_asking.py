"""Answers are kept in the lake and replayed; recorded ones cost nothing; a missing one is said."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from blocks.errors import UsageError
from blocks.lake import ObjectStore
from blocks.llm import (
    CandidateCache,
    Completion,
    Fault,
    LiveModel,
    Message,
    ModelRequest,
    ModelRun,
    NoAnswerError,
    RecordedModel,
    Usage,
    model_run,
    recordings,
)
from blocks.settings import ModelSettings, Price, Settings
from blocks.workshop import Workshop

SETTINGS = ModelSettings(model="m", prices={"m": Price(prompt_usd=1, completion_usd=2)}, attempts=1)


class Counting:
    """Answers with how often it was called."""

    def __init__(self) -> None:
        self.calls = 0

    async def call(self, model: str, request: ModelRequest) -> Completion:
        self.calls += 1
        usage = Usage(prompt_tokens=10, completion_tokens=5)
        return Completion(model=model, text=str(self.calls), finish_reason="stop", usage=usage)


def request(text: str = "?") -> ModelRequest:
    messages = (Message(role="user", content=text),)
    return ModelRequest(models=("m",), prompt="test@1", messages=messages, answer_schema="{}", max_tokens=9)


@pytest.fixture
def store(tmp_path: Path) -> ObjectStore:
    return Workshop(Settings(home=tmp_path)).store


@pytest.fixture
def caller() -> Counting:
    return Counting()


@pytest.fixture
def run(caller: Counting) -> Iterator[ModelRun]:
    run = ModelRun(SETTINGS, caller)
    yield run
    run.close()


def live(run: ModelRun, store: ObjectStore, candidate: str = "c-1", paid_by: str = "k-1") -> LiveModel:
    return LiveModel(run, CandidateCache(store, candidate), candidate, paid_by)


def test_the_same_request_is_paid_for_once(run: ModelRun, caller: Counting, store: ObjectStore) -> None:
    first = live(run, store)
    assert asyncio.run(first.complete(request())).text == "1"
    assert first.spent.usd == pytest.approx(20 / 1e6)
    # The same work, run again after a crash: nothing new is paid, and what was paid is not lost from its bill.
    again = live(run, store)
    assert asyncio.run(again.complete(request())).text == "1"
    assert (again.spent.usd, again.spent.calls, again.spent.replayed) == (pytest.approx(20 / 1e6), 0, 1)
    # Other work that finds it pays nothing, and another candidate has answers of its own.
    other = live(run, store, paid_by="k-2")
    assert (asyncio.run(other.complete(request())).text, other.spent.usd) == ("1", 0)
    assert asyncio.run(live(run, store, "c-2").complete(request())).text == "2"
    assert caller.calls == 2
    assert run.purse.spent_usd == pytest.approx(40 / 1e6)


def test_answers_lie_with_their_candidate(run: ModelRun, store: ObjectStore) -> None:
    asyncio.run(live(run, store).complete(request()))
    [found] = store.list("candidates/c-1/")
    assert found.key == f"candidates/c-1/models/{request().key}.json"


def test_recorded_answers_are_replayed_and_missing_ones_are_said(
    run: ModelRun, store: ObjectStore, tmp_path: Path
) -> None:
    asyncio.run(live(run, store).complete(request()))
    [kept] = store.list("candidates/c-1/models/")
    folder = tmp_path / "recorded" / "set"
    folder.mkdir(parents=True)
    (folder / kept.key.rpartition("/")[2]).write_bytes(store.get(kept.key))
    for place in (str(tmp_path / "recorded"), "lake:candidates/c-1/models"):
        model = RecordedModel(recordings(place, store))
        assert asyncio.run(model.complete(request())).text == "1"
        assert (model.spent.usd, model.spent.replayed) == (0, 1)
        with pytest.raises(NoAnswerError, match=r"test@1.*models\.recorded") as caught:
            asyncio.run(model.complete(request("!")))
        assert caught.value.fault is Fault.NOT_RECORDED


def test_recordings_that_are_not_there_are_said_at_once(store: ObjectStore, tmp_path: Path) -> None:
    missing = str(tmp_path / "nowhere")
    with pytest.raises(UsageError, match=r"models\.recorded names .*nowhere, which is no folder; correct the path"):
        recordings(missing, store)
    assert ModelSettings().recorded is None
    with pytest.raises(UsageError, match=r"models\.recorded is not set; set it to a folder"):
        recordings(None, store)


def test_what_is_no_answer_of_this_request_is_none(store: ObjectStore, run: ModelRun) -> None:
    asyncio.run(live(run, store).complete(request()))
    [kept] = store.list("candidates/c-1/models/")
    other = request("!").key
    store.put(f"candidates/c-1/models/{other}.json", store.get(kept.key))
    assert CandidateCache(store, "c-1").find(other) is None
    store.put(kept.key, b"{}")
    assert CandidateCache(store, "c-1").find(request().key) is None


def test_what_happens_within_shares_one_run() -> None:
    with model_run(SETTINGS) as outer, model_run(SETTINGS.model_copy(update={"model": "other"})) as inner:
        assert inner is outer
    with model_run(SETTINGS) as another:
        assert another is not outer


def test_no_model_set_is_said() -> None:
    with pytest.raises(UsageError, match=r"models\.model"):
        _ = ModelRun(ModelSettings()).models
