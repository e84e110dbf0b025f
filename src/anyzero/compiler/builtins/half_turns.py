"""sinpi, cospi, tanpi: angles in half turns, whose reduction is exact."""

from __future__ import annotations

from anyzero.compiler.builtins.instructions import instruction
from anyzero.compiler.builtins.polynomial import split
from anyzero.compiler.builtins.writer import Writer
from anyzero.compiler.llvm import Value

PI = {
    "float": (3.1415927410125732, -8.742277657347586e-08),
    "double": (3.141592653589793, 1.2246467991473532e-16),
}
# (sin(πx) - πx) / x³ in powers of x² up to one half; error 2^-27.2 and 2^-54.3 of sin(πx).
SINE = {
    "float": (-5.167710781097412, 2.550086259841919, -0.5983313322067261, 0.07771904021501541),
    "double": (
        -5.167712780049969,
        2.550164039877303,
        -0.5992645293189567,
        0.08214588657275096,
        -0.007370430499977948,
        0.0004662997785219524,
        -2.1903387060320007e-05,
        7.696594414111127e-07,
    ),
}
# The same up to one quarter; error 2^-27.8 and 2^-57.9.
SHORT_SINE = {
    "float": (-5.167708873748779, 2.5497946739196777, -0.5892776250839233),
    "double": (
        -5.167712780049959,
        2.5501640398738683,
        -0.5992645289643143,
        0.08214586977975322,
        -0.00737002857414578,
        0.0004615631005635284,
    ),
}
# cos(πx) in powers of x² up to one quarter; error 2^-26.4 and 2^-55.2.
SHORT_COSINE = {
    "float": (1.0, -4.934802055358887, 4.0587077140808105, -1.3350498676300049, 0.23135781288146973),
    "double": (
        1.0,
        -4.934802200544679,
        4.058712126416753,
        -1.335262768852342,
        0.2353306302035608,
        -0.025806885820893608,
        0.0019294664422122943,
        -0.00010356580123584684,
    ),
}


def _odd(w: Writer, x: Value, series: tuple[float, ...]) -> Value:
    """The sine: πx in two pieces, plus the higher terms."""
    high, low = PI[x.type.element]
    square = x * x
    return w.mad(x, high, x * w.mad(square, split(w, square, series, lead=1), low))


def _within_turn(w: Writer, x: Value) -> Value:
    """x modulo whole turns, from -1 to 1; exact."""
    return w.mad(w.nearest(x * 0.5), -2.0, x)


@instruction("sinpi")
def sinpi(w: Writer, x: Value) -> Value:
    y = _within_turn(w, x)
    n = w.nearest(y)
    rest = y - n
    turned = w.compare("one", n, 0.0)
    size = w.at_most(w.fabs(_odd(w, rest, SINE[x.type.element])), 1.0)
    sign = w.select(turned, -rest, rest)
    # At integers it is zero with the integer's sign.
    return w.copysign(size, w.select(w.compare("oeq", rest, 0.0), x, sign))


@instruction("cospi")
def cospi(w: Writer, x: Value) -> Value:
    sine = _odd(w, 0.5 - w.fabs(_within_turn(w, x)), SINE[x.type.element])
    return w.at_least(w.at_most(sine, 1.0), -1.0)


@instruction("tanpi")
def tanpi(w: Writer, x: Value) -> Value:
    rest = x - w.nearest(x)
    size = w.fabs(rest)
    steep = w.compare("ogt", size, 0.25)
    near = w.select(steep, 0.5 - size, size)
    sine = _odd(w, near, SHORT_SINE[x.type.element])
    cosine = split(w, near * near, SHORT_COSINE[x.type.element], lead=2)
    quotient = w.select(steep, cosine, sine) / w.select(steep, sine, cosine)
    # Zeros at even integers have the integer's sign, those at odd ones the other.
    odd = w.compare("oeq", w.fabs(_within_turn(w, x)), 1.0)
    zero_sign = w.select(odd, -x, x)
    return w.copysign(w.fabs(quotient), w.select(w.compare("oeq", rest, 0.0), zero_sign, rest))
