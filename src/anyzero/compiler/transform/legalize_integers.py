"""Legalizes integers of odd widths: each becomes the next power of two wide, with its upper bits always zero.

An operation that could set upper bits is followed by one that clears them; signed operations get sign-extended
operands. Integers wider than a register become pairs.
"""

from __future__ import annotations

from anyzero.compiler.errors import CompileError
from anyzero.compiler.ir import WIDTHS, Body, Collective, Op, Signature
from anyzero.compiler.operations import INTEGER
from anyzero.compiler.transform.legalize_functions import FUNCTIONS, holding, sign_extended
from anyzero.compiler.transform.wide_floats import from_wide, to_wide
from anyzero.compiler.transform.wide_integers import I128, WideBuilder, pair

_PLAIN = {"i8", "i16", "i32", "i64"}
_KEEP_ZEROS = {"and", "or", "xor", "lshr", "udiv", "urem"}
"""Operations that keep upper bits zero if the operands' are."""
_BY_SIGN = {"sdiv", "srem", "ashr"}
_TRUTHS = {"and", "or", "xor"}
"""Operations that integers of one bit share with booleans."""
_MOVES = {"broadcast", "broadcast_first", "shuffle", "shuffle_xor", "shuffle_up", "shuffle_down", "shuffle_rotate"}
_MOVES |= {"intel_shuffle_up", "intel_shuffle_down", "all_equal"}
"""Collectives that only move values."""


def is_odd(type_: str) -> bool:
    return type_[:1] == "i" and type_ not in _PLAIN and type_ != "i1"


def container(type_: str) -> str:
    """The legal integer type that holds one of an odd width; other types are returned unchanged."""
    return holding(WIDTHS[type_]) if is_odd(type_) else type_


def legalize_integers(body: Body) -> None:
    """Nothing of an odd width is left afterwards."""
    _Change(body).everything()


