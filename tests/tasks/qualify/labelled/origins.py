"""Labelled candidates whose origin is the question."""

from dataclasses import replace
from pathlib import Path

from blocks.settings import QualifySettings
from tasks.qualify.surroundings import ALONE
from tests.history import git
from tests.tasks.qualify.kettle import BASE, BOILER, IDENTITY, Kettle, agent_session, prompt_session
from tests.tasks.qualify.labelled.scene import Scene, case, hosted, ran, saw, swap

APACHE = (Path(__file__).parents[4] / "LICENSE").read_text(encoding="utf-8")
HOME_MADE = (
    "You may use this for anything nice. Companies have to ask first and send a cake. No warranty, but good wishes.\n"
)
EDITION = "The Kettle Enterprise License. Copyright Kettle Inc. Use in production needs a paid subscription.\n"


def _plain(kettle: Kettle, start: str | None = None, **more: object) -> Scene:
    fix = kettle.fix()
    return Scene(prompt_session(start or kettle.start), kettle.open(), outcome=(fix,), **more)  # type: ignore[arg-type]


@case("a clear prompt on a public, licensed commit, and the fix came with a test: nothing against it")
def plain_prompt(kettle: Kettle) -> Scene:
    return _plain(kettle)


@case("the session saw the file as it is in the commit, and the user corrected the agent: the best kind of candidate")
def plain_session(kettle: Kettle) -> Scene:
    fix = kettle.fix()
    return Scene(agent_session(kettle.start), kettle.open(), outcome=(fix,))


@case("a renamed repository is the same repository")
def renamed_repository(kettle: Kettle) -> Scene:
    return _plain(kettle, around=hosted(full_name="drinks/teapot"))


@case("a fork whose own branch holds the start is public history with its licence")
def fork_with_its_own_branch(kettle: Kettle) -> Scene:
    return _plain(kettle, around=hosted(fork=True, parent="metal/kettle"))


@case("an archived repository can be rebuilt like any other")
def archived_repository(kettle: Kettle) -> Scene:
    return _plain(kettle, around=hosted(archived=True))


@case(
    "the service says that it is private: a mirror that still has it is no permission",
    origin="fail:repository_unreachable",
)
def private_today(kettle: Kettle) -> Scene:
    return _plain(kettle, around=hosted(private=True, visibility="private"))


@case("internal is not public either", origin="fail:repository_unreachable")
def internal_today(kettle: Kettle) -> Scene:
    return _plain(kettle, around=hosted(visibility="internal"))


@case("the start is nowhere, and nothing was seen by which another could stand in", origin="fail:commit_not_found",
      outcome="-", disqualifier="-")  # fmt: skip
def start_that_is_not_there(kettle: Kettle) -> Scene:
    kettle.fix()
    return Scene(prompt_session("0" * 40), kettle.cache.open(IDENTITY, commit="0" * 40))


@case("force-pushed away: only its id still gives it, as it would any commit of any fork; a person has to look",
      origin="unsure:commit_not_public")  # fmt: skip
def force_pushed_away(kettle: Kettle) -> Scene:
    gone = kettle.history.commit({"README.md": "# kettle\n\nwip\n"}, "wip", day=3.5)
    git(kettle.history.folder, "update-ref", "refs/heads/main", kettle.start)
    kettle.history.tips["main"] = kettle.start
    fix = kettle.fix()
    return Scene(prompt_session(gone), kettle.cache.open(IDENTITY, commit=gone), outcome=(fix,))


@case("a commit of the fork network that shares nothing with the project proves nothing about it",
      origin="unsure:commit_not_public", outcome="-", disqualifier="-")  # fmt: skip
def fork_network_only(kettle: Kettle) -> Scene:
    alone = kettle.history.commit(BASE, "Another project", day=4, branch="alone", parents=[])
    git(kettle.history.folder, "update-ref", "-d", "refs/heads/alone")
    kettle.fix()
    return Scene(prompt_session(alone), kettle.cache.open(IDENTITY, commit=alone))


@case("a tag is a public ref")
def held_by_a_tag(kettle: Kettle) -> Scene:
    tagged = kettle.history.commit(
        {"README.md": "# kettle 1.1\n"}, "Release", day=3.5, branch="rel", parents=[kettle.start]
    )
    git(kettle.history.folder, "update-ref", "refs/tags/v1.1", tagged)
    git(kettle.history.folder, "update-ref", "-d", "refs/heads/rel")
    fix = kettle.fix()
    return Scene(prompt_session(tagged), kettle.open(), outcome=(fix,))


@case("no licence file: nothing may be made of it, whatever the metadata says", origin="fail:licence_missing")
def licence_less(kettle: Kettle) -> Scene:
    return _plain(kettle, kettle.history.commit({"LICENSE": None}, "Remove", day=4))


@case("the licence came after the start: at the start there was none", origin="fail:licence_missing")
def licensed_only_later(kettle: Kettle) -> Scene:
    start = kettle.history.commit({"LICENSE": None}, "Remove", day=4)
    kettle.history.commit({"LICENSE": BASE["LICENSE"]}, "Bring it back", day=4.5)
    return _plain(kettle, start)


