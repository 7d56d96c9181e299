"""Secrets in disguise go, the same value gets the same placeholder, and what is no secret stays byte by byte."""

import base64
import json
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from blocks.records import ReasonCode
from blocks.session import (
    Command,
    Edit,
    EditKind,
    Intervention,
    Observation,
    SeenFile,
    Session,
    Speaker,
    Step,
    ToolCall,
)
from tasks.ingest.redact import Finding, Redaction, SecretScanner, open_scanner, redact_sessions
from tasks.ingest.redact.personal import find_personal
from tasks.ingest.redact.rules import load_rules
from tasks.ingest.result import RefusedError
from tests.tasks.ingest.exports import COMMIT, REPOSITORY

GITHUB = "ghp_" + "Zk3vQ8mT1xW6yB9nL4pR7sD2fG5hJ0aC3eXu"
AWS_ID = "AKIA" + "QX7ZPD2M4LTRW6VB"
AWS_SECRET = "hT9v/2Kq" + "LmX4pW7zRc1+BnD6yFgJ8sUeA3oVi5Qk"


@pytest.fixture(scope="module")
def scanner() -> SecretScanner:
    return open_scanner()


def session(*texts: str, **more: object) -> Session:
    steps = tuple(
        Step(index=index, speaker=Speaker.USER, text=text, intervention=Intervention.PROMPT if index == 0 else None)
        for index, text in enumerate(texts or ("hello",))
    )
    return Session.model_validate(
        {
            "source": "cline",
            "session_id": "1",
            "repository": REPOSITORY,
            "start_commit": COMMIT,
            "start_evidence": "said",
            "steps": steps,
            **more,
        }
    )


def redacted(scanner: SecretScanner, *texts: str, roots: tuple[str, ...] = (), **more: object) -> Redaction:
    (result,) = redact_sessions([session(*texts, **more)], [roots], scanner)
    return result


def words(result: Redaction) -> list[str]:
    return [step.text for step in result.session.steps]


@pytest.mark.parametrize(
    "disguise",
    [
        GITHUB,
        f'token = "{GITHUB}"  # gitleaks:allow',
        f"before\0 {GITHUB}",
        f"https://x-access-token:{GITHUB}@github.com/o/n.git",
        f"https://{GITHUB}@github.com/o/n.git",
        json.dumps({"config": json.dumps({"github_token": GITHUB})}),
        base64.b64encode(f"user:{GITHUB}".encode()).decode(),
        f"Authorization: Basic {base64.b64encode(f'x:{GITHUB}'.encode()).decode()}",
        f"state={quote('token=' + GITHUB + '&x=/', safe='')}",
        f"token bytes {('key=' + GITHUB).encode().hex()}",
        "a" * 99_990 + f" {GITHUB} " + "b" * 50_000,
        f"--token={GITHUB}",
    ],
    ids=["plain", "allowed", "nul", "url", "url-user", "json", "base64", "basic", "percent", "hex", "chunks", "option"],
)
def test_a_token_in_disguise(scanner: SecretScanner, disguise: str) -> None:
    result = redacted(scanner, f"I ran it:\n{disguise}\nand it failed", f"again {GITHUB}")
    serialised = result.session.model_dump_json()
    forms = [GITHUB, base64.b64encode(GITHUB.encode()).decode()[:40], GITHUB.encode().hex(), GITHUB[4:20]]
    forms += [base64.b64encode(f"user:{GITHUB}".encode()).decode(), base64.b64encode(f"x:{GITHUB}".encode()).decode()]
    assert [form for form in forms if form in serialised] == []
    assert words(result)[0].startswith("I ran it:\n")
    assert words(result)[0].endswith("\nand it failed")


SECRET_LINES = [
    (f"{AWS_ID} and {AWS_SECRET}", [AWS_ID, AWS_SECRET]),
    ("postgres://app:kX9mQ2vT@db.internal.example.org:5432/x", ["kX9mQ2vT"]),
    ("export STRIPE_SECRET_KEY=notAKnownForm77", ["notAKnownForm77"]),
    ("DB_PASSWORD='tr0ub4dor&3x'", ["tr0ub4dor"]),
    ("docker run -e API_TOKEN=zz81kdm2xx img", ["zz81kdm2xx"]),
    ('{"client_secret": "a1b2c3d4e5f6g7"}', ["a1b2c3d4e5f6g7"]),
    ("curl -u deploy:hunter2x https://x.dev", ["hunter2x"]),
    ("Cookie: session=8d7f6a5b4c3d2e1f; theme=dark", ["8d7f6a5b4c3d2e1f"]),
    ("GET /v1?api_key=q1w2e3r4t5y6 HTTP/1.1", ["q1w2e3r4t5y6"]),
    (
        "-----BEGIN EC PRIVATE KEY-----\\nMHcCAQEEIB1234567890abcdef\\n-----END EC PRIVATE KEY-----",
        ["MHcCAQEEIB1234567890"],
    ),
    (
        "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA1234567890abcdefghijkl\nqrstuvwxyz1234567890abcdefghij",
        ["MIIEpA", "qrstuv"],
    ),
    ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmN", ["dozjgNryP4J3jVmN", "eyJhbGci"]),
    ('{\\"password\\": \\"letmein\\"}', ["letmein"]),
]


