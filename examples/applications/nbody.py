"""N-body: two discs of stars attract each other. A kernel moves them, and a picture shows where they went.

python nbody.py [PICTURE.png]
"""

import math
import sys

import numpy as np

import anyzero as az
from anyzero.tools.picture import write_png

N, STEPS, DT, SOFTENING = 1024, 120, 0.01, 0.03


@az.kernel
def accelerate(velocity: az.array[az.f32, 2], position: az.array[az.f32, 2], mass: az.ptr[az.f32], dt: az.f32) -> None:
    """One work-item for each body: it adds up what all the others do to it."""
    i = az.global_id(0)
    x, y = position[i, 0], position[i, 1]
    ax, ay = 0.0, 0.0
    for j in range(position.shape[0]):
        dx, dy = position[j, 0] - x, position[j, 1] - y
        inverse = az.math.rsqrt(dx * dx + dy * dy + SOFTENING * SOFTENING)
        pull = mass[j] * inverse * inverse * inverse
        ax += dx * pull
        ay += dy * pull
    velocity[i, 0] += ax * dt
    velocity[i, 1] += ay * dt


@az.kernel
def move(position: az.array[az.f32, 2], velocity: az.array[az.f32, 2], dt: az.f32) -> None:
    i = az.global_id(0)
    position[i, 0] += velocity[i, 0] * dt
    position[i, 1] += velocity[i, 1] * dt


def disc(
    random: np.random.Generator, count: int, centre: tuple[float, float], drift: tuple[float, float]
) -> tuple[np.ndarray, ...]:
    """Stars on circles around a centre, which holds half of the mass."""
    radius, angle = 0.08 + 0.4 * np.sqrt(random.random(count)), 2 * math.pi * random.random(count)
    around = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    speed = np.sqrt(0.5 / radius)[:, None]
    position = np.array(centre) + radius[:, None] * around
    velocity = np.array(drift) + speed * around[:, ::-1] * (-1, 1)
    position[0], velocity[0] = centre, drift
    mass = np.full(count, 0.25 / count)
    mass[0] = 0.5
    return position, velocity, mass


random = np.random.default_rng(1)
one, two = disc(random, N // 2, (-0.7, -0.25), (0.35, 0.1)), disc(random, N // 2, (0.7, 0.25), (-0.35, -0.1))
start, speed, masses = (np.concatenate(pair).astype(np.float32) for pair in zip(one, two, strict=True))

with az.device().context() as ctx:
    position, velocity, mass = ctx.to_device(start), ctx.to_device(speed), ctx.to_device(masses)
    # Both kernels are recorded once and submitted for every step.
    with ctx.command_list() as step:
        accelerate[N](velocity, position, mass, DT, on=step)
        step.barrier()
        move[N](position, velocity, DT, on=step)
    light = np.zeros((480, 720), np.float32)
    with ctx.queue() as queue:
        for number in range(STEPS):
            queue.submit(step).wait(timeout=60)
            places = position.copy_to()
            columns, rows = (((places / (1.8, 1.2)) + 1) * (360, 240)).astype(int).T
            inside = (columns >= 0) & (columns < 720) & (rows >= 0) & (rows < 480)
            # Later positions shine brighter than the trails behind them.
            np.add.at(light, (rows[inside], columns[inside]), (number / STEPS) ** 2)

    momentum = (masses[:, None] * velocity.copy_to()).sum(axis=0)
    assert np.abs(momentum).max() < 0.02, momentum
    print(f"ok: {N} bodies moved {STEPS} steps, and their momentum is still {np.abs(momentum).max():.4f}")

if len(sys.argv) > 1:
    glow = 1 - np.exp(-0.8 * light)
    write_png(sys.argv[1], 255 * np.stack([glow**0.8, glow, glow**0.5], axis=2))
    print(f"ok: the picture is {sys.argv[1]}")
