"""Walks the rows of a conversation in order and collects steps, edits, seen files, commands and commit sightings."""

import json
from collections.abc import Mapping

from blocks.session import (
    Command,
    CommitSighting,
    Edit,
    EditKind,
    Intervention,
    Observation,
    SeenFile,
    Speaker,
    Step,
    ToolCall,
)
from tasks.ingest.cline.contents import (
    command_output,
    command_ran,
    edit_applied,
    exit_code,
    file_read,
    file_saved,
    files_shown,
)
from tasks.ingest.cline.edits import FileChange, changes_of
from tasks.ingest.cline.environment import parse_environment
from tasks.ingest.cline.messages import Message, Text, Thinking, ToolUse
from tasks.ingest.cline.paths import relative_path
from tasks.ingest.cline.replies import Kind, Piece, pieces_of
from tasks.ingest.cline.timeline import Timeline
from tasks.ingest.cline.xml import split_thinking, split_tools


class Trail:
    """The session as it grows. An agent's step is closed when the next agent row begins: its results come after it."""

    def __init__(self, roots: tuple[str, ...], timeline: Timeline) -> None:
        self.timeline = timeline
        self.steps: list[Step] = []
        self.edits: list[Edit] = []
        self.seen_files: list[SeenFile] = []
        self.commands: list[Command] = []
        self.sightings: list[CommitSighting] = []
        self._roots = roots
        self._edited: set[str] = set()
        self._agent: int | None = None
        self._calls: list[ToolUse] = []
        self._from_xml = False
        self._answered: dict[str, str] = {}

    def agent_row(self, row: int, message: Message) -> None:
        """An assistant row: one step, with native calls or, where it has none, those in its text."""
        self.close()
        texts = [block.text for block in message.blocks if isinstance(block, Text)]
        native = [block for block in message.blocks if isinstance(block, ToolUse)]
        text, thought = split_thinking("\n".join(texts))
        reasoning = [block.text for block in message.blocks if isinstance(block, Thinking)]
        index = len(self.steps)
        self._calls, self._from_xml = self._numbered(index, native), not native
        if not native:
            text, tools = split_tools(text)
            self._calls = [
                ToolUse(call_id=f"x{index}.{place}", name=tool.name, arguments=dict(tool.arguments))
                for place, tool in enumerate(tools)
            ]
        request = self.timeline.requests.get(row - 1)
        self._agent = index
        self.steps.append(
            Step(
                index=index,
                speaker=Speaker.AGENT,
                text=text.strip(),
                reasoning="\n".join(part for part in [*reasoning, thought] if part) or None,
                tool_calls=tuple(
                    ToolCall(
                        call_id=call.call_id, name=call.name, arguments=json.dumps(call.arguments, ensure_ascii=False)
                    )
                    for call in self._calls
                ),
                timestamp=message.timestamp or self.timeline.moment(row, from_user=False),
                model=message.model,
                prompt_tokens=request.prompt_tokens if request else message.prompt_tokens,
                completion_tokens=request.completion_tokens if request else message.completion_tokens,
                cost_usd=request.cost_usd if request else message.cost_usd,
            )
        )

    def user_row(self, row: int, message: Message) -> None:
        """A user row: results go to the agent's step; words of the user become steps of their own."""
        observations: list[Observation] = []
        spoken: list[Piece] = []
        environments: list[str] = []
        for piece in pieces_of(message.blocks, {call.call_id: call.name for call in self._calls}):
            if piece.kind is Kind.RESULT:
                call = self._call_of(piece)
                if call is not None:
                    self._answered[call.call_id] = piece.text
                observations.append(Observation(call_id=call.call_id if call else None, content=piece.text))
            elif piece.kind is Kind.ENVIRONMENT:
                environments.append(piece.text)
            elif piece.kind is Kind.OTHER:
                self._note_files(piece.text)
                if (
                    self._agent is not None
                    and piece.text.strip()
                    and not piece.text.lstrip().startswith("# task_progress")
                ):
                    observations.append(Observation(call_id=None, content=piece.text))
            else:
                spoken.append(piece)
        if self._agent is not None and observations:
            step = self.steps[self._agent]
            self.steps[self._agent] = step.model_copy(update={"observations": (*step.observations, *observations)})
        self._settle()
        timestamp = message.timestamp or self.timeline.moment(row, from_user=True)
        for piece in spoken:
            speaker = Speaker.USER if piece.kind is Kind.USER else Speaker.SYSTEM
            first = not any(step.intervention is Intervention.PROMPT for step in self.steps)
            later = piece.intervention is Intervention.PROMPT and not first
            self.steps.append(
                Step(
                    index=len(self.steps),
                    speaker=speaker,
                    text=piece.text,
                    intervention=Intervention.MESSAGE if later else piece.intervention,
                    timestamp=timestamp,
                )
            )
        for text in environments:
            self._sight(text)

    def close(self) -> None:
        """Settle what the last agent row asked for and got no answer to."""
        self._settle(final=True)
        self._calls, self._answered = [], {}

    def _numbered(self, index: int, calls: list[ToolUse]) -> list[ToolUse]:
        """Calls with ids that are there and differ."""
        seen: set[str] = set()
        numbered = []
        for place, call in enumerate(calls):
            unique = call.call_id if call.call_id and call.call_id not in seen else f"n{index}.{place}"
            seen.add(unique)
            numbered.append(call.model_copy(update={"call_id": unique}))
        return numbered

    def _call_of(self, piece: Piece) -> ToolUse | None:
        """The call a result belongs to: by id, else the first open one of that tool that names the same subject."""
        waiting = [call for call in self._calls if call.call_id not in self._answered]
        if piece.call_id is not None:
            return next((call for call in waiting if call.call_id == piece.call_id), None)
        named = [call for call in waiting if call.name == piece.tool]
        exact = [call for call in named if piece.subject is not None and piece.subject in call.arguments.values()]
        return next(iter([*exact, *named]), None)

    def _settle(self, *, final: bool = False) -> None:
        """Turn answered calls, and at the end unanswered ones too, into edits, seen files and commands."""
        if self._agent is None:
            return
        done = [call for call in self._calls if final or call.call_id in self._answered]
        for call in done:
            self._effects(self._agent, call, self._answered.get(call.call_id))
        self._calls = [call for call in self._calls if call not in done]

    def _effects(self, step: int, call: ToolUse, result: str | None) -> None:
        for change in changes_of(call.name, call.arguments):
            self._edit(step, change, result)
        path = _argument(call.arguments, "path", "absolutePath")
        if call.name == "read_file" and result is not None and _is_whole(call.arguments):
            content = file_read(result)
            if content is not None:
                self._see(step, path, content)
        if call.name == "execute_command" and result is not None and command_ran(result):
            self.commands.append(
                Command(
                    step=step,
                    command=_argument(call.arguments, "command"),
                    output=command_output(result),
                    exit_code=exit_code(result),
                )
            )

    def _edit(self, step: int, change: FileChange, result: str | None) -> None:
        path = relative_path(change.path, self._roots)
        if path is None:
            return
        accepted = edit_applied(result)
        saved = file_saved(result) if accepted and result is not None else None
        by_user = result is not None and result.startswith("The user made the following updates")
        content = change.content
        if content is not None and self._from_xml:
            content = content.rstrip() + "\n"
        if saved is not None and not by_user and change.kind is EditKind.WRITE:
            content = saved.content
        self.edits.append(
            Edit(
                step=step,
                kind=change.kind,
                path=path,
                content=content,
                replacements=change.replacements,
                accepted=accepted,
            )
        )
        if accepted:
            self._edited.add(path)
            if saved is not None:
                self._see(step, path, saved.content)
        elif result is not None:
            self._note_files(result)

    def _note_files(self, text: str) -> None:
        for shown in files_shown(text):
            self._see(max(len(self.steps) - 1, 0), shown.path, shown.content)

    def _see(self, step: int, path: str, content: str) -> None:
        relative = relative_path(path, self._roots)
        if relative is not None and "\ufffd" not in content:
            self.seen_files.append(
                SeenFile(step=step, path=relative, content=content, after_edit=relative in self._edited)
            )

    def _sight(self, text: str) -> None:
        space = parse_environment(text).main()
        if space and space.repository and space.commit:
            step = max(len(self.steps) - 1, 0)
            self.sightings.append(CommitSighting(step=step, repository=space.repository, commit=space.commit))


def _argument(arguments: Mapping[str, object], *names: str) -> str:
    found = (arguments.get(name) for name in names)
    return next((value for value in found if isinstance(value, str) and value), "")


def _is_whole(arguments: Mapping[str, object]) -> bool:
    return not arguments.get("start_line") and not arguments.get("end_line")
