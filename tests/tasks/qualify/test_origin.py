import json

import pytest

from blocks.records import Decision, ReasonCode
from blocks.session import Session
from blocks.settings import QualifySettings
from tasks.qualify import licence
from tasks.qualify.fidelity import matches
from tasks.qualify.origin import qualify_origin
from tests.history import MIT, git
from tests.tasks.qualify.kettle import BASE, BOILER, IDENTITY, TIMER, Kettle, agent_session, prompt_session

pytestmark = pytest.mark.slow

SETTINGS = QualifySettings()


def _decided(session: Session, kettle: Kettle, settings: QualifySettings = SETTINGS) -> tuple[Decision, ReasonCode]:
    verdict = qualify_origin(session, kettle.open(), settings)
    assert (verdict.judge, verdict.model, verdict.cost_usd) == ("rules", None, 0.0)
    return verdict.decision, verdict.reason_code


def test_a_public_licensed_start_that_the_session_saw_passes_with_its_evidence(kettle: Kettle) -> None:
    verdict = qualify_origin(agent_session(kettle.start), kettle.open(), SETTINGS)
    evidence = json.loads(verdict.evidence)
    assert verdict.decision is Decision.PASS, verdict.message
    assert evidence["licence"] == "MIT"
    assert evidence["start_fidelity"] == 1.0
    assert evidence["branches"] == ["main"]
    assert qualify_origin(prompt_session(kettle.start), kettle.open(), SETTINGS).decision is Decision.PASS


def test_a_start_that_only_its_id_gives_is_for_a_person_and_its_ancestor_is_named(kettle: Kettle) -> None:
    fix = kettle.fix()
    kettle.open()
    git(kettle.history.folder, "update-ref", "refs/heads/main", kettle.start)
    verdict = qualify_origin(prompt_session(fix), kettle.cache.open(IDENTITY, commit=fix), SETTINGS)
    assert (verdict.decision, verdict.reason_code) == (Decision.UNSURE, ReasonCode.COMMIT_NOT_PUBLIC), verdict.message
    evidence = json.loads(verdict.evidence)
    assert (evidence["branch_count"], evidence["start"]["reach"]["way"]) == (0, "id")
    assert git(kettle.history.folder, "merge-base", fix, "main") == kettle.start
    assert (evidence["ancestor"], evidence["ancestor_licence"]) == (kettle.start, "MIT")
    assert verdict.start is not None and verdict.start.base_commit == fix


def test_a_stranger_cannot_give_a_licence_to_what_has_none(kettle: Kettle) -> None:
    without = kettle.history.commit({"LICENSE": None, "pyproject.toml": None}, "Unlicensed", day=6)
    theirs = kettle.history.commit({"LICENSE": MIT}, "I say so", day=7, branch="pull", parents=[without])
    git(kettle.history.folder, "update-ref", "-d", "refs/heads/pull")
    session = prompt_session(theirs)
    verdict = qualify_origin(session, kettle.cache.open(IDENTITY, commit=theirs), SETTINGS)
    assert (verdict.decision, verdict.reason_code) == (Decision.UNSURE, ReasonCode.LICENCE_UNSURE), verdict.message


def test_a_start_that_shares_nothing_with_the_project_or_was_taken_back_is_for_a_person(kettle: Kettle) -> None:
    folder = kettle.history.folder
    alone = kettle.history.commit(BASE, "Another project", day=6, branch="alone", parents=[])
    taken = kettle.history.commit(
        {"kettle/boiler.py": "secret = 1\n"}, "Oops", day=6, branch="oops", parents=[kettle.start]
    )
    kettle.open()
    for name in ("alone", "oops"):
        git(folder, "update-ref", "-d", f"refs/heads/{name}")
    found = qualify_origin(prompt_session(alone), kettle.cache.open(IDENTITY, commit=alone), SETTINGS)
    assert (found.decision, found.reason_code) == (Decision.UNSURE, ReasonCode.COMMIT_NOT_PUBLIC)
    assert "shares no history" in found.message
    git(folder, "reflog", "expire", "--expire=now", "--all")
    git(folder, "gc", "--quiet", "--prune=now")
    found = qualify_origin(prompt_session(taken), kettle.cache.open(IDENTITY, commit=taken), SETTINGS)
    assert (found.decision, found.reason_code) == (Decision.UNSURE, ReasonCode.COMMIT_NOT_PUBLIC)
    assert "no longer gives it" in found.message


def test_commits_that_are_not_there_fail_and_say_what_was_tried(kettle: Kettle) -> None:
    kettle.fix()
    for start in ("0" * 40, "--all"):
        session = prompt_session(start)
        verdict = qualify_origin(session, kettle.cache.open(IDENTITY, commit=start), SETTINGS)
        assert (verdict.decision, verdict.reason_code) == (Decision.FAIL, ReasonCode.COMMIT_NOT_FOUND)
        assert ("by its id" in verdict.message) is (start == "0" * 40)
        assert verdict.start is None


