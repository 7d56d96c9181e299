"""What a model costs at most. From the settings, else from LiteLLM's own list, which is read locally."""

from collections.abc import Mapping

from blocks.errors import UsageError
from blocks.llm.messages import ModelRequest, Usage
from blocks.settings import Price

MILLION = 1e6


class Prices:
    """Prices by model name."""

    def __init__(self, given: Mapping[str, Price], listed: Mapping[str, Mapping[str, object]]) -> None:
        """`listed`: LiteLLM's `model_cost`."""
        self._given = given
        self._listed = listed

    def of(self, model: str) -> Price:
        """The price of a model.

        Raises:
            UsageError: nobody knows it, so that no budget could be kept.
        """
        if model in self._given:
            return self._given[model]
        entry = self._listed.get(model) or self._listed.get(model.partition("/")[2])
        price = _dearest(entry) if entry else None
        if price is None:
            raise UsageError(
                f"model {model!r} has no known price, so no budget can be kept; give models.prices an entry for it, "
                'e.g. {"prompt_usd": 3.0, "completion_usd": 15.0} (per million tokens)'
            )
        return price

    def most(self, model: str, request: ModelRequest) -> float:
        """The most that one call can cost, in USD."""
        return self.cost(model, Usage(prompt_tokens=request.most_prompt_tokens, completion_tokens=request.max_tokens))

    def cost(self, model: str, usage: Usage) -> float:
        """What these tokens cost, in USD; discounts for cached prompts are not counted."""
        price = self.of(model)
        return (usage.prompt_tokens * price.prompt_usd + usage.completion_tokens * price.completion_usd) / MILLION


def _dearest(entry: Mapping[str, object]) -> Price | None:
    """The dearest of an entry's tiers: long prompts may cost more per token."""
    dearest = []
    for kind in ("input", "output"):
        names = (f"{kind}_cost_per_token", f"{kind}_cost_per_reasoning_token")
        found = [
            float(value)
            for name, value in entry.items()
            if isinstance(value, int | float) and (name in names or name.startswith(f"{names[0]}_above_"))
        ]
        if not any(name == names[0] for name in entry) or not found:
            return None
        dearest.append(max(found) * MILLION)
    return Price(prompt_usd=dearest[0], completion_usd=dearest[1])
