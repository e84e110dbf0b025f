"""Every error of the front end: its place and what it says is allowed."""

# ruff: noqa: B007, E701, F821, F841, F842, RET502, RET503, RUF059 (kernels with mistakes, one to a line)

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import anyzero as az
from tests.language.running import context

TEXT = "text"


class Pair(NamedTuple):
    first: float
    second: float


def error(kernel: Any) -> az.KernelError:
    with pytest.raises(az.KernelError) as caught:
        kernel.spirv  # noqa: B018
    return caught.value


def test_the_line_and_a_caret() -> None:
    @az.kernel
    def k(x: az.ptr[az.i32]) -> None:
        i = az.global_id(0)
        x[i] = 1 + x[i] / 2

    found = error(k)
    assert found.file == __file__
    assert found.text.strip() == "x[i] = 1 + x[i] / 2"
    lines = str(found).splitlines()
    assert lines[0].endswith(
        f"line {found.line}, in k: i32 / int literal: integers are divided by //; for a fraction write "
        "az.f32(a) / az.f32(b)"
    )
    assert lines[1] == "    x[i] = 1 + x[i] / 2"
    assert lines[2] == "               ^^^^^^^^"
    assert isinstance(found, TypeError)


@az.function
def recursive(n):  # type: ignore[no-untyped-def]
    return recursive(n - 1) if n > 0 else n


@az.function
def halves(x: az.f32) -> az.f32:
    return x / 2


@az.function
def endless(n):  # type: ignore[no-untyped-def]
    if n > 0:
        return n


@az.function
def first_of(p: az.ptr[az.f32]) -> Any:
    return p[0]


@az.function
def nothing_first(x: Any) -> Any:
    if x > 0:
        return
    return x


@az.function
def nothing_last(x: Any) -> Any:
    if x > 0:
        return x
    return


@az.function
def one_or_two(x: Any) -> Any:
    if x > 0:
        return x
    return 1, 2


@az.function
def twice(x: Any) -> Any:
    return x, x


def plain(x: Any) -> Any:
    return x


CASES: list[tuple[str, Callable[..., None]]] = []


def case(words: str) -> Callable[[Callable[..., None]], None]:
    def add(function: Callable[..., None]) -> None:
        CASES.append((words, function))

    return add


# fmt: off
@case("integers are divided by //")
def _(x: az.ptr[az.f32], n: az.i32): x[0] = n / 2
@case("x\\[0\\] = x|slices are not part of the language")
def _(x: az.ptr[az.f32]): x[0] = x[1:3]
@case("ptr\\[f32\\] takes 1 index, not 2")
def _(x: az.ptr[az.f32]): x[0] = x[1, 2]
@case("array\\[f32, 2\\] takes 2 indices, not 1")
def _(a: az.array[az.f32, 2]): a[0] = 1
@case("an index is an integer, not f32; write az.i32\\(x\\[0\\]\\)")
def _(x: az.ptr[az.f32]): x[x[0]] = 1
@case("i32 has no elements")
def _(n: az.i32): n[0] = 1
@case("a f32 is not converted to i32 implicitly: write az.i32")
def _(n: az.ptr[az.i32], x: az.ptr[az.f32]): n[0] = x[0]
@case("0.5 is not converted to i32 implicitly")
def _(n: az.ptr[az.i32]): n[0] = 0.5
@case("4294967296 does not fit i32")
def _(n: az.ptr[az.i32]): n[0] += 4294967296
@case("-1 does not fit u32")
def _(n: az.ptr[az.u32]): n[0] = n[0] * -1
@case("`and` takes bools, not i32; write n != 0")
def _(n: az.i32, x: az.ptr[az.f32]):
    if n and x[0] > 0: x[0] = 1
