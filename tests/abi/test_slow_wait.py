"""A wait that lasts long says once what it is for, if warnings are wanted."""

from __future__ import annotations

import re

import pytest

from tests.abi.calls import run_python

PROGRAM = """
reading, writing = os.pipe()
kept = os.dup(2)
os.dup2(writing, 2)
az = Calls()
context = az.context()
lst = az.immediate(context, mode=ASYNCHRONOUS)
gate, done = az.events(context, 2)
az.barrier(lst, done, [gate])
waiter = threading.Thread(target=lambda: az.ok("zeEventHostSynchronize", done, FOREVER))
waiter.start()
{until}
az.ok("zeEventHostSignal", gate)
waiter.join()
os.dup2(kept, 2)
os.close(writing)
while more := os.read(reading, 10_000):
    said += more
print(hex(gate.value), hex(done.value), said.decode())
"""


def test_a_wait_that_lasts_long_is_explained_once() -> None:
    done = run_python(
        PROGRAM.format(until="said = os.read(reading, 10_000)"), ANYZERO_LOG="warning", ANYZERO_SLOW_WAIT="0.001"
    )
    gate, event, said = done.stdout.split(maxsplit=2)
    (line,) = said.strip().splitlines()
    assert f"a wait for event {event} has lasted 0.001 s" in line
    assert re.search(rf"command 1 of queue \d+ waits for event {gate}", line)


@pytest.mark.parametrize(
    "variables", [{"ANYZERO_SLOW_WAIT": "0.001"}, {"ANYZERO_LOG": "warning", "ANYZERO_SLOW_WAIT": "100000"}]
)
def test_short_waits_and_the_usual_level_are_silent(variables: dict[str, str]) -> None:
    done = run_python(PROGRAM.format(until="await_sleep(waiter)\nsaid = b''"), **variables)
    assert len(done.stdout.split()) == 2
