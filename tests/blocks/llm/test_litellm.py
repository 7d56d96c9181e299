"""Real LiteLLM against a real endpoint that misbehaves: every fault ends within its limits, and the budget holds."""

import asyncio
import json
import time
from collections.abc import Iterator

import pytest
from pydantic import SecretStr

from blocks.errors import PermanentError, UsageError
from blocks.llm import Fault, Message, ModelRequest, ModelRun, NoAnswerError, Spent, ToolSpec
from blocks.settings import ModelSettings, Price
from tests.modelserver import Answer, ModelServer, Script, says

pytestmark = pytest.mark.slow

PRICE = Price(prompt_usd=10, completion_usd=20)
KEY = "sk-a-secret-of-the-tests"


def settings(url: str, **more: object) -> ModelSettings:
    values: dict[str, object] = {
        "model": "openai/first",
        "api_base": url,
        "api_key": SecretStr(KEY),
        "prices": {"openai/first": PRICE, "openai/second": PRICE},
        "timeout_sec": 0.7,
        "attempts": 3,
        "backoff_sec": 0.01,
        "max_wait_sec": 0.5,
        "max_tokens": 50,
    }
    return ModelSettings.model_validate({**values, **more})


def request(*models: str, text: str = "Is it so?") -> ModelRequest:
    return ModelRequest(
        models=models or ("openai/first",),
        prompt="test@1",
        messages=(Message(role="system", content="You judge."), Message(role="user", content=text)),
        answer_schema='{"type": "object"}',
        tools=(ToolSpec(name="read", description="Read.", parameters='{"type": "object", "properties": {}}'),),
        max_tokens=50,
    )


class Asked:
    """One request against a script."""

    def __init__(self, script: Script, asked: ModelRequest, **more: object) -> None:
        self.spent = Spent()
        self.fault: Fault | None = None
        self.text = self.said = ""
        with ModelServer(script) as server:
            run = ModelRun(settings(server.url, **more))
            try:
                self.text = asyncio.run(run.complete("c-1", asked, self.spent)).text
            except NoAnswerError as error:
                self.fault, self.said = error.fault, str(error)
            finally:
                run.close()
            self.requests = server.requests
        self.purse_usd = run.purse.spent_usd


@pytest.fixture(autouse=True)
def quick() -> Iterator[None]:
    """Every test ends within seconds, whatever the endpoint does."""
    started = time.monotonic()
    yield
    assert time.monotonic() - started < 60