@case("missing is not defined here")
def _(x: az.ptr[az.f32]): x[0] = missing
@case("az.globalid is not defined here; did you mean az.global_id\\?")
def _(x: az.ptr[az.f32]): x[az.globalid(0)] = 1
@case("TEXT is a str; kernels take numbers from outside")
def _(x: az.ptr[az.f32]): x[0] = TEXT
@case("'one' is not a number")
def _(x: az.ptr[az.f32]): x[0] = "one"
@case("plain cannot be called in a kernel; builtins, math's functions")
def _(x: az.ptr[az.f32]): x[0] = plain(1)
@case("recursive calls itself; recursion is not part of the language")
def _(n: az.ptr[az.i32]): n[0] = recursive(n[0])
@case("a path reaches the end without `return`; the function returns i32")
def _(n: az.ptr[az.i32]): n[0] = endless(n[0])
@case("halves: missing a required argument: 'x'")
def _(x: az.ptr[az.f32]): x[0] = halves()
@case("halves takes f32 for x, not f64; write az.f32")
def _(x: az.ptr[az.f64]): x[0] = halves(x[0])
@case("the call returns nothing")
def _(x: az.ptr[az.f32]): v = az.barrier()
@case("az.math.sqrt takes floats, not i32; write az.f32")
def _(x: az.ptr[az.f32], n: az.i32): x[0] = math.sqrt(n)
@case("az.math.sqrt takes 1 argument; 2 were given")
def _(x: az.ptr[az.f32]): x[0] = math.sqrt(x[0], 1)
@case("az.math.clz takes integers, not f32")
def _(x: az.ptr[az.f32]): x[0] = az.math.clz(x[0])
@case("az.math.dot takes vectors of floats, not f32")
def _(x: az.ptr[az.f32]): x[0] = az.math.dot(x[0], x[1])
@case("az.math.min takes 2 arguments or more; 1 were given")
def _(x: az.ptr[az.f32]): x[0] = min(x[0])
@case("az.global_id takes a constant axis: 0, 1 or 2")
def _(x: az.ptr[az.f32], n: az.i32): x[az.global_id(n)] = 1
@case("az.global_id takes a constant axis: 0, 1 or 2")
def _(x: az.ptr[az.f32]): x[az.global_id(3)] = 1
@case("az.group_any takes a bool, not i32; write a comparison")
def _(n: az.ptr[az.i32]): n[0] = az.i32(az.group_any(n[0]))
@case("az.atomic_add takes the memory, an index and 1 value; write az.atomic_add\\(x, i, …\\)")
def _(n: az.ptr[az.i32]): az.atomic_add(n[0], 1)
@case("az.atomic_sub does not take elements of f32")
def _(x: az.ptr[az.f32]): az.atomic_sub(x, 0, 1)
@case("az.atomic_add does not take elements of i8")
def _(n: az.ptr[az.i8]): az.atomic_add(n, 0, 1)
@case("takes its arguments by position")
def _(x: az.ptr[az.f32]): x[0] = math.sqrt(x=x[0])
@case("v is not assigned on every path to this line; assign it before the branch")
def _(x: az.ptr[az.f32]):
    if x[0] > 0: v = 1.0
    x[0] = v
@case("memory is declared without parentheses: write az.local\\[az.f32, 8\\]")
def _(x: az.ptr[az.f32]):
    kept = az.local[az.f32, 8]()
    x[0] = kept[0]
@case("Pair is not a type of the language; structs are not passed: pass each field as a parameter of its own")
def _(x: az.ptr[az.f32], pair: Pair): x[0] = 1
@case("v has no value yet")
def _(x: az.ptr[az.f32]):
    x[0] = v
    del v
@case("v is i32 since line \\d+; a i64 needs an explicit conversion: az.i32")
def _(x: az.ptr[az.f32], n: az.i32):
    v = n
    v = az.global_id(0)
    x[v] = 0
@case("v is i32 since line \\d+, and vector\\[f32, 4\\] here; a variable has one type")
def _(x: az.ptr[az.f32], n: az.i32):
    v = n
    v = az.float4(0.0)
    x[0] = v
