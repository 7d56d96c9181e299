"""What a team keeps in the Prefect server instead of on each worker: where the lake lies, and which engine works.

Registered with `prefect block register -m blocks.prefect_blocks`; nothing is loaded or saved here. The command line
needs none of them: prefect.yaml hands a saved one's fields to the workers as `ENVMILL_*`.
"""

from pathlib import Path
from typing import ClassVar

from prefect.blocks.core import Block
from pydantic import Field, SecretStr

from blocks.settings import EngineSettings, S3Settings


class LakeBlock(Block):
    """The object store of a team: an S3 bucket with its endpoint and credentials."""

    _block_type_name: ClassVar[str] = "envmill lake"
    _block_type_slug: ClassVar[str] = "envmill-lake"
    _description: ClassVar[str] = "Where envmill keeps its objects, and the credentials for it."

    bucket: str = Field(min_length=1, description="Name of the bucket.")
    prefix: str = Field(default="", description="Folder in the bucket; empty: all of it.")
    endpoint_url: str | None = Field(default=None, description="Address of the S3 service; empty: AWS.")
    region: str | None = Field(default=None, description="Region; empty: boto3's own rules.")
    access_key_id: SecretStr | None = Field(default=None, description="Empty: boto3's own rules.")
    secret_access_key: SecretStr | None = Field(default=None, description="Empty: boto3's own rules.")

    @property
    def url(self) -> str:
        """The setting `lake`."""
        return f"s3://{self.bucket}/{self.prefix.strip('/')}".rstrip("/")

    def to_settings(self) -> S3Settings:
        """The setting `s3`."""
        return S3Settings(
            endpoint_url=self.endpoint_url,
            region=self.region,
            access_key_id=self.access_key_id,
            secret_access_key=self.secret_access_key,
        )


class EngineBlock(Block):
    """The container engine of a work pool and the limits of its containers."""

    _block_type_name: ClassVar[str] = "envmill engine"
    _block_type_slug: ClassVar[str] = "envmill-engine"
    _description: ClassVar[str] = "Which container engine envmill's workers use, and what a container may use of it."

    host: str | None = Field(
        default=None, description="Address, e.g. unix:///var/run/docker.sock; empty: the local one."
    )
    runtime: str | None = Field(default=None, description="OCI runtime for code of repositories, e.g. runsc.")
    ca_bundle: Path | None = Field(default=None, description="Extra CA certificates for fetching packages.")
    memory_mb: int = Field(default=EngineSettings().memory_mb, gt=0)
    cpus: float = Field(default=EngineSettings().cpus, gt=0)

    def to_settings(self) -> EngineSettings:
        """The setting `engine`; what the block does not hold has its default."""
        return EngineSettings(
            host=self.host,
            runtime=self.runtime,
            ca_bundle=self.ca_bundle,
            memory_mb=self.memory_mb,
            cpus=self.cpus,
        )
