"""`ANYZERO_STRICT`: refusals of what hardware drivers tolerate although the specification forbids it."""

from __future__ import annotations

from tests.abi.calls import run_python

ARGUMENTS = """
from tests.abi.kernels_in_c import build, kernel, planner
from tests.abi.test_launch_mutable import SOURCE, Scene

size = ze.ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE
sizes = {"value": 4, "global": 8, "constant": 8, "image": 8, "sampler": 8}
declared = ["int n", "int ", "", "global float* "]
text = '{"name": "declared", "args": [["value", 4], ["value", 4], ["value", 4], ["global", 8]], "declared": %s}'
text = "//kernel " + text % str(declared).replace("'", '"') + "\\nKERNEL(declared) {}\\n"
kinds = '//kernel {"name": "kinds", "args": [%s]}' % ", ".join(f'["{kind}", {bytes}]' for kind, bytes in sizes.items())
az = Calls()
context = az.context()
room = (c_uint8 * 64)()
with planner():
    module, _ = build(az, context, SOURCE + text + kinds + "\\nKERNEL(kinds) {}\\n")
    made = kernel(az, module, "declared")
    for index, shown in enumerate(["0 (int n)", "1 (int)", "2", "3 (global float*)"]):
        az.error(size, "zeKernelSetArgumentValue", made, index, 3, None)
        assert f"argument {shown} of kernel declared: 3 bytes given" in az.last_error()
    made = kernel(az, module, "kinds")
    for index, right in enumerate(sizes.values()):
        for wrong in {0, 1, 4, 7, 8, 9, 2**32 + 8, 2**64 - 1} - {right}:
            az.error(size, "zeKernelSetArgumentValue", made, index, wrong, byref(room))
        az.ok("zeKernelSetArgumentValue", made, index, right, None)
    scene = Scene(az, context, module)
    assert scene.change(scene.argument(1, c_uint64(1))) == INVALID_ARGUMENT
    assert scene.change(scene.argument(1, c_uint32(1))) == OK
"""


CLOSED = """
from tests.abi.appends import appends
az = Calls()
context = az.context()
recorded = az.list(context)
az.close(recorded)
for name, args in appends(az, context):
    assert az.call(name, recorded, *args) == INVALID_ARGUMENT, name
    assert "reset" in az.last_error()
"""


def test_nothing_is_appended_to_a_closed_list() -> None:
    run_python(CLOSED, ANYZERO_STRICT="1")


def test_arguments_have_the_size_of_the_kernels_own() -> None:
    run_python(ARGUMENTS, ANYZERO_STRICT="1")