@case("n is a constant; assign to a variable of another name")
def _(x: az.ptr[az.f32], n: az.const[az.i32]): n = 1  # type: ignore[valid-type]
@case("a kernel returns nothing; store its results to memory")
def _(x: az.ptr[az.f32]): return x[0]
@case("a kernel returns nothing; store its results to memory")
def _(x: az.ptr[az.f32]) -> az.f32: x[0] = 1
@case("parameters of a kernel have no defaults")
def _(x: az.ptr[az.f32], n: az.i32 = 1): x[0] = n
@case(r"\*args and \*\*kwargs are not part of the language")
def _(x: az.ptr[az.f32], *rest): x[0] = 1
@case("list is not a type of the language; write az.f32, az.ptr\\[az.f32\\] and the like")
def _(x: list): x[0] = 1
@case("az.ptr does not name an element type; write it as in az.ptr\\[az.f32\\]")
def _(x: az.ptr): x[0] = 1
@case("the annotation cannot be evaluated: name 'nothing' is not defined")
def _(x: nothing): x[0] = 1
@case("for loops go over range")
def _(x: az.ptr[az.f32]):
    for v in x: x[0] = v
@case("a loop has one variable")
def _(x: az.ptr[az.f32]):
    for a, b in range(3): x[0] = a
@case("range takes 1 to 3 integers")
def _(x: az.ptr[az.f32]):
    for j in range(): x[0] = j
@case("range takes integers, not f32; write az.i32")
def _(x: az.ptr[az.f32]):
    for j in range(x[0]): x[j] = j
@case("the step of range must not be 0")
def _(x: az.ptr[az.f32]):
    for j in range(1, 5, 0): x[j] = j
@case("range is allowed in `for … in range\\(…\\)` only")
def _(x: az.ptr[az.f32]): v = range(3)
@case("while|with is not part of the language")
def _(x: az.ptr[az.f32]):
    with x: pass
@case("try is not part of the language")
def _(x: az.ptr[az.f32]):
    try: x[0] = 1
    finally: pass
@case("a function inside of a kernel is not part of the language")
def _(x: az.ptr[az.f32]):
    def inner(): pass
@case("a lambda is not part of the language")
def _(x: az.ptr[az.f32]): v = lambda: 1  # noqa: E731
@case("a list is not part of the language")
def _(x: az.ptr[az.f32]): v = [1, 2]
@case("a comprehension is not part of the language")
def _(x: az.ptr[az.f32]): v = [j for j in range(3)]  # noqa: C416
@case("x is a parameter; assign it in a statement of its own")
def _(x: az.i32, y: az.ptr[az.i32]): y[0] = (x := 0)
@case("`:=` assigns numbers and vectors, not ptr\\[f32\\]")
def _(x: az.ptr[az.f32]): (y := x)[0] = 1
@case("v is i32 since line \\d+, and f32 here; a variable has one type")
def _(x: az.ptr[az.f32], n: az.i32):
    v = n
    x[0] = (v := x[0])
@case("z is not assigned on every path to this line")
def _(x: az.ptr[az.f32]):
    if x[0] > 0 and (z := x[1]) > 0: pass
    x[0] = z
@case("divmod takes two numbers")
def _(x: az.ptr[az.i32]): x[0] = divmod(x[0])[0]
@case("sum takes a tuple, a vector, or local or private memory with one axis, not ptr\\[f32\\]")
def _(x: az.ptr[az.f32]): x[0] = sum(x)
@case("sum takes a tuple, a vector, or local or private memory with one axis, not these arguments")
def _(x: az.ptr[az.f32]): x[0] = sum((1, 2), 3)
@case("math.gcd takes two integers")
def _(x: az.ptr[az.f32]): x[0] = math.gcd(x[0], 2)
@case("az.sampler takes constants by name: address=, filter= and normalized=")
def _(x: az.ptr[az.float4], i: az.image[az.f32, 2]): x[0] = i.sample(az.sampler(linear=True), 0, 0)
@case("az.sampler: filter='cubic' is not one of nearest, linear")
def _(x: az.ptr[az.float4], i: az.image[az.f32, 2]): x[0] = i.sample(az.sampler(filter="cubic"), 0, 0)
@case("s is a sampler, which is assigned in one place only")
def _(x: az.ptr[az.float4], i: az.image[az.f32, 2]):
    s = az.sampler()
    s = az.sampler(filter="linear")
