"""Stubs of the C library that the linker takes for an older one: `python wheel/old_glibc.py 2.28 FOLDER`.

glibc keeps every old version of a function, but a linker takes the newest. The stubs have for each function the newest
version that glibc 2.28 had, and no function that is newer. So libraries linked against them load everywhere from that
glibc on, and a function that it lacks is an error of the linker instead of one on the user's machine. Such functions
are defined in `newer_functions.cpp`. Compiler and C++ library stay those that the tests run with.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

# In old releases these are libraries of their own; newer ones have everything in libc and keep them empty.
PARTS = {"libpthread": "libpthread.so.0", "libdl": "libdl.so.2", "librt": "librt.so.1"}
SYMBOL = re.compile(r"^[0-9a-f]+ (?P<kind>\w) (?P<name>\w+)@@?GLIBC_(?P<version>[0-9.]+)$", re.MULTILINE)
FUNCTIONS = "TWi"


def number(version: str) -> tuple[int, ...]:
    """2.28 is newer than 2.3.4.

    >>> number("2.28") > number("2.3.4")
    True
    """
    return tuple(map(int, version.split(".")))


def chosen(listing: str, newest: str) -> dict[str, tuple[str, str]]:
    r"""The symbols in the output of `nm -D --with-symbol-versions`, each with its kind and newest version allowed.

    >>> chosen("0010 T open@GLIBC_2.2.5\n0010 T open@@GLIBC_2.34\n0020 T gettid@@GLIBC_2.30\n", "2.28")
    {'open': ('T', '2.2.5')}
    """
    found: dict[str, tuple[str, str]] = {}
    for kind, name, version in SYMBOL.findall(listing):
        if number(version) <= number(newest) and number(version) > number(found.get(name, ("", "0"))[1]):
            found[name] = kind, version
    return found


def link(folder: Path, name: str, soname: str, symbols: dict[str, tuple[str, str]]) -> None:
    """Write one stub."""
    lines, versions = [".text"], sorted({version for _, version in symbols.values()}, key=number)
    for symbol, (kind, _) in symbols.items():
        form = "function" if kind in FUNCTIONS else "object"
        lines += [f".globl {symbol}", f".type {symbol}, @{form}", f".size {symbol}, 8", f"{symbol}: .quad 0"]
    source, script = folder / f"{name}.s", folder / f"{name}.map"
    source.write_text("\n".join([*lines, '.section .note.GNU-stack,"",@progbits', ""]))
    nodes = [(at, [symbol for symbol, (_, version) in symbols.items() if version == at]) for at in versions]
    script.write_text("".join(f"GLIBC_{at} {{ global: {'; '.join(names)}; }};\n" for at, names in nodes))
    command = ["gcc", "-shared", "-nostdlib", f"-Wl,-soname,{soname}", str(source), "-o", str(folder / soname)]
    subprocess.run([*command, f"-Wl,--version-script={script}"] if nodes else command, check=True)


def path_of(library: str) -> Path:
    """Where the compiler finds a library."""
    found = subprocess.run(["gcc", f"-print-file-name={library}"], capture_output=True, text=True, check=True)
    return Path(found.stdout.strip())


def main(newest: str, folder: Path) -> None:
    """Write all stubs, under the names that the compiler looks for."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, soname in {"libc": "libc.so.6", "libm": "libm.so.6"}.items():
        command = ["nm", "-D", "--defined-only", "--with-symbol-versions", str(path_of(soname))]
        listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        link(folder, name, soname, chosen(listing, newest))
    for name, soname in PARTS.items():
        link(folder, name, soname, {})
    for name, soname in {**PARTS, "libm": "libm.so.6"}.items():
        (folder / f"{name}.so").write_text(f"INPUT({folder / soname})\n")
    group = f"{folder / 'libc.so.6'} {path_of('libc_nonshared.a')} AS_NEEDED({path_of('ld-linux-x86-64.so.2')})"
    (folder / "libc.so").write_text(f"GROUP({group})\n")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]).resolve())