def test_the_licence_is_read_at_the_start_commit(kettle: Kettle) -> None:
    without = kettle.history.commit({"LICENSE": None}, "Remove", day=6)
    kettle.history.commit({"LICENSE": MIT}, "Bring it back", day=7)
    assert _decided(prompt_session(without), kettle) == (Decision.FAIL, ReasonCode.LICENCE_MISSING)
    assert _decided(prompt_session(kettle.start), kettle) == (Decision.PASS, ReasonCode.OK)
    off = QualifySettings(licence_gate=False)
    verdict = qualify_origin(prompt_session(without), kettle.open(), off)
    assert verdict.decision is Decision.PASS
    assert json.loads(verdict.evidence)["licence"] is None


@pytest.mark.parametrize(
    ("files", "code"),
    [
        ({"LICENSE": MIT[: len(MIT) // 2]}, ReasonCode.LICENCE_UNSURE),
        ({"LICENSE": "Ask me.\n"}, ReasonCode.LICENCE_UNSURE),
        ({"pyproject.toml": '[project]\nlicense = {text = "GPL-3.0-only"}\n'}, ReasonCode.LICENCE_UNSURE),
        ({"LICENSE": "Ask me.\n", "LICENSE-vendored.txt": MIT}, ReasonCode.LICENCE_UNSURE),
    ],
)
def test_a_doubtful_licence_is_for_a_person(kettle: Kettle, files: dict[str, str], code: ReasonCode) -> None:
    commit = kettle.history.commit(files, "Change the licence", day=6)
    assert _decided(prompt_session(commit), kettle) == (Decision.UNSURE, code)


def test_a_licence_that_is_not_allowed_fails(kettle: Kettle) -> None:
    only_isc = QualifySettings(licences=("ISC",))
    assert _decided(prompt_session(kettle.start), kettle, only_isc) == (Decision.FAIL, ReasonCode.LICENCE_NOT_ALLOWED)


def test_what_the_session_saw_is_compared_with_the_start(kettle: Kettle) -> None:
    black = TIMER.replace('"black": 4', '"black": 3')
    same = (("kettle/boiler.py", BOILER.replace("\n", "\r\n") + "\n"), ("kettle/timer.py", black))
    assert _decided(agent_session(kettle.start, seen=same), kettle)[0] is Decision.PASS
    redacted = TIMER.replace("Steeping", "[REDACTED:generic-api-key-1]")
    dirty = (("kettle/boiler.py", BOILER), ("kettle/timer.py", redacted))
    assert _decided(agent_session(kettle.start, seen=dirty), kettle) == (Decision.UNSURE, ReasonCode.SESSION_MISMATCH)
    other = (("kettle/boiler.py", "x = 1\n"), ("kettle/timer.py", TIMER), ("setup.py", "x"))
    assert _decided(agent_session(kettle.start, seen=other), kettle) == (Decision.FAIL, ReasonCode.SESSION_MISMATCH)
    outside = (("kettle/boiler.py", BOILER), ("repro.py", "import kettle\n"))
    assert _decided(agent_session(kettle.start, seen=outside), kettle)[0] is Decision.PASS


def test_redacted_places_do_not_count_against_a_session() -> None:
    content = 'key = "hunter2"\nowner = "ada"\n# by ada\n'
    assert matches('key = "[REDACTED:generic-api-key-1]"\nowner = "<user-1>"\n# by <user-1>\n', content, whole=True)
    assert matches('owner = "<user-1>"', content, whole=False)
    assert not matches('key = "[REDACTED:generic-api-key-1]"\nowner = "bob"\n# by <user-1>\n', content, whole=True)
    assert not matches("# by <user-1>\nkey = ", content, whole=False)
    assert not matches("[REDACTED:x-1]hunter2\nextra", content, whole=True)
    assert matches(BASE["README.md"], BASE["README.md"], whole=True)


def test_the_same_licence_text_in_many_folders_is_detected_once(
    kettle: Kettle, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    real = licence._detect

    def counted(path: str, content: bytes) -> licence.LicenceFile:
        asked.append(path)
        return real(path, content)

    monkeypatch.setattr(licence, "_detect", counted)
    folders = {f"part{number}/{name}": text for number in range(4) for name, text in
               {"LICENSE": MIT, "code.py": "x = 1\n"}.items()}  # fmt: skip
    found = licence.read_licence(kettle.open(), kettle.start)
    assert asked == ["LICENSE"] and not found.folders
    sha = kettle.history.commit(folders, "Parts", day=4)
    found = licence.read_licence(kettle.open(), sha)
    assert asked[1:] == ["LICENSE", "part0/LICENSE"]
    assert [(one.path, one.licence) for one in found.folders] == [
        (f"part{number}/LICENSE", "MIT") for number in range(4)
    ]
