// European options: much arithmetic and several transcendental functions for five numbers of memory traffic. The normal
// distribution is the five-term polynomial that everybody uses here.

#define BLACK_SCHOLES(NAME, REAL, C)                                                                                   \
    REAL distribution_##NAME(REAL d) {                                                                                 \
        REAL k = C(1.0) / (C(1.0) + C(0.2316419) * fabs(d));                                                           \
        REAL tail = C(-1.821255978) + k * C(1.330274429);                                                              \
        tail = C(1.781477937) + k * tail;                                                                              \
        tail = C(-0.356563782) + k * tail;                                                                             \
        tail = C(0.31938153) + k * tail;                                                                               \
        REAL area = C(0.39894228040143267794) * exp(C(-0.5) * d * d) * k * tail;                                       \
        return d > C(0.0) ? C(1.0) - area : area;                                                                      \
    }                                                                                                                  \
                                                                                                                       \
    kernel void NAME(global REAL *call, global REAL *put, global const REAL *price, global const REAL *strike,         \
                     global const REAL *years, REAL rate, REAL volatility) {                                           \
        size_t i = get_global_id(0);                                                                                   \
        REAL s = price[i], x = strike[i], t = years[i];                                                                \
        REAL spread = volatility * sqrt(t);                                                                            \
        REAL d1 = (log(s / x) + (rate + C(0.5) * volatility * volatility) * t) / spread;                               \
        REAL d2 = d1 - spread;                                                                                         \
        REAL n1 = distribution_##NAME(d1);                                                                             \
        REAL n2 = distribution_##NAME(d2);                                                                             \
        REAL discounted = x * exp(-rate * t);                                                                          \
        call[i] = s * n1 - discounted * n2;                                                                            \
        put[i] = discounted * (C(1.0) - n2) - s * (C(1.0) - n1);                                                       \
    }

#define SINGLE(value) value##f
#define DOUBLE(value) value

BLACK_SCHOLES(black_scholes_f32, float, SINGLE)
BLACK_SCHOLES(black_scholes_f64, double, DOUBLE)