@case("memory and samplers are assigned one by one")
def _(x: az.ptr[az.f32]): a, b = az.private[az.f32, 2], az.private[az.f32, 2]
@case("an f-string outside of print and assert is not part of the language")
def _(x: az.ptr[az.f32]): x[0] = f"{x[0]}"
@case("a = b = c is not part of the language; write two assignments")
def _(x: az.ptr[az.f32]): x[0] = x[1] = 1
@case("a tuple is unpacked to variables, or to elements, not to both; assign one by one")
def _(x: az.ptr[az.f32]): x[0], a = 1, 2
@case("does not unpack to 2 elements")
def _(x: az.ptr[az.f32]): x[0], x[1] = 1, 2, 3
@case("f32 does not unpack to 2 variables")
def _(x: az.ptr[az.f32]): a, b = x[0]
@case("a tuple is indexed by a constant below 2")
def _(x: az.ptr[az.f32], n: az.i32):
    pair = 1, 2
    x[0] = pair[n]
@case("`is` and `in` are not part of the language; compare numbers with ==")
def _(x: az.ptr[az.f32]): x[0] = x[0] is x[1]
@case("the operator @ is not supported; write the loops")
def _(x: az.ptr[az.f32]): x[0] = x[0] @ x[1]
@case("1 // 0: integer division or modulo by zero")
def _(x: az.ptr[az.f32]): x[0] = 1 // 0
@case("~ takes integers, not f32")
def _(x: az.ptr[az.f32]): x[0] = ~x[0]
@case("~ takes integers, not bool; for a bool write `not`")
def _(x: az.ptr[az.f32]): x[0] = ~(x[0] > 0)
@case("& takes integers or bools, not f32")
def _(x: az.ptr[az.f32]): x[0] = x[0] & 1
@case("f32 << int literal: a shift takes an integer and a number of bits")
def _(x: az.ptr[az.f32]): x[0] = x[0] << 1
@case("an integer takes a constant exponent")
def _(n: az.ptr[az.i32]): n[0] = n[0] ** n[1]
@case("an integer has no negative powers")
def _(n: az.ptr[az.i32]): n[0] = n[0] ** -1
@case("operators take numbers and vectors")
def _(x: az.ptr[az.f32]): x[0] = 1 + x
@case("vectors have no <; compare their components, as in a.x < b.x")
def _(v: az.ptr[az.float4], x: az.ptr[az.f32]): x[0] = v[0] < v[1]
@case("are different vectors; both sides need the same type")
def _(v: az.ptr[az.float4], w: az.ptr[az.float2]): v[0] = v[0] + w[0]
@case("the number has to be of the vector's type; write az.f32")
def _(v: az.ptr[az.float4], n: az.i32): v[0] = v[0] * n
@case("has the components x, y and \\[index\\], not z")
def _(v: az.ptr[az.float2], x: az.ptr[az.f32]): x[0] = v[0].z
@case("vector\\[f32, 4\\] takes 4 components, not 3")
def _(v: az.ptr[az.float4]): v[0] = az.float4(1, 2, 3)
@case("has components 0 to 3")
def _(v: az.ptr[az.float4], x: az.ptr[az.f32]): x[0] = v[0][4]
@case("components can be assigned only in variables; store the whole vector to memory")
def _(v: az.ptr[az.float4]): v[0].x = 1
@case("vectors have no \\*\\*; az.math.pow takes them")
def _(v: az.ptr[az.float4]): v[0] = v[0] ** 2
@case("sizes and types in a type are constants")
def _(n: az.i32): v = az.private[az.f32, n]
@case("local and private memory has no initial values")
def _(x: az.ptr[az.f32]): v: az.private[az.f32, 4] = 1  # type: ignore[valid-type]
@case("a variable needs an initial value")
def _(x: az.ptr[az.f32]): v: az.f32
@case("n is a parameter, whose type is fixed")
def _(n: az.i32): n: az.f32 = 1  # type: ignore[no-redef]
@case("len takes an az.array, local or private memory, a vector or a tuple, not ptr\\[f32\\]; pass a size along")
def _(x: az.ptr[az.f32]): x[0] = len(x)
@case("an array has shape\\[axis\\], strides\\[axis\\], size and ndim")
def _(a: az.array[az.f32, 2]): a[0, 0] = a.T
@case("shape takes a constant axis; array\\[f32, 2\\] has 2")
def _(a: az.array[az.f32, 2]): a[0, 0] = a.shape[2]
@case("f32 has no real")
def _(x: az.ptr[az.f32]): x[0] = x[0].real
@case("f32 has no methods")
def _(x: az.ptr[az.f32]): x[0] = x[0].sqrt()
@case("image\\[f32, 2\\] has read\\(x, y\\) and sample\\(sampler, x, y\\), width, height")
def _(p: az.image[az.f32, 2], x: az.ptr[az.f32]): x[0] = p.read(1).x
@case("output_image\\[f32, 2\\] has write\\(x, y, vector\\), width, height")
def _(p: az.output_image[az.f32, 2], x: az.ptr[az.f32]): x[0] = p.read(1, 2).x
@case("sample takes a sampler first, not i32")
def _(p: az.image[az.f32, 2], x: az.ptr[az.f32], n: az.i32): x[0] = p.sample(n, 1, 2).x
@case("image\\[f32, 2\\] has no depth")
def _(p: az.image[az.f32, 2], x: az.ptr[az.f32]): x[0] = p.depth
@case("az.bitcast takes a value and a type")
def _(x: az.ptr[az.f32]): x[0] = az.bitcast(x[0])
@case("f32 and u64 have different sizes")
def _(x: az.ptr[az.f32]): x[0] = az.bitcast(x[0], az.u64)
@case("print must be a statement of its own")
def _(x: az.ptr[az.f32]): v = print(1)
@case("print takes values, sep= and end=")
def _(x: az.ptr[az.f32]): print(1, file=2)
@case("print takes texts and numbers, not ptr")
def _(x: az.ptr[az.f32]): print(x)
@case("the format '>8' is not part of the language; printf's are")
def _(x: az.ptr[az.f32]): print(f"{x[0]:>8}")
@case("!r, !s and !a are not part of the language")
def _(x: az.ptr[az.f32]): print(f"{x[0]!r}")
@case("the message of assert is a plain string")
def _(x: az.ptr[az.f32]): assert x[0] > 0, x[0]
@case("a condition is a bool or a number, not ptr")
def _(x: az.ptr[az.f32]):
    while x: pass
