"""erf and erfc."""

from __future__ import annotations

from anyzero.compiler.builtins.exponential import EXP, lifted, reduce
from anyzero.compiler.builtins.instructions import instruction
from anyzero.compiler.builtins.polynomial import horner, split
from anyzero.compiler.builtins.writer import Writer
from anyzero.compiler.llvm import Value

# erf(x)/x as a quotient of polynomials of x² up to 3.92 and 5.93, where erf is one; relative error 2^-24.1 and 2^-53.8.
# At the bound it is just above one.
BOUND = {"float": 3.92, "double": 5.95}
ERF = {
    "float": (
        (
            1.1283791065216064,
            0.19040751457214355,
            0.05274886265397072,
            0.003765661735087633,
            0.000284883746644482,
            2.050079501714208e-06,
        ),
        (
            1.0,
            0.5020769834518433,
            0.11410954594612122,
            0.01496930606663227,
            0.0011625464539974928,
            3.8091689930297434e-05,
        ),
    ),
    "double": (
        (
            1.1283791670955126,
            0.22016131870109706,
            0.0661195742315829,
            0.0068889530965727435,
            0.0008556047728846668,
            5.693694508988684e-05,
            3.900043128180396e-06,
            1.6945727276564485e-07,
            6.759165612380976e-09,
            1.7195785299028447e-10,
            3.3364331986619913e-12,
            2.227074386844956e-14,
            1.571577307612583e-17,
        ),
        (
            1.0,
            0.5284462219094289,
            0.13474568762001038,
            0.021985306547441488,
            0.002564550014548331,
            0.00022607453164588957,
            1.5496991841801258e-05,
            8.349255269171432e-07,
            3.515113805931918e-08,
            1.124442080696703e-09,
            2.5491997732772357e-11,
            3.319313110827902e-13,
            8.852161922277478e-16,
        ),
    ),
}
# exp(x²) erfc(x) as a quotient of polynomials of x, from one half to where erfc underflows; 2^-23.8 and 2^-53.8.
TAIL = {
    "float": (
        (1.0000101327896118, 1.3149136304855347, 0.819123387336731, 0.2739878296852112, 0.04381858929991722),
        (
            1.0,
            2.4433910846710205,
            2.5757579803466797,
            1.4904751777648926,
            0.48564255237579346,
            0.07766615599393845,
        ),
    ),
    "double": (
        (
            0.9999999999670233,
            2.2714109835102536,
            2.5459410585373288,
            1.8143655794717655,
            0.8985597511535868,
            0.31984243003366514,
            0.08194898259241008,
            0.01465805017371733,
            0.0016801830767359494,
            9.636745837121267e-05,
        ),
        (
            1.0,
            3.3997901500887875,
            5.382193440207117,
            5.239983140968139,
            3.48655576661099,
            1.663792038982335,
            0.5798109031979046,
            0.14673981321876411,
            0.02606612091437696,
            0.0029780469645749007,
            0.00017080687269210916,
        ),
    ),
}
UNDERFLOW = {"float": 10.2, "double": 27.4}


@instruction("erf")
def erf(w: Writer, x: Value) -> Value:
    over, under = ERF[x.type.element]
    bound = BOUND[x.type.element]
    near = w.at_least(w.at_most(x, bound), -bound)
    square = near * near
    quotient = near * horner(w, square, over) / horner(w, square, under)
    return w.at_least(w.at_most(quotient, 1.0), -1.0)


@instruction("erfc")
def erfc(w: Writer, x: Value) -> Value:
    element = x.type.element
    far = w.at_least(w.at_most(x, UNDERFLOW[element]), 0.5)
    square = far * far
    rest_of_square = w.fma(far, far, -square)
    octaves = reduce(w, -square, EXP[element])
    power = split(w, octaves.rest - rest_of_square, EXP[element].power, lead=2)
    over, under = TAIL[element]
    tail = lifted(w, power * (horner(w, far, over) / horner(w, far, under)), octaves)
    return w.select(w.compare("oge", x, 0.5), tail, 1.0 - erf(w, x))
