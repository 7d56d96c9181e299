"""A model that says what a test wrote down, one completion after the other."""

from collections.abc import Sequence

from blocks.llm import Completion, ModelRequest, Spent, ToolCall


class Scripted:
    """Repeats its last completion for ever. `requests` holds what it was asked."""

    name = "scripted"

    def __init__(self, *completions: Completion) -> None:
        self.completions = completions
        self.requests: list[ModelRequest] = []
        self.spent = Spent()

    async def complete(self, request: ModelRequest) -> Completion:
        self.requests.append(request)
        return self.completions[min(len(self.requests), len(self.completions)) - 1]


def said(text: str, **more: object) -> Completion:
    values = {"model": "m", "text": text, "finish_reason": "stop", **more}
    return Completion.model_validate(values)


def calls(*pairs: tuple[str, str]) -> Completion:
    tool_calls = tuple(ToolCall(call_id=f"random-{name}", name=name, arguments=text) for name, text in pairs)
    return Completion(model="m", text="", tool_calls=tool_calls, finish_reason="tool_calls")


def roles(request: ModelRequest) -> Sequence[str]:
    return [message.role for message in request.messages]
