// What a person would write in plain C++ with OpenMP, and what the compiler makes of it: the yardstick beside the peers.
// Every function gets the addresses of the kernel's arguments, the global size and the number of launches, and does the work
// of all launches.

#include "native.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <vector>

static void scale_and_add(void** args, Size size) {
  float* __restrict y = array<float>(args, 0);
  const float* __restrict x = array<float>(args, 1);
  const float a = value<float>(args, 2);
#pragma omp parallel for simd schedule(static)
  for (int64_t i = 0; i < size[0]; i++) y[i] = a * x[i] + y[i];
}

static void multiply(void** args, int64_t n) {
  float* __restrict c = array<float>(args, 0);
  const float* __restrict a = array<float>(args, 1);
  const float* __restrict b = array<float>(args, 2);
  constexpr int64_t rows = 8, columns = 64;
#pragma omp parallel for collapse(2) schedule(dynamic)
  for (int64_t top = 0; top < n; top += rows)
    for (int64_t left = 0; left < n; left += columns) {
      float sums[rows][columns] = {};
      for (int64_t k = 0; k < n; k++)
        for (int64_t row = 0; row < rows; row++) {
#pragma omp simd
          for (int64_t column = 0; column < columns; column++)
            sums[row][column] += a[(top + row) * n + k] * b[k * n + left + column];
        }
      for (int64_t row = 0; row < rows; row++) std::memcpy(c + (top + row) * n + left, sums[row], sizeof sums[row]);
    }
}

template <typename T>
static void attract(void** args, Size size) {
  T* out = array<T>(args, 0);
  const T* bodies = array<T>(args, 1);
  const T softening = value<T>(args, 3);
  const int64_t n = size[0];
  std::vector<T> columns(4 * n);
  T *x = columns.data(), *y = x + n, *z = y + n, *mass = z + n;
  for (int64_t i = 0; i < n; i++)
    x[i] = bodies[4 * i], y[i] = bodies[4 * i + 1], z[i] = bodies[4 * i + 2], mass[i] = bodies[4 * i + 3];
#pragma omp parallel for schedule(dynamic, 16)
  for (int64_t i = 0; i < n; i++) {
    const T xi = x[i], yi = y[i], zi = z[i];
    T ax = 0, ay = 0, az = 0;
#pragma omp simd reduction(+ : ax, ay, az)
    for (int64_t j = 0; j < n; j++) {
      const T dx = x[j] - xi, dy = y[j] - yi, dz = z[j] - zi;
      const T inverse = 1 / std::sqrt(dx * dx + dy * dy + dz * dz + softening);
      const T pull = mass[j] * inverse * inverse * inverse;
      ax += dx * pull;
      ay += dy * pull;
      az += dz * pull;
    }
    out[4 * i] = ax, out[4 * i + 1] = ay, out[4 * i + 2] = az, out[4 * i + 3] = 0;
  }
}

template <typename T>
static T distribution(T d) {
  const T k = 1 / (1 + T(0.2316419) * std::fabs(d));
  const T tail = T(0.31938153) + k * (T(-0.356563782) + k * (T(1.781477937) + k * (T(-1.821255978) + k * T(1.330274429))));
  const T area = T(0.39894228040143267794) * std::exp(T(-0.5) * d * d) * k * tail;
  return d > 0 ? 1 - area : area;
}

template <typename T>
static void price_options(void** args, Size size) {
  T* __restrict call = array<T>(args, 0), * __restrict put = array<T>(args, 1);
  const T *price = array<T>(args, 2), *strike = array<T>(args, 3), *years = array<T>(args, 4);
  const T rate = value<T>(args, 5), volatility = value<T>(args, 6);
#pragma omp parallel for simd schedule(static)
  for (int64_t i = 0; i < size[0]; i++) {
    const T s = price[i], x = strike[i], t = years[i], spread = volatility * std::sqrt(t);
    const T d1 = (std::log(s / x) + (rate + T(0.5) * volatility * volatility) * t) / spread;
    const T n1 = distribution(d1), n2 = distribution(d1 - spread), discounted = x * std::exp(-rate * t);
    call[i] = s * n1 - discounted * n2;
    put[i] = discounted * (1 - n2) - s * (1 - n1);
  }
}

