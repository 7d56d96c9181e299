"""How well the judges fan out: many candidates times four qualifiers against an endpoint that takes a second.

    python -m bench.fanout [--candidates 200] [--in-flight 50] [--latency 1.0] [--whole N]

One process asks through real LiteLLM with at most `--in-flight` calls at a time; every judgement is a task run in Prefect,
its verdict and its answer go to the lake. The endpoint is a process of its own on loopback. One candidate more is judged
before the clock starts: what a first call loads is loaded once in the life of a worker. The evidence is collected before,
too: that is work of the processors, which no endpoint waits for. `--whole N` measures it apart: the whole wave of
flows/qualify.py, by rules, over N candidates. Ideal = candidates x 4 x latency / in-flight; the aim is 85 %.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.pinned import VERSION
from blocks.chain import Chain
from blocks.lake import PhaseKey, PhaseWriter, commit_phase
from blocks.lake.commit import input_key
from blocks.phases import expected_key
from blocks.records import CandidateRow, Outcome, Phase, Qualifier, ReasonCode
from blocks.session import Intervention, Session, Speaker, Step
from blocks.settings import ModelSettings, Price, QualifySettings, Settings
from blocks.workshop import Workshop
from flows.server import await_recorded, prefect_server

ROOT = Path(__file__).parents[1]
REPOSITORY = "https://github.com/lanternquay/gatehours"
BUNDLE = ROOT / "data" / "sample" / "repositories" / "gatehours.bundle"
START = "0f69fb8"
WISH = (
    "A gate that opens before midnight and closes after it is shown as closed at one in the morning; it should be open."
)
AIM = 0.85


async def serve(latency_sec: float) -> None:
    """An endpoint that takes its time and passes whatever it is asked. Prints its port."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
                length = int(head.partition("content-length:")[2].split("\r\n")[0])
                request = json.loads(await reader.readexactly(length))
                await asyncio.sleep(latency_sec)
                body = json.dumps(_completion(request)).encode()
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n")
                writer.write(f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=512)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def _completion(request: dict[str, Any]) -> dict[str, Any]:
    asked = request["messages"][1]["content"]
    outcome = None
    if "You are the outcome qualifier" in request["messages"][0]["content"]:
        outcome = asked.split('"commit":"')[1][:40]
    claim = {"text": "the wish", "quote": "it should be open", "where": "step:0"}
    verdict = {"decision": "pass", "reason_code": "ok", "confidence": 0.9, "message": "plain", "claims": [claim]}
    message = {"role": "assistant", "content": json.dumps({**verdict, "outcome": outcome})}
    return {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": "served",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": len(asked) // 4, "completion_tokens": 60, "total_tokens": len(asked) // 4 + 60},
    }


@contextmanager
def endpoint(latency_sec: float) -> Iterator[str]:
    """The endpoint in a process of its own."""
    argv = [sys.executable, "-m", "bench.fanout", "--serve", "--latency", str(latency_sec)]
    process = subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
    finally:
        process.kill()
        process.wait()


def ingested(workshop: Workshop, start: str, number: int) -> PhaseKey:
    """A candidate by hand, and the key of its qualify run."""
    name = f"c-{number:016x}"
    wish = f"{WISH} (seen {number} times)"
    row = CandidateRow.model_validate(
        {
            "candidate_id": name,
            "contribution_id": f"x-{number}",
            "source": "prompt",
            "repository": REPOSITORY,
            "start_commit": start,
            "start_fidelity": None,
            "instruction": wish,
            "language": "python",
            "created_at": "2026-01-01T00:00:00Z",
        }
    )
    session = Session(
        source="prompt",
        session_id=name,
        repository=REPOSITORY,
        start_commit=start,
        start_evidence="by hand",
        steps=(Step(index=0, speaker=Speaker.USER, text=wish, intervention=Intervention.PROMPT),),
    )
    chain = Chain(workshop.store, name)
    key = chain.key(Phase.INGEST, input_key(Phase.INGEST, VERSION, name, None), None)
    writer = PhaseWriter(workshop.store, key)
    writer.rows([row])
    writer.record("session.json", session)
    chain = chain.with_manifest(commit_phase(writer, Outcome.PASSED, ReasonCode.OK, "by hand"))
    from tasks.qualify.phase import QUALIFY

    return expected_key(QUALIFY, workshop.settings, chain, key.input_key)


