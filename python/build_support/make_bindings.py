"""Writes the C source of the extension: python make_bindings.py COMPILER INCLUDE OUTPUT

The declarations are those of the public headers, as the preprocessor leaves them, and those of
callbacks.cdef. Nothing is declared twice.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from cffi import FFI

HERE = Path(__file__).parent
MARK = "/* Here make_bindings.py puts the declarations of callbacks.cdef. */"
STANDARD = ("stdbool.h", "stddef.h", "stdint.h", "math.h")  # what cffi knows already


def public_declarations(compiler: str, include: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        for name in STANDARD:
            Path(folder, name).touch()
        source = "#include <bilevel/bilevel.h>\n#include <bilevel/store.h>\n"
        command = [compiler, "-E", "-P", "-nostdinc", "-I", folder, "-I", include]
        command += ["-U__GNUC__", "-xc", "-"]  # without attributes
        done = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return done.stdout


def split_callbacks() -> tuple[str, str]:
    """For cffi, and as C declarations that stand before the functions of callbacks.c."""
    text = (HERE / "callbacks.cdef").read_text()
    python_part = re.search(r'extern "Python" \{(.*?)\n\}', text, re.S)
    assert python_part
    declarations = re.sub(r"/\*.*?\*/", "", python_part[1], flags=re.S)
    return text, re.sub(r"(?m)^(?=\w)", "static ", declarations)


def main() -> None:
    compiler, include, output = sys.argv[1:]
    for_cffi, for_c = split_callbacks()
    builder = FFI()
    builder.cdef(public_declarations(compiler, include))
    builder.cdef(for_cffi)
    source = (HERE / "callbacks.c").read_text().replace(MARK, for_c)
    builder.set_source("bilevel._core", source)
    builder.emit_c_code(output)


if __name__ == "__main__":
    main()
