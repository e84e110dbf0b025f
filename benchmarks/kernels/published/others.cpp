// The programs after Parboil, PolyBench/GPU and HeCBench in plain C++ with OpenMP.

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <vector>

#include "native.h"

extern "C" {

void stencil(void** args, Size) {
  const float centre = value<float>(args, 0), around = value<float>(args, 1);
  const float* from = array<float>(args, 2);
  float* __restrict to = array<float>(args, 3);
  const int64_t nx = value<int32_t>(args, 4), ny = value<int32_t>(args, 5), nz = value<int32_t>(args, 6), layer = nx * ny;
#pragma omp parallel for collapse(2) schedule(static)
  for (int64_t z = 1; z < nz - 1; z++)
    for (int64_t y = 1; y < ny - 1; y++) {
      const int64_t row = nx * (y + ny * z);
#pragma omp simd
      for (int64_t at = row + 1; at < row + nx - 1; at++)
        to[at] = around * (from[at + 1] + from[at - 1] + from[at + nx] + from[at - nx] + from[at + layer] + from[at - layer]) -
                 centre * from[at];
    }
}

void sgemm(void** args, Size size) {
  const float* __restrict a = array<float>(args, 0);
  const float* __restrict b = array<float>(args, 2);
  float* __restrict c = array<float>(args, 4);
  const int64_t lda = value<int32_t>(args, 1), ldb = value<int32_t>(args, 3), ldc = value<int32_t>(args, 5),
                depth = value<int32_t>(args, 6);
  const float alpha = value<float>(args, 7), beta = value<float>(args, 8);
  const int64_t m = size[0] / 16 * 128, n = size[1] / 8 * 16;
  constexpr int64_t rows = 64, columns = 8;
#pragma omp parallel for collapse(2) schedule(dynamic)
  for (int64_t left = 0; left < n; left += columns)
    for (int64_t top = 0; top < m; top += rows) {
      float sums[columns][rows] = {};
      for (int64_t k = 0; k < depth; k++)
        for (int64_t column = 0; column < columns; column++) {
#pragma omp simd
          for (int64_t row = 0; row < rows; row++) sums[column][row] += a[top + row + k * lda] * b[left + column + k * ldb];
        }
      for (int64_t column = 0; column < columns; column++)
        for (int64_t row = 0; row < rows; row++) {
          float& to = c[top + row + (left + column) * ldc];
          to = to * beta + alpha * sums[column][row];
        }
    }
}

void mri_q(void** args, Size size) {
  const float *x = array<float>(args, 0), *y = array<float>(args, 1), *z = array<float>(args, 2), *samples = array<float>(args, 5);
  float *real = array<float>(args, 3), *imaginary = array<float>(args, 4);
  const int64_t count = value<int32_t>(args, 6);
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < size[0]; i++) {
    float re = 0, im = 0;
#pragma omp simd reduction(+ : re, im)
    for (int64_t k = 0; k < count; k++) {
      const float* sample = samples + 4 * k;
      const float angle = 6.2831853071795864769f * (sample[0] * x[i] + sample[1] * y[i] + sample[2] * z[i]);
      re += sample[3] * std::cos(angle);
      im += sample[3] * std::sin(angle);
    }
    real[i] += re;
    imaginary[i] += im;
  }
}

void sad(void** args, Size size) {
  const uint8_t *frame = array<uint8_t>(args, 0), *reference = array<uint8_t>(args, 1);
  uint32_t* sums = array<uint32_t>(args, 2);
  const int64_t width = value<int32_t>(args, 3), reach = value<int32_t>(args, 4), across = value<int32_t>(args, 5);
  const int64_t side = 2 * reach + 1, wide = width + 2 * reach;
#pragma omp parallel for schedule(static)
  for (int64_t block = 0; block < size[1]; block++) {
    const int64_t x = block % across * 16, y = block / across * 16;
    for (int64_t place = 0; place < side * side; place++) {
      const uint8_t *own = frame + y * width + x, *other = reference + (y + place / side) * wide + x + place % side;
      uint32_t sum = 0;
      for (int64_t row = 0; row < 16; row++)
        for (int64_t column = 0; column < 16; column++) sum += std::abs(own[row * width + column] - other[row * wide + column]);
      sums[block * side * side + place] = sum;
    }
  }
}

