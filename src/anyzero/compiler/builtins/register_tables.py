"""Exponentials and logarithms with AVX-512: tables of sixteen numbers in registers, and short polynomials.

`VPERMPS` and `VPERMI2PD` look a number up in each lane. Vectors shorter than a register are padded, and scalars as
well, so that a result does not depend on the number of lanes.
"""

from __future__ import annotations

from collections.abc import Sequence

from anyzero.compiler.builtins import estimates
from anyzero.compiler.builtins.polynomial import horner
from anyzero.compiler.builtins.writer import Writer, format_of
from anyzero.compiler.llvm import Type, Value

Numbers = dict[str, tuple[float, ...]]
"""By element."""

STEPS = 16
"""Entries of a table."""

# 2^(i/16).
POWERS: Numbers = {
    "float": (
        1.0,
        1.0442737340927124,
        1.0905077457427979,
        1.1387885808944702,
        1.1892070770263672,
        1.2418577671051025,
        1.2968395948410034,
        1.3542555570602417,
        1.4142135381698608,
        1.4768261909484863,
        1.5422108173370361,
        1.610490322113037,
        1.6817928552627563,
        1.7562521696090698,
        1.8340080976486206,
        1.9152065515518188,
    ),
    "double": (
        1.0,
        1.0442737824274138,
        1.0905077326652577,
        1.1387886347566916,
        1.189207115002721,
        1.241857812073484,
        1.2968395546510096,
        1.3542555469368927,
        1.4142135623730951,
        1.4768261459394993,
        1.5422108254079407,
        1.6104903319492543,
        1.681792830507429,
        1.7562521603732995,
        1.8340080864093424,
        1.9152065613971474,
    ),
}
# (e^r - 1)/r, (2^r - 1)/r and (10^r - 1)/r up to 1/32 of an octave on either side; error 2^-26.5 and 2^-54.5 of the
# power.
EXP_SERIES: Numbers = {
    "float": (
        1.0,
        0.5000146627426147,
        0.1666666865348816,
    ),
    "double": (
        1.0000000000000007,
        0.4999999999999989,
        0.16666666664199878,
        0.04166666667379276,
        0.008333473254239405,
        0.0013888889820875543,
    ),
}
EXP2_SERIES: Numbers = {
    "float": (
        0.6931471824645996,
        0.24023357033729553,
        0.05550411343574524,
    ),
    "double": (
        0.6931471805599457,
        0.24022650695910017,
        0.055504108656606564,
        0.00961812910927343,
        0.0013333782023652885,
        0.00015403531427005314,
    ),
}
EXP10_SERIES: Numbers = {
    "float": (
        2.3025851249694824,
        2.651026964187622,
        2.0346786975860596,
    ),
    "double": (
        2.3025850929940472,
        2.650949055239193,
        2.034678591992329,
        1.1712551491125824,
        0.5393919857093621,
        0.20699586258691863,
    ),
}
# Inverses of numbers near the middle of each sixteenth of [1, 2), chosen among their neighbours such that the
# logarithms below are nearly exact (Gal's method). The first and the last one are exact: around one, logarithms are
# the series alone.
INVERSE: Numbers = {
    "float": (
        1.0,
        0.9150316715240479,
        0.8633744716644287,
        0.8213831782341003,
        0.7817814350128174,
        0.7434491515159607,
        0.710773229598999,
        0.6804729700088501,
        0.6533286571502686,
        0.6281312108039856,
        0.6037259101867676,
        0.5807771682739258,
        0.5612159371376038,
        0.5427128076553345,
        0.5252071619033813,
        0.5,
    ),
    "double": (
        1.0,
        0.9138869332136995,
        0.8652531362803991,
        0.8205337770982297,
        0.7816405478603128,
        0.7426990543487081,
        0.7096909060016727,
        0.6800883754453303,
        0.6527609139914625,
        0.6265220914778304,
        0.6044265749853431,
        0.5823286567659602,
        0.5621635040607282,
        0.5415568287248668,
        0.5250896895428553,
        0.5,
    ),
}
# -log(inverse) in the lower half of [1, 2); in the upper one log(2) as rounded, minus log(2 · inverse): log(2) cancels
# with the exponent of numbers just below one.
LOG_TABLE: Numbers = {
    "float": (
        0.0,
        0.08879660069942474,
        0.1469067633152008,
        0.19676555693149567,
        0.24618007242679596,
        0.29645490646362305,
        0.3414018452167511,
        0.384967178106308,
        0.4256749749183655,
        0.4650062024593353,
        0.5046349763870239,
        0.5433881282806396,
        0.5776495337486267,
        0.611175000667572,
        0.6439625024795532,
        0.6931471824645996,
    ),
    "double": (
        0.0,
        0.09004842063560897,
        0.14473317176316988,
        0.19780020281761407,
        0.24636030157933453,
        0.2974643575691644,
        0.3429257473959545,
        0.3855325253663678,
        0.4265443515251164,
        0.467571243531333,
        0.5034750803487414,
        0.5407202882880585,
        0.575962538908698,
        0.6133072711873018,
        0.6441861937570439,
        0.6931471805599453,
    ),
}
LOG2_TABLE: Numbers = {
    "float": (
        0.0,
        0.12810641527175903,
        0.211941659450531,
        0.28387269377708435,
        0.35516276955604553,
        0.42769402265548706,
        0.4925387501716614,
        0.5553902387619019,
        0.6141191720962524,
        0.6708621382713318,
        0.7280343770980835,
        0.7839433550834656,
        0.8333721160888672,
        0.8817391395568848,
        0.9290415048599243,
        1.0,
    ),
    "double": (
        0.0,
        0.12991240989087646,
        0.20880582915485574,
        0.285365371691803,
        0.3554227853604154,
        0.42915035350625486,
        0.4947372751612849,
        0.5562058624474573,
        0.6153734206644842,
        0.67456271430494,
        0.7263610016303017,
        0.7800944784212327,
        0.8309382986213952,
        0.8848153586830629,
        0.9293642271424242,
        1.0,
    ),
}
# Not for floats: log10(2), rounded, is as far off as two units of the last place of some results.
LOG10_TABLE: Numbers = {
    "double": (
        0.0,
        0.03910753218614789,
        0.06285681784510022,
        0.08590353660303383,
        0.10699291953592596,
        0.1291871290551839,
        0.14893075979661147,
        0.167434648360839,
        0.18524585815435896,
        0.20306361096229947,
        0.21865644917125476,
        0.23483183745663935,
        0.2501373524310345,
        0.2663559635877864,
        0.2797665092669432,
        0.3010299956639812,
    ),
}
# log(1 + r), log2(1 + r) and log10(1 + r) from the linear term on, -1/32 ≤ r ≤ 1/16; relative error 2^-28 and 2^-56,
# 2^-26 and 2^-55.5, 2^-55.
LOG_SERIES: Numbers = {
    "float": (
        1.0,
        -0.5,
        0.3333447575569153,
        -0.2500913739204407,
        0.18883837759494781,
    ),
    "double": (
        1.0,
        -0.5000000000000003,
        0.33333333333348053,
        -0.24999999999789801,
        0.19999999925134912,
        -0.16666666284365994,
        0.1428582446474442,
        -0.12501828461772815,
        0.11068883076826283,
        -0.08724057514010071,
    ),
}
LOG2_SERIES: Numbers = {
    "float": (
        1.4426950216293335,
        -0.7213475108146667,
        0.48091939091682434,
        -0.3608311712741852,
        0.27186083793640137,
    ),
    "double": (
        1.4426950408889634,
        -0.7213475204444817,
        0.4808983469633411,
        -0.36067376021788744,
        0.2885390067444068,
        -0.24044917179006903,
        0.20610128114506282,
        -0.18036302407110452,
        0.1595214598611957,
        -0.12429807169418963,
    ),
}
LOG10_SERIES: Numbers = {
    "double": (
        0.4342944819032518,
        -0.2171472409516259,
        0.1447648273011841,
        -0.10857362047665625,
        0.08685889599842016,
        -0.07238240783043658,
        0.06204252642660766,
        -0.05429717093686841,
        0.048122746410335177,
        -0.038195717087537016,
    ),
}


