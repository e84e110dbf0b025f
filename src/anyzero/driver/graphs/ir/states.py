"""States: each variable of a model becomes an input, which it is read from, and an output, which it is written to.

The client gives both the same memory. A state begins with the contents of that memory, zeros if nothing was written
to it: the initial value that the model computes (the input of ReadValue) has no place in a graph.
"""

from __future__ import annotations

from typing import NamedTuple

from anyzero.driver.graphs.ir.boundary import check_representable, output_port
from anyzero.driver.graphs.ir.model import Edge, Layer, Model, Port
from anyzero.driver.graphs.ir.text import damaged, unsupported
from anyzero.driver.graphs.ir.write import Edit, layer
from anyzero.lazy_dataclass import dataclass, field

__all__ = ["State", "separate"]


class State(NamedTuple):
    id: str
    name: str
    port: Port
    parameter: int
    """The layers that it is read from and written to."""
    result: int


@dataclass(slots=True)
class _Variable:
    id: str
    reads: list[Layer] = field(default_factory=list)
    writes: list[Layer] = field(default_factory=list)

    @property
    def layer(self) -> Layer:
        """The layer to name in a message."""
        return (self.reads or self.writes)[0]


def separate(model: Model, edit: Edit) -> list[State]:
    """Replaces every ReadValue and Assign; the inputs and outputs come in the order of the states."""
    for graph in model.bodies:
        for inner in graph.of_type("ReadValue", "Assign"):
            raise unsupported(f"{inner} is in a body of {graph.owner}; states are supported outside of bodies only")
    variables = _variables(model)
    ports = [_port(model, variable) for variable in variables]
    sources = [_add_parameter(edit, variable, port) for variable, port in zip(variables, ports, strict=True)]
    _reconnect(model, edit, dict(zip((variable.id for variable in variables), sources, strict=True)))
    return [
        State(variable.id, variable.layer.name, port, source[0], _add_result(model, edit, variable, port, source))
        for variable, port, source in zip(variables, ports, sources, strict=True)
    ]


def _variables(model: Model) -> list[_Variable]:
    found: dict[str, _Variable] = {}
    for each in model.net.of_type("ReadValue", "Assign"):
        id_ = (each.data or {}).get("variable_id")
        if id_ is None:
            raise damaged(f"{each} has no variable_id")
        variable = found.setdefault(id_, _Variable(id_))
        (variable.reads if each.type == "ReadValue" else variable.writes).append(each)
        if len(variable.writes) > 1:
            raise damaged(f'{each} assigns to the variable "{id_}", and so does {variable.writes[0]}')
    return list(found.values())


def _port(model: Model, variable: _Variable) -> Port:
    """The type and shape of the state, and the port it is read from."""
    feeding = [output_port(model, write)[1] for write in variable.writes]
    listed = model.outputs(variable.reads[0]) if variable.reads else feeding
    if len(listed) != 1:
        raise damaged(f"{variable.layer} has {len(listed)} outputs instead of one")
    port = listed[0]._replace(names=())
    if min(port.dims, default=0) < 0:
        shown = ", ".join("?" if dim < 0 else str(dim) for dim in port.dims)
        raise unsupported(f"{variable.layer}: a state must have a static shape, and this one is [{shown}]")
    check_representable(variable.layer, port.type, list(port.dims))
    return port


def _add_parameter(edit: Edit, variable: _Variable, port: Port) -> tuple[int, int]:
    """One Parameter for all ReadValues of the variable; without any, an unused one."""
    for read in variable.reads:
        edit.remove(read)
    id_ = variable.reads[0].id if variable.reads else edit.fresh()
    data = {"shape": ",".join(map(str, port.dims)), "element_type": port.type.name}
    edit.add(layer(id_, variable.layer.name, "Parameter", data, outputs=[port]))
    return id_, port.id


def _reconnect(model: Model, edit: Edit, sources: dict[str, tuple[int, int]]) -> None:
    """Removes the edges to each ReadValue, and bypasses each Assign."""
    reads = {each.id: sources[(each.data or {})["variable_id"]] for each in model.net.of_type("ReadValue")}
    writes = {each.id: output_port(model, each)[0] for each in model.net.of_type("Assign")}

    def source(end: tuple[int, int]) -> tuple[int, int]:
        while end[0] in writes:
            end = writes[end[0]]
        return reads.get(end[0], end)

    if reads or writes:
        kept = (edge for edge in edit.edges if edge.to_layer not in reads)
        edit.edges = [Edge(*source(edge[:2]), edge.to_layer, edge.to_port) for edge in kept]


def _add_result(model: Model, edit: Edit, variable: _Variable, port: Port, source: tuple[int, int]) -> int:
    """A variable without an Assign keeps its value."""
    if variable.writes:
        write = variable.writes[0]
        edit.remove(write)
        taken = port._replace(id=model.feeding[write.id][0].to_port)
        edit.add(layer(write.id, write.name, "Result", {}, inputs=[taken]))
        return write.id
    id_ = edit.fresh()
    edit.edges.append(Edge(*source, id_, 0))
    edit.add(layer(id_, variable.layer.name, "Result", {}, inputs=[port._replace(id=0)]))
    return id_
