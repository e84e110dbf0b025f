"""Refusals of the graph planner, and their messages."""

from __future__ import annotations

import pytest

from anyzero import ze
from tests.npu.planned import refused
from tests.npu.planner_irs import Net, addition, branching, constant, operation, parameter, pointer, result, variable

DAMAGED = ze.ZE_RESULT_ERROR_INVALID_NATIVE_BINARY
UNSUPPORTED = ze.ZE_RESULT_ERROR_UNSUPPORTED_FEATURE


def replaced(before: str, after: str, net: Net | None = None) -> bytes:
    xml = (net or addition()).xml()
    assert before.encode() in xml
    return xml.replace(before.encode(), after.encode(), 1)


BAD = {
    "nothing": (b"", "no element found"),
    "no XML": (b"\x00\x01\x02", "line 1"),
    "cut off": (addition().xml()[:500], "line"),
    "another document": (b"<html/>", "should be a <net>"),
    "no layers": (b'<net name="x"><layers/></net>', "no <layers>"),
    "a document type": (b'<!DOCTYPE net SYSTEM "file:///etc/passwd">' + addition(head="").xml(), "document type"),
    "growing entities": (
        b'<!DOCTYPE net [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]>' + addition(head="").xml(),
        "document type",
    ),
    "an entity of nobody": (replaced('name="sum"', 'name="&sum;"'), "entity"),
    "another encoding": (addition(head='<?xml version="1.0" encoding="ISO-8859-1"?>').xml(), "ISO-8859-1"),
    "UTF-16": (addition(head="").xml().decode().encode("utf-16"), "line 1"),
    "bytes that are not UTF-8": (addition(name="x").xml().replace(b'"x"', b'"\xff"'), "line 2"),
    "nesting": (addition(tail="<a>" * 300 + "</a>" * 300).xml(), "256"),
    "bodies in bodies": (
        b"<net><layers>"
        + b'<layer id="1" name="" type=""><body><layers>' * 90
        + b"</layers></body></layer>" * 90
        + b"</layers></net>",
        "256",
    ),
    "two parts of layers": (addition(tail="<layers></layers>").xml(), "second time"),
    "two parts of edges": (addition(tail="<edges/>").xml(), "second time"),
    "an id twice": (replaced('id="1" name="right"', 'id="0" name="right"'), '"left"'),
    "no id": (replaced('<layer id="1"', "<layer"), "no 'id'"),
    "an id of letters": (replaced('<layer id="1"', '<layer id="one"'), '"one"'),
    "an id of other digits": (replaced('<layer id="1"', '<layer id="\u0661"'), "number"),
    "an edge to nothing": (replaced('to-layer="6"', 'to-layer="60"'), "60"),
    "an edge from nothing": (replaced('from-layer="4"', 'from-layer="40"'), "40"),
    "an edge with one end": (replaced(' from-port="2"', ""), "from-port"),
    "two edges to one place": (replaced('to-layer="6"', 'to-layer="5"'), "two edges"),
    "a circle": (replaced('from-layer="0" from-port="0"', 'from-layer="4" from-port="2"'), "its own output"),
    "a port that is not there": (replaced('from-port="2" to-layer="6"', 'from-port="9" to-layer="6"'), '"second"'),
    "a constant behind the weights": (replaced('offset="0"', 'offset="8"'), "constant_2"),
    "a constant that is far behind": (replaced('offset="0"', f'offset="{(1 << 64) - 8}"'), "constant_2"),
    "a constant that is too small": (replaced('size="24"', 'size="20"'), "takes 24"),
    "a constant without a size": (replaced(' size="24"', ""), "no size"),
    "a constant of no type": (
        replaced('<data element_type="f32" shape="2,3" off', '<data element_type="f3" shape="2,3" off'),
        '"f3"',
    ),
    "a shape of letters": (replaced('shape="2,3" offset', 'shape="2,x" offset'), '"x"'),
    "a parameter of no type": (replaced('element_type="f32"/>', 'element_type="q"/>'), '"left"'),
    "a parameter of letters": (replaced('<data shape="2,3"', '<data shape="two,3"'), '"two"'),
    "a dimension of letters": (replaced("<dim>2</dim>", "<dim>two</dim>"), '"two"'),
    "a precision of nobody": (replaced('id="2" precision="FP32"', 'id="2" precision="FP3"'), "FP3"),
    "no outputs": (Net([parameter(0, "x")], []).xml(), "no Result"),
    "a state without a name": (
        Net([operation(0, "ReadValue"), result(1, "out")], [(0, 1, 1, 0)]).xml(),
        "variable_id",
    ),
    "a state that two assign to": (
        Net(
            [parameter(0, "x"), variable(1, "Assign", "v"), variable(2, "Assign", "v")], [(0, 0, 1, 0), (0, 0, 2, 0)]
        ).xml(),
        '"v"',
    ),
    "an Assign of nothing": (Net([variable(0, "Assign", "v")], []).xml(), "0 edges"),
}


