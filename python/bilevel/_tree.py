"""Lists, tuples and dicts of arrays, nested or not, as one list of leaves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any


def is_numbers(tree: Any) -> bool:
    """A number, or lists of nothing but numbers: one array in Python's own types."""
    if isinstance(tree, list | tuple):
        return len(tree) > 0 and all(is_numbers(item) for item in tree)
    return isinstance(tree, int | float) and not isinstance(tree, bool)


def listed(tree: Any) -> Any:
    """A generator, a view of a dict and the like as a list, pairs of names and arrays as a dict;
    anything else as it is."""
    own = isinstance(tree, Mapping | list | tuple | str | bytes) or hasattr(tree, "keys")
    array = hasattr(tree, "shape") or hasattr(tree, "__array__")
    if own or array or not isinstance(tree, Iterable):
        return tree
    items = list(tree)
    named = all(isinstance(i, tuple) and len(i) == 2 and isinstance(i[0], str) for i in items)
    return dict(items) if items and named else items


def leaves(tree: Any) -> Iterator[Any]:
    if isinstance(tree, Mapping):
        for key in tree:
            yield from leaves(tree[key])
    elif isinstance(tree, list | tuple) and not is_numbers(tree):
        for item in tree:
            yield from leaves(item)
    else:
        yield tree


def leaves_like(like: Any, tree: Any, who: str) -> Iterator[Any]:
    """The leaves of a tree of the form of `like`, in the order of `like`: keys may come in any."""
    if isinstance(like, Mapping):
        if not isinstance(tree, Mapping) or set(tree) != set(like):
            raise ValueError(f"{who}{_form(tree)}, expected a dict with the keys {list(like)}")
        for key in like:
            yield from leaves_like(like[key], tree[key], f"{who}[{key!r}]")
    elif isinstance(like, list | tuple) and not is_numbers(like):
        if not isinstance(tree, list | tuple) or len(tree) != len(like):
            kind = f"a {type(like).__name__} of {len(like)}"
            raise ValueError(f"{who}{_form(tree)}, expected {kind}")
        for i, (known, item) in enumerate(zip(like, tree, strict=True)):
            yield from leaves_like(known, item, f"{who}[{i}]")
    else:
        yield tree


def _form(tree: Any) -> str:
    if isinstance(tree, Mapping):
        return f" has the keys {list(tree)}"
    size = f" of {len(tree)}" if isinstance(tree, list | tuple) else ""
    return f" is a {type(tree).__name__}{size}"


def rebuild(like: Any, items: Iterator[Any]) -> Any:
    """The tree `like` with its leaves taken from items, in their order."""
    if isinstance(like, Mapping):
        return {key: rebuild(like[key], items) for key in like}
    if isinstance(like, list | tuple) and not is_numbers(like):
        rebuilt = [rebuild(item, items) for item in like]
        if isinstance(like, list):
            return rebuilt
        return type(like)(*rebuilt) if hasattr(like, "_fields") else tuple(rebuilt)
    return next(items)


def leaf_names(tree: Any, name: str) -> Iterator[str]:
    """x0['weight'], x0[1]: for messages."""
    if isinstance(tree, Mapping):
        for key in tree:
            yield from leaf_names(tree[key], f"{name}[{key!r}]")
    elif isinstance(tree, list | tuple) and not is_numbers(tree):
        for i, item in enumerate(tree):
            yield from leaf_names(item, f"{name}[{i}]")
    else:
        yield name