GOOD = says("so it is").body
BROKEN: dict[str, tuple[Answer, int, bool]] = {
    # what the endpoint does: how often it is asked, whether nobody knows if it was billed
    "rate limit": (Answer(b'{"error": {"message": "slow"}}', 429, {"Retry-After": "0.05"}), 3, False),
    "rate limit for too long": (Answer(b'{"error": {"message": "slow"}}', 429, {"Retry-After": "3600"}), 1, False),
    "server fault": (Answer(b"oops " + KEY.encode(), 500), 3, False),
    "overloaded": (Answer(b"{}", 503), 3, False),
    "hang": (Answer(GOOD, wait_sec=5), 3, True),
    "dropped connection": (Answer(GOOD, sent=0), 3, True),
    "truncated body": (Answer(GOOD, sent=60), 3, True),
    "truncated stream": (
        Answer(
            b'data: {"choices": [{"delta": {"content": "s"}}]}\n\ndata: {"ch',
            200,
            {"Content-Type": "text/event-stream"},
        ),
        3,
        True,
    ),
    "malformed JSON": (Answer(b'{"id": "c-1", "choi'), 3, True),
    "no JSON": (Answer(b"<html>busy</html>", 200, {"Content-Type": "text/html"}), 3, True),
    "nothing in it": (Answer(b"{}"), 3, True),
    "no choices": (Answer(b'{"id": "c-1", "object": "chat.completion", "choices": []}'), 3, True),
    "request refused": (Answer(b'{"error": {"message": "bad"}}', 400), 1, False),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_fault_is_tried_again_and_then_said(name: str) -> None:
    answer, times, unknown_bill = BROKEN[name]
    asked = Asked(lambda _, __: answer, request())
    assert asked.fault is Fault.UNAVAILABLE, asked.text
    assert len(asked.requests) == asked.spent.calls == asked.spent.failed_calls == times
    assert "openai/first" in asked.said and KEY not in asked.said
    assert asked.spent.usd == 0
    assert (asked.spent.usd_assumed > 0) == unknown_bill
    assert asked.purse_usd == pytest.approx(asked.spent.usd_assumed)


@pytest.mark.parametrize("name", BROKEN)
def test_a_fallback_answers_where_the_first_does_not(name: str) -> None:
    answer, times, _ = BROKEN[name]
    asked = Asked(
        lambda body, _: answer if body["model"] == "first" else says("so it is"),
        request("openai/first", "openai/second"),
        fallbacks=("openai/second",),
    )
    assert (asked.fault, asked.text) == (None, "so it is")
    assert [body["model"] for body in asked.requests] == ["first"] * times + ["second"]


@pytest.mark.parametrize("name", [name for name, (_, times, _) in BROKEN.items() if times > 1])
def test_what_passes_is_outlasted(name: str) -> None:
    answer = BROKEN[name][0]
    asked = Asked(lambda _, number: answer if number < 3 else says("so it is"), request())
    assert (asked.fault, asked.text, len(asked.requests)) == (None, "so it is", 3)
    assert (asked.spent.prompt_tokens, asked.spent.completion_tokens) == (100, 20)
    assert asked.spent.usd == pytest.approx((100 * 10 + 20 * 20) / 1e6)


def test_retry_after_is_waited_for() -> None:
    started = time.monotonic()
    slow = Answer(b"{}", 429, {"Retry-After": "0.4"})
    asked = Asked(lambda _, number: slow if number == 1 else says("yes"), request())
    assert asked.text == "yes"
    assert time.monotonic() - started >= 0.4


def test_what_is_sent_is_what_was_asked() -> None:
    asked = Asked(lambda _, __: says("yes"), request(), temperature=0.0)
    body = asked.requests[0]
    assert [message["role"] for message in body["messages"]] == ["system", "user"]
    assert body["max_tokens"] == 50
    assert body["tools"][0]["function"]["name"] == "read"
    assert body["response_format"]["json_schema"]["schema"] == {"type": "object"}
    assert "stream" not in body or not body["stream"]


@pytest.mark.parametrize(("status", "match"), [(401, "models.api_key"), (403, "models.api_key"), (404, "models.model")])
def test_a_wrong_setting_ends_the_run_and_says_which(status: int, match: str) -> None:
    with pytest.raises(PermanentError, match=match) as caught:
        Asked(lambda _, __: Answer(b'{"error": {"message": "no"}}', status), request())
    assert not isinstance(caught.value, NoAnswerError)
    assert KEY not in str(caught.value)


def test_a_model_without_a_price_is_not_asked() -> None:
    with pytest.raises(UsageError, match=r"models\.prices"):
        Asked(lambda _, __: says("yes"), request("openai/of-nobody"), model="openai/of-nobody", prices={})


def test_prices_come_from_the_local_list_and_long_prompts_count_as_dear_as_they_are() -> None:
    run = ModelRun(ModelSettings(model="gemini/gemini-2.5-pro"))
    price = run.prices.of("gemini/gemini-2.5-pro")
    assert price.prompt_usd >= 2.5 and price.completion_usd >= 15  # the tier above 200k tokens
    assert run.prices.of("openai/gpt-4o-mini").prompt_usd > 0


@pytest.mark.parametrize("billed", [500, 2000])
def test_many_calls_at_once_never_exceed_a_budget(billed: int) -> None:
    # The endpoint bills everything it may (and, in the second case, more prompt tokens than anybody guesses: up to the
    # bytes that were sent).
    text = "x" * 2000

    def script(body: dict[str, object], _: int) -> Answer:
        return says("yes", prompt_tokens=billed, completion_tokens=50)

    most = settings("http://127.0.0.1:1").max_tokens * 20 / 1e6 + request(text=text).most_prompt_tokens * 10 / 1e6
    limit = most * 4.5

    async def all_of(run: ModelRun, spents: list[Spent]) -> list[object]:
        jobs = [
            run.complete(f"c-{number % 3}", request(text=f"{text}{number}"), spent)
            for number, spent in enumerate(spents)
        ]
        return list(await asyncio.gather(*jobs, return_exceptions=True))

    spents = [Spent() for _ in range(60)]
    with ModelServer(script) as server:
        run = ModelRun(settings(server.url, run_budget_usd=limit, candidate_budget_usd=limit, in_flight=20))
        try:
            results = asyncio.run(all_of(run, spents))
        finally:
            run.close()
        asked, at_once = len(server.requests), server.most_in_flight
    total = sum(spent.usd + spent.usd_assumed for spent in spents)
    assert total == pytest.approx(run.purse.spent_usd)
    assert total <= limit
    refused = [result for result in results if isinstance(result, NoAnswerError)]
    assert refused and all(result.fault is Fault.BUDGET for result in refused)
    assert asked + len(refused) == 60
    assert asked >= 4 and at_once <= 20
    # What is left would not have paid for another worst case.
    assert limit - total < most * 1.01


def test_a_candidate_has_its_own_budget() -> None:
    with ModelServer(lambda _, __: says("yes", prompt_tokens=500, completion_tokens=50)) as server:
        run = ModelRun(settings(server.url, candidate_budget_usd=0.012, run_budget_usd=1))

        async def until_spent(candidate: str) -> int:
            for count in range(50):
                try:
                    await run.complete(candidate, request(text=str(count)), Spent())
                except NoAnswerError as error:
                    assert error.fault is Fault.BUDGET and "candidate" in str(error)
                    return count
            raise AssertionError("never spent")

        async def both() -> tuple[int, int]:
            return await until_spent("c-1"), await until_spent("c-2")

        try:
            first, second = asyncio.run(both())
        finally:
            run.close()
        assert first == second > 0
        assert run.purse.spent_usd <= 0.024


def test_an_endpoint_that_bills_more_than_it_may_is_not_asked_again() -> None:
    async def two(run: ModelRun) -> None:
        await run.complete("c-1", request(text="one"), Spent())
        with pytest.raises(NoAnswerError) as caught:
            await run.complete("c-1", request(text="two"), Spent())
        assert caught.value.fault is Fault.BUDGET

    with ModelServer(lambda _, __: says("yes", prompt_tokens=10**6, completion_tokens=10**6)) as server:
        run = ModelRun(settings(server.url, run_budget_usd=1, candidate_budget_usd=1))
        try:
            asyncio.run(two(run))
        finally:
            run.close()
        assert len(server.requests) == 1
        # The bill is told as it is, not as it should have been.
        assert run.purse.spent_usd == pytest.approx(30)


def test_an_answer_without_a_bill_counts_as_dear_as_it_can_be() -> None:
    body = json.loads(says("yes").body)
    del body["usage"]
    asked = Asked(lambda _, __: Answer(json.dumps(body).encode()), request())
    assert asked.text == "yes"
    assert asked.spent.usd == 0 < asked.spent.usd_assumed == pytest.approx(asked.purse_usd)


def test_half_a_surrogate_pair_does_not_get_in() -> None:
    body = says("a HALF b", calls=(("read", "HALF"),)).body.replace(b"HALF", b"\\ud800")
    asked = Asked(lambda _, __: Answer(body), request())
    assert asked.text == "a ? b"
