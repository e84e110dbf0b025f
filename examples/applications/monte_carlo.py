"""The price of a call option by random walks of the share, and by the formula of Black and Scholes.

python monte_carlo.py [WALKS]
"""

import math
import sys
from typing import Any

import numpy as np

import anyzero as az

PRICE, STRIKE, RATE, VOLATILITY, YEARS, STEPS = 100.0, 105.0, 0.03, 0.25, 1.0, 16

walks = int(sys.argv[1]) if len(sys.argv) > 1 else 1 << 18
step = YEARS / STEPS
drift, spread = (RATE - VOLATILITY**2 / 2) * step, VOLATILITY * math.sqrt(step)

with az.device().context() as ctx:
    random = az.random(ctx, seed=1973)
    logarithm = ctx.full(walks, math.log(PRICE), np.float32)
    for _ in range(STEPS):
        logarithm += drift + spread * random.normal(walks)  # one kernel for the numbers, one for the sum
    share = np.exp(logarithm)
    # Functions of numpy give buffers for buffers, which its stubs do not know.
    gain: Any = np.maximum(share - STRIKE, 0) * math.exp(-RATE * YEARS)
    estimate = gain.mean(dtype=np.float64).item()
    deviation = math.sqrt(((gain - estimate) ** 2).mean(dtype=np.float64).item() / walks)
    worst, best = az.sort(gain[gain > 0])[0].item(), gain.max().item()


def normal(x: float) -> float:
    """The distribution function of a normal variable."""
    return (1 + math.erf(x / math.sqrt(2))) / 2


d = (math.log(PRICE / STRIKE) + (RATE + VOLATILITY**2 / 2) * YEARS) / (VOLATILITY * math.sqrt(YEARS))
exact = PRICE * normal(d) - STRIKE * math.exp(-RATE * YEARS) * normal(d - VOLATILITY * math.sqrt(YEARS))

print(
    f"{walks} walks: {estimate:.3f} ± {deviation:.3f}, gains from {worst:.3f} to {best:.1f}; the formula: {exact:.3f}"
)
assert abs(estimate - exact) < 5 * deviation + 0.01
print("ok: the walks agree with the formula")