def possible(w: Writer, x: Value) -> bool:
    lanes = x.type.lanes
    return w.estimates and x.type.element in POWERS and lanes & (lanes - 1) == 0


def power(w: Writer, x: Value, per_octave: float, octave: tuple[float, float], series: Numbers) -> Value:
    """b^x for the base whose log2(b) is `per_octave`; `octave` is log_b(2) in two pieces."""
    wide = _padded(w, x)
    format_ = format_of(x)
    # Multiples of a sixteenth, whose number is in the lowest bits.
    anchor = format_.magic / STEPS
    anchored = wide + anchor if per_octave == 1.0 else w.mad(wide, per_octave, anchor)
    n = anchored - anchor
    rest = wide - n if per_octave == 1.0 else w.fma(n, -octave[1], w.fma(n, -octave[0], wide))
    # Powers that overflow or underflow have any rest, and infinities none; scaling gives their result.
    rest = estimates.smaller(w, rest, 0.25)
    step = look_up(w, POWERS[format_.element], w.to_bits(anchored))
    significand = w.mad(step * rest, horner(w, rest, series[format_.element]), step)
    # Scaling rounds the exponent down.
    return _cut(w, estimates.scaled(w, significand, n), x.type)


def logarithm(w: Writer, x: Value, octave: float, table: Numbers, series: Numbers) -> Value:
    """log_b(x) for the base whose log_b(2) is `octave`. The instructions for exponents and significands cover denormals
    and special values: zero has the exponent -∞, and negative numbers the significand NaN.
    """
    wide = _padded(w, x)
    format_ = format_of(x)
    element = format_.element
    m, e = estimates.significand(w, wide), estimates.exponent(w, wide)
    index = w.to_bits(m).lshr(format_.fraction - 4)
    r = w.fma(m, look_up(w, INVERSE[element], index), -1.0)
    step = look_up(w, table[element], index)
    whole = e + step if octave == 1.0 else w.mad(e, octave, step)
    linear, *curved = series[element]
    rest = w.mad(r * r, horner(w, r, curved), r) if linear == 1.0 else r * horner(w, r, series[element])
    return _cut(w, whole + rest, x.type)