@case("f32 takes one number")
def _(x: az.ptr[az.f32]): x[0] = az.f32(1, 2)
@case("ptr\\[f32\\] cannot be converted to f32")
def _(x: az.ptr[az.f32]): x[0] = az.f32(x)
@case("annotations are for variables")
def _(x: az.ptr[az.f32]): x[0]: az.f32 = 1
@case("az.math.ldexp takes an integer there, not float literal")
def _(x: az.ptr[az.f32]): x[0] = az.math.ldexp(x[0], 1.5)
@case("az.math.sqrt does not take ptr")
def _(x: az.ptr[az.f32]): x[0] = az.math.sqrt(x)
@case("az.math.fmin: vector.* are different vectors")
def _(x: az.ptr[az.float4]): x[0] = az.math.fmin(x[0], az.float2(1.0))
@case("missing is not defined here")
def _(x: az.ptr[az.f32]): x[0] = missing(x[0])
@case("methods of images take their arguments by position")
def _(x: az.ptr[az.float4], i: az.image[az.f32, 2]): x[0] = i.read(x=0, y=0)
@case("f32 has no methods; az.math has functions, and az.f32\\(x\\) converts")
def _(x: az.ptr[az.f32]): x[0] = x[1].astype(1)
@case(r"first_of takes ptr\[f32\] for p, not ptr\[f64\]")
def _(x: az.ptr[az.f64]): x[0] = first_of(x)
@case(r"-1.0 \*\* 0.5 is not a real number")
def _(x: az.ptr[az.f32]): x[0] = (-1.0) ** 0.5
@case("1 is not a bool; write 1 != 0")
def _(x: az.ptr[az.f32]):
    b = x[0] > 0
    b = 1
