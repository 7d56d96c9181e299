"""One call of one model through LiteLLM, imported when the first call is made: that takes seconds.

LiteLLM is told to read its price list locally, to retry nothing by itself (we do), and to log nothing. Its errors are
sorted by whether the provider itself answered with a status: only then is it sure that nothing was billed.
"""

import asyncio
import importlib
import json
import logging
import os
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Protocol, cast

from blocks.errors import PermanentError, ServiceMissingError
from blocks.llm.faults import CallFailedError, Fault, NoAnswerError
from blocks.llm.messages import Completion, Message, ModelRequest, ToolCall, Usage
from blocks.settings import ModelSettings

MALICIOUS = frozenset({"1.82.7", "1.82.8"})
"""Releases of LiteLLM that were not its makers': they sent credentials away when Python started."""
_LOCAL = (
    "LITELLM_LOCAL_MODEL_COST_MAP",
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS",
    "LITELLM_LOCAL_AUTOROUTER_PRESETS",
    "LITELLM_LOCAL_BLOG_POSTS",
    "LITELLM_LOCAL_POLICY_TEMPLATES",
)
_MAX_WAIT_HEADER_SEC = 3600.0


class Caller(Protocol):
    """Calls one model once."""

    async def call(self, model: str, request: ModelRequest) -> Completion:
        """The completion, without its cost.

        Raises:
            CallFailedError: this try came to nothing.
            NoAnswerError: this model will not answer this request.
            PermanentError: the settings are wrong: no key, no such model.
        """
        ...


class LiteLLMCaller:
    """Calls through LiteLLM."""

    def __init__(self, settings: ModelSettings) -> None:
        self.settings = settings
        self._module: Any = None

    def prices(self) -> Mapping[str, Mapping[str, object]]:
        """LiteLLM's price list."""
        return cast(Mapping[str, Mapping[str, object]], self._litellm().model_cost)

    async def call(self, model: str, request: ModelRequest) -> Completion:
        """One call, within `models.timeout_sec` from begin to end."""
        litellm = self._litellm()
        try:
            async with asyncio.timeout(self.settings.timeout_sec):
                answer = await litellm.acompletion(**self._arguments(model, request))
        except TimeoutError:
            raise CallFailedError(f"{model}: no answer within {self.settings.timeout_sec:.0f} s") from None
        except Exception as error:  # noqa: BLE001 - named boundary: LiteLLM raises whatever its providers' code raises
            raise _sorted(model, error) from None
        return _read(model, answer)

    def _arguments(self, model: str, request: ModelRequest) -> dict[str, object]:
        arguments: dict[str, object] = {
            "model": model,
            "messages": [_message(message) for message in request.messages],
            "max_tokens": request.max_tokens,
            "timeout": self.settings.timeout_sec,
            "num_retries": 0,
            "max_retries": 0,
            "drop_params": True,
            "no-log": True,
        }
        if request.temperature is not None:
            arguments["temperature"] = request.temperature
        if request.tools:
            arguments["tools"] = [
                {
                    "type": "function",
                    "function": {
                        "name": tool.name,
                        "description": tool.description,
                        "parameters": json.loads(tool.parameters),
                    },
                }
                for tool in request.tools
            ]
            arguments["tool_choice"] = request.tool_choice
        if request.structured:
            schema = {"name": "answer", "strict": True, "schema": json.loads(request.answer_schema)}
            arguments["response_format"] = {"type": "json_schema", "json_schema": schema}
        if self.settings.api_base:
            arguments["api_base"] = self.settings.api_base
        if self.settings.api_key:
            arguments["api_key"] = self.settings.api_key.get_secret_value()
        return arguments

    def _litellm(self) -> Any:
        if self._module is None:
            self._module = _load()
        return self._module


