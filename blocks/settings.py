"""Settings from `ENVMILL_*`, then `envmill.toml` (or the file that ENVMILL_CONFIG names), then the defaults here.

Nested values use two underscores: `ENVMILL_S3__ENDPOINT_URL`. See docs/operators.md for the whole list.
"""

import os
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, TomlConfigSettingsSource

from blocks.errors import UsageError


class Section(BaseModel):
    """A group of settings; unknown names are refused, so that a typing error is not silently ignored."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class S3Settings(Section):
    """How to reach an S3 store; used when `lake` is an `s3://` URL. Unset values follow boto3's own rules."""

    endpoint_url: str | None = None
    region: str | None = None
    access_key_id: SecretStr | None = None
    secret_access_key: SecretStr | None = None


class EngineSettings(Section):
    """The container engine and the limits every container of a subject gets."""

    host: str | None = None
    """Engine address; unset follows DOCKER_HOST and then the local socket."""
    base_image: str = "debian:bookworm-slim"
    ca_bundle: Path | None = None
    """Extra CA certificates for the fetch step only (a company's TLS proxy). Unset: SSL_CERT_FILE, if that is set."""
    runtime: str | None = None
    """OCI runtime for containers that run subject code, e.g. `runsc`."""
    memory_mb: int = 4096
    cpus: float = 2.0
    pids: int = 512
    written_mb: int = 4096
    """Bytes a subject container may write before its watchdog ends it."""
    disk_budget_gb: float | None = None
    """What images that envmill makes may take together; before a build the oldest unused go. Unset: no limit."""
    log_mb: int = 16
    """Longest log kept of one command; what is over is cut in the middle and says so."""


class TimeoutSettings(Section):
    """Deadlines in seconds."""

    fetch_sec: int = 900
    install_sec: int = 600
    tests_sec: int = 900
    agent_sec: int = 1800


class GateSettings(Section):
    """Thresholds of the quality card."""

    repeats: int = 3
    """Runs of each state in archaeology (once, where a run takes a minute), and of nop and of oracle at admission."""
    min_fail_to_pass: int = 1
    min_pass_to_pass: int = 1
    max_hunks: int = 40
    """More hunks than this are not dropped one by one; the card then says how many were."""


class QualifySettings(Section):
    """What the rule-based qualifiers ask for, and who judges after them."""

    provider: Literal["rules", "litellm", "recorded"] = "rules"
    """`rules`: no model; `litellm`: a model may doubt what the rules pass and decide where they are unsure; `recorded`:
    the same from recorded answers."""
    licences: tuple[str, ...] = (
        "MIT",
        "Apache-2.0",
        "BSD-2-Clause",
        "BSD-3-Clause",
        "ISC",
        "0BSD",
        "MPL-2.0",
        "Unlicense",
        "Zlib",
        "PSF-2.0",
        "Python-2.0",
        "BSL-1.0",
        "CC0-1.0",
        "LGPL-2.1-only",
        "LGPL-3.0-only",
        "GPL-2.0-only",
        "GPL-3.0-only",
        "AGPL-3.0-only",
    )
    licence_gate: bool = True
    window_days: int = 90
    """How long after the start commit an outcome is looked for."""
    max_changed_lines: int = 3000
    known_benchmarks: bool = True
    """Whether candidates with a commit that a known benchmark uses are turned down."""
    github_api: bool = True
    """Whether the GitHub API is asked about repositories that are read from GitHub itself. Mirrored ones: never."""
    github_url: str | None = None
    """Address of another API of this kind; then it is asked about every repository."""
    github_token: SecretStr | None = None
    """Raises the rate limit; no right of it is needed."""


class Price(Section):
    """USD per million tokens."""

    prompt_usd: float = Field(ge=0)
    completion_usd: float = Field(ge=0)