static void reduce(void** args, int64_t n, int64_t groups) {
  float* sums = array<float>(args, 0);
  const float* data = array<float>(args, 1);
  const int64_t size = n / groups;
#pragma omp parallel for schedule(static)
  for (int64_t group = 0; group < groups; group++) {
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < size; i++) sum += data[group * size + i];
    sums[group] = sum;
  }
}

template <typename T>
static void enlarge(void** args, Size size) {
  T* __restrict to = array<T>(args, 0);
  const T* __restrict from = array<T>(args, 1);
  const int64_t width = value<int32_t>(args, 2), height = value<int32_t>(args, 3);
  const auto clamp = [](int64_t at, int64_t limit) { return std::clamp<int64_t>(at, 0, limit - 1); };
#pragma omp parallel for schedule(static)
  for (int64_t y = 0; y < size[1]; y++) {
    const float v = (y + 0.5f) * height / size[1] - 0.5f, top = std::floor(v), b = v - top;
    const T *upper = from + clamp(top, height) * width * 4, *lower = from + clamp(top + 1, height) * width * 4;
    for (int64_t x = 0; x < size[0]; x++) {
      const float u = (x + 0.5f) * width / size[0] - 0.5f, left = std::floor(u), a = u - left;
      const int64_t x0 = clamp(left, width) * 4, x1 = clamp(left + 1, width) * 4;
      for (int64_t c = 0; c < 4; c++) {
        const float over = upper[x0 + c] + (upper[x1 + c] - upper[x0 + c]) * a;
        const float under = lower[x0 + c] + (lower[x1 + c] - lower[x0 + c]) * a;
        const float mixed = over + (under - over) * b;
        to[(y * size[0] + x) * 4 + c] = static_cast<T>(std::is_integral_v<T> ? std::nearbyint(mixed) : mixed);
      }
    }
  }
}

static void turn_over(void** args, int64_t width, int64_t height) {
  float* __restrict to = array<float>(args, 0);
  const float* __restrict from = array<float>(args, 1);
  constexpr int64_t tile = 32;
#pragma omp parallel for schedule(static)
  for (int64_t left = 0; left < width; left += tile)
    for (int64_t top = 0; top < height; top += tile) {
      const int64_t columns = std::min(tile, width - left), rows = std::min(tile, height - top);
      // Through a block of its own, so that neither side is walked across its rows.
      float block[tile][tile];
      for (int64_t y = 0; y < rows; y++)
        for (int64_t x = 0; x < columns; x++) block[x][y] = from[(top + y) * width + left + x];
      for (int64_t x = 0; x < columns; x++) std::memcpy(to + (left + x) * height + top, block[x], rows * sizeof(float));
    }
}

