"""Programs after Rodinia: arguments, and by numpy what must come out."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from benchmarks.kernels.case import MEASURED, Argument, Array, Case, Local
from benchmarks.kernels.program import Program
from benchmarks.kernels.programs import numbers

__all__ = ["PROGRAMS"]

FILE: Final = MEASURED / "rodinia.spv"
TILE: Final = 16
LINE: Final = 256
AMBIENT: Final = 80.0


def up(n: int, part: int) -> int:
    """`n` rounded up to a multiple."""
    return -(-n // part) * part


def hotspot(kernel: str, n: int, steps: int = 2) -> Case:
    pace, rx, ry, rz = (np.float32(value) for value in (0.02, 0.1, 0.2, 40.0))

    def arguments() -> list[Argument]:
        power, before = numbers(1, (n, n), 0, 1), numbers(2, (n, n), 70, 90)
        sizes = np.int32(n), np.int32(n)
        return [np.int32(steps), power, before, np.zeros((n, n), np.float32), *sizes, pace, rx, ry, rz]

    def expected(given: list[Any]) -> dict[int, Array]:
        power, now = given[1].astype(np.float64), given[2].astype(np.float64)
        for _ in range(steps):
            padded = np.pad(now, 1, mode="edge")
            down = padded[2:, 1:-1] + padded[:-2, 1:-1] - 2 * now
            across = padded[1:-1, 2:] + padded[1:-1, :-2] - 2 * now
            now = now + pace * (power + down / ry + across / rx + (AMBIENT - now) / rz)
        return {3: now}

    size = up(n, TILE - 2 * steps) // (TILE - 2 * steps) * TILE
    return Case(kernel, FILE, kernel, arguments, (size, size), (TILE, TILE), expected, rtol=1e-4)


def hotspot3d(kernel: str, n: int, layers: int, group: tuple[int, int] = (64, 4)) -> Case:
    pace, across, down, through, centre = (np.float32(value) for value in (0.05, 0.1, 0.1, 0.05, 0.45))

    def arguments() -> list[Argument]:
        shape = (layers, n, n)
        power, before = numbers(1, shape, 0, 1), numbers(2, shape, 70, 90)
        sizes = np.int32(n), np.int32(n), np.int32(layers)
        return [power, before, np.zeros(shape, np.float32), pace, *sizes, across, down, through, centre]

    def expected(given: list[Any]) -> dict[int, Array]:
        power, now = given[0], given[1].astype(np.float64)
        around = np.pad(now, 1, mode="edge")
        made = centre * now + pace * power + through * AMBIENT
        for factor, axis in ((through, 0), (down, 1), (across, 2)):
            for step in (0, 2):
                place = tuple(slice(step, step + now.shape[a]) if a == axis else slice(1, -1) for a in range(3))
                made = made + factor * around[place]
        return {2: made}

    return Case(kernel, FILE, kernel, arguments, (n, n), group, expected, rtol=1e-4)


def pathfinder(kernel: str, columns: int, rows: int, steps: int = 20) -> Case:
    """The costs of two rows in one buffer: the halves take turns."""

    def arguments() -> list[Argument]:
        wall = np.random.default_rng(1).integers(0, 10, (rows, columns), np.int32)
        costs = np.zeros((2, columns), np.int32)
        costs[0] = wall[0]
        return [np.int32(steps), wall, costs, np.int32(columns), np.int32(1), np.int32(0)]

    def expected(given: list[Any]) -> dict[int, Array]:
        _, wall, costs, *_ = given
        row = costs[0]
        for launch, first in enumerate(range(1, rows, steps)):
            for number in range(first, first + steps):
                padded = np.pad(row, 1, mode="edge")
                row = np.minimum(np.minimum(padded[:-2], padded[2:]), row) + wall[number]
            costs[(launch + 1) % 2] = row
        return {2: costs}

    assert (rows - 1) % steps == 0
    launches = tuple(
        {4: np.int32(first), 5: np.int32(columns * (number % 2))} for number, first in enumerate(range(1, rows, steps))
    )
    inner = LINE - 2 * steps
    size = up(columns, inner) // inner * LINE
    return Case(kernel, FILE, kernel, arguments, (size,), (LINE,), expected, launches=launches)


def srad(kernel: str, rows: int, columns: int) -> Case:
    q0 = np.float32(0.05)

    def arguments() -> list[Argument]:
        n = rows * columns
        lists = []
        for count in (rows, columns):
            places = np.arange(count, dtype=np.int32)
            lists += [np.maximum(places - 1, 0), np.minimum(places + 1, count - 1)]
        made = [np.zeros(n, np.float32) for _ in range(5)]
        return [np.int32(rows), np.int32(columns), *lists, *made[:4], q0, made[4], numbers(1, n, 1.0, 2.0)]

    def expected(given: list[Any]) -> dict[int, Array]:
        here = given[12].reshape(columns, rows).astype(np.float64)
        padded = np.pad(here, 1, mode="edge")
        apart = [padded[1:-1, :-2], padded[1:-1, 2:], padded[:-2, 1:-1], padded[2:, 1:-1]]
        apart = [each - here for each in apart]
        gradient = sum(each**2 for each in apart) / here**2
        laplace = sum(apart) / here
        q = (gradient / 2 - laplace**2 / 16) / (1 + laplace / 4) ** 2
        coefficient = np.clip(1 / (1 + (q - q0) / (q0 * (1 + q0))), 0, 1)
        return {6 + number: each.ravel() for number, each in enumerate(apart)} | {11: coefficient.ravel()}

    size = up(rows * columns, LINE)
    return Case(kernel, FILE, kernel, arguments, (size,), (LINE,), expected, 1e-3, 1e-4, outliers=0.01)


def kmeans(kernel: str, points: int, clusters: int = 5, dimensions: int = 34) -> Case:
    def arguments() -> list[Argument]:
        features, centres = numbers(1, (dimensions, points)), numbers(2, (clusters, dimensions))
        sizes = np.int32(points), np.int32(clusters), np.int32(dimensions)
        return [features, centres, np.zeros(points, np.int32), *sizes]

    def expected(given: list[Any]) -> dict[int, Array]:
        features, centres = given[:2]
        distances = [((features - each[:, None]) ** 2).sum(axis=0) for each in centres]
        return {2: np.argmin(distances, axis=0).astype(np.int32)}

    size = up(points, LINE)
    return Case(kernel, FILE, kernel, arguments, (size,), (LINE,), expected, outliers=1e-3)


def backprop(kernel: str, inputs: int, hidden: int = TILE) -> Case:
    def arguments() -> list[Argument]:
        values, weights = numbers(1, inputs + 1), numbers(2, (inputs + 1, hidden + 1))
        partial = np.zeros((inputs // TILE, hidden), np.float32)
        return [values, weights, partial, Local(4 * TILE), Local(4 * TILE * TILE), np.int32(hidden)]

    def expected(given: list[Any]) -> dict[int, Array]:
        values, weights = given[:2]
        products = weights[1:, 1:].astype(np.float64) * values[1:, None]
        return {2: products.reshape(-1, TILE, hidden).sum(axis=1)}

    return Case(kernel, FILE, kernel, arguments, (TILE, inputs), (TILE, TILE), expected, rtol=1e-4, atol=1e-5)


def gaussian(kernel: str, n: int, group: tuple[int, int] = (4, 4)) -> Case:
    def arguments() -> list[Argument]:
        matrix = numbers(1, (n, n)) + np.eye(n, dtype=np.float32) * n
        return [matrix, numbers(2, n), np.int32(n), np.int32(0)]

    def expected(given: list[Any]) -> dict[int, Array]:
        a, b = (each.astype(np.float64) for each in given[:2])
        for t in range(n - 1):
            factor = a[t + 1 :, t] / a[t, t]
            a[t + 1 :, t + 1 :] -= np.outer(factor, a[t, t + 1 :])
            b[t + 1 :] -= factor * b[t]
        return {0: a, 1: b}

    launches = tuple({3: np.int32(t)} for t in range(n - 1))
    size = (up(n, group[0]), up(n, group[1]))
    return Case(kernel, FILE, kernel, arguments, size, group, expected, rtol=1e-3, atol=1e-4, launches=launches)


def needleman(kernel: str, n: int, penalty: int = 10) -> Case:
    def arguments() -> list[Argument]:
        similarity = np.random.default_rng(1).integers(-4, 12, (n, n), np.int32)
        score = np.zeros((n + 1, n + 1), np.int32)
        score[0], score[:, 0] = -penalty * np.arange(n + 1), -penalty * np.arange(n + 1)
        return [score, similarity, np.int32(n), np.int32(penalty), np.int32(0)]

    def expected(given: list[Any]) -> dict[int, Array]:
        score, similarity = given[:2]
        # Along the diagonals, whose cells do not depend on one another.
        for total in range(2, 2 * n + 1):
            y = np.arange(max(1, total - n), min(n, total - 1) + 1)
            x = total - y
            ways = score[y - 1, x - 1] + similarity[y - 1, x - 1], score[y, x - 1] - penalty, score[y - 1, x] - penalty
            score[y, x] = np.maximum(np.maximum(ways[0], ways[1]), ways[2])
        return {0: score}

    blocks = n // TILE
    launches = tuple({4: np.int32(diagonal)} for diagonal in range(2 * blocks - 1))
    return Case(kernel, FILE, kernel, arguments, (n,), (TILE,), expected, launches=launches)


def bfs(kernel: str, nodes: int, degree: int = 6) -> Case:
    def graph() -> tuple[Array, Array]:
        rng = np.random.default_rng(1)
        starts = np.zeros(nodes + 1, np.int32)
        starts[1:] = np.cumsum(rng.integers(1, 2 * degree, nodes))
        return starts, rng.integers(0, nodes, int(starts[-1]), np.int32)

    def distances() -> Array:
        starts, edges = graph()
        found = np.full(nodes, -1, np.int32)
        found[0] = 0
        sources = np.repeat(np.arange(nodes), np.diff(starts))
        level = 0
        while (reached := edges[found[sources] == level]).size:
            fresh = reached[found[reached] < 0]
            if not fresh.size:
                break
            found[fresh] = level + 1
            level += 1
        return found

    def arguments() -> list[Argument]:
        first = np.full(nodes, -1, np.int32)
        first[0] = 0
        return [*graph(), first, np.int32(nodes), np.int32(0)]

    wanted = distances()
    launches = tuple({4: np.int32(level)} for level in range(int(wanted.max()) + 1))
    size = up(nodes, LINE)
    return Case(kernel, FILE, kernel, arguments, (size,), (LINE,), lambda given: {2: wanted}, launches=launches)


GAMMA: Final = 1.4
WALL, FAR = -1, -2


def cfd(kernel: str, cells: int, group: int = 192) -> Case:
    def arguments() -> list[Argument]:
        rng = np.random.default_rng(1)
        neighbours = rng.integers(0, cells, (4, cells), np.int32)
        chance = rng.random((4, cells))
        neighbours[chance < 0.02], neighbours[chance > 0.98] = WALL, FAR
        variables = numbers(2, (5, cells), 0.1, 0.3)
        variables[0] += 1
        variables[4] += 2
        far = np.array([1.2, 0.3, 0.1, 0.1, 2.5], np.float32)
        return [
            np.int32(cells),
            neighbours,
            numbers(3, (4, 3, cells)),
            variables,
            far,
            np.zeros((5, cells), np.float32),
        ]

    def derived(state: Array) -> tuple[Array, Array, Array, Array]:
        """Velocity, speed, pressure and the speed of sound."""
        velocity = state[1:4] / state[0]
        square = (velocity**2).sum(axis=0)
        pressure = (GAMMA - 1) * (state[4] - state[0] * square / 2)
        return velocity, np.sqrt(square), pressure, np.sqrt(GAMMA * pressure / state[0])

    def expected(given: list[Any]) -> dict[int, Array]:
        _, neighbours, normals, variables, far, _ = given
        here = variables.astype(np.float64)
        velocity, speed, pressure, sound = derived(here)
        flux = np.zeros((5, cells))
        for k in range(4):
            other, normal = neighbours[k], normals[k].astype(np.float64)
            wall, inner = other == WALL, other >= 0
            there = np.where(inner, here[:, np.maximum(other, 0)], far.astype(np.float64)[:, None])
            their_velocity, their_speed, their_pressure, their_sound = derived(there)
            factor = -np.sqrt((normal**2).sum(axis=0)) * 0.1 * (speed + their_speed + sound + their_sound)
            through, back = (normal * velocity).sum(axis=0) / 2, (normal * their_velocity).sum(axis=0) / 2
            made = np.where(inner, factor * (here - there), 0)
            made[0] += (normal * (here[1:4] + there[1:4])).sum(axis=0) / 2
            made[4] += through * (here[4] + pressure) + back * (there[4] + their_pressure)
            made[1:4] += through * here[1:4] + back * there[1:4] + normal / 2 * (pressure + their_pressure)
            made[:, wall] = 0
            made[1:4, wall] = (normal * pressure)[:, wall]
            flux += made
        return {5: flux}

    return Case(kernel, FILE, kernel, arguments, (cells,), (group,), expected, rtol=1e-3, atol=1e-4)


PARTICLES, CROWD = 100, 128


def lavamd(kernel: str, side: int) -> Case:
    boxes, decay = side**3, np.float32(0.5)

    def lists() -> tuple[Array, Array]:
        counts, found = np.zeros(boxes, np.int32), np.zeros((boxes, 27), np.int32)
        places = np.indices((side,) * 3).reshape(3, -1).T
        for box, place in enumerate(places):
            near = np.abs(places - place).max(axis=1) <= 1
            counts[box] = near.sum()
            found[box, : counts[box]] = np.nonzero(near)[0]
        return counts, found

    def arguments() -> list[Argument]:
        positions = numbers(1, (boxes, PARTICLES, 4), 0, 1)
        positions[..., :3] += np.indices((side,) * 3).reshape(3, -1).T[:, None, :]
        charges = numbers(2, (boxes, PARTICLES), 0.1, 1)
        return [decay, *lists(), positions, charges, np.zeros((boxes, PARTICLES, 4), np.float32)]

    def expected(given: list[Any]) -> dict[int, Array]:
        _, counts, found, positions, charges, made = given
        for box in range(boxes):
            near = found[box, : counts[box]]
            theirs, charge = positions[near, :, :3].reshape(-1, 3), charges[near].ravel()
            apart = positions[box, :, None, :3] - theirs[None]
            potential = np.exp(-decay * (apart**2).sum(axis=2)) * charge
            made[box, :, 3] = potential.sum(axis=1)
            made[box, :, :3] = (2 * potential[..., None] * apart).sum(axis=1)
        return {5: made}

    return Case(kernel, FILE, kernel, arguments, (boxes * CROWD,), (CROWD,), expected, rtol=1e-3, atol=1e-2)


PROGRAMS: Final = (
    Program("hotspot", "HotSpot", hotspot, (30,), (512,), (1024,)),
    Program("hotspot3d", "HotSpot3D", hotspot3d, (64, 4), (256, 8), (512, 8)),
    Program("pathfinder", "PathFinder", pathfinder, (300, 41), (25_000, 101), (100_000, 101), restored=(2,)),
    Program("srad", "SRAD", srad, (20, 13), (502, 458), (1004, 916)),
    Program("kmeans", "k-means", kmeans, (300,), (51_200,), (204_800,)),
    Program("backprop", "back propagation", backprop, (64,), (16_384,), (65_536,)),
    Program("gaussian", "Gaussian elimination", gaussian, (13,), (128,), (256,), restored=(0, 1)),
    Program("needleman", "Needleman-Wunsch", needleman, (48,), (512,), (2048,)),
    Program("bfs", "breadth-first search", bfs, (300,), (65_536,), (262_144,), restored=(2,)),
    Program("cfd", "CFD flux", cfd, (192,), (24_384,), (97_152,)),
    Program("lavamd", "LavaMD", lavamd, (2,), (3,), (5,)),
)