void tpacf(void** args, Size) {
  constexpr int64_t bins = 32;
  const float *x = array<float>(args, 0), *y = array<float>(args, 1), *z = array<float>(args, 2), *bounds = array<float>(args, 3);
  uint32_t* counts = array<uint32_t>(args, 4);
  const int64_t points = value<int32_t>(args, 5);
#pragma omp parallel
  {
    uint32_t own[bins] = {};
#pragma omp for schedule(dynamic, 16)
    for (int64_t i = 0; i < points; i++)
      for (int64_t j = i + 1; j < points; j++) {
        const float cosine = x[i] * x[j] + y[i] * y[j] + z[i] * z[j];
        int64_t low = 0, high = bins;
        while (high > low + 1) {
          const int64_t middle = (low + high) / 2;
          (cosine >= bounds[middle] ? high : low) = middle;
        }
        own[low]++;
      }
#pragma omp critical
    for (int64_t bin = 0; bin < bins; bin++) counts[bin] += own[bin];
  }
}

void syrk(void** args, Size) {
  const float* a = array<float>(args, 0);
  float* c = array<float>(args, 1);
  const float alpha = value<float>(args, 2), beta = value<float>(args, 3);
  const int64_t m = value<int32_t>(args, 4), n = value<int32_t>(args, 5);
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++) {
      float sum = 0;
#pragma omp simd reduction(+ : sum)
      for (int64_t k = 0; k < m; k++) sum += a[i * m + k] * a[j * m + k];
      c[i * n + j] = beta * c[i * n + j] + alpha * sum;
    }
}

void gesummv(void** args, Size) {
  const float *a = array<float>(args, 0), *b = array<float>(args, 1), *x = array<float>(args, 2);
  float *y = array<float>(args, 3), *partial = array<float>(args, 4);
  const float alpha = value<float>(args, 5), beta = value<float>(args, 6);
  const int64_t n = value<int32_t>(args, 7);
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < n; i++) {
    float first = 0, second = 0;
#pragma omp simd reduction(+ : first, second)
    for (int64_t j = 0; j < n; j++) first += a[i * n + j] * x[j], second += b[i * n + j] * x[j];
    partial[i] = first;
    y[i] = alpha * first + beta * second;
  }
}

void bicg(void** args, Size) {
  const float *a = array<float>(args, 0), *r = array<float>(args, 1);
  float* s = array<float>(args, 2);
  const int64_t nx = value<int32_t>(args, 3), ny = value<int32_t>(args, 4);
  constexpr int64_t part = 256;
#pragma omp parallel for schedule(static)
  for (int64_t begin = 0; begin < ny; begin += part) {
    const int64_t count = std::min(part, ny - begin);
    float sums[part] = {};
    for (int64_t i = 0; i < nx; i++) {
#pragma omp simd
      for (int64_t j = 0; j < count; j++) sums[j] += a[i * ny + begin + j] * r[i];
    }
    std::copy_n(sums, count, s + begin);
  }
}

void covariance(void** args, Size) {
  float* matrix = array<float>(args, 0);
  const float* data = array<float>(args, 1);
  const int64_t m = value<int32_t>(args, 2), n = value<int32_t>(args, 3);
#pragma omp parallel for schedule(dynamic, 4)
  for (int64_t first = 0; first < m; first++) {
    float* row = matrix + first * m;
    std::fill(row + first, row + m, 0.0f);
    for (int64_t i = 0; i < n; i++) {
#pragma omp simd
      for (int64_t second = first; second < m; second++) row[second] += data[i * m + first] * data[i * m + second];
    }
    for (int64_t second = first; second < m; second++) matrix[second * m + first] = row[second];
  }
}