@pytest.mark.parametrize(("line", "secrets"), SECRET_LINES, ids=[line[:24] for line, _ in SECRET_LINES])
def test_what_the_scanner_may_miss(scanner: SecretScanner, line: str, secrets: list[str]) -> None:
    result = redacted(scanner, f"see\n{line}\nthere")
    assert [secret for secret in secrets if secret in result.session.model_dump_json()] == []
    assert "[REDACTED:" in words(result)[0]
    again = redact_sessions([result.session], [()], scanner)[0]
    assert again.session == result.session
    assert again.counts == {}


def test_personal_details(scanner: SecretScanner) -> None:
    text = (
        "teresabrandt@birchbox:~/src$ ls /home/teresabrandt/notes C:\\Users\\Teresa Brandt\\x /Users/tb/y\n"
        "mail Teresa.Brandt+git@birch.example.com or +49 30 901820-33, (555) 010-4477\n"
        "Author: Teresa Brandt <t@birch.dev>\n"
        "ssh birchbox; TeresaBrandt wrote it; host 93.184.216.34 and 2606:2800:220:1:248:1893:25c8:1946\n"
    )
    (said,) = words(redacted(scanner, text))
    assert said == (
        "<user-1>@<host-1>:~/src$ ls /home/<user-1>/notes C:\\Users\\<user-3>\\x /Users/<user-2>/y\n"
        "mail <mail-1> or <phone-1>, <phone-2>\n"
        "Author: <user-3> <<mail-2>>\n"
        "ssh <host-1>; <user-1> wrote it; host <ip-1> and <ip-2>\n"
    )
    for value in ("eresa", "birch", "901820", "4477", "93.184", "2606:"):
        assert value not in said


def test_what_stays(scanner: SecretScanner) -> None:
    harmless = (
        "def connect(password, token=None, key_password='key_password'):\n"
        "    secret = os.environ['SECRET_KEY']\n"
        "    token = get_token(user)\n"
        "git clone git@github.com:lanternquay/kettle.git\n"
        "127.0.0.1 10.1.2.3 192.168.0.1 0.0.0.0 version 4.18.200.7 pkg==1.2.3.4 1.2.3.4\n"
        "/home/ubuntu/app /home/runner/work x @ y a[::2] std::vector 12:34:56\n"
        "071ca4d6a806adafa1322bc05c4b149944a75c72 sha256:" + "ab12" * 16 + "\n"
        "+1234567890\n-10 20 30\npytest.mark.skip PASSWORD=${PASSWORD} TOKEN=$TOKEN\n"
        "https://lanternquay.github.io/kettle?page=2&sort=name API_KEY=test_key\n"
    )
    seen = SeenFile(step=0, path="src/a.py", content=harmless, after_edit=False)
    result = redacted(scanner, harmless, seen_files=(seen,))
    assert words(result) == [harmless]
    assert result.session.seen_files == (seen,)
    assert result.counts == {}


def test_common_words_are_replaced_only_where_they_name_someone(scanner: SecretScanner) -> None:
    result = redacted(
        scanner, "cd /home/mark/x && pytest -k mark; db://u:letmein@h and letmein elsewhere; /home/bo/y bo"
    )
    assert words(result) == [
        f"cd /home/<user-1>/x && pytest -k mark; db://u:{label(result)}@h and letmein elsewhere; /home/<user-2>/y bo"
    ]


def test_a_single_name_is_replaced_in_its_line_only(scanner: SecretScanner) -> None:
    result = redacted(scanner, "Co-authored-by: Kettlebot <k@bots.dev>\nKettlebot wrote: x")
    assert words(result) == ["Co-authored-by: <name-1> <<mail-1>>\nKettlebot wrote: x"]


def label(result: Redaction) -> str:
    (text,) = words(result)
    return text[text.index("[REDACTED") : text.index("]") + 1]


def test_the_owner_of_the_public_repository_is_no_secret(scanner: SecretScanner) -> None:
    result = redacted(scanner, "/home/lanternquay/src and https://github.com/lanternquay/kettle")
    assert words(result) == ["/home/<user-1>/src and https://github.com/lanternquay/kettle"]
    assert result.session.repository == REPOSITORY


