"""Modules that need each other: linking, what is wrong with it, and what it means for kernels."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from anyzero import ze
from anyzero.driver.modules import container
from tests.unit.planning import (
    SUCCESS,
    UNARY,
    VOID_FUNCTION,
    Compiler,
    build,
    create,
    entry,
    exporter,
    importer,
    inspect,
    link,
    module,
    native,
    pretending,
)

LINK_FAILURE = ze.ZE_RESULT_ERROR_MODULE_LINK_FAILURE
UNLINKED = ze.ZE_RESULT_ERROR_INVALID_MODULE_UNLINKED
ALL = 7


@pytest.fixture
def compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Compiler]:
    with pretending(tmp_path, monkeypatch) as made:
        yield made


def chain(exported: str, imported: str) -> bytes:
    """A function that calls the next one."""
    names = f"""
    OpDecorate %given LinkageAttributes "{exported}" Export
    OpDecorate %next LinkageAttributes "{imported}" Import
"""
    body = """
    %next = OpFunction %i32 None %unary
    %p = OpFunctionParameter %i32
    OpFunctionEnd
    %given = OpFunction %i32 None %unary
    %value = OpFunctionParameter %i32
    %given_entry = OpLabel
    %r = OpFunctionCall %i32 %next %value
    OpReturnValue %r
    OpFunctionEnd
"""
    return module(body, head=UNARY, names=names)


def test_a_kernel_needs_its_imports(compiler: Compiler) -> None:
    user = build(importer())
    status, log, _ = create(user.plan, "main")
    assert status == UNLINKED
    assert log.startswith('"main" needs symbols that no linked module exports: outside;')
    assert "zeModuleDynamicLink" in log
    assert compiler.calls == []


def test_linked_modules_reach_the_compiler_and_the_container(compiler: Compiler) -> None:
    user, giver = build(importer()), build(exporter())
    assert link(user.plan, giver.plan) == (SUCCESS, "")
    status, _, data = create(user.plan, "main")
    assert status == SUCCESS
    (call,) = compiler.calls
    assert [list(each.exports) for each in call.linked] == [["outside", "outside_count"]]
    assert container.decode(data).kernel.links == (giver.plan,)


def test_a_kernel_that_needs_no_imported_variable_is_not_concerned(compiler: Compiler) -> None:
    names, body = entry("main", "%v = OpLoad %i32 %theirs Aligned 4")
    more, free = entry("free")
    names += more + '\n    OpDecorate %theirs LinkageAttributes "outside_count" Import'
    head = f"{VOID_FUNCTION}    %theirs = OpVariable %global_i32 CrossWorkgroup\n"
    user = build(module(body + free, head=head, names=names))
    assert create(user.plan, "free")[0] == SUCCESS
    status, log, _ = create(user.plan, "main")
    assert status == UNLINKED
    assert "outside_count" in log
    link(user.plan, build(exporter()).plan)
    assert create(user.plan, "main")[0] == SUCCESS
    assert [len(call.linked) for call in compiler.calls] == [0, 1]


def test_a_name_that_means_different_things_in_different_places_is_refused(compiler: Compiler) -> None:
    """Linked apart from each other, so that linking has nothing to complain of."""
    names = '\n    OpDecorate %far LinkageAttributes "far" Export\n'
    own = """
    %far = OpFunction %i32 None %unary
    %far_value = OpFunctionParameter %i32
    %far_entry = OpLabel
    OpReturnValue %c1
    OpFunctionEnd