void jacobi2d(void** args, Size) {
  const float* a = array<float>(args, 0);
  float* __restrict b = array<float>(args, 1);
  const int64_t n = value<int32_t>(args, 2);
#pragma omp parallel for schedule(static)
  for (int64_t i = 1; i < n - 1; i++)
#pragma omp simd
    for (int64_t j = 1; j < n - 1; j++)
      b[i * n + j] = 0.2f * (a[i * n + j] + a[i * n + j - 1] + a[i * n + j + 1] + a[(i + 1) * n + j] + a[(i - 1) * n + j]);
}

void table_cipher(void** args, Size size) {
  const uint32_t *from = array<uint32_t>(args, 0), *tables = array<uint32_t>(args, 2), *keys = array<uint32_t>(args, 3);
  uint32_t* to = array<uint32_t>(args, 1);
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < size[0]; i++) {
    uint32_t s[4], next[4];
    std::memcpy(s, from + 4 * i, sizeof s);
    for (int64_t round = 0; round < 10; round++) {
      for (int64_t k = 0; k < 4; k++)
        next[k] = tables[s[k] >> 24] ^ tables[256 + (s[(k + 1) % 4] >> 16 & 255)] ^ tables[512 + (s[(k + 2) % 4] >> 8 & 255)] ^
                  tables[768 + (s[(k + 3) % 4] & 255)] ^ keys[4 * round + k];
      std::memcpy(s, next, sizeof s);
    }
    std::memcpy(to + 4 * i, s, sizeof s);
  }
}

void median_filter(void** args, Size) {
  const uint8_t* from = array<uint8_t>(args, 0);
  uint8_t* __restrict to = array<uint8_t>(args, 1);
  const int64_t width = value<int32_t>(args, 2), height = value<int32_t>(args, 3);
  const auto middle = [](uint8_t a, uint8_t b, uint8_t c) { return std::max(std::min(a, b), std::min(std::max(a, b), c)); };
#pragma omp parallel for schedule(static)
  for (int64_t y = 0; y < height; y++) {
    const uint8_t* rows[3] = {from + std::max<int64_t>(y - 1, 0) * width, from + y * width,
                              from + std::min(y + 1, height - 1) * width};
    const auto at = [&](int64_t west, int64_t x, int64_t east) {
      uint8_t low[3], mid[3], high[3];
      for (int k = 0; k < 3; k++) {
        const uint8_t a = rows[k][west], b = rows[k][x], c = rows[k][east];
        low[k] = std::min(std::min(a, b), c), high[k] = std::max(std::max(a, b), c), mid[k] = middle(a, b, c);
      }
      return middle(std::max(std::max(low[0], low[1]), low[2]), middle(mid[0], mid[1], mid[2]),
                    std::min(std::min(high[0], high[1]), high[2]));
    };
    to[y * width] = at(0, 0, 1);
#pragma omp simd
    for (int64_t x = 1; x < width - 1; x++) to[y * width + x] = at(x - 1, x, x + 1);
    to[y * width + width - 1] = at(width - 2, width - 1, width - 1);
  }
}

void floyd_warshall(void** args, Size) {
  uint32_t* distance = array<uint32_t>(args, 0);
  const int64_t n = value<int32_t>(args, 1);
  for (int64_t k = 0; k < n; k++) {
#pragma omp parallel for schedule(static)
    for (int64_t y = 0; y < n; y++) {
      const uint32_t first = distance[y * n + k];
#pragma omp simd
      for (int64_t x = 0; x < n; x++) distance[y * n + x] = std::min(distance[y * n + x], first + distance[k * n + x]);
    }
  }
}

