"""The functions that the library calls, and what becomes of an exception in one of them.

An exception is kept, the library is told that the oracle failed, and the call that the user made
raises it when the library has returned.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from typing import Any

from ._core import ffi, lib

FATAL = -1
_from_handle = ffi.from_handle


class _Here(threading.local):
    """Of the thread: callbacks come from the thread that called the library."""

    raised: BaseException | None = None
    run: Any = None  # the run that Ctrl-C stops


_here = _Here()


class Reject(Exception):
    """Raise it in f or g where they are not defined: the last step is halved and tried again."""


def keep(error: BaseException) -> None:
    if _here.raised is None:
        _here.raised = error


def _kept(kind: Any, error: BaseException, traceback: Any) -> None:
    """For what is raised before a callback has begun, such as KeyboardInterrupt."""
    keep(error.with_traceback(traceback))


def watch_run(run: Any) -> None:
    _here.run = run


def stopping() -> bool:
    return _here.raised is not None


class guarded:  # noqa: N801
    """Around a call of the library: raises what a callback raised, and has Ctrl-C stop the run.

    Not a generator, out of which StopIteration would come as a RuntimeError.
    """

    def __enter__(self) -> None:
        self.outer = _here.raised, _here.run
        _here.raised, _here.run = None, None
        self.previous = None
        if (
            threading.current_thread() is threading.main_thread()
            and signal.getsignal(signal.SIGINT) is signal.default_int_handler
        ):
            self.previous = signal.signal(signal.SIGINT, _interrupt)

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        if self.previous is not None:
            signal.signal(signal.SIGINT, self.previous)
        raised = _here.raised
        _here.raised, _here.run = self.outer
        if error is None and raised is not None:
            raise raised


def _interrupt(number: int, frame: Any) -> None:
    """The first Ctrl-C stops the run, which then has its result; the second one is raised."""
    run = _here.run
    if run is None:
        raise KeyboardInterrupt
    _here.run = None
    lib.blv_run_stop(run)


def install() -> None:
    """Defines the functions. The library calls none of them before this."""
    define("upper", _upper)
    define("lower", _lower)
    define("all", _all)
    define("project", _project)
    define("stop", lambda context: int(stopping()), 1)


def define(name: str, function: Callable[..., Any], error: Any = FATAL) -> None:
    ffi.def_extern(name=f"blv_py_{name}", error=error, onerror=_kept)(function)


def _failed(error: BaseException) -> int:
    if isinstance(error, Reject):
        return 1
    keep(error)
    return FATAL


# One for each, and nothing shared between them: they are called in every step.


def _upper(user: Any, batch: Any, x: int, y: int, f: Any, fx: int, fy: int) -> int:
    try:
        _from_handle(user).upper(batch, x, y, f, fx, fy)
        return 0
    except BaseException as error:
        return _failed(error)


def _lower(user: Any, batch: Any, x: int, y: int, g: Any, gx: int, gy: int) -> int:
    try:
        _from_handle(user).lower(batch, x, y, g, gx, gy)
        return 0
    except BaseException as error:
        return _failed(error)


def _all(user: Any, batch: Any, x: int, y: int, v: int, gy: int, hv: int, jv: int) -> int:
    try:
        _from_handle(user).all(batch, x, y, v, gy, hv, jv)
        return 0
    except BaseException as error:
        return _failed(error)


def _project(user: Any, x: int) -> int:
    try:
        _from_handle(user).project(x)
        return 0
    except BaseException as error:
        return _failed(error)