"""
    more, body = entry("main", "%r = OpFunctionCall %i32 %outside %c1")
    names += more + '\n    OpDecorate %outside LinkageAttributes "outside" Import'
    declared = "%outside = OpFunction %i32 None %unary\n%p = OpFunctionParameter %i32\nOpFunctionEnd\n"
    user = build(module(declared + own + body, head=VOID_FUNCTION + UNARY, names=names))
    first, last = build(chain("outside", "far")), build(exporter("far"))
    assert link(first.plan, last.plan)[0] == SUCCESS
    assert link(user.plan, first.plan)[0] == SUCCESS
    status, log, _ = create(user.plan, "main")
    assert status == ze.ZE_RESULT_ERROR_MODULE_BUILD_FAILURE
    assert "different symbols of one name: far;" in log


def test_a_kernel_that_needs_no_import_is_not_concerned(compiler: Compiler) -> None:
    names, body = entry("main", "%r = OpFunctionCall %i32 %outside %c1")
    more, free = entry("free")
    names += more + '\n    OpDecorate %outside LinkageAttributes "outside" Import'
    declared = "%outside = OpFunction %i32 None %unary\n%p = OpFunctionParameter %i32\nOpFunctionEnd\n"
    user = build(module(declared + body + free, head=VOID_FUNCTION + UNARY, names=names))
    assert create(user.plan, "free")[0] == SUCCESS
    assert create(user.plan, "main")[0] == UNLINKED
    link(user.plan, build(exporter()).plan)
    assert create(user.plan, "main")[0] == SUCCESS
    assert [len(call.linked) for call in compiler.calls] == [0, 1]


def test_links_lead_on(compiler: Compiler) -> None:
    user, first, last = build(importer()), build(chain("outside", "far")), build(exporter("far"))
    assert link(user.plan, first.plan, last.plan)[0] == SUCCESS
    _, _, data = create(user.plan, "main")
    assert container.decode(data).kernel.links == (first.plan, last.plan)


def test_modules_may_be_linked_one_after_the_other(compiler: Compiler) -> None:
    user, first, last = build(importer()), build(chain("outside", "far")), build(exporter("far"))
    assert link(first.plan, last.plan)[0] == SUCCESS
    assert link(user.plan, first.plan)[0] == SUCCESS
    assert create(user.plan, "main")[0] == SUCCESS


def test_what_is_linked_stays_linked(compiler: Compiler) -> None:
    user, first, second = build(importer()), build(exporter()), build(exporter())
    assert link(user.plan, first.plan)[0] == SUCCESS
    assert link(user.plan, second.plan)[0] == SUCCESS
    _, _, data = create(user.plan, "main")
    assert container.decode(data).kernel.links == (first.plan,)


def test_a_provider_may_be_destroyed_before_the_kernel_is_made(compiler: Compiler) -> None:
    user, giver = build(importer()), build(exporter())
    link(user.plan, giver.plan)
    status, _, data = create(user.plan, "main", released=[giver.plan])
    assert status == SUCCESS
    assert container.decode(data).kernel.links == (giver.plan,)


def test_the_cache_knows_which_module_was_linked(compiler: Compiler) -> None:
    for giver in (exporter(), exporter(result="%c7"), exporter()):
        user, given = build(importer()), build(giver)
        link(user.plan, given.plan)
        _, _, data = create(user.plan, "main")
        assert container.decode(data).kernel.links == (given.plan,)
    assert len(compiler.calls) == 2


def test_what_nobody_exports_fails_the_link_for_all(compiler: Compiler) -> None:
    user, other, giver = build(importer()), build(importer(imported="nowhere")), build(exporter())
    status, log = link(user.plan, other.plan, giver.plan)
    assert status == LINK_FAILURE
    assert log == '"nowhere", imported by module 1, is exported by no module'
    assert create(user.plan, "main")[0] == UNLINKED
    assert link(user.plan, giver.plan)[0] == SUCCESS
    assert create(user.plan, "main")[0] == SUCCESS


def test_two_exports_of_one_name_that_is_wanted_are_a_conflict(compiler: Compiler) -> None:
    user, first, second = build(importer()), build(exporter()), build(exporter())
    status, log = link(user.plan, first.plan, second.plan)
    assert status == LINK_FAILURE
    assert '"outside" is exported by several modules: module 1, module 2' in log


def test_two_exports_that_nobody_wants_are_worth_a_remark(compiler: Compiler) -> None:
    status, log = link(build(exporter()).plan, build(exporter()).plan)
    assert status == SUCCESS
    assert '"outside" is exported by several modules' in log


@pytest.mark.parametrize("kind", ["LinkOnceODR", "WeakAMD"])
def test_what_may_be_there_many_times_is_no_conflict(compiler: Compiler, kind: str) -> None:
    user, first, second = build(importer()), build(exporter(kind=kind)), build(exporter(kind=kind))
    assert link(user.plan, first.plan, second.plan) == (SUCCESS, "")
    assert container.decode(create(user.plan, "main")[2]).kernel.links == (first.plan,)


def test_a_real_export_goes_before_one_of_many(compiler: Compiler) -> None:
    user, weak, strong = build(importer()), build(exporter(kind="LinkOnceODR")), build(exporter())
    assert link(user.plan, weak.plan, strong.plan) == (SUCCESS, "")
    assert container.decode(create(user.plan, "main")[2]).kernel.links == (strong.plan,)


def test_another_signature_fails_the_link(compiler: Compiler) -> None:
    user, giver = build(importer(type_="%f32")), build(exporter())
    status, log = link(user.plan, giver.plan)
    assert status == LINK_FAILURE
    assert '"outside" is i32(i32) where it is defined and f32(f32) where it is used' in log


def test_a_variable_is_no_function(compiler: Compiler) -> None:
    user, giver = build(importer(imported="outside_count")), build(exporter())
    status, log = link(user.plan, giver.plan)
    assert status == LINK_FAILURE
    assert "a function on one side and a variable on the other" in log


def variable_user(type_: str = "global_i32") -> bytes:
    names, body = entry("main", "%v = OpLoad %i32 %theirs Aligned 4")
    names += '\n    OpDecorate %theirs LinkageAttributes "outside_count" Import'
    head = f"{VOID_FUNCTION}    %theirs = OpVariable %{type_} CrossWorkgroup\n"
    return module(body, head=head, names=names)


def test_variables_are_linked_too(compiler: Compiler) -> None:
    user, giver = build(variable_user()), build(exporter())
    assert user.imports == ["outside_count"]
    assert create(user.plan, "main")[0] == UNLINKED
    assert link(user.plan, giver.plan) == (SUCCESS, "")
    assert container.decode(create(user.plan, "main")[2]).kernel.links == (giver.plan,)


def test_a_variable_that_is_too_small_fails_the_link(compiler: Compiler) -> None:
    names, body = entry("main")
    names += '\n    OpDecorate %theirs LinkageAttributes "outside_count" Import'
    head = (
        f"{VOID_FUNCTION}    %wide = OpTypePointer CrossWorkgroup %i64\n    %theirs = OpVariable %wide CrossWorkgroup\n"
    )
    status, log = link(build(module(body, head=head, names=names)).plan, build(exporter()).plan)
    assert status == LINK_FAILURE
    assert '"outside_count" is i32 global* where it is defined and i64 global* where it is used' in log


def test_modules_that_call_each_other_in_a_circle(compiler: Compiler) -> None:
    user, first, second = build(importer()), build(chain("outside", "back")), build(chain("back", "outside"))
    assert link(user.plan, first.plan, second.plan)[0] == SUCCESS
    status, log, _ = create(user.plan, "main")
    assert status == ze.ZE_RESULT_ERROR_MODULE_BUILD_FAILURE
    assert "calls itself through other modules" in log


def test_a_bad_body_in_a_linked_module_is_told(compiler: Compiler) -> None:
    user, giver = build(importer()), build(exporter(result="%half"))
    assert link(user.plan, giver.plan)[0] == SUCCESS
    status, log, _ = create(user.plan, "main")
    assert status == ze.ZE_RESULT_ERROR_MODULE_BUILD_FAILURE
    assert log.startswith("error: in a module that it is linked with: word ")
    assert "OpReturnValue" in log


def test_inspection_lists_what_the_flags_ask_for(compiler: Compiler) -> None:
    user, other, giver = build(importer()), build(importer(imported="nowhere")), build(exporter())
    status, log = inspect(ALL, user.plan, other.plan, giver.plan)
    assert status == SUCCESS
    assert log.splitlines() == [
        "imports:",
        "  module 0: outside",
        "  module 1: nowhere",
        "unresolvable imports:",
        "  module 1: nowhere",
        "exports:",
        "  module 2: outside",
        "  module 2: outside_count",
    ]
    assert inspect(ze.ZE_LINKAGE_INSPECTION_EXT_FLAG_UNRESOLVABLE_IMPORTS, user.plan)[1].splitlines() == [
        "unresolvable imports:",
        "  module 0: outside",
    ]
    assert inspect(0, user.plan) == (SUCCESS, "")
    link(user.plan, giver.plan)
    assert "module 0" not in inspect(ze.ZE_LINKAGE_INSPECTION_EXT_FLAG_UNRESOLVABLE_IMPORTS, user.plan)[1]


def test_linking_one_module_or_the_same_twice(compiler: Compiler) -> None:
    alone = build(exporter())
    assert link(alone.plan) == link(alone.plan, alone.plan) == link() == (SUCCESS, "")


def test_a_native_binary_of_a_linked_module_is_still_to_be_linked(compiler: Compiler) -> None:
    user, giver = build(importer()), build(exporter())
    status, log, before = native(user.plan)
    assert status == SUCCESS
    assert 'warning: the kernel "main" is not compiled' in log
    link(user.plan, giver.plan)
    status, log, after = native(user.plan)
    assert (status, log, after) == (SUCCESS, "", before)
    again = build(after, form=ze.ZE_MODULE_FORMAT_NATIVE)
    assert again.imports == ["outside"]
    assert create(again.plan, "main")[0] == UNLINKED
    assert link(again.plan, giver.plan)[0] == SUCCESS
    assert create(again.plan, "main")[0] == SUCCESS
