"""Models, over LiteLLM or from recorded answers: typed questions within limits of turns, time and money.

`conversation.py` asks a typed question and lets the model use tools; `asking.py` is a model for one candidate, live (with
a cache in the lake) or replayed; `run.py` holds what a whole run shares: retries, fallbacks, calls in flight, the purse;
`litellm_model.py` makes one call. `fence.py` keeps data apart from instructions.
"""

from blocks.llm.asking import LiveModel, Model, RecordedModel
from blocks.llm.cache import CandidateCache, Exchange, recordings
from blocks.llm.conversation import Limits, NoTools, Question, Reply, Toolbox, ToolResult, converse
from blocks.llm.faults import CallFailedError, Fault, NoAnswerError
from blocks.llm.fence import Data, cut, fenced
from blocks.llm.messages import Completion, Message, ModelRequest, ToolCall, ToolSpec, Usage
from blocks.llm.prompts import Prompt, load_prompt
from blocks.llm.run import ModelRun, Spent, cost_rows, model_run

__all__ = [
    "CallFailedError",
    "CandidateCache",
    "Completion",
    "Data",
    "Exchange",
    "Fault",
    "Limits",
    "LiveModel",
    "Message",
    "Model",
    "ModelRequest",
    "ModelRun",
    "NoAnswerError",
    "NoTools",
    "Prompt",
    "Question",
    "RecordedModel",
    "Reply",
    "Spent",
    "ToolCall",
    "ToolResult",
    "ToolSpec",
    "Toolbox",
    "Usage",
    "converse",
    "cost_rows",
    "cut",
    "fenced",
    "load_prompt",
    "model_run",
    "recordings",
]
