"""Every text of a session, for reading and for rewriting. Public identity (repository, commits) is not among them."""

import json
from collections.abc import Callable, Iterator

from blocks.session import Session, Step, ToolCall

Rewrite = Callable[[str], str]


def texts_of(session: Session) -> Iterator[str]:
    """Each text as it is decoded: the arguments of tool calls piece by piece."""
    collected: list[str] = []

    def note(text: str) -> str:
        collected.append(text)
        return text

    rewrite(session, note, note)
    yield from collected


def rewrite(session: Session, words: Rewrite, files: Rewrite) -> Session:
    """The session with `words` applied to what was said, called and printed, and `files` to contents of files."""
    return session.model_copy(
        update={
            "session_id": words(session.session_id),
            "start_evidence": words(session.start_evidence),
            "model": None if session.model is None else words(session.model),
            "steps": tuple(_step(step, words, files) for step in session.steps),
            "edits": tuple(
                edit.model_copy(
                    update={
                        "path": words(edit.path),
                        "content": None if edit.content is None else files(edit.content),
                        "replacements": tuple(
                            block.model_copy(update={"search": files(block.search), "replace": files(block.replace)})
                            for block in edit.replacements
                        ),
                    }
                )
                for edit in session.edits
            ),
            "seen_files": tuple(
                seen.model_copy(update={"path": words(seen.path), "content": files(seen.content)})
                for seen in session.seen_files
            ),
            "commands": tuple(
                command.model_copy(update={"command": words(command.command), "output": words(command.output)})
                for command in session.commands
            ),
        }
    )


def _step(step: Step, words: Rewrite, files: Rewrite) -> Step:
    return step.model_copy(
        update={
            "text": words(step.text),
            "reasoning": None if step.reasoning is None else words(step.reasoning),
            "model": None if step.model is None else words(step.model),
            "tool_calls": tuple(_call(call, words, files) for call in step.tool_calls),
            "observations": tuple(
                seen.model_copy(
                    update={
                        "call_id": None if seen.call_id is None else words(seen.call_id),
                        "content": words(seen.content),
                    }
                )
                for seen in step.observations
            ),
        }
    )


def _call(call: ToolCall, words: Rewrite, files: Rewrite) -> ToolCall:
    arguments = _value(json.loads(call.arguments), words, files, key="")
    return call.model_copy(
        update={
            "call_id": words(call.call_id),
            "name": words(call.name),
            "arguments": json.dumps(arguments, ensure_ascii=False),
        }
    )


def _value(value: object, words: Rewrite, files: Rewrite, key: str) -> object:
    if isinstance(value, str):
        return files(value) if key in ("content", "diff", "input") else words(value)
    if isinstance(value, list):
        return [_value(item, words, files, key) for item in value]
    if isinstance(value, dict):
        return {words(name): _value(item, words, files, name) for name, item in value.items()}
    return value