def test_every_place_of_a_session(scanner: SecretScanner) -> None:
    root = "/home/teresabrandt/src/kettle"
    step = Step(
        index=0,
        speaker=Speaker.AGENT,
        text=f"in {root} I use {GITHUB}",
        reasoning=GITHUB,
        tool_calls=(ToolCall(call_id="1", name="x", arguments=json.dumps({GITHUB: [f"{root}/a.py", f'"{GITHUB}"']})),),
        observations=(Observation(call_id=None, content=f"{root}/a.py:3 data:image/png;base64,{'A' * 400}"),),
    )
    result = redacted(
        scanner,
        roots=(root,),
        steps=(step,),
        edits=(Edit(step=0, kind=EditKind.WRITE, path="a.py", content=f"T = '{GITHUB}'\nR = '{root}/b'\n"),),
        commands=(Command(step=0, command=f"cat {root}/a.py", output=GITHUB),),
    )
    assert GITHUB not in result.session.model_dump_json()
    assert "teresabrandt" not in result.session.model_dump_json()
    (clean,) = result.session.steps
    assert clean.text == "in . I use [REDACTED:github-pat-1]"
    assert json.loads(clean.tool_calls[0].arguments) == {
        "[REDACTED:github-pat-1]": ["a.py", '"[REDACTED:github-pat-1]"']
    }
    assert clean.observations[0].content == "a.py:3 [image dropped]"
    assert result.session.commands[0].command == "cat a.py"
    assert result.session.edits[0].content == "T = '[REDACTED:github-pat-1]'\nR = '/home/<user-1>/src/kettle/b'\n"
    assert result.counts["github-pat"] == 6
    assert result.counts["image"] == 1


def test_one_table_for_all_sessions_of_a_contribution(scanner: SecretScanner) -> None:
    first, second = redact_sessions(
        [session(f"token {GITHUB}"), session(f"nothing but {GITHUB[::-1]} and {GITHUB}")], [(), ()], scanner
    )
    assert words(first) == ["token [REDACTED:github-pat-1]"]
    assert "[REDACTED:github-pat-1]" in words(second)[0]


PIECES = st.sampled_from(
    [
        "password=",
        "token: ",
        '"',
        "\\\\",
        "\n",
        "/home/",
        "user@host:~$ ",
        "https://",
        "@",
        ":",
        "[REDACTED:x-1]",
        "<user-1>",
        "=",
        "%3D",
    ]
) | st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(before=st.lists(PIECES, max_size=8), after=st.lists(PIECES, max_size=8))
def test_wherever_a_token_stands_it_goes_and_a_second_pass_finds_nothing(before: list[str], after: list[str]) -> None:
    scanner = open_scanner()
    text = "".join(before) + f" {GITHUB}\n" + "".join(after)
    result = redacted(scanner, text, json.dumps({"inner": text}))
    assert GITHUB not in result.session.model_dump_json()
    (again,) = redact_sessions([result.session], [()], scanner)
    assert again.session == result.session


class Stubborn:
    """Finds something in every text, whatever was done to it."""

    def scan(self, text: str) -> list[Finding]:
        return [Finding(rule="odd", value=text[:40], context=text[:40])] if "odd" in text else []


class Broken:
    def scan(self, text: str) -> list[Finding]:
        raise RefusedError(ReasonCode.SCANNER_FAILED, "broken", infrastructure=True)


def test_no_fixpoint_and_no_scanner_are_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    stubborn = Stubborn()
    monkeypatch.setattr("tasks.ingest.redact.placeholders.Placeholders.replace", lambda self, text, counts: text)
    with pytest.raises(RefusedError, match="still found") as refused:
        redact_sessions([session("odd words here")], [()], stubborn)
    assert refused.value.reason_code is ReasonCode.SCANNER_FAILED
    assert "odd words" not in str(refused.value)
    with pytest.raises(RefusedError, match="broken"):
        redact_sessions([session("x")], [()], Broken())


def test_a_blind_scanner_is_not_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    import betterleaks

    monkeypatch.setattr(betterleaks, "scan_string", lambda text: [])
    with pytest.raises(RefusedError, match="made up to test it") as refused:
        open_scanner()
    assert refused.value.infrastructure

    def fails(text: str) -> list[object]:
        raise betterleaks.BetterleaksError(f"cannot scan {text}")

    monkeypatch.setattr(betterleaks, "scan_string", fails)
    with pytest.raises(RefusedError, match="fails on a text") as refused:
        open_scanner()
    assert "token" not in str(refused.value)


def test_rules_do_not_stall_on_hostile_text() -> None:
    rules = load_rules()
    for unit in (
        "a",
        "a@",
        "1.",
        "+1 ",
        "/home/",
        "A_",
        "\\",
        "x://",
        "-----BEGIN PRIVATE KEY-----",
        "AKIA" + "A" * 16 + " ",
    ):
        text = unit * (20_000 // len(unit))
        find_personal(text, rules)
        for rule in rules.secret:
            for _ in rule.pattern.finditer(text):
                pass
