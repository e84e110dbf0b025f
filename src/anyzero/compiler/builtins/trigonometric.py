"""Sine, cosine and tangent, of angles in radians and in half turns."""

from __future__ import annotations

from anyzero.compiler.builtins.circle import half_turns, quarter_turns
from anyzero.compiler.builtins.instructions import instruction
from anyzero.compiler.builtins.polynomial import split
from anyzero.compiler.builtins.writer import Writer, format_of
from anyzero.compiler.llvm import Value

# sin(x)/x in powers of x² up to |x| = π/2 and a little; relative error 2^-27.1 and 2^-61.8.
SINE = {
    "float": (1.0, -0.16666659712791443, 0.008333067409694195, -0.00019809554214589298, 2.6054667614516802e-06),
    "double": (
        1.0,
        -0.16666666666666666,
        0.008333333333333215,
        -0.00019841269841218163,
        2.7557319213007405e-06,
        -2.5052107090847694e-08,
        1.605895459984829e-10,
        -7.643583912321864e-13,
        2.7338811787636127e-15,
        -1.1357937518841973e-18,
    ),
}
# The same up to π/4; relative error 2^-27.8 and 2^-57.8.
SHORT_SINE = {
    "float": (1.0, -0.16666653752326965, 0.008332106284797192, -0.00019507882825564593),
    "double": (
        1.0,
        -0.1666666666666663,
        0.00833333333332184,
        -0.00019841269829358493,
        2.755731353848902e-06,
        -2.505073438346402e-08,
        1.5895432860090713e-10,
    ),
}
# cos(x) in powers of x² up to π/4; error 2^-32.8 and 2^-63.9.
SHORT_COSINE = {
    "float": (1.0, -0.5, 0.04166664555668831, -0.0013887302484363317, 2.4430977646261454e-05),
    "double": (
        1.0,
        -0.5,
        0.041666666666666595,
        -0.0013888888888873342,
        2.4801587289002045e-05,
        -2.7557314217016626e-07,
        2.0875705391251676e-09,
        -1.1358748903515794e-11,
    ),
}


def _lowest_to_sign(w: Writer, n: Value) -> Value:
    return n.shl(n.type.bits - 1)


def _odd(w: Writer, x: Value, series: tuple[float, ...]) -> Value:
    """A series of odd powers that begins with `x`; a negative zero loses its sign."""
    square = x * x
    return w.mad(x, square * split(w, square, series[1:], lead=2), x)


@instruction("sin")
def sin(w: Writer, x: Value, far: bool = True) -> Value:
    turns, rest = half_turns(w, x, far=far)
    return _sine(w, turns, rest)


@instruction("cos")
def cos(w: Writer, x: Value, far: bool = True) -> Value:
    turns, rest = half_turns(w, x, ahead=True, far=far)
    return _sine(w, turns, rest)


def _sine(w: Writer, turns: Value, rest: Value) -> Value:
    """The sine after `turns` half turns. Clamped to one against rounding errors: an arcsine would be NaN."""
    size = w.at_most(w.fabs(_odd(w, rest, SINE[rest.type.element])), 1.0)
    return w.copysign(size, w.flip(rest, _lowest_to_sign(w, turns)))


def both(w: Writer, turns: Value, sine: Value, cosine: Value) -> tuple[Value, Value]:
    """Sine and cosine from those of the rest, after `turns` quarter turns."""
    format_ = format_of(sine)
    odd = w.compare("ne", turns & 1, 0)
    first, second = w.select(odd, cosine, sine), w.select(odd, sine, cosine)
    sign = format_.sign_mask
    return (
        w.flip(first, turns.shl(format_.bits - 2) & sign),
        w.flip(second, (turns + 1).shl(format_.bits - 2) & sign),
    )


def _short(w: Writer, rest: Value) -> tuple[Value, Value]:
    """Sine and cosine up to an eighth of a turn."""
    element = rest.type.element
    sine = w.copysign(_odd(w, rest, SHORT_SINE[element]), rest)
    return sine, split(w, rest * rest, SHORT_COSINE[element], lead=2)


@instruction("sincos")
def sincos(w: Writer, x: Value) -> tuple[Value, Value]:
    turns, rest = quarter_turns(w, x)
    return both(w, turns, *_short(w, rest))


def _quotient(w: Writer, turns: Value, sine: Value, cosine: Value) -> Value:
    """The tangent; after an odd number of quarter turns it is -cosine / sine."""
    odd = w.compare("ne", turns & 1, 0)
    over = w.select(odd, cosine, sine)
    under = w.select(odd, sine, cosine)
    return w.flip(over / under, _lowest_to_sign(w, turns))


@instruction("tan")
def tan(w: Writer, x: Value, far: bool = True) -> Value:
    turns, rest = quarter_turns(w, x, far=far)
    return _quotient(w, turns, *_short(w, rest))