class ModelSettings(Section):
    """Which model judges where `qualify.provider` is not `rules`, and what it may take."""

    model: str = ""
    """As LiteLLM names it, e.g. `openai/...`, `anthropic/...`."""
    fallbacks: tuple[str, ...] = ()
    """Asked in turn where the model does not answer."""
    api_base: str | None = None
    api_key: SecretStr | None = None
    """Unset: the variable that LiteLLM reads for the provider."""
    prices: dict[str, Price] = Field(default_factory=dict)
    """For models that LiteLLM's own list lacks. A model without a price is not asked."""
    temperature: float | None = None
    structured: bool = True
    """Tell the provider the schema of the answer; some cannot take it together with tools."""
    timeout_sec: float = Field(default=180, gt=0)
    """Of one call, from begin to end."""
    attempts: int = Field(default=4, ge=1)
    """Calls of one model for one answer, where they fail."""
    backoff_sec: float = Field(default=1, ge=0)
    """First wait between two of them; doubled each time, with jitter."""
    max_wait_sec: float = Field(default=60, ge=0)
    """Where a provider asks to wait longer (Retry-After), the next model is asked instead."""
    in_flight: int = Field(default=50, ge=1)
    """Calls at the same time."""
    candidate_budget_usd: float = Field(default=1, ge=0)
    run_budget_usd: float = Field(default=20, ge=0)
    max_tokens: int = Field(default=3000, ge=1)
    """Of one completion."""
    turns: int = Field(default=10, ge=1)
    """Completions of one verdict."""
    tool_bytes: int = Field(default=120_000, ge=0)
    """Of all tool results of one verdict."""
    proposals: int = Field(default=3, ge=0)
    """How often the model is asked to mend the recipe of one build that the table of remedies could not."""
    proposals_budget_usd: float = Field(default=0.5, ge=0)
    """Of all of these together; the candidate's budget holds too."""
    recorded: str | None = None
    """Where `recorded` answers lie: a folder, or `lake:<prefix>`. None come with envmill."""


class Settings(BaseSettings):
    """Everything that can be set. Relative paths are relative to the working directory."""

    model_config = SettingsConfigDict(env_prefix="ENVMILL_", env_nested_delimiter="__", extra="forbid", frozen=True)

    home: Path = Path(".envmill")
    lake: str | None = None
    """`file:///absolute/path` or `s3://bucket/prefix`; unset: `<home>/lake`."""
    inbox: tuple[str, ...] = ()
    """Folders or `s3://bucket/prefix` that hold contributions; unset: `<home>/inbox`."""
    mirrors: dict[str, str] = Field(default_factory=dict)
    """Public repository address (or a prefix of it that ends in `/`) -> where it is read from instead: an address, a
    folder or a bundle. The public identity stays what it is."""
    s3: S3Settings = S3Settings()
    engine: EngineSettings = EngineSettings()
    timeouts: TimeoutSettings = TimeoutSettings()
    gates: GateSettings = GateSettings()
    qualify: QualifySettings = QualifySettings()
    models: ModelSettings = ModelSettings()
    prefect_api_url: str | None = None
    """A Prefect server that is already running; unset: PREFECT_API_URL, else one is started for the run."""
    log_url: str = "http://127.0.0.1:4201"
    """Where a browser reads the logs of the lake, by their keys: what the Prefect UI links to. `envmill up` serves them
    there; a team names its own server of the store's `candidates/`."""
    concurrency: int = Field(default=2, ge=1)
    """Candidates worked on at the same time."""
    organisation: str = "envmill"
    """The `org` in the published task names `org/name`."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Precedence: arguments, environment, settings file; no other source is asked."""
        del dotenv_settings, file_secret_settings
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls, config_file())

    @property
    def lake_url(self) -> str:
        """Where objects are kept."""
        return self.lake or (self.home.absolute() / "lake").as_uri()

    @property
    def inboxes(self) -> tuple[str, ...]:
        """Where contributions are looked for."""
        return self.inbox or (str(self.home / "inbox"),)

    @property
    def catalog_path(self) -> Path:
        """The snapshot readers open; replaced atomically."""
        return self.home / "catalog.duckdb"

    @property
    def releases(self) -> Path:
        """Where releases are written."""
        return self.home / "releases"


def config_file() -> Path:
    """The settings file in force, whether or not it exists."""
    return Path(os.environ.get("ENVMILL_CONFIG", "envmill.toml"))


def load_settings() -> Settings:
    """Read the settings.

    Raises:
        UsageError: a value is not valid; names the setting, never its value.
    """
    named = os.environ.get("ENVMILL_CONFIG")
    if named and not Path(named).is_file():
        raise UsageError(f"ENVMILL_CONFIG names {named}, which is not a file; correct the path or unset it")
    try:
        return Settings()
    except ValidationError as error:
        faults = "; ".join(f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors())
        raise UsageError(
            f"settings: {faults}; correct them in the environment (ENVMILL_*) or {config_file()}"
        ) from None
    except ValueError as error:
        raise UsageError(f"settings: {config_file()} cannot be read: {error}") from None
