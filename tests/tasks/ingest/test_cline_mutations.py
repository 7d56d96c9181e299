"""Whatever happened to an export: the parser gives a session or a typed refusal, and nothing else."""

import copy
import json
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from blocks.session import Session
from tasks.ingest.cline import find_task_folders, read_session
from tasks.ingest.cline.messages import Text
from tasks.ingest.cline.replies import pieces_of
from tasks.ingest.cline.xml import split_tools
from tasks.ingest.result import RefusedError
from tests.tasks.ingest.exports import agent, opening, results, user, write_export

ROWS = [
    opening(),
    agent("Reading.", ("1", "read_file", {"path": "a.py"})),
    user("[read_file for 'a.py'] Result:\nx\n"),
    agent("", ("2", "replace_in_file", {"path": "a.py", "diff": "------- SEARCH\nx\n=======\ny\n+++++++ REPLACE\n"})),
    results(("2", "The content was successfully saved to a.py.")),
    agent("<execute_command>\n<command>ls</command>\n</execute_command>"),
    user("[execute_command for 'ls'] Result:", "Command executed."),
]
UI = [
    {"ts": 1700000000000 + index, "type": "say", "say": say, "conversationHistoryIndex": index - 1, "text": text}
    for index, (say, text) in enumerate(
        [("text", "hi"), ("api_req_started", '{"tokensIn": 3, "cost": 0.5}'), ("text", "")]
    )
]
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(exclude_categories=()), max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
QUICK = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


def parse(history: bytes, ui: bytes) -> Session | None:
    with tempfile.TemporaryDirectory() as folder:
        place = write_export(Path(folder) / "x", []) / "tasks" / "1700000000000"
        (place / "api_conversation_history.json").write_bytes(history)
        (place / "ui_messages.json").write_bytes(ui)
        (task,) = find_task_folders(Path(folder) / "x")
        try:
            session = read_session(task)
        except RefusedError as error:
            assert str(error)
            return None
        json.loads(session.model_dump_json())
        assert [step.index for step in session.steps] == list(range(len(session.steps)))
        return session


def places(value: object, at: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    found = [at] if at else []
    if isinstance(value, dict):
        return found + [deep for key, item in value.items() for deep in places(item, (*at, key))]
    if isinstance(value, list):
        return found + [deep for index, item in enumerate(value) for deep in places(item, (*at, index))]
    return found


def swapped(rows: list[dict[str, object]], at: tuple[str | int, ...], value: object) -> bytes:
    changed = copy.deepcopy(rows)
    holder: object = changed
    for key in at[:-1]:
        holder = holder[key]  # type: ignore[index]
    holder[at[-1]] = value  # type: ignore[index]
    return json.dumps(changed).encode("utf-8", "surrogatepass")


def test_the_unchanged_export_parses() -> None:
    session = parse(json.dumps(ROWS).encode(), json.dumps(UI).encode())
    assert session is not None
    assert (len(session.edits), len(session.commands), len(session.seen_files)) == (1, 1, 1)


@QUICK
@given(at=st.sampled_from(places(ROWS)), value=JSON)
def test_any_value_of_the_history_replaced(at: tuple[str | int, ...], value: object) -> None:
    parse(swapped(ROWS, at, value), json.dumps(UI).encode())


@QUICK
@given(at=st.sampled_from(places(UI)), value=JSON)
def test_any_value_of_the_ui_rows_replaced(at: tuple[str | int, ...], value: object) -> None:
    parse(json.dumps(ROWS).encode(), swapped(UI, at, value))


@QUICK
@given(cut=st.integers(0, len(json.dumps(ROWS)) - 1), junk=st.binary(max_size=6))
def test_truncated_is_always_refused(cut: int, junk: bytes) -> None:
    content = json.dumps(ROWS).encode()[:cut]
    assert parse(content, b"[]") is None
    parse(content + junk, b"[]")


@QUICK
@given(
    texts=st.lists(
        st.text(st.sampled_from("<>[]/ \n'") | st.sampled_from("taskfedbckrn_ile:"), max_size=120), max_size=4
    )
)
def test_any_text_splits(texts: list[str]) -> None:
    heads = ("", "[read_file for 'a'] Result:", "<task>", "The user denied this operation", "<write_to_file><path>")
    for head in heads:
        pieces_of([Text(text=head + text) for text in texts], {})
        split_tools("".join(head + text for text in texts))
