"""A progress bar by tqdm, where there is somebody to see it."""

from __future__ import annotations

import sys
from typing import Any


def _somebody_watches() -> bool:
    if sys.stderr is not None and sys.stderr.isatty():
        return True
    shell = sys.modules.get("IPython")
    found = shell.get_ipython() if shell else None
    return found is not None and hasattr(found, "kernel")


class Bar:
    def __init__(self, make: Any, seconds: float | None, iters: int | None) -> None:
        self.make = make
        self.by_time = seconds is not None
        self.total = seconds if seconds is not None else iters
        self.bar: Any = None

    @classmethod
    def wanted(cls, progress: bool | None, seconds: float | None, iters: int | None) -> Bar | None:
        """None: no bar. progress True makes one wherever it goes, and needs tqdm."""
        if progress is False or (progress is None and not _somebody_watches()):
            return None
        try:
            from tqdm.auto import tqdm
        except ImportError:
            if progress:
                raise
            return None
        return cls(tqdm, seconds, iters)

    def begin(self, name: str) -> None:
        layout = "{desc}: {percentage:3.0f}%|{bar}| {elapsed}{postfix}"
        if self.total is None:
            layout = "{desc}: {elapsed}{postfix}"
        self.bar = self.make(total=self.total, desc=name, leave=False, bar_format=layout)

    def show(self, progress: Any) -> None:
        if self.bar is None:
            return
        done = progress.seconds if self.by_time else progress.iteration
        self.bar.n = min(done, self.total) if self.total else done
        self.bar.set_postfix_str(f"iteration {progress.iteration}, f = {progress.f:.6g}")

    def end(self) -> None:
        if self.bar is not None:
            self.bar.close()
            self.bar = None