@case("~ takes integers")
def _(x: az.ptr[az.f32]): x[0] = ~1.5
@case("- takes a number, not ptr")
def _(x: az.ptr[az.f32]): x[0] = -x
@case("the function returns nothing elsewhere")
def _(x: az.ptr[az.f32]): x[0] = nothing_first(x[0])
@case("the function returns f32 elsewhere")
def _(x: az.ptr[az.f32]): x[0] = nothing_last(x[0])
@case(r"the function returns f32 elsewhere, and \(i32, i32\) here")
def _(x: az.ptr[az.f32]): x[0] = one_or_two(x[0])
@case("a format is a plain string")
def _(x: az.ptr[az.f32], n: az.i32): print(f"{x[0]:{n}}")
@case("a is f32 already; a variable has one type")
def _(x: az.ptr[az.f32]):
    a: az.f32 = 1
    a: az.i32 = 2
@case("assignments go to variables, elements and components of vectors")
def _(x: az.ptr[az.f32]): x.first = 1
@case(r"\(f32, f32\) cannot be assigned to variables of \(i32, i32\)")
def _(x: az.ptr[az.f32]):
    a: az.i32 = 0
    b: az.i32 = 0
    a, b = twice(x[0])
@case("the exponent of an integer is a constant")
def _(x: az.ptr[az.i32], n: az.i32): x[0] = x[1] ** (2 if n > 0 else 3)
# fmt: on


@pytest.mark.parametrize(("words", "function"), CASES, ids=[words for words, _ in CASES])
def test_errors(words: str, function: Callable[..., None]) -> None:
    kernel = az.kernel(function)
    with pytest.raises(az.KernelError, match=words) as caught:
        kernel.specialized(*kernel_types(kernel)).spirv  # noqa: B018
    assert caught.value.line > 0
    assert "^" in str(caught.value)


def kernel_types(kernel: Any) -> list[Any]:
    """The types of the parameters; a constant is 1."""
    from anyzero.language.types import Const

    found = [kernel.parameters[name] for name in kernel.passed]
    return [Const(t.element, 1) if isinstance(t, Const) else t for t in found]


def test_launches_without_a_context() -> None:
    @az.kernel
    def k(x: az.ptr[az.f32]) -> None:
        x[az.global_id(0)] = 1

    with pytest.raises(az.InvalidArgument, match=r"no argument of k is a Buffer.*\n.*Context.to_device"):
        k[4](np.zeros(4, np.float32))
    with pytest.raises(az.InvalidArgument, match=r"k takes 1 arguments \(x: ptr\[f32\]\); 0 were given"):
        k[4]()
    with pytest.raises(TypeError, match=r"k\[n\]\(…\) launches the kernel"):
        k(1)

    @az.kernel
    def empty() -> None:
        pass

    with pytest.raises(az.InvalidArgument, match=r"Name a list with on=, or launch empty.on\(context\)"):
        empty[1]()
    empty.on(context())[1]()
    with context().immediate() as lst:
        empty[1](on=lst).wait()