@pytest.mark.parametrize("what", BAD)
def test_damaged_models_are_refused(what: str) -> None:
    xml, text = BAD[what]
    answer = refused(xml, weights_size=24)
    assert answer.status == DAMAGED, answer.log
    assert answer.log.startswith("error: the model's IR is damaged: ")
    assert text in answer.log


def passing(shape: str, type_: str = "f32", precision: str = "FP32") -> bytes:
    dims = [int(dim) if dim.isdigit() else -1 for dim in shape.split(",")]
    layer = result(1, "out", dims)
    return Net([parameter(0, "x", shape, type_, precision), layer], [(0, 0, 1, 0)]).xml()


OUT_OF_REACH = {
    "six dimensions": (passing("1,2,3,4,5,6"), ["(Parameter) has 6 dimensions", "5 at most"]),
    "no bound": (passing("?,3"), ['"x"', "dimension 0 has no upper bound", "reshape"]),
    "a bound below only": (passing("1,2.."), ["dimension 1 has no upper bound"]),
    "minus one": (passing("-1,2"), ["dimension 0"]),
    "no rank": (passing("..."), ["no rank"]),
    "texts": (passing("2", "string", "STRING"), ["string"]),
    "no type": (passing("2", "dynamic", "UNSPECIFIED"), ["dynamic"]),
    "a dimension too large": (passing(f"{1 << 32}"), [str(1 << 32)]),
    "a state of any shape": (
        Net([variable(0, "ReadValue", "v", (-1, 3)), result(1, "out")], [(0, 1, 1, 0)]).xml(),
        ["[?, 3]", "static shape"],
    ),
    "a state of six dimensions": (
        Net([variable(0, "ReadValue", "v", [1] * 6), parameter(1, "x"), result(2, "out")], [(1, 0, 2, 0)]).xml(),
        ["6 dimensions"],
    ),
    "a state in a body": (
        branching().xml().replace(b'name="p" type="Parameter"', b'name="p" type="ReadValue"', 1),
        ['"p" (ReadValue)', 'body of the layer "if"'],
    ),
}


@pytest.mark.parametrize("what", OUT_OF_REACH)
def test_what_cannot_be_is_refused_with_a_reason(what: str) -> None:
    xml, texts = OUT_OF_REACH[what]
    answer = refused(xml, weights_size=24)
    assert answer.status == UNSUPPORTED, answer.log
    for text in texts:
        assert text in answer.log


def test_an_output_of_six_dimensions_is_refused() -> None:
    net = Net([parameter(0, "x"), operation(1, "Reshape", "deep", 1, [1] * 6), result(2, "out", [1] * 6)], [])
    net.edges = [(0, 0, 1, 0), (1, 1, 2, 0)]
    assert '"out" (Result) has 6 dimensions' in refused(net.xml()).log


@pytest.mark.parametrize(
    ("address", "size", "text"),
    [
        ("0", "24", "address 0"),
        ("4096", "23", "takes 24"),
        ("-1", "24", '"-1"'),
        ("4096", "99999999999999999999", "number"),
        ("4096", str((1 << 64) - 1), "more than there can be"),
        ("", "24", "number"),
    ],
)
def test_bad_pointers_are_refused(address: str, size: str, text: str) -> None:
    net = addition()
    net.layers[2] = constant(2, 0, 0, inside=pointer(address, size))
    answer = refused(net.xml(), serializer=2)
    assert answer.status == DAMAGED
    assert "constant_2" in answer.log
    assert text in answer.log
