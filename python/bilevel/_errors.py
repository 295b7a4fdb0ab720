"""Errors of the library as Python exceptions."""

from __future__ import annotations

from collections.abc import Callable
from os import fsencode
from typing import Any

import numpy as np

from ._core import ffi, lib


class BilevelError(RuntimeError):
    """A call of the library failed for a reason that is not a bad argument."""


_KINDS: dict[int, type[Exception]] = {
    lib.BLV_E_MEMORY: MemoryError,
    lib.BLV_E_ARGUMENT: ValueError,
    lib.BLV_E_NAME: ValueError,
    lib.BLV_E_VALUE: ValueError,
    lib.BLV_E_FILE: OSError,
    lib.BLV_E_FORMAT: ValueError,
}


def text(pointer: Any) -> str:
    """A C string; empty for NULL."""
    return ffi.string(pointer).decode("utf-8", "replace") if pointer else ""


def c_text(name: str, value: Any) -> bytes:
    """A text argument for C."""
    if not isinstance(value, str | bytes):
        raise TypeError(f"{name} is a {type(value).__name__}, expected a str")
    coded = fsencode(value)
    if b"\0" in coded:
        raise ValueError(f"{name} {value!r} has a zero byte")
    return coded


def whole(name: str, value: Any, least: int = 0, most: int = 2**63 - 1) -> int:
    """A number that fits its C type."""
    if not isinstance(value, int | np.integer):
        raise TypeError(f"{name} is {value!r}, expected a whole number")
    if not least <= value <= most:
        raise ValueError(f"{name} is {value}, expected a whole number from {least} to {most}")
    return int(value)


def new_message() -> Any:
    return ffi.new("blv_message *")


def check(error: int, why: Any = None) -> None:
    """Raises what the code and the message say, unless it is BLV_OK."""
    if error != lib.BLV_OK:
        said = text(why.text) if why is not None else ""
        raise _KINDS.get(error, BilevelError)(said or text(lib.blv_error_text(error)))


def struct(name: str, **fields: Any) -> Any:
    """A struct that the library reads: its size is set, fields that are not named are 0."""
    made = ffi.new(f"{name} *")
    made.size = ffi.sizeof(name)
    for key, value in fields.items():
        setattr(made, key, value)
    return made


def owned(pointer: Any, destroy: Callable[[Any], None], *kept: Any) -> Any:
    """A pointer that is destroyed with its last reference; what is kept lives until after that."""

    def end(p: Any, kept: tuple[Any, ...] = kept) -> None:
        destroy(p)

    return ffi.gc(pointer, end)