def test_arguments_of_arrays_and_constants() -> None:
    @az.kernel
    def k(a: az.array[az.f32, 2], n: az.const[az.i32]) -> None:  # type: ignore[valid-type]
        a[0, 0] = n

    x = context().zeros((2, 2), np.float32)
    with pytest.raises(az.InvalidArgument, match=r"a of k has 2 axes; the buffer's shape is \(4,\)"):
        k[1](x.reshape(4), 1)
    with pytest.raises(az.InvalidArgument, match=r"n of k is const\[i32\]; 1.5 is not such a constant"):
        k[1](x, 1.5)
    with context().immediate() as lst, pytest.raises(az.InvalidArgument, match=r"a of k is array\[f32, 2\] and cannot"):
        k[1](3, 1, on=lst)
    with pytest.raises(az.KernelError, match="spirv needs all types, and k takes several"):
        k.spirv  # noqa: B018


def test_generic_arguments() -> None:
    @az.kernel
    def k(x, y) -> None:  # type: ignore[no-untyped-def]
        x[0] = y

    x = context().zeros(1, np.float32)
    with pytest.raises(az.InvalidArgument, match="y of k cannot be 'text'"):
        k[1](x, "text")
    with pytest.raises(az.InvalidArgument, match="x of k: there is no type for elements of complex64"):
        k[1](context().zeros(1, np.complex64), 1)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: az.ptr[int], "<class 'int'> is not an element type, but az.i32 is; write it as in az.ptr"),
        (lambda: az.ptr[np.float64], "is not an element type, but az.f64 is"),
        (lambda: az.array([1, 2]), "az.array is for types in kernels, as in az.array.*; a context makes arrays"),
        (lambda: az.ptr[str], "<class 'str'> is not an element type; write it as in az.ptr"),
        (lambda: az.ptr[np.complex64], "is not an element type; write it"),
        (lambda: az.vector[az.f32, 5], "a vector has 2, 3, 4, 8 or 16 components"),
        (lambda: az.array[az.f32, 0], "an array has 1 to 8 axes"),
        (lambda: az.private[az.f32], "private memory has a size"),
        (lambda: az.local[az.f32, -1], "its sizes are constants above 0"),
        (lambda: az.image[az.f64, 2], "texels are read as az.f32, az.i32 or az.u32"),
        (lambda: az.image[az.f32, 4], "an image has 1, 2 or 3 axes"),
        (lambda: az.const[az.float4], "is not a number"),
    ],
)
def test_types_that_there_are_not(make: Callable[[], Any], words: str) -> None:
    with pytest.raises(TypeError, match=words):
        make()


def test_functions_without_source() -> None:
    space: dict[str, Any] = {}
    exec("def k(x): pass", space)
    with pytest.raises(az.KernelError, match="the source of k is not available"):
        az.kernel(space["k"])
    with pytest.raises(TypeError, match=r"is not a function; write @az\.kernel above a `def`"):
        az.kernel(len)
    with pytest.raises(az.KernelError, match="is not defined by `def`"):
        az.kernel(lambda x: x)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: az.bitcast(1, az.u32), "az.bitcast works inside a kernel only"),
        (lambda: az.math.sqrt("1"), "'1' is not a number"),
        (lambda: az.float4(1.0, 2.0), "takes 4 components, not 2"),
        (lambda: az.int2(az.float4(1.0)), "takes 2 components, not 4"),
        (lambda: [1, 2][az.f32(1)], "a f32 cannot be an index; write az.i32"),  # type: ignore[call-overload]
        (lambda: az.float2(1.0, 2.0).z, "has no component 'z'"),
        (lambda: az.math.squareroot(2.0), "az.math has no function 'squareroot'"),
    ],
)
def test_numbers_of_the_simulator(make: Callable[[], Any], words: str) -> None:
    with pytest.raises(Exception, match=words):
        make()


def test_builtins_outside_of_kernels() -> None:
    with pytest.raises(Exception, match="this works inside a kernel only"):
        az.global_id(0)