async def fan_out(workshop: Workshop, keys: list[PhaseKey], latency_sec: float) -> bool:
    """The judges alone. Whether the aim was reached."""
    from prefect import flow, task

    from blocks.chain import load_upstream
    from blocks.llm import model_run
    from blocks.prefect_options import RETRY, started_task_runs
    from flows.qualify import at_once
    from tasks.qualify.judging import Case
    from tasks.qualify.phase import collect, decide

    first = load_upstream(workshop.store, keys[0])
    collected = {qualifier: collect(workshop, first, qualifier) for qualifier in Qualifier}
    cases: dict[str, dict[Qualifier, Case]] = {}
    for key in keys:
        session = load_upstream(workshop.store, key).record(Phase.INGEST, "session.json", Session)
        cases[key.candidate_id] = {
            name: Case(case.verdict, session, case.repository, case.start) for name, case in collected.items()
        }

    @task(task_run_name="{qualifier.value} {key.candidate_id}", **RETRY)
    async def review(key: PhaseKey, qualifier: Qualifier) -> str:
        return await decide(workshop, key, cases[key.candidate_id][qualifier], time.monotonic())

    @flow(name="fanout")
    async def all_of_them() -> list[str]:
        with model_run(workshop.settings.models) as run:
            run.warm()
            gate = asyncio.Semaphore(at_once(workshop.settings))

            async def one(key: PhaseKey) -> list[str]:
                async with gate:
                    return list(await asyncio.gather(*(review(key, qualifier) for qualifier in Qualifier)))

            await one(keys[0])  # what the first call loads is loaded once in the life of a worker
            started = time.monotonic()
            processor = time.process_time()
            decided = [one for four in await asyncio.gather(*map(one, keys[1:])) for one in four]
            seconds.append(time.monotonic() - started)
            seconds.append(time.process_time() - processor)
            return decided

    seconds: list[float] = []
    with started_task_runs() as ids:
        decisions = await all_of_them()
    finished = time.monotonic()
    missing = await await_recorded(ids)
    ideal = len(decisions) * latency_sec / workshop.settings.models.in_flight
    share = ideal / seconds[0]
    print(f"judgements             {len(decisions)} ({', '.join(sorted(set(decisions)))})")
    print(f"ideal                  {ideal:.1f} s")
    print(f"wall                   {seconds[0]:.1f} s, of which this process computed {seconds[1]:.1f} s")
    print(f"share of the ideal     {share:.1%} (aim {AIM:.0%})")
    print(
        f"recorded in Prefect    {len(ids) - missing} of {len(ids)} task runs, {time.monotonic() - finished:.1f} s later"
    )
    return share >= AIM and not missing and len(ids) == len(decisions) + len(Qualifier)


async def whole(keys: list[PhaseKey]) -> None:
    """The wave, with collectors, by rules."""
    from flows.qualify import qualify_wave

    started = time.monotonic()
    report = await qualify_wave(keys)
    seconds = time.monotonic() - started
    ended = sorted({str(result.outcome) for result in report.results})
    print(
        f"whole wave by rules    {len(keys)} candidates in {seconds:.1f} s ({', '.join(ended)}; {len(report.crashed)} crashed)"
    )


def main() -> int:
    """Run it; 0 where the aim was reached."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--candidates", type=int, default=200)
    parser.add_argument("--in-flight", type=int, default=50)
    parser.add_argument("--latency", type=float, default=1.0)
    parser.add_argument("--whole", type=int, default=0)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        asyncio.run(serve(arguments.latency))
    with tempfile.TemporaryDirectory() as folder, endpoint(arguments.latency) as url:
        return _measure(Path(folder), url, arguments)


def _measure(home: Path, url: str, arguments: argparse.Namespace) -> int:
    models = ModelSettings.model_validate(
        {
            "model": "openai/served",
            "api_base": url,
            "api_key": "none",
            "prices": {"openai/served": Price(prompt_usd=0.1, completion_usd=0.1)},
            "in_flight": arguments.in_flight,
        }
    )
    provider = "rules" if arguments.whole else "litellm"
    settings = Settings(
        home=home,
        mirrors={REPOSITORY: str(BUNDLE)},
        qualify=QualifySettings.model_validate({"provider": provider}),
        models=models,
    )
    with prefect_server(settings) as server:
        os.environ.update(
            PREFECT_API_URL=server.api_url,
            PREFECT_HOME=str(home / "prefect-client"),
            PREFECT_LOGGING_LEVEL="ERROR",
            ENVMILL_HOME=str(home),
            ENVMILL_MIRRORS=json.dumps(dict(settings.mirrors)),
        )
        workshop = Workshop(settings)
        start = workshop.mirrors.open(REPOSITORY).resolve(START)
        assert start is not None
        keys = [ingested(workshop, start, number) for number in range(arguments.whole or arguments.candidates + 1)]
        if arguments.whole:
            asyncio.run(whole(keys))
            return 0
        return 0 if asyncio.run(fan_out(workshop, keys, arguments.latency)) else 1


if __name__ == "__main__":
    sys.exit(main())
