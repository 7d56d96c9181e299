import json
import os
import subprocess
import sys
import tomllib
from datetime import date
from pathlib import Path

import pytest

from blocks.errors import PermanentError
from blocks.trees import File
from tasks.publish.card import CardNumber
from tasks.publish.digest import task_digest
from tasks.publish.harbor import harbor_task
from tasks.publish.release import Release, Removal, release
from tasks.publish.write import find_release, place_release, write_release
from tests.tasks.publish.members import a_member, a_verifier, load_wheel

DAY = date(2026, 11, 30)
NUMBERS = {"candidates": CardNumber(value=7, sql="SELECT count(*) FROM candidates WHERE a = 'x|y'")}
GONE = Removal(task_id="x-1", candidate_id="gone", removed_on=DAY)


def a_release(day: date = DAY, **numbers: CardNumber) -> Release:
    members = [a_member("bbbb"), a_member("aaaa")]
    return release(members, load_wheel, "org", day=day, numbers=numbers or NUMBERS, removals=[GONE])


def test_every_index_tells_of_the_same_files() -> None:
    made = a_release()
    manifest = json.loads(made.tree["manifest.json"].content)
    dataset = tomllib.loads(made.tree["harbor/dataset.toml"].content.decode())
    (registry,) = json.loads(made.tree["harbor/registry.json"].content)
    rollouts = [json.loads(line) for line in made.tree["trajectories/index.jsonl"].content.splitlines()]

    assert set(made.tree) == {*manifest["files"], "manifest.json", "SHA256SUMS"}
    assert [row.path for row in made.members] == [f"harbor/{task['path']}" for task in registry["tasks"]]
    assert all(f"{row.path}/task.toml" in made.tree for row in made.members)
    assert [task["digest"] for task in dataset["tasks"]] == [row.task_digest for row in made.members]
    assert made.members[0].task_digest == task_digest(harbor_task(a_member("aaaa"), load_wheel, "org"))
    assert registry["version"] == made.version == f"2026.11.30-{made.content_sha256[:8]}"
    assert [row["reward"] for row in rollouts] == [0.0, 1.0, 0.0, 1.0]
    assert all(row["path"] in made.tree for row in rollouts)
    assert json.loads(made.tree["removals.json"].content)[0]["candidate_id"] == "gone"
    assert b"x\\|y" in made.tree["README.md"].content
    assert b"license: mit" in made.tree["README.md"].content


@pytest.mark.parametrize(
    ("licences", "expected"),
    [(["GPL-3.0-only"], "gpl-3.0"), (["MIT", "ISC"], "other"), (["NOASSERTION"], "other"), (["MIT", "Mine"], "other")],
)
def test_the_card_speaks_of_licences_as_the_hub_does(licences: list[str], expected: str) -> None:
    members = [a_member(f"c{number}", licence=licence) for number, licence in enumerate(licences)]
    card = release(members, load_wheel, "org", day=DAY, numbers={}).tree["README.md"].content.decode()
    assert f"license: {expected}\n" in card
    assert ("license_link: LICENSES.md" in card) == (expected == "other")


def test_the_version_follows_the_content_alone() -> None:
    first = a_release()
    later = a_release(date(2026, 12, 24), candidates=CardNumber(value=8, sql="SELECT 8"))
    other = release([a_member("aaaa", instruction="other")], load_wheel, "org", day=DAY, numbers=NUMBERS)
    assert later.content_sha256 == first.content_sha256
    assert later.version != first.version
    assert other.content_sha256 != first.content_sha256


def test_doubles_withdrawn_and_quarantined_members_are_refused() -> None:
    for members, message in (
        ([a_member("aaaa"), a_member("aaaa")], "two members"),
        ([a_member("gone")], "withdrawn"),
        ([a_member("aaaa", verifier=a_verifier("aaaa", tier="quarantine"))], "quarantine"),
    ):
        with pytest.raises(PermanentError, match=message):
            release(members, load_wheel, "org", day=DAY, numbers=NUMBERS, removals=[GONE])


def test_a_placed_release_is_whole_and_the_same_content_is_placed_once(tmp_path: Path) -> None:
    made, releases = a_release(), tmp_path / "releases"
    folder = place_release(made, releases)
    subprocess.run(["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"], cwd=folder, check=True)
    assert os.access(folder / made.members[0].path / "tests/test.sh", os.X_OK)

    again = place_release(a_release(date(2026, 12, 24)), releases)
    assert again == folder == releases / made.version
    assert (releases / "latest").readlink() == Path(made.version)
    assert sorted(path.name for path in releases.iterdir()) == sorted([".lock", "latest", made.version])
    assert find_release(releases, "0" * 64) is None


def test_latest_moves_to_the_newer_release_and_the_older_stays(tmp_path: Path) -> None:
    first = place_release(a_release(), tmp_path)
    other = release([a_member("cccc")], load_wheel, "org", day=DAY, numbers=NUMBERS)
    second = place_release(other, tmp_path)
    assert (tmp_path / "latest").resolve() == second.resolve()
    assert first.is_dir()


def test_a_killed_write_leaves_no_half_release_and_the_next_one_is_whole(tmp_path: Path) -> None:
    script = """
import os, signal, sys
from datetime import date
from pathlib import Path
import tasks.publish.write as write
from tests.tasks.publish.test_release import a_release
synced = []
real = os.fsync
def fsync(handle):
    synced.append(handle)
    if len(synced) == 9:
        os.kill(os.getpid(), signal.SIGKILL)
    real(handle)
os.fsync = fsync
write.place_release(a_release(), Path(sys.argv[1]))
"""
    root = Path(__file__).parents[3]
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], cwd=root, check=False)
    made = a_release()
    assert done.returncode == -9
    assert (tmp_path / f"{made.version}.partial").is_dir()
    assert not (tmp_path / made.version).exists()
    assert not (tmp_path / "latest").exists()
    assert find_release(tmp_path, made.content_sha256) is None

    folder = place_release(made, tmp_path)
    subprocess.run(["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"], cwd=folder, check=True)
    assert not list(tmp_path.glob("*.partial"))


def test_a_foreign_folder_or_a_wrong_version_is_not_written_over(tmp_path: Path) -> None:
    made = a_release()
    (tmp_path / made.version).mkdir()
    with pytest.raises(PermanentError, match="another release"):
        place_release(made, tmp_path)
    with pytest.raises(PermanentError, match="not a release version"):
        write_release(made.tree, tmp_path, "../x")
    with pytest.raises(PermanentError, match="is a link"):
        write_release({"a": File(link="b")}, tmp_path, "2026.11.30-00000000")
