"""Statements as blocks, and functions with their parameters."""

from __future__ import annotations

from typing import Any

from anyzero.language import tree
from anyzero.language.types import BOOL, I64, U8, VOID, Array, Memory, Sampler, Vector
from anyzero.language.write.arithmetic import arithmetic, converted
from anyzero.language.write.body import Body
from anyzero.language.write.failing import fail
from anyzero.language.write.module import Enum, Instruction, Module, literal
from anyzero.language.write.printing import print_call
from anyzero.language.write.values import Values, is_cheap, sizes_of

__all__ = ["FunctionWriter"]


class FunctionWriter:
    """Writes one function; `ids` are those of the functions that were written before it."""

    def __init__(self, module: Module, ids: dict[int, int], function: tree.Function) -> None:
        self.module = module
        self.function = function
        self.b = Body(module)
        self.ids = ids
        self.values = Values(self.b, self._called)
        self._loops: list[tuple[int, int]] = []
        self._file = module.string(function.file)

    def _called(self, function: tree.Function) -> int:
        found = self.ids.get(id(function))
        if found is None:
            found = FunctionWriter(self.module, self.ids, function).write()
        return found

    def write(self, *, is_kernel: bool = False) -> int:
        """Write it behind the functions that it calls, and return its id."""
        module, function = self.module, self.function
        own = module.id()
        parameters = self._parameters()
        result = module.type(function.result)
        kind = module.function_type(result, [t for _, t in parameters])
        for name, (of, value) in function.constants.items():
            number = list(function.constants).index(name)
            self.values.values[name] = module.specialized(of, name, value, number)
        self._variables()
        self.block(function.body)
        if function.result == VOID:
            self.b.end("Return")
        else:
            self.b.end("Unreachable")
        head = [Instruction("Function", own, (result, Enum("FunctionControl", "None"), kind))]
        head += [Instruction("FunctionParameter", each, (t,)) for each, t in parameters]
        head.append(Instruction("Label", module.id(), ()))
        tail = [Instruction("FunctionEnd", None, ())]
        module.functions += [*head, *self.b.variables, *self.b.code, *tail]
        module.name(own, function.name)
        self.ids[id(function)] = own
        return own

    def _parameters(self) -> list[tuple[int, int]]:
        module, found = self.module, []
        for parameter in self.function.parameters:
            of = parameter.type
            if isinstance(of, Memory) and parameter.name in self.function.own:
                self.values.values[parameter.name] = self.values.of(
                    tree.Own(of, hash((self.function.file, self.function.line, parameter.name)), parameter.name)
                )
                continue
            each = module.id()
            module.name(each, parameter.name)
            self.values.values[parameter.name] = each
            found.append((each, self._parameter_type(of)))
            if isinstance(of, Array):
                for which, axis in sizes_of(of):
                    size = module.id()
                    module.name(size, f"{parameter.name}.{which}[{axis}]")
                    self.values.sizes[parameter.name, which, axis] = size
                    found.append((size, module.type(I64)))
        return found

    def _parameter_type(self, of: Any) -> int:
        if isinstance(of, Array):
            return self._parameter_type(of.pointer)
        if hasattr(of, "space") and not isinstance(of, Memory):
            return self.module.pointer(of.space, self.module.type(self.module.stored(of.element)))
        return self.module.type(U8 if of is BOOL and self.function.is_kernel else of)

    def _variables(self) -> None:
        b = self.b
        for parameter in self.function.parameters:
            if parameter.type is BOOL and self.function.is_kernel:
                value = self.values.values[parameter.name]
                self.values.values[parameter.name] = converted(b, value, U8, BOOL)
            if parameter.assigned:
                place = b.variable(self.module.type(parameter.type))
                b.store(place, self.values.values.pop(parameter.name))
                self.values.places[parameter.name] = place
        for variable in self.function.variables.values():
            place = b.variable(self.module.type(variable.type))
            self.values.places[variable.name] = place
            self.module.name(place, variable.name)

    # Statements

    def block(self, block: tree.Block) -> None:
        for statement in block.statements:
            if self.b.terminated:
                return
            self.b.line(self._file, getattr(statement.node, "lineno", self.function.line))
            getattr(self, f"_{type(statement).__name__.lower()}")(statement)

    def _assign(self, s: tree.Assign) -> None:
        value = self.values.of(s.value)
        if isinstance(s.value.type, Memory | Sampler):
            self.values.values[s.name] = value
        else:
            self.b.store(self.values.places[s.name], value)

    def _unpack(self, s: tree.Unpack) -> None:
        if isinstance(s.value, tree.TupleOf):
            values = [self.values.of(part) for part in s.value.parts]
        else:
            whole = self.values.of(s.value)
            values = [self.b.emit("CompositeExtract", t, whole, literal(at)) for at, t in enumerate(s.value.type.parts)]
        for name, value in zip(s.names, values, strict=True):
            if name is not None:
                self.b.store(self.values.places[name], value)

    def _store(self, s: tree.Store) -> None:
        self.values.store(s.target, self.values.of(s.value))

    def _setcomponent(self, s: tree.SetComponent) -> None:
        place = self.values.places[s.name]
        variable = self.function.variables.get(s.name)
        of = variable.type if variable else next(p.type for p in self.function.parameters if p.name == s.name)
        assert isinstance(of, Vector)
        value = self.values.of(s.value)
        whole = self.b.load(of, place)
        if isinstance(s.at, tree.Constant):
            whole = self.b.emit("CompositeInsert", of, value, whole, literal(s.at.value))
        else:
            whole = self.b.emit("VectorInsertDynamic", of, whole, value, self.values.of(s.at))
        self.b.store(place, whole)

    def _run(self, s: tree.Run) -> None:
        self.values.of(s.value)

    def _if(self, s: tree.If) -> None:
        b = self.b
        if isinstance(s.test, tree.Constant):
            self.block(s.body if s.test.value else s.otherwise)
            return
        test = self.values.of(s.test)
        yes, end = self.module.id(), self.module.id()
        no = self.module.id() if s.otherwise.statements else end
        b.branch_if(test, yes, no, end)
        b.label(yes)
        self.block(s.body)
        b.branch(end)
        if no != end:
            b.label(no)
            self.block(s.otherwise)
            b.branch(end)
        self._join(end)

    def _join(self, end: int) -> None:
        """Begin the block behind a branch, or note that it is unreachable."""
        reached = end in self.b.reached
        self.b.label(end)
        if not reached:
            self.b.end("Unreachable")

    def _while(self, s: tree.While) -> None:
        b = self.b
        first, rest = _conjunction(s.test)
        rotated = not isinstance(first, tree.Constant) and is_cheap(first)
        head, body, after, done, end = (self.module.id() for _ in range(5))
        if rotated:
            # Loop rotation, as in C compilers: a condition that all work-items share is tested at the end of the loop.
            b.branch_if(self.values.again(first), head, done)
        b.label(head)
        b.line(self._file, getattr(s.node, "lineno", 0))
        tests = rest if rotated else [s.test]
        always = isinstance(s.test, tree.Constant) and bool(s.test.value)
        start = len(b.code)
        test = None if always or not tests else self.values.of(_joined(tests))
        if len(b.code) == start or not any(each.name == "Label" for each in b.code[start:]):
            b.effect("LoopMerge", end, after, Enum("LoopControl", "None"))
        if test is None:
            b.branch(body)
        else:
            b.branch_if(test, body, done)
        b.label(body)
        self._loops.append((after, end))
        self.block(s.body)
        self._loops.pop()
        b.branch(after)
        b.label(after)
        b.line(self._file, getattr(s.node, "lineno", 0))
        if rotated:
            b.branch_if(self.values.again(first), head, done)
        b.branch(head)
        if not always:
            b.label(done)
            self.block(s.otherwise)
            b.branch(end)
        self._join(end)

    def _for(self, s: tree.For) -> None:
        b, of = self.b, s.counter
        t = self.module.type(of)
        counter = b.variable(t)
        start = self.values.of(s.start)
        b.store(counter, start)
        stop, step = self.values.of(s.stop), self.values.of(s.step)
        head, after, done, end = (self.module.id() for _ in range(4))
        b.branch_if(self._goes_on(s, start, stop, step), head, done)
        b.label(head)
        b.line(self._file, getattr(s.node, "lineno", 0))
        now = b.load(of, counter)
        b.store(self.values.places[s.name], converted(b, now, of, self._type_of(s.name)))
        body = self.module.id()
        b.effect("LoopMerge", end, after, Enum("LoopControl", "None"))
        b.branch(body)
        b.label(body)
        self._loops.append((after, end))
        self.block(s.body)
        self._loops.pop()
        b.branch(after)
        b.label(after)
        b.line(self._file, getattr(s.node, "lineno", 0))
        following = b.emit("IAdd", of, b.load(of, counter), step)
        if isinstance(s.step, tree.Constant) and abs(s.step.value) == 1:
            self.module.need(extension="SPV_KHR_no_integer_wrap_decoration")
            self.module.decorate(following, "NoSignedWrap" if of.kind == "i" else "NoUnsignedWrap")
        b.store(counter, following)
        b.branch_if(self._goes_on(s, following, stop, step), head, done)
        b.label(done)
        self.block(s.otherwise)
        b.branch(end)
        self._join(end)

    def _type_of(self, name: str) -> Any:
        variable = self.function.variables.get(name)
        return variable.type if variable else next(p.type for p in self.function.parameters if p.name == name)

    def _goes_on(self, s: tree.For, now: int, stop: int, step: int) -> int:
        b, of = self.b, s.counter
        if s.rises is not None:
            return arithmetic(b, "<" if s.rises else ">", of, BOOL, now, stop)
        up, down = (arithmetic(b, sign, of, BOOL, now, stop) for sign in ("<", ">"))
        rises = arithmetic(b, ">", of, BOOL, step, b.constant(of, 0))
        return b.emit("Select", BOOL, rises, up, down)

    def _break(self, s: tree.Break) -> None:
        self.b.branch(self._loops[-1][1])

    def _continue(self, s: tree.Continue) -> None:
        self.b.branch(self._loops[-1][0])

    def _return(self, s: tree.Return) -> None:
        if s.value is None:
            self.b.end("Return")
        else:
            self.b.end("ReturnValue", self.values.of(s.value))

    def _print(self, s: tree.Print) -> None:
        print_call(self.values, s.format, [self.values.of(each) for each in s.values])

    def _assert(self, s: tree.Assert) -> None:
        b = self.b
        wrong, end = self.module.id(), self.module.id()
        b.branch_if(self.values.of(s.test), end, wrong, end)
        b.label(wrong)
        fail(self.values, self.function.file, getattr(s.node, "lineno", 0), s.message)
        b.branch(end)
        b.label(end)


def _conjunction(test: tree.Expression) -> tuple[tree.Expression, list[tree.Expression]]:
    """The first of the conditions that all must hold, and the others."""
    if isinstance(test, tree.Logical) and test.operator == "and":
        return test.parts[0], list(test.parts[1:])
    return test, []


def _joined(tests: list[tree.Expression]) -> tree.Expression:
    return tests[0] if len(tests) == 1 else tree.Logical(BOOL, "and", tests)