@case("what was licensed at the start stays licensed, though the file went later")
def licence_removed_later(kettle: Kettle) -> Scene:
    kettle.history.commit({"LICENSE": None}, "Closed source from now on", day=4)
    return _plain(kettle)


@case("the licence is a good one, and not one that is allowed here", origin="fail:licence_not_allowed")
def licence_not_allowed(kettle: Kettle) -> Scene:
    return _plain(kettle, settings=QualifySettings(licences=("Apache-2.0",)))


@case("two licences to choose from, both allowed")
def dual_licensed(kettle: Kettle) -> Scene:
    files = {"LICENSE": None, "LICENSE-MIT": BASE["LICENSE"], "LICENSE-APACHE": APACHE}
    return _plain(kettle, kettle.history.commit(files, "MIT or Apache-2.0, as you like", day=4))


@case("part of the tree is under a licence that is sold", origin="unsure:licence_unsure")
def enterprise_folder(kettle: Kettle) -> Scene:
    files = {"kettle/ee/LICENSE": EDITION, "kettle/ee/steam.py": "def steam():\n    return True\n"}
    return _plain(kettle, kettle.history.commit(files, "Enterprise edition", day=4))


@case("a second licence file at the root speaks of an edition that is not free", origin="unsure:licence_unsure")
def commercial_edition(kettle: Kettle) -> Scene:
    return _plain(kettle, kettle.history.commit({"LICENSE.commercial": EDITION}, "Sell it", day=4))


@case(
    "a licence that somebody wrote themselves: no detector knows it, a person has to read it",
    origin="unsure:licence_unsure",
)
def home_made_licence(kettle: Kettle) -> Scene:
    return _plain(kettle, kettle.history.commit({"LICENSE": HOME_MADE}, "My own words", day=4))


@case("file and metadata contradict each other", origin="unsure:licence_unsure")
def contradicting_metadata(kettle: Kettle) -> Scene:
    files = {"pyproject.toml": '[project]\nname = "kettle"\nlicense = "GPL-3.0-only"\n'}
    return _plain(kettle, kettle.history.commit(files, "Copyleft", day=4))


@case("licences of vendored code are about that code; there is little of it")
def vendored_licence(kettle: Kettle) -> Scene:
    files = {"vendor/leaf/LICENSE": HOME_MADE, "vendor/leaf/leaf.py": "leaf = 1\n"}
    return _plain(kettle, kettle.history.commit(files, "Vendor leaf", day=4))


@case("the session is about other files than the commit has", origin="fail:session_mismatch")
def another_repository(kettle: Kettle) -> Scene:
    fix = kettle.fix()
    seen = (("pot/lid.py", "lid = 1\n"), ("pot/spout.py", "spout = 2\n"), ("kettle/boiler.py", "class Boiler: ...\n"))
    session = agent_session(kettle.start, seen=seen).model_copy(update={"edits": ()})
    return Scene(session, kettle.open(), outcome=(fix,))


@case(
    "all that it saw came after a command that may have made it, and none is in the commit: nothing ties the two together",
    origin="unsure:session_mismatch",
)
def another_repository_after_a_command(kettle: Kettle) -> Scene:
    fix = kettle.fix()
    seen = (("pot/lid.py", "lid = 1\n"), ("pot/spout.py", "spout = 2\n"))
    session = agent_session(kettle.start, seen=seen).model_copy(update={"edits": ()})
    return Scene(ran(session, ("make all", "done")), kettle.open(), outcome=(fix,))


@case("an uncommitted file that the session shows whole can be put back: the start is what the user had")
def uncommitted_but_shown(kettle: Kettle) -> Scene:
    fix = kettle.fix()
    seen = (("kettle/boiler.py", BOILER), ("kettle/timer.py", "steep = {}\n"))
    return Scene(agent_session(kettle.start, seen=seen), kettle.open(), outcome=(fix,))


@case(
    "a place that the session edited is not in the commit, and the whole file was never shown",
    origin="unsure:session_mismatch",
)
def uncommitted_and_not_shown(kettle: Kettle) -> Scene:
    fix = kettle.fix()
    session = saw(agent_session(kettle.start), ("kettle/__init__.py", BASE["kettle/__init__.py"]))
    edit = swap("kettle/timer.py", "    return cups[kind]", "    return cups.get(kind)")
    return Scene(session.model_copy(update={"edits": (*session.edits, edit)}), kettle.open(), outcome=(fix,))


@case("the contributor did not agree to a published environment", origin="fail:consent_mismatch")
def consent_for_less(kettle: Kettle) -> Scene:
    return _plain(kettle, around=replace(ALONE, scopes=("evaluate",)))


@case("consent that covers it, and more")
def consent_for_all(kettle: Kettle) -> Scene:
    return _plain(kettle, around=replace(ALONE, scopes=("evaluate", "publish_environment", "train")))


@case("redacted places match anything: redaction is no mismatch")
def redacted_contents(kettle: Kettle) -> Scene:
    fix = kettle.fix()
    hidden = BOILER.replace("Heating water", "[REDACTED:generic-api-key-1]")
    return Scene(agent_session(kettle.start, seen=(("kettle/boiler.py", hidden),)), kettle.open(), outcome=(fix,))
