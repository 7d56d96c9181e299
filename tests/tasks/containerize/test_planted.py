"""Leaks planted in the layers of real images are found, each as what it is; a clean image gives none."""

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from blocks.engine import ContainerSpec, Engine, Role
from blocks.lake.file import FileStore
from blocks.settings import EngineSettings, Settings
from blocks.trees import File, pack
from tasks.containerize.fingerprints import fingerprint
from tasks.containerize.leaks import LeakHit, scan_layers
from tasks.containerize.machine_traces import extra_certificates
from tasks.containerize.scan import known_layers
from tests.tasks.containerize import planted

pytestmark = pytest.mark.engine

PRINTS = fingerprint(planted.START, {**planted.SOLUTION, **planted.HIDDEN_TESTS})
CERTIFICATE = "-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n"
COMPANY = CERTIFICATE.format("TUlJQ29tcGFueQ==\nQUJD")
PUBLIC = CERTIFICATE.format("TUlJUHVibGlj")


class Planter:
    """Makes images on top of one clean image, each with one more layer; removes them at the end."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.made: list[str] = []
        self.base = self._name()
        engine.build(pack({"Dockerfile": File(content=b"FROM scratch\nCOPY Dockerfile /etc/\n")}), self.base)
        self.clean = self.plant(planted.clean(), below=self.base)

    def plant(
        self, files: Mapping[str, bytes], *, below: str = "", changes: Sequence[str] = (), comment: str = ""
    ) -> str:
        api, name = self.engine.api, self._name()
        made = api.create_container(below or self.clean, command=["none"])
        try:
            api.put_archive(made["Id"], "/", planted.tarred(files))
            repository, _, tag = name.partition(":")
            api.commit(made["Id"], repository=repository, tag=tag, changes=list(changes), message=comment)
        finally:
            api.remove_container(made["Id"])
        return name

    def _name(self) -> str:
        self.made.append(f"envmill-test/planted:{self.engine.owner.pid}-{len(self.made)}")
        return self.made[-1]


@pytest.fixture(scope="module")
def planter(engine: Engine) -> Iterator[Planter]:
    made = Planter(engine)
    yield made
    for name in reversed(made.made):
        engine.remove_image(name)


@pytest.fixture(scope="module")
def leaks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[str, planted.Files]]:
    return planted.leaks(tmp_path_factory.mktemp("leaks"))


def scan(
    engine: Engine, image: str, settings: Settings, below: str = "", store: FileStore | None = None
) -> list[LeakHit]:
    left_out = known_layers(engine, store, below) if store and below else ()
    return scan_layers(
        engine.save_layers(image, left_out),
        PRINTS,
        project="gatehours",
        remotes=[planted.REMOTE],
        secrets=[planted.END_COMMIT],
        certificates=extra_certificates(settings),
        start=planted.START,
    )


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    bundle = tmp_path / "bundle.pem"
    bundle.write_text(COMPANY)
    return Settings(home=tmp_path, engine=EngineSettings(ca_bundle=bundle))


def test_a_clean_image_gives_none(planter: Planter, settings: Settings) -> None:
    assert scan(planter.engine, planter.clean, settings) == []


NAMES = re.findall(r'^        "([a-zA-Z][^"/]*)": \(', Path(planted.__file__).read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize("name", NAMES)
def test_planted_in_files(
    planter: Planter, settings: Settings, leaks: dict[str, tuple[str, planted.Files]], name: str
) -> None:
    kind, files = leaks[name]
    (hit,) = scan(planter.engine, planter.plant(files), settings)
    assert hit.kind == kind
    assert next(iter(files)).startswith(hit.path.split("!")[0])
    assert "overnight" not in hit.evidence


def test_every_leak_is_planted(leaks: dict[str, tuple[str, planted.Files]]) -> None:
    assert set(NAMES) == set(leaks)
    assert len(NAMES) > 20


QUOTED = planted.CORE_AFTER.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


@pytest.mark.parametrize(
    ("changes", "comment", "kind"),
    [
        ([f'LABEL notes="{QUOTED}"'], "", "solution_lines"),
        ([f'ENV NOTES="{QUOTED}"'], "", "solution_lines"),
        ([], planted.CORE_AFTER, "solution_lines"),
        ([], f"as of {planted.END_COMMIT}", "commit_id"),
        (["ENV SSL_CERT_FILE=/etc/company.pem"], "", "machine_variable"),
        (["ENV https_proxy=http://proxy.example:3128"], "", "machine_variable"),
        (["LABEL envmill.kind=environment", "ENV LANG=C.UTF-8", "USER agent"], "nothing to see", ""),
    ],
)
def test_planted_in_the_configuration(
    planter: Planter, settings: Settings, changes: list[str], comment: str, kind: str
) -> None:
    hits = scan(planter.engine, planter.plant({}, changes=changes, comment=comment), settings)
    assert {hit.kind for hit in hits} == ({kind} if kind else set())


@pytest.mark.parametrize(
    ("path", "content", "found"),
    [
        ("etc/ssl/certs/company.pem", PUBLIC + COMPANY, True),
        ("opt/x.zip", planted.zipped({"deep/ca.crt": COMPANY.replace("\n", "\r\n").encode()}), True),
        ("opt/venv/lib/python3.11/site-packages/certifi/cacert.pem", PUBLIC, False),
        ("dev/shm/envmill/other.txt", "x", True),
    ],
)
def test_traces_of_this_machine(
    planter: Planter, settings: Settings, path: str, content: str | bytes, found: bool
) -> None:
    files = {path: content.encode() if isinstance(content, str) else content}
    hits = scan(planter.engine, planter.plant(files), settings)
    assert [(hit.kind[:4], hit.path.split("!")[0]) for hit in hits] == ([(hits[0].kind[:4], path)] if found else [])
    assert {hit.kind for hit in hits} <= {"extra_certificate", "machine_file"}


def test_public_certificates_are_nobody_s(tmp_path: Path) -> None:
    import certifi

    bundle = tmp_path / "bundle.pem"
    shutil.copy(certifi.where(), bundle)
    assert extra_certificates(Settings(engine=EngineSettings(ca_bundle=bundle))) == frozenset()
    bundle.write_text(bundle.read_text() + COMPANY)
    assert len(extra_certificates(Settings(engine=EngineSettings(ca_bundle=bundle)))) == 1


def test_a_hidden_test_that_a_later_layer_deletes(
    engine: Engine, base_image: str, planter: Planter, settings: Settings, tmp_path: Path
) -> None:
    """And the layers below, which were there before any repository was known, are passed over."""
    with_test, without = planter._name(), planter._name()
    spec = ContainerSpec(image=base_image, role=Role.BUILD, deadline_sec=120)
    with engine.container(spec) as box:
        box.put_file("/root/t.py", planted.HIDDEN.encode())
        box.commit(with_test)
    with engine.container(spec.model_copy(update={"image": with_test})) as box:
        assert box.run(["rm", "/root/t.py"], timeout_sec=20).ok
        box.commit(without)
    store = FileStore(tmp_path / "lake")
    (hit,) = scan(engine, without, settings, base_image, store)
    assert (hit.kind, hit.path) == ("solution_lines", "root/t.py")
    sizes = known_layers(engine, store, base_image)
    assert sizes == engine.layer_sizes(base_image)
    whole = [name for name, stream in engine.save_layers(without) if stream.read() and name.startswith("layer/")]
    left = [name for name, stream in engine.save_layers(without, sizes) if stream.read() and name.startswith("layer/")]
    assert len(whole) == 3
    assert len(left) == 2
    wrong = [size.model_copy(update={"sha256": "0" * 64}) for size in engine.layer_sizes(without)]
    again = [name for name, stream in engine.save_layers(without, wrong) if stream.read() and name.startswith("layer/")]
    assert sorted(again) == sorted(whole), "a layer that only has the length of a known one is scanned all the same"
