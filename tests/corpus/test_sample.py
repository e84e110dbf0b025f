"""A fixed sample of modules that real programs carry becomes machine code; `make corpus` compiles all there are."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from anyzero.compiler.compiled import Options
from anyzero.compiler.spirv import disassemble, read
from tests.compiler.assembler import assemble
from tests.compiler.samples import MODULES
from tests.corpus.collect import NoCorpusError, modules_in, name_of, sample
from tests.corpus.compile_all import compiled
from tests.thorough import every


@pytest.fixture(scope="module")
def modules() -> dict[str, bytes]:
    try:
        return sample()
    except NoCorpusError as error:
        pytest.skip(f"NOT TESTED: modules of other projects: {error}")


@pytest.mark.timeout(900)
def test_given_modules_from_the_wild_then_every_kernel_is_compiled(modules: dict[str, bytes]) -> None:
    wanted: dict[str, Callable[[], bytes]] = {name: lambda data=data: data for name, data in modules.items()}  # type: ignore[misc]
    records = list(compiled(wanted, Options(level=1), os.cpu_count() or 1))
    assert {record.name: record.trouble for record in records if record.trouble} == {}
    assert sum(record.kernels for record in records) >= len(modules)


def test_given_modules_from_the_wild_then_text_and_words_say_the_same(modules: dict[str, bytes]) -> None:
    for name in every(80, list(modules)):
        assert assemble(disassemble(read(modules[name]).words)) == modules[name], name


def test_given_a_file_with_modules_in_it_then_they_are_found() -> None:
    inside = [each for each in MODULES.values() if isinstance(each, bytes)]
    data = b"\x03\x02\x23\x07 not one" + b"".join(each + b"\0\0\0\0junk" for each in inside)
    found = {name_of(each) for each in modules_in(data)}
    assert found
    assert found <= {name_of(each) for each in inside}


def test_given_a_module_without_functions_then_there_is_nothing_to_compile() -> None:
    assert list(modules_in(assemble("OpCapability Kernel"))) == []
