"""Random kernels that compute with integers of odd widths: straight code, every result stored as it is."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from tests.compiler.agreement.choices import Choices
from tests.compiler.agreement.function import Shape
from tests.compiler.agreement.generator import Program
from tests.compiler.samples import PROLOGUE

WIDTHS = (24, 1, 7, 12, 33, 48, 63, 96, 128, 2, 3, 5, 17, 31, 40, 56, 65, 100, 127)
PLAIN = (32, 64, 8, 16)
BINARY = ("IAdd", "ISub", "IMul", "BitwiseAnd", "BitwiseOr", "BitwiseXor")
SHIFTS = ("ShiftLeftLogical", "ShiftRightLogical", "ShiftRightArithmetic")
DIVISIONS = ("UDiv", "UMod", "SDiv", "SRem", "SMod")
ORDER = ("IEqual", "INotEqual", "ULessThan", "SLessThan", "UGreaterThanEqual", "SGreaterThan", "SLessThanEqual")
UNARY = ("SNegate", "Not", "BitReverse")
LIBRARY = ("s_min", "u_min", "s_max", "u_max", "s_abs_diff", "u_abs_diff", "s_add_sat", "u_add_sat", "s_sub_sat")
LIBRARY += ("u_sub_sat", "s_hadd", "u_hadd", "s_rhadd", "u_rhadd", "rotate")
HIGH = ("s_mul_hi", "u_mul_hi")
SINGLE = ("clz", "ctz", "popcount", "s_abs", "u_abs")
ITEMS = 12
ROOM = 64
"""Bytes of input for each work-item."""


class _Kernel:
    def __init__(self, choose: Choices) -> None:
        self.choose = choose
        self.declared: dict[str, str] = {}
        self.lines: list[str] = []
        self.decorations: list[str] = []
        self.values: list[tuple[str, int, int]] = []
        """Id, width and how many components."""
        self.names = 0
        self.end = 0

    def name(self) -> str:
        self.names += 1
        return f"%t{self.names}"

    def type(self, width: int, count: int = 1) -> str:
        scalar = f"%i{width}"
        self.declared.setdefault(scalar, f"OpTypeInt {width} 0")
        if count == 1:
            return scalar
        self.declared.setdefault(f"%v{count}i{width}", f"OpTypeVector {scalar} {count}")
        return f"%v{count}i{width}"

    def truth(self, count: int) -> str:
        self.declared.setdefault("%bool", "OpTypeBool")
        if count == 1:
            return "%bool"
        self.declared.setdefault(f"%v{count}bool", f"OpTypeVector %bool {count}")
        return f"%v{count}bool"

    def const(self, width: int, value: int, count: int = 1) -> str:
        value &= (1 << width) - 1
        id_ = f"%c{width}_{value}"
        self.declared.setdefault(id_, f"OpConstant {self.type(width)} {value}")
        if count == 1:
            return id_
        self.declared.setdefault(
            f"{id_}x{count}", f"OpConstantComposite {self.type(width, count)} " + f"{id_} " * count
        )
        return f"{id_}x{count}"

    def pointer(self, width: int, count: int) -> str:
        id_ = f"%p_{self.type(width, count)[1:]}"
        self.declared.setdefault(id_, f"OpTypePointer CrossWorkgroup {self.type(width, count)}")
        return id_

    def emit(self, text: str) -> str:
        id_ = self.name()
        self.lines.append(f"{id_} = {text}")
        return id_

    def put(self, id_: str, width: int, count: int) -> None:
        self.values.append((id_, width, count))

    def some(self, width: int | None = None, count: int | None = None) -> tuple[str, int, int]:
        """A value that there is, or a constant of a shape that was asked for."""
        fits = [v for v in self.values if (width is None or v[1] == width) and (count is None or v[2] == count)]
        if fits and (width is None or self.choose.chance(80)):
            return self.choose.one_of(fits)
        width, count = width or 24, count or 1
        edges = (0, 1, -1, 1 << (width - 1), (1 << (width - 1)) - 1, 0x5A5A5A5A5A5A5A5A5A5A5A5A5A5A5A5A)
        return self.const(width, self.choose.one_of(edges), count), width, count

    def read(self) -> None:
        width, count = self.choose.one_of(WIDTHS + PLAIN), self.choose.one_of((1, 1, 1, 2, 3, 4))
        size = -(-width * count // 8)
        if size > ROOM:
            count, size = 1, -(-width // 8)
        at = self.choose.number(0, ROOM - size)
        bytes_ = self.emit(f"OpInBoundsPtrAccessChain {self.pointer(8, 1)} %mine {self.const(64, at)}")
        typed = self.emit(f"OpBitcast {self.pointer(width, count)} {bytes_}")
        self.put(self.emit(f"OpLoad {self.type(width, count)} {typed} Aligned 1"), width, count)

    def step(self) -> None:
        self.choose.weighted(
            [
                *((3, each) for each in (self.binary, self.convert)),
                *((2, each) for each in (self.order, self.shift, self.divide, self.single, self.library)),
                *((1, each) for each in (self.regroup, self.parts, self.floats, self.saturated)),
                *((1, each) for each in (self.fields, self.select)),
            ]
        )()

    def binary(self) -> None:
        a, width, count = self.some()
        b, _, _ = self.some(width, count)
        self.put(self.emit(f"Op{self.choose.one_of(BINARY)} {self.type(width, count)} {a} {b}"), width, count)

    def single(self) -> None:
        a, width, count = self.some()
        type_ = self.type(width, count)
        made = self.choose.one_of([*(f"Op{name} {type_} {a}" for name in UNARY), f"OpBitCount {type_} {a}"])
        self.put(self.emit(made), width, count)

    def shift(self) -> None:
        a, width, count = self.some()
        by = self.const(width, self.choose.number(0, width - 1), count)
        if self.choose.chance(40) and width < 128:
            # A count that nobody knows before, but that is in range.
            other, _, _ = self.some(width, count)
            limit = self.const(width, width - 1, count)
            by = self.emit(f"OpExtInst {self.type(width, count)} %cl u_min {other} {limit}")
        self.put(self.emit(f"Op{self.choose.one_of(SHIFTS)} {self.type(width, count)} {a} {by}"), width, count)

    def divide(self) -> None:
        a, width, count = self.some()
        b, _, _ = self.some(width, count)
        type_ = self.type(width, count)
        safe = self.emit(f"OpBitwiseOr {type_} {b} {self.const(width, 1, count)}")
        self.put(self.emit(f"Op{self.choose.one_of(DIVISIONS)} {type_} {a} {safe}"), width, count)

    def convert(self) -> None:
        a, width, count = self.some()
        to = self.choose.one_of([each for each in WIDTHS + PLAIN if each != width])
        name = self.choose.one_of(("UConvert", "SConvert", "SatConvertSToU", "SatConvertUToS"))
        self.put(self.emit(f"Op{name} {self.type(to, count)} {a}"), to, count)

    def order(self) -> None:
        a, width, count = self.some()
        b, _, _ = self.some(width, count)
        answer = self.emit(f"Op{self.choose.one_of(ORDER)} {self.truth(count)} {a} {b}")
        one, zero = self.const(8, 1, count), self.const(8, 0, count)
        self.put(self.emit(f"OpSelect {self.type(8, count)} {answer} {one} {zero}"), 8, count)

    def select(self) -> None:
        a, width, count = self.some()
        b, _, _ = self.some(width, count)
        choice = self.emit(f"OpSLessThan {self.truth(count)} {a} {b}")
        self.put(self.emit(f"OpSelect {self.type(width, count)} {choice} {b} {a}"), width, count)

    def library(self) -> None:
        a, width, count = self.some()
        b, _, _ = self.some(width, count)
        type_ = self.type(width, count)
        names = LIBRARY if width <= 126 else ("rotate",)
        if self.choose.chance(30):
            made = f"OpExtInst {type_} %cl {self.choose.one_of(SINGLE if width <= 126 else SINGLE[:3])} {a}"
        elif width <= 64 and self.choose.chance(30):
            made = f"OpExtInst {type_} %cl {self.choose.one_of(HIGH)} {a} {b}"
        else:
            made = f"OpExtInst {type_} %cl {self.choose.one_of(names)} {a} {b}"
        self.put(self.emit(made), width, count)

    def regroup(self) -> None:
        """The same bits as other components."""
        ways = [
            (id_, bits // other, other)
            for id_, width, count in self.values
            for bits in [width * count]
            for other in (1, 2, 3, 4)
            if other != count and bits % other == 0 and bits // other in WIDTHS + PLAIN
        ]
        if ways:
            id_, width, count = self.choose.one_of(ways)
            self.put(self.emit(f"OpBitcast {self.type(width, count)} {id_}"), width, count)

    def parts(self) -> None:
        vectors = [value for value in self.values if value[2] > 1]
        if vectors:
            id_, width, count = self.choose.one_of(vectors)
            at = self.choose.number(0, count - 1)
            self.put(self.emit(f"OpCompositeExtract {self.type(width)} {id_} {at}"), width, 1)

    def floats(self) -> None:
        a, width, _ = self.some(count=1)
        kind = self.choose.one_of(("S", "U"))
        self.declared.setdefault("%f64", "OpTypeFloat 64")
        self.declared.setdefault("%f32", "OpTypeFloat 32")
        bits = self.choose.one_of((64, 32))
        number = self.emit(f"OpConvert{kind}ToF %f{bits} {a}")
        self.put(self.emit(f"OpBitcast {self.type(bits)} {number}"), bits, 1)
        to = self.choose.one_of([each for each in WIDTHS if each >= width + 1] or [128])
        if to > width:
            # Everything that a float of this integer can be fits.
            self.put(self.emit(f"OpConvertFToS {self.type(to)} {number}"), to, 1)

    def saturated(self) -> None:
        """Any float, NaNs and infinities too, to an integer that may be too narrow for it."""
        bits = self.choose.one_of((64, 32))
        a, _, _ = self.some(bits, 1)
        self.declared.setdefault(f"%f{bits}", f"OpTypeFloat {bits}")
        number = self.emit(f"OpBitcast %f{bits} {a}")
        to = self.choose.one_of(WIDTHS)
        made = self.emit(f"OpConvertFTo{self.choose.one_of(('S', 'U'))} {self.type(to)} {number}")
        self.decorations.append(f"OpDecorate {made} SaturatedConversion")
        if self.choose.chance(50):
            self.decorations.append(f"OpDecorate {made} FPRoundingMode {self.choose.one_of(('RTE', 'RTP', 'RTN'))}")
        self.put(made, to, 1)

    def fields(self) -> None:
        a, width, count = self.some()
        at = self.choose.number(0, width - 1)
        size = self.choose.number(0, width - at)
        place, many = self.const(32, at), self.const(32, size)
        type_ = self.type(width, count)
        name = self.choose.one_of(("BitFieldUExtract", "BitFieldSExtract"))
        self.put(self.emit(f"Op{name} {type_} {a} {place} {many}"), width, count)
        b, _, _ = self.some(width, count)
        self.put(self.emit(f"OpBitFieldInsert {type_} {a} {b} {place} {many}"), width, count)

    def write(self) -> None:
        """All of it, one behind the other."""
        for id_, width, count in self.values:
            place = self.emit(f"OpInBoundsPtrAccessChain {self.pointer(8, 1)} %out {self.const(64, self.end)}")
            typed = self.emit(f"OpBitcast {self.pointer(width, count)} {place}")
            self.lines.append(f"OpStore {typed} {id_} Aligned 1")
            self.end += -(-width * count // 8)

    def text(self) -> str:
        self.pointer(8, 1)
        self.type(64, 3)
        room, size = self.const(64, ROOM), self.const(64, self.end)
        declared = "\n".join(f"{id_} = {text}" for id_, text in self.declared.items())
        decorations, body = "\n".join(self.decorations), "\n".join(self.lines)
        return f"""
            OpCapability ArbitraryPrecisionIntegersALTERA
            {PROLOGUE}
            OpEntryPoint Kernel %main "main" %gid
            OpExecutionMode %main ContractionOff
            OpDecorate %gid BuiltIn GlobalInvocationId
            {decorations}
            {declared}
            %void = OpTypeVoid
            %input = OpTypePointer Input %v3i64
            %gid = OpVariable %input Input
            %main_type = OpTypeFunction %void %p_i8 %p_i8
            %main = OpFunction %void None %main_type
            %in_all = OpFunctionParameter %p_i8
            %out_all = OpFunctionParameter %p_i8
            %entry = OpLabel
            %ids = OpLoad %v3i64 %gid
            %i = OpCompositeExtract %i64 %ids 0
            %from = OpIMul %i64 %i {room}
            %mine = OpInBoundsPtrAccessChain %p_i8 %in_all %from
            %to = OpIMul %i64 %i {size}
            %out = OpInBoundsPtrAccessChain %p_i8 %out_all %to
            {body}
            OpReturn
            OpFunctionEnd
            """


@st.composite
def odd_programs(draw: DrawFn, steps: int = 16) -> Program:
    return program(Choices(draw), steps)


def program(choose: Choices, steps: int) -> Program:
    kernel = _Kernel(choose)
    for _ in range(choose.number(1, 4)):
        kernel.read()
    for _ in range(choose.number(1, steps)):
        kernel.step()
    kernel.write()
    text = kernel.text()
    given = np.random.default_rng(choose.number(0, 3)).integers(0, 256, ITEMS * ROOM, np.uint8)
    given[:ROOM] = 0
    given[ROOM : 2 * ROOM] = 255
    arguments = [given, np.full(ITEMS * kernel.end, 0xA5, np.uint8)]
    return Program(text, arguments, [], Shape((ITEMS, 1, 1), (4, 1, 1), (0, 0, 0), 0))