class _Change:
    def __init__(self, body: Body) -> None:
        self.body = body
        self.b = WideBuilder(body)
        self._new: dict[Op, Op] = {}
        self._before: dict[Op, str] = {}
        """Changes types of operations that stay the same otherwise."""

    def everything(self) -> None:
        wide: list[Op] = []
        for block in self.body.blocks:
            for phi in list(block.phis):
                if container(phi.type) == I128:
                    wide.append(phi)
                    block.phis.remove(phi)
                    self._new[phi] = pair(*(block.add_phi(Op("phi", "i64", word=phi.word)) for _ in range(2)))
                else:
                    self.retype(phi)
        for block in self.body.blocks:
            before, block.ops = block.ops, []
            self.b.block = block
            for op in before:
                self.b.word = op.word
                made = self.change(op)
                if made is not op:
                    self._new[op] = made
        halves = set()
        for phi in wide:
            for place, half in enumerate(self._new[phi].args):
                half.args = [self.value(arg).args[place] for arg in phi.args]
                halves.add(half)
        for block in self.body.blocks:
            for phi in block.phis:
                if phi not in halves:
                    phi.args = [self.value(arg) for arg in phi.args]
            if block.condition is not None:
                block.condition = self.value(block.condition)

    def type(self, op: Op) -> str:
        """The original type."""
        return self._before.get(op, op.type)

    def value(self, op: Op) -> Op:
        """The legal type."""
        if op.name == "const":
            return self.b.const(container(op.type), op.info)
        return self._new.get(op, op)

    def retype(self, op: Op) -> None:
        if is_odd(op.type):
            self._before[op] = op.type
            op.type = container(op.type)

    def change(self, op: Op) -> Op:
        odd = is_odd(op.type) or any(is_odd(self.type(arg)) for arg in op.args)
        single = op.type == "i1" and op.name in INTEGER and op.name not in _TRUTHS
        if op.name == "cast" and (odd or op.type == "i1"):
            return self.cast(op)
        if (odd or single) and op.name in INTEGER:
            return self.integer(op)
        if op.type == "i1" and op.name in ("math", "intrinsic") and all(arg.type == "i1" for arg in op.args):
            return self.single(op)
        if odd:
            change = getattr(self, f"_{op.name}", None)
            if change is None:
                kinds = " and ".join(sorted({self.type(each) for each in (op, *op.args) if is_odd(self.type(each))}))
                raise CompileError(f"{op.name} does not take integers of odd widths, here {kinds}", op.word)
            changed: Op = change(op)
            return changed
        return self.kept(op)

    def kept(self, op: Op) -> Op:
        op.args = [self.value(arg) for arg in op.args]
        self.retype(op)
        self.b.block.append(op)
        return op

    def _select(self, op: Op) -> Op:
        return self.b.select(*map(self.value, op.args))

    def _undef(self, op: Op) -> Op:
        if container(op.type) != I128:
            return self.kept(op)
        return pair(*(self.b.emit("undef", "i64", []) for _ in range(2)))

    def _narrow(self, op: Op) -> Op:
        """Signatures of functions that are called through pointers."""
        if any(container(self.type(each)) == I128 for each in (op, *op.args)):
            raise CompileError("a function that is called by its address takes integers of at most 64 bits", op.word)
        return self.kept(op)

    _parameter = _part = _result = _narrow

    def cleared(self, value: Op, type_: str) -> Op:
        """The value with its upper bits cleared."""
        if value.type == type_:
            return value
        return self.b.and_(value, self.b.const(value.type, (1 << WIDTHS[type_]) - 1))

    def signed(self, op: Op) -> Op:
        return sign_extended(self.b, self.value(op), WIDTHS[self.type(op)])

    def integer(self, op: Op) -> Op:
        b, type_ = self.b, op.type
        operands = [self.value(arg) for arg in op.args]
        if type_ == "i1":
            # In a byte, which has room for the arithmetic.
            kind = "sext" if op.name in _BY_SIGN else "zext"
            first, second = (b.cast(kind, each, "i8") for each in operands)
            return b.cast("trunc", b.binary(op.name, first, second), "i1")
        if op.name in _BY_SIGN:
            operands[0] = self.signed(op.args[0])
            if op.name != "ashr":
                operands[1] = self.signed(op.args[1])
        found = b.binary(op.name, operands[0], operands[1])
        return found if op.name in _KEEP_ZEROS else self.cleared(found, type_)

    def single(self, op: Op) -> Op:
        """A function of integers of one bit."""
        if op.name == "intrinsic":
            # One bit is its own count, and the same in reverse.
            return self.value(op.args[0])
        operands = [self.b.cast("zext", self.value(arg), "i8") for arg in op.args]
        return self.b.cast("trunc", FUNCTIONS[op.info[0]](self.b, operands, 1), "i1")

    def _icmp(self, op: Op) -> Op:
        find = self.signed if op.info[0] == "s" else self.value
        return self.b.icmp(op.info, *map(find, op.args))

    def cast(self, op: Op) -> Op:
        b, (arg,), to = self.b, op.args, op.type
        kind = op.info.partition(".")[0]
        value = self.value(arg)
        if kind in ("fptosi", "fptoui"):
            return self.from_float(op, value)
        if kind in ("sitofp", "uitofp"):
            if kind == "sitofp" and is_odd(self.type(arg)):
                value = self.signed(arg)
            return from_wide(b, op.info, value, to) if value.type == I128 else b.cast(op.info, value, to)
        if kind == "sext" and is_odd(self.type(arg)):
            value = self.signed(arg)
        if kind not in ("trunc", "zext", "sext"):
            return self.kept(op)
        return self.cleared(b.resized(value, container(to), signed=kind == "sext"), to)

    def from_float(self, op: Op, value: Op) -> Op:
        """Saturation is to the limits of the odd width."""
        b, to, bits = self.b, op.type, WIDTHS[op.type]
        kind, *modes = op.info.split(".")
        signed = kind == "fptosi"
        if bits > WIDTHS["i64"]:
            return self.cleared(to_wide(b, signed, bits, modes, value), to)
        found = b.cast(op.info, value, "i8" if to == "i1" else container(to))
        if "sat" in modes:
            low, high = (-1 << (bits - 1), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
            less, more = ("slt", "sgt") if signed else ("ult", "ugt")
            least, most = b.const(found.type, low), b.const(found.type, high)
            found = b.select(b.icmp(less, found, least), least, b.select(b.icmp(more, found, most), most, found))
        return b.cast("trunc", found, "i1") if to == "i1" else self.cleared(found, to)

    def _intrinsic(self, op: Op) -> Op:
        found = self.b.intrinsic(op.info, self.value(op.args[0]))
        if op.info == "bitreverse":
            return self.b.lshr(found, self.b.const(found.type, WIDTHS[found.type] - WIDTHS[op.type]))
        assert op.info == "ctpop"
        return found

    def _math(self, op: Op) -> Op:
        name, bits = op.info[0], WIDTHS[op.type]
        found = FUNCTIONS[name](self.b, [self.value(arg) for arg in op.args], bits)
        return self.cleared(self.b.resized(found, container(op.type)), op.type)

    def _group(self, op: Op) -> Op:
        what: Collective = op.info
        if any(WIDTHS[self.type(arg)] > WIDTHS["i64"] for arg in op.args):
            raise CompileError("work-items together compute with integers of at most 64 bits", op.word)
        if what.kind in _MOVES:
            return self.kept(op)
        (arg,) = op.args
        value = self.signed(arg) if what.operation in ("smin", "smax") else self.value(arg)
        return self.cleared(self.b.group(value.type, what, value), op.type)

    def _call(self, op: Op) -> Op:
        results, parameters = (tuple(map(container, each)) for each in (op.info.results, op.info.parameters))
        op.info = Signature(results, parameters)
        return self._narrow(op)
