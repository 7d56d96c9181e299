"""setup.py as data: the literal arguments of its setup() call, read from the syntax tree. Nothing of it runs."""

import ast
from collections.abc import Mapping

_TOO_DEEP = (ValueError, TypeError, MemoryError, RecursionError)
"""What the compiler raises for literals that are none or nest without end."""


def setup_literals(source: str) -> dict[str, tuple[str, ...]]:
    """Literal keyword arguments of setup(), also through names that are assigned literals at module level.

    `extras_require` comes as one entry `extras_require:<extra>` for each extra. Empty where the source does not parse.
    """
    try:
        module = ast.parse(source)
    except (SyntaxError, *_TOO_DEEP):
        return {}
    names = {
        target.id: node.value
        for node in module.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    found: dict[str, tuple[str, ...]] = {}
    for node in ast.walk(module):
        if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) == "setup":
            for keyword in node.keywords:
                if keyword.arg:
                    value = _literal(keyword.value, names)
                    if keyword.arg == "extras_require" and isinstance(value, dict):
                        found.update({f"extras_require:{key}": _texts(item) for key, item in value.items()})
                    elif isinstance(value, str):
                        found[keyword.arg] = (value,)
                    else:
                        found[keyword.arg] = _texts(value)
    return found


def _literal(node: ast.expr, names: Mapping[str, ast.expr]) -> object:
    if isinstance(node, ast.Name):
        return _literal(names[node.id], {}) if node.id in names else None
    if isinstance(node, ast.Dict):
        return {
            key.value: _literal(value, names)
            for key, value in zip(node.keys, node.values, strict=True)
            if isinstance(key, ast.Constant)
        }
    try:
        return ast.literal_eval(node)
    except _TOO_DEEP:
        return None


def _texts(value: object) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list | tuple) else ()