void softmax(void** args, Size) {
  const float* from = array<float>(args, 0);
  float* to = array<float>(args, 1);
  const int64_t rows = value<int32_t>(args, 2), columns = value<int32_t>(args, 3);
#pragma omp parallel for schedule(static)
  for (int64_t row = 0; row < rows; row++) {
    const float* own = from + row * columns;
    float* made = to + row * columns;
    const float most = *std::max_element(own, own + columns);
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t j = 0; j < columns; j++) sum += made[j] = std::exp(own[j] - most);
    for (int64_t j = 0; j < columns; j++) made[j] /= sum;
  }
}

void layer_norm(void** args, Size size) {
  const float *from = array<float>(args, 0), *weight = array<float>(args, 2), *bias = array<float>(args, 3);
  float* to = array<float>(args, 1);
  const int64_t columns = value<int32_t>(args, 4);
#pragma omp parallel for schedule(static)
  for (int64_t row = 0; row < size[0] / 256; row++) {
    const float* own = from + row * columns;
    float sum = 0, squares = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t j = 0; j < columns; j++) sum += own[j];
    const float mean = sum / columns;
#pragma omp simd reduction(+ : squares)
    for (int64_t j = 0; j < columns; j++) squares += (own[j] - mean) * (own[j] - mean);
    const float scale = 1 / std::sqrt(squares / columns + 1e-5f);
#pragma omp simd
    for (int64_t j = 0; j < columns; j++) to[row * columns + j] = (own[j] - mean) * scale * weight[j] + bias[j];
  }
}

void attention(void** args, Size) {
  const float *queries = array<float>(args, 0), *keys = array<float>(args, 1), *values = array<float>(args, 2);
  float* to = array<float>(args, 3);
  const int64_t count = value<int32_t>(args, 5), width = value<int32_t>(args, 6);
#pragma omp parallel
  {
    std::vector<float> weights(count);
#pragma omp for schedule(static)
    for (int64_t query = 0; query < count; query++) {
      float most = -FLT_MAX, sum = 0;
      for (int64_t k = 0; k < count; k++) {
        float product = 0;
#pragma omp simd reduction(+ : product)
        for (int64_t j = 0; j < width; j++) product += queries[query * width + j] * keys[k * width + j];
        weights[k] = product / std::sqrt(static_cast<float>(width));
        most = std::max(most, weights[k]);
      }
#pragma omp simd reduction(+ : sum)
      for (int64_t k = 0; k < count; k++) sum += weights[k] = std::exp(weights[k] - most);
      float* made = to + query * width;
      std::fill_n(made, width, 0.0f);
      for (int64_t k = 0; k < count; k++) {
#pragma omp simd
        for (int64_t j = 0; j < width; j++) made[j] += weights[k] * values[k * width + j];
      }
      for (int64_t j = 0; j < width; j++) made[j] /= sum;
    }
  }
}

void monte_carlo(void** args, Size size) {
  const uint32_t* seeds = array<uint32_t>(args, 0);
  uint32_t* hits = array<uint32_t>(args, 1);
  const int64_t draws = value<int32_t>(args, 2);
  constexpr int64_t lanes = 64;
#pragma omp parallel for schedule(static)
  for (int64_t begin = 0; begin < size[0]; begin += lanes) {
    uint32_t state[lanes], inside[lanes] = {};
    std::memcpy(state, seeds + begin, sizeof state);
    const auto next = [](uint32_t& s) {
      s ^= s << 13, s ^= s >> 17, s ^= s << 5;
      return static_cast<float>(static_cast<int32_t>(s >> 8)) * 0x1p-24f;
    };
    for (int64_t i = 0; i < draws; i++)
#pragma omp simd
      for (int64_t lane = 0; lane < lanes; lane++) {
        const float x = next(state[lane]), y = next(state[lane]);
        inside[lane] += x * x + y * y < 1 ? 1u : 0u;
      }
    std::memcpy(hits + begin, inside, sizeof inside);
  }
}
}
