"""Small handwritten IRs, for tests of the planner without OpenVINO."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


def port(id_: int, dims: Sequence[int], precision: str = "FP32", names: str = "") -> str:
    named = f' names="{names}"' if names else ""
    return f'<port id="{id_}" precision="{precision}"{named}>{"".join(f"<dim>{dim}</dim>" for dim in dims)}</port>'


def parameter(id_: int, name: str, shape: str = "2,3", type_: str = "f32", precision: str = "FP32") -> str:
    dims = [int(dim) if dim.isdigit() else -1 for dim in shape.split(",")] if shape else []
    return (
        f'<layer id="{id_}" name="{name}" type="Parameter" version="opset1">'
        f'<data shape="{shape}" element_type="{type_}"/>'
        f"<output>{port(0, dims, precision, name)}</output></layer>"
    )


def result(id_: int, name: str, dims: Sequence[int] = (2, 3), attributes: str = "") -> str:
    return (
        f'<layer id="{id_}" name="{name}" type="Result" version="opset1"{attributes}>'
        f"<input>{port(0, dims)}</input></layer>"
    )


def constant(id_: int, offset: int, size: int, shape: str = "2,3", inside: str = "", type_: str = "f32") -> str:
    dims = [int(dim) for dim in shape.split(",")] if shape else []
    return (
        f'<layer id="{id_}" name="constant_{id_}" type="Const" version="opset1">'
        f'<data element_type="{type_}" shape="{shape}" offset="{offset}" size="{size}"/>{inside}'
        f"<output>{port(0, dims)}</output></layer>"
    )


def pointer(address: int | str, size: int | str) -> str:
    """For the inside of a constant whose values are in the client's memory."""
    place = f'<attribute name="WeightsPointerAttribute" version="0" mp="{address}" ms="{size}"/>'
    return f'<rt_info><attribute name="other" version="0"/>{place}</rt_info>'


def operation(
    id_: int,
    type_: str,
    name: str = "",
    inputs: int = 1,
    dims: Sequence[int] = (2, 3),
    inside: str = "",
    precision: str = "FP32",
) -> str:
    """Takes ports 0, 1, … and gives the one after them."""
    taken = "".join(port(index, dims, precision) for index in range(inputs))
    given = f"<output>{port(inputs, dims, precision, name)}</output>"
    return (
        f'<layer id="{id_}" name="{name or f"{type_}_{id_}"}" type="{type_}" version="opset1">{inside}'
        f"{f'<input>{taken}</input>' if taken else ''}{given}</layer>"
    )


def variable(id_: int, type_: str, name: str, dims: Sequence[int] = (2, 3), precision: str = "FP32") -> str:
    """A ReadValue or an Assign."""
    return operation(id_, type_, dims=dims, inside=f'<data variable_id="{name}"/>', precision=precision)


@dataclass
class Net:
    layers: list[str]
    edges: list[tuple[int, int, int, int]]
    name: str = "net"
    tail: str = "<rt_info/>"
    head: str = '<?xml version="1.0"?>\n'

    def xml(self) -> bytes:
        keys = ("from-layer", "from-port", "to-layer", "to-port")
        edges = "\n".join(
            "<edge " + " ".join(f'{key}="{end}"' for key, end in zip(keys, edge, strict=True)) + "/>"
            for edge in self.edges
        )
        layers = "\n".join(self.layers)
        net = f'<net name="{self.name}" version="11">\n<layers>\n{layers}\n</layers>\n<edges>\n{edges}\n</edges>\n'
        return f"{self.head}{net}{self.tail}</net>\n".encode()


def addition(**options: str) -> Net:
    """Two inputs, a constant, two outputs: `24` bytes of weights."""
    return Net(
        [
            parameter(0, "left"),
            parameter(1, "right", "2,3"),
            constant(2, 0, 24),
            operation(3, "Add", "sum", 2),
            operation(4, "Multiply", "product", 2),
            result(5, "first"),
            result(6, "second", attributes=' output_names="one,t\\,wo"'),
        ],
        [(0, 0, 3, 0), (1, 0, 3, 1), (3, 2, 4, 0), (2, 0, 4, 1), (3, 2, 5, 0), (4, 2, 6, 0)],
        **options,
    )


def stateful() -> Net:
    """A sum over calls, of which the Assign passes on what it is given."""
    return Net(
        [
            parameter(0, "x"),
            constant(1, 0, 24),
            variable(2, "ReadValue", "total"),
            operation(3, "Add", "sum", 2),
            variable(4, "Assign", "total"),
            result(5, "out"),
        ],
        [(1, 0, 2, 0), (2, 1, 3, 0), (0, 0, 3, 1), (3, 2, 4, 0), (4, 1, 5, 0)],
    )


def branching(inner_offset: int = 0) -> Net:
    """An If with a constant in one of its bodies, and separate ids in both."""
    then = Net([parameter(0, "p"), constant(1, inner_offset, 24), operation(2, "Add", "", 2), result(3, "r")], [])
    then.edges = [(0, 0, 2, 0), (1, 0, 2, 1), (2, 2, 3, 0)]
    other = Net([parameter(0, "p"), result(1, "r")], [(0, 0, 1, 0)])
    bodies = "".join(f"<{name}_body>{body(part)}</{name}_body>" for name, part in (("then", then), ("else", other)))
    return Net(
        [
            parameter(0, "choice", "", "boolean", "BOOL"),
            parameter(1, "x"),
            f'<layer id="2" name="if" type="If" version="opset8"><input>{port(0, (), "BOOL")}{port(1, (2, 3))}</input>'
            f"<output>{port(2, (2, 3), names='chosen')}</output>{bodies}</layer>",
            result(3, "out"),
        ],
        [(0, 0, 2, 0), (1, 0, 2, 1), (2, 2, 3, 0)],
    )


def body(net: Net) -> str:
    text = net.xml().decode()
    return text[text.index("<layers>") : text.index("</edges>")] + "</edges>"


def large(layers: int) -> Net:
    """As large models are: every second layer is a constant."""
    made = [parameter(0, "x", "1,64,56,56")]
    edges = []
    before = (0, 0)
    for id_ in range(1, layers - 1, 2):
        made += [constant(id_, 0, 256, "1,64,1,1"), operation(id_ + 1, "Add", f"add_{id_}", 2, (1, 64, 56, 56))]
        edges += [(*before, id_ + 1, 0), (id_, 0, id_ + 1, 1)]
        before = (id_ + 1, 2)
    made.append(result(layers, "out", (1, 64, 56, 56)))
    return Net(made, [*edges, (*before, layers, 0)])