def look_up(w: Writer, table: Sequence[float], index: Value) -> Value:
    """The entries at the lowest four bits of each lane."""
    bits, lanes = index.type.bits, index.type.lanes
    element, full = ("float", 16) if bits == 32 else ("double", 8)
    found = []
    for at in range(0, lanes, full):
        places = [at + lane if at + lane < lanes else -1 for lane in range(full)]
        part = w.shuffle(index, None, places)
        if element == "float":
            found.append(w.call("llvm.x86.avx512.permvar.sf.512", Type(element, full), w.each(table, element), part))
        else:
            low, high = w.each(table[:full], element), w.each(table[full:], element)
            found.append(w.call("llvm.x86.avx512.vpermi2var.pd.512", Type(element, full), low, part, high))
    whole = estimates.joined(w, found)
    return whole if lanes >= full else w.shuffle(whole, None, range(lanes))


def _padded(w: Writer, x: Value) -> Value:
    """At least a register of 128 bits."""
    least = 128 // x.type.bits
    if not x.type.lanes:
        return w.spread(x, least)
    if x.type.lanes >= least:
        return x
    return w.shuffle(x, None, [at if at < x.type.lanes else -1 for at in range(least)])


def _cut(w: Writer, x: Value, type_: Type) -> Value:
    if not type_.lanes:
        return w.lane(x, 0)
    return x if x.type.lanes == type_.lanes else w.shuffle(x, None, range(type_.lanes))
