"""The pipeline as data: the phases after ingest in their order, and the flow that runs each."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from blocks.lake import PhaseKey
from blocks.phases import PhaseDefinition
from flows.archaeology import archaeology
from flows.capture import capture
from flows.containerize import containerize
from flows.qualify import qualify
from flows.synthesis import synthesis
from tasks.archaeology.phase import ARCHAEOLOGY
from tasks.capture.phase import CAPTURE
from tasks.containerize.phase import CONTAINERIZE
from tasks.qualify.phase import QUALIFY
from tasks.synthesis.phase import SYNTHESIS


@dataclass(frozen=True)
class Stage:
    """A phase and its flow."""

    definition: PhaseDefinition
    flow: Callable[..., Awaitable[Any]]


STAGES: tuple[Stage, ...] = (
    Stage(QUALIFY, qualify),
    Stage(ARCHAEOLOGY, archaeology),
    Stage(CONTAINERIZE, containerize),
    Stage(SYNTHESIS, synthesis),
    Stage(CAPTURE, capture),
)

DEFINITIONS: Sequence[PhaseDefinition] = tuple(stage.definition for stage in STAGES)


def stage_of(key: PhaseKey) -> Stage:
    """The stage a phase key belongs to."""
    return next(stage for stage in STAGES if stage.definition.phase is key.phase)