extern "C" {

void saxpy(void** args, Size size) { scale_and_add(args, size); }
void saxpy_int(void** args, Size size) { scale_and_add(args, size); }
void saxpy_unchecked(void** args, Size size) { scale_and_add(args, size); }

void triad(void** args, Size size) {
  float* __restrict a = array<float>(args, 0);
  const float* __restrict b = array<float>(args, 1), * __restrict c = array<float>(args, 2);
  const float s = value<float>(args, 3);
#pragma omp parallel for simd schedule(static)
  for (int64_t i = 0; i < size[0]; i++) a[i] = b[i] + s * c[i];
}

void matmul_int(void** args, Size size) { multiply(args, size[0]); }
void matmul_size_t(void** args, Size size) { multiply(args, size[0]); }
void matmul_tiled(void** args, Size size) { multiply(args, size[0]); }
void nbody_f32(void** args, Size size) { attract<float>(args, size); }
void nbody_f64(void** args, Size size) { attract<double>(args, size); }
void black_scholes_f32(void** args, Size size) { price_options<float>(args, size); }
void black_scholes_f64(void** args, Size size) { price_options<double>(args, size); }
void reduce_int(void** args, Size size) { reduce(args, size[0], size[0] / 256); }
void reduce_size_t(void** args, Size size) { reduce(args, size[0], size[0] / 256); }

void mandelbrot(void** args, Size size) {
  uint32_t* counts = array<uint32_t>(args, 0);
  const float left = value<float>(args, 1), top = value<float>(args, 2), step = value<float>(args, 3);
  const uint32_t limit = value<uint32_t>(args, 4);
  constexpr int64_t lanes = 32;
#pragma omp parallel for collapse(2) schedule(dynamic, 16)
  for (int64_t row = 0; row < size[1]; row++)
    for (int64_t begin = 0; begin < size[0]; begin += lanes) {
      float x[lanes] = {}, y[lanes] = {};
      uint32_t count[lanes] = {};
      const float im = top + step * row;
      float re[lanes];
      for (int64_t lane = 0; lane < lanes; lane++) re[lane] = left + step * (begin + lane);
      for (uint32_t k = 0, inside = 1; k < limit && inside; k++) {
        inside = 0;
#pragma omp simd reduction(| : inside)
        for (int64_t lane = 0; lane < lanes; lane++) {
          const float xx = x[lane] * x[lane], yy = y[lane] * y[lane];
          const uint32_t still = xx + yy <= 4.0f;
          // A lane that has left goes on, uncounted: it stays outside, and its numbers end as infinities.
          y[lane] = 2 * x[lane] * y[lane] + im;
          x[lane] = xx - yy + re[lane];
          count[lane] += still;
          inside |= still;
        }
      }
      std::memcpy(counts + row * size[0] + begin, count, sizeof count);
    }
}

void histogram(void** args, Size) {
  uint32_t* counts = array<uint32_t>(args, 0);
  const uint8_t* data = array<uint8_t>(args, 1);
  const int64_t n = value<uint32_t>(args, 2);
#pragma omp parallel
  {
    // Several tables, so that equal neighbours do not wait for one another.
    uint32_t own[4][256] = {};
#pragma omp for schedule(static)
    for (int64_t i = 0; i < n / 4; i++)
      for (int k = 0; k < 4; k++) own[k][data[4 * i + k]]++;
#pragma omp critical
    for (int bin = 0; bin < 256; bin++) counts[bin] += own[0][bin] + own[1][bin] + own[2][bin] + own[3][bin];
  }
  for (int64_t i = n / 4 * 4; i < n; i++) counts[data[i]]++;
}

void convolve(void** args, Size size) {
  float* __restrict to = array<float>(args, 0);
  const float* __restrict from = array<float>(args, 1);
  const float* weights = array<float>(args, 2);
  const int64_t width = size[0], height = size[1];
  const auto at = [&](int64_t x, int64_t y) {
    float sum = 0;
    for (int64_t dy = -2; dy <= 2; dy++)
      for (int64_t dx = -2; dx <= 2; dx++)
        sum += weights[(dy + 2) * 5 + dx + 2] *
               from[std::clamp<int64_t>(y + dy, 0, height - 1) * width + std::clamp<int64_t>(x + dx, 0, width - 1)];
    return sum;
  };
#pragma omp parallel for schedule(static)
  for (int64_t y = 0; y < height; y++) {
    const bool edge = y < 2 || y >= height - 2;
    const int64_t first = edge ? width : std::min<int64_t>(2, width), last = std::max(first, width - 2);
    for (int64_t x = 0; x < first; x++) to[y * width + x] = at(x, y);
    for (int64_t x = last; x < width; x++) to[y * width + x] = at(x, y);
#pragma omp simd
    for (int64_t x = first; x < last; x++) {
      float sum = 0;
      for (int64_t dy = 0; dy < 5; dy++)
        for (int64_t dx = 0; dx < 5; dx++) sum += weights[dy * 5 + dx] * from[(y + dy - 2) * width + x + dx - 2];
      to[y * width + x] = sum;
    }
  }
}

void transpose(void** args, Size) { turn_over(args, value<int32_t>(args, 2), value<int32_t>(args, 3)); }
void turn(void** args, Size) { turn_over(args, value<int32_t>(args, 2), value<int32_t>(args, 2)); }

void diffuse(void** args, Size) {
  float* __restrict to = array<float>(args, 0);
  const float* __restrict from = array<float>(args, 1);
  const float rate = value<float>(args, 2);
  const int64_t n = value<int32_t>(args, 3), layer = n * n;
#pragma omp parallel for collapse(2) schedule(static)
  for (int64_t z = 1; z < n - 1; z++)
    for (int64_t y = 1; y < n - 1; y++) {
      const int64_t row = z * layer + y * n;
#pragma omp simd
      for (int64_t at = row + 1; at < row + n - 1; at++) {
        const float around = from[at - 1] + from[at + 1] + from[at - n] + from[at + n] + from[at - layer] + from[at + layer];
        to[at] = from[at] + rate * (around - 6 * from[at]);
      }
    }
}

void scan_group(void** args, Size size) {
  int32_t* sums = array<int32_t>(args, 0);
  const int32_t* data = array<int32_t>(args, 1);
#pragma omp parallel for schedule(static)
  for (int64_t begin = 0; begin < size[0]; begin += 256)
    for (int64_t i = begin, sum = 0; i < begin + 256; i++) sums[i] = static_cast<int32_t>(sum += data[i]);
}

void bitonic_step(void** args, Size size) {
  uint32_t* data = array<uint32_t>(args, 0);
  for (int64_t stage = 2; stage <= size[0]; stage *= 2)
    for (int64_t distance = stage / 2; distance > 0; distance /= 2) {
#pragma omp parallel for schedule(static)
      for (int64_t pair = 0; pair < size[0] / 2; pair++) {
        const int64_t low = pair / distance * 2 * distance + pair % distance, high = low + distance;
        const uint32_t a = data[low], b = data[high];
        const bool swap = (a > b) == ((low & stage) == 0);
        data[low] = swap ? b : a;
        data[high] = swap ? a : b;
      }
    }
}

void spmv(void** args, Size size) {
  float* y = array<float>(args, 0);
  const int32_t *starts = array<int32_t>(args, 1), *columns = array<int32_t>(args, 2);
  const float *values = array<float>(args, 3), *x = array<float>(args, 4);
#pragma omp parallel for schedule(static)
  for (int64_t row = 0; row < size[0]; row++) {
    float sum = 0;
    for (int32_t k = starts[row]; k < starts[row + 1]; k++) sum += values[k] * x[columns[k]];
    y[row] = sum;
  }
}

void hash(void** args, Size size) {
  uint32_t* __restrict to = array<uint32_t>(args, 0);
  const uint32_t* __restrict from = array<uint32_t>(args, 1);
  const uint32_t rounds = value<uint32_t>(args, 2);
  constexpr int64_t lanes = 64;
#pragma omp parallel for schedule(static)
  for (int64_t begin = 0; begin < size[0]; begin += lanes) {
    uint32_t h[lanes];
    std::memcpy(h, from + begin, sizeof h);
    for (uint32_t round = 0; round < rounds; round++)
      for (uint32_t& each : h) {
        each ^= each >> 16;
        each *= 0x85ebca6bu;
        each ^= each >> 13;
        each *= 0xc2b2ae35u;
        each ^= each >> 16;
        each += round;
      }
    std::memcpy(to + begin, h, sizeof h);
  }
}

void bilinear_uchar4(void** args, Size size) { enlarge<uint8_t>(args, size); }
void bilinear_float4(void** args, Size size) { enlarge<float>(args, size); }

void empty(void**, Size) {
#pragma omp parallel
  {
  }
}
}
