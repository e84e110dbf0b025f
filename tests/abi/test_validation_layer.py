"""The modes of the upstream loader's validation layer, which our loader answers with the driver's check mode."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.abi.calls import environment
from tests.abi.loaders import LOADER, build_program, fake_driver, run_loaded
from tests.checking.test_processes import BEGIN, LEAVES
from tests.patience import PATIENCE

MISTAKES = """
az = Calls()
context, leaking = az.context(), az.context()
az.memory(leaking, 4096)
az.ok("zeContextDestroy", leaking)
gate, waiting = az.events(context, 2)
l = az.immediate(context, mode=2)
az.ok("zeCommandListAppendBarrier", l, waiting, 1, handles([gate]))
az.call("zeEventHostReset", waiting)  # a command will signal it
az.call("zeContextCreate", az.driver, byref(ze.ze_context_desc_t(stype=0x99)), byref(c_void_p()))
az.ok("zeEventHostSignal", gate)
az.ok("zeCommandListHostSynchronize", l, 2**64 - 1)
"""
REPORT = re.compile(r"^anyzero check: ([\w-]+):", re.MULTILINE)


def found(**variables: str) -> set[str]:
    return set(REPORT.findall(run_loaded(MISTAKES, **variables).stderr))


@pytest.mark.parametrize(
    ("mode", "rules"),
    [
        ("ZE_ENABLE_PARAMETER_VALIDATION", {"wrong-structure-type"}),
        ("ZEL_ENABLE_EVENTS_CHECKER", {"event-reset-in-use"}),
        ("ZEL_ENABLE_BASIC_LEAK_CHECKER", {"leak"}),
        ("ZE_ENABLE_HANDLE_LIFETIME", {"leak", "event-reset-in-use"}),
        ("ZE_ENABLE_LOADER_INTERCEPT", set()),
    ],
)
def test_a_mode_is_a_check(mode: str, rules: set[str]) -> None:
    assert found(ZE_ENABLE_VALIDATION_LAYER="1", **{mode: "1"}) == rules


def test_modes_need_the_layer_and_give_way_to_check_mode() -> None:
    assert found(ZE_ENABLE_PARAMETER_VALIDATION="1") == set()
    told = found(ANYZERO_CHECK="sync", ZE_ENABLE_VALIDATION_LAYER="1", ZEL_ENABLE_BASIC_LEAK_CHECKER="1")
    assert told == {"event-reset-in-use"}
    off = found(ANYZERO_CHECK="off", ZE_ENABLE_VALIDATION_LAYER="1", ZEL_ENABLE_BASIC_LEAK_CHECKER="1")
    assert off == set()


@pytest.mark.parametrize("value", ["", "0", "false", "off", "11"])
def test_other_words_than_1_switch_nothing_on(value: str) -> None:
    """As with the upstream loader."""
    assert found(ZE_ENABLE_VALIDATION_LAYER=value, ZE_ENABLE_PARAMETER_VALIDATION="1") == set()


@pytest.mark.parametrize("mode", ["ZEL_ENABLE_BASIC_LEAK_CHECKER", "ZEL_ENABLE_EVENTS_CHECKER"])
def test_what_is_left_when_the_process_ends_is_a_leak(mode: str, tmp_path: Path) -> None:
    """What a context holds, and the context itself."""
    program = build_program(tmp_path, "leaves", BEGIN + LEAVES, LOADER)
    variables = {"ZE_ENABLE_VALIDATION_LAYER": "1", mode: "1"}
    done = subprocess.run(
        [str(program)], env=environment(**variables), capture_output=True, text=True, timeout=PATIENCE, check=True
    )
    assert REPORT.findall(done.stderr) == (["leak"] * 2 if mode == "ZEL_ENABLE_BASIC_LEAK_CHECKER" else [])


def test_a_driver_without_check_mode_is_named(tmp_path: Path) -> None:
    driver = fake_driver(tmp_path, "plain", MARK=1)
    variables = {"ZE_ENABLE_VALIDATION_LAYER": "1", "ZE_ENABLE_PARAMETER_VALIDATION": "1"}
    told = run_loaded("assert lib.zeInit(0) == OK", drivers=[driver], **variables).stderr
    assert f"{driver} has no check mode" in told
