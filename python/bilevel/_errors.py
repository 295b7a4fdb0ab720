"""Errors of the library as Python exceptions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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