def _load() -> Any:
    try:
        found = version("litellm")
    except PackageNotFoundError:
        raise ServiceMissingError("the package litellm is not installed; run `make venv`") from None
    if found in MALICIOUS:
        raise PermanentError(
            f"litellm {found} is a malicious release; remove it, change every credential of this machine, run `make venv`"
        )
    for name in _LOCAL:
        os.environ[name] = "True"
    litellm: Any = importlib.import_module("litellm")
    litellm.suppress_debug_info = True
    litellm.turn_off_message_logging = True
    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    return litellm


def _message(message: Message) -> dict[str, object]:
    told: dict[str, object] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        told["tool_calls"] = [
            {"id": call.call_id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.tool_calls
        ]
    if message.call_id is not None:
        told["tool_call_id"] = message.call_id
    return told


def _read(model: str, answer: Any) -> Completion:
    """What LiteLLM gives, as ours. Everything in it comes from outside, and may be missing or of another type."""
    choices = getattr(answer, "choices", None)
    if not isinstance(choices, list) or not choices or getattr(choices[0], "message", None) is None:
        raise CallFailedError(f"{model}: the answer holds no message")
    message = choices[0].message
    extra = getattr(message, "provider_specific_fields", None)
    refusal = extra.get("refusal") if isinstance(extra, dict) else None
    finish = str(getattr(choices[0], "finish_reason", None) or "stop")
    usage = getattr(answer, "usage", None)
    return Completion(
        model=model,
        text=_text(getattr(message, "content", None)),
        tool_calls=tuple(_call(call) for call in getattr(message, "tool_calls", None) or ()),
        finish_reason=finish,
        refusal=bool(refusal) or finish in ("content_filter", "refusal"),
        usage=Usage(prompt_tokens=_count(usage, "prompt_tokens"), completion_tokens=_count(usage, "completion_tokens")),
    )


def _call(call: Any) -> ToolCall:
    function = getattr(call, "function", None)
    return ToolCall(
        call_id=_text(getattr(call, "id", None)),
        name=_text(getattr(function, "name", None)),
        arguments=_text(getattr(function, "arguments", None)),
    )


def _text(value: object) -> str:
    """As text that can be written: half a surrogate pair cannot."""
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return text.encode("utf-8", "replace").decode()


def _count(usage: object, name: str) -> int:
    value = getattr(usage, name, 0)
    return max(0, int(value)) if isinstance(value, int | float) else 0


def _sorted(model: str, error: Exception) -> Exception:
    """The error as one of ours. Its text is left out: it may repeat what was sent, or a key."""
    kind = type(error).__name__
    status = getattr(error, "status_code", None)
    headers = getattr(error, "litellm_response_headers", None)
    response = headers if headers is not None else getattr(getattr(error, "response", None), "headers", None) or {}
    said = f"{model}: {kind} ({status})"
    if kind == "ContextWindowExceededError":
        return NoAnswerError(Fault.TOO_LONG, f"{said}: the conversation is too long for it")
    if kind == "ContentPolicyViolationError":
        return NoAnswerError(Fault.REFUSED, f"{said}: its provider would not answer")
    if status in (401, 403):
        return PermanentError(f"{said}: the key is refused; set models.api_key, or the variable LiteLLM reads for it")
    if status == 404:
        return PermanentError(f"{said}: there is no such model there; correct models.model and models.api_base")
    if status in (400, 422):
        return NoAnswerError(Fault.UNAVAILABLE, f"{said}: it refuses the request; see models.structured")
    if isinstance(error, ImportError | TypeError | AttributeError):
        return PermanentError(f"{said}: LiteLLM cannot make this call; see `make venv` and models.model")
    return CallFailedError(said, wait_sec=_wait(response), answered=headers is not None)


def _wait(headers: Mapping[str, str]) -> float | None:
    """Retry-After in seconds; dates are not understood."""
    try:
        return min(_MAX_WAIT_HEADER_SEC, max(0.0, float(headers.get("retry-after", ""))))
    except (TypeError, ValueError):
        return None
