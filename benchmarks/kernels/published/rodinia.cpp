// The programs after Rodinia in plain C++ with OpenMP: the loops that a person would write for a processor.

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <vector>

#include "native.h"

namespace {

constexpr float ambient = 80.0f;

struct State {
  float density, x, y, z, energy, vx, vy, vz, speed, pressure, sound;
};

State derived(float density, float x, float y, float z, float energy) {
  State s{density, x, y, z, energy, x / density, y / density, z / density, 0, 0, 0};
  const float square = s.vx * s.vx + s.vy * s.vy + s.vz * s.vz;
  s.speed = std::sqrt(square);
  s.pressure = 0.4f * (energy - 0.5f * density * square);
  s.sound = std::sqrt(1.4f * s.pressure / density);
  return s;
}

}  // namespace

extern "C" {

void hotspot(void** args, Size) {
  const int64_t steps = value<int32_t>(args, 0), width = value<int32_t>(args, 4), height = value<int32_t>(args, 5);
  const float *power = array<float>(args, 1), *before = array<float>(args, 2);
  float* after = array<float>(args, 3);
  const float pace = value<float>(args, 6), rx = value<float>(args, 7), ry = value<float>(args, 8), rz = value<float>(args, 9);
  static std::vector<float> scratch;
  scratch.resize(width * height);
  const float* from = before;
  for (int64_t step = 0; step < steps; step++) {
    float* __restrict to = (steps - step) % 2 ? after : scratch.data();
#pragma omp parallel for schedule(static)
    for (int64_t y = 0; y < height; y++) {
      const float *row = from + y * width, *up = y > 0 ? row - width : row, *down = y < height - 1 ? row + width : row;
      const auto at = [&](int64_t x, int64_t west, int64_t east) {
        const float here = row[x];
        return here + pace * (power[y * width + x] + (up[x] + down[x] - 2 * here) / ry + (row[west] + row[east] - 2 * here) / rx +
                              (ambient - here) / rz);
      };
      to[y * width] = at(0, 0, 1);
#pragma omp simd
      for (int64_t x = 1; x < width - 1; x++) to[y * width + x] = at(x, x - 1, x + 1);
      to[y * width + width - 1] = at(width - 1, width - 2, width - 1);
    }
    from = to;
  }
}

void hotspot3d(void** args, Size) {
  const float *power = array<float>(args, 0), *before = array<float>(args, 1);
  float* __restrict after = array<float>(args, 2);
  const float pace = value<float>(args, 3);
  const int64_t width = value<int32_t>(args, 4), height = value<int32_t>(args, 5), layers = value<int32_t>(args, 6);
  const float across = value<float>(args, 7), down = value<float>(args, 8), through = value<float>(args, 9),
              centre = value<float>(args, 10);
  const int64_t layer = width * height;
#pragma omp parallel for collapse(2) schedule(static)
  for (int64_t z = 0; z < layers; z++)
    for (int64_t y = 0; y < height; y++) {
      const float* row = before + z * layer + y * width;
      const float *north = y > 0 ? row - width : row, *south = y < height - 1 ? row + width : row;
      const float *below = z > 0 ? row - layer : row, *above = z < layers - 1 ? row + layer : row;
      const float* heat = power + z * layer + y * width;
      float* to = after + z * layer + y * width;
      const auto at = [&](int64_t x, int64_t west, int64_t east) {
        return centre * row[x] + across * (row[west] + row[east]) + down * (north[x] + south[x]) + through * (below[x] + above[x]) +
               pace * heat[x] + through * ambient;
      };
      to[0] = at(0, 0, 1);
#pragma omp simd
      for (int64_t x = 1; x < width - 1; x++) to[x] = at(x, x - 1, x + 1);
      to[width - 1] = at(width - 1, width - 2, width - 1);
    }
}

void pathfinder(void** args, Size size) {
  const int64_t steps = value<int32_t>(args, 0), columns = value<int32_t>(args, 3);
  const int32_t* wall = array<int32_t>(args, 1);
  int32_t* costs = array<int32_t>(args, 2);
  static std::vector<int32_t> scratch;
  scratch.resize(2 * columns);
  for (int64_t launch = 0; launch < size[3]; launch++) {
    const int32_t* from = costs + launch % 2 * columns;
    for (int64_t step = 0; step < steps; step++) {
      int32_t* __restrict to = step == steps - 1 ? costs + (launch + 1) % 2 * columns : scratch.data() + step % 2 * columns;
      const int32_t* row = wall + (1 + launch * steps + step) * columns;
      to[0] = std::min(from[0], from[1]) + row[0];
#pragma omp parallel for simd schedule(static)
      for (int64_t x = 1; x < columns - 1; x++) to[x] = std::min(std::min(from[x - 1], from[x + 1]), from[x]) + row[x];
      to[columns - 1] = std::min(from[columns - 2], from[columns - 1]) + row[columns - 1];
      from = to;
    }
  }
}

void srad(void** args, Size) {
  const int64_t rows = value<int32_t>(args, 0), columns = value<int32_t>(args, 1);
  const int32_t *north = array<int32_t>(args, 2), *south = array<int32_t>(args, 3);
  const int32_t *west = array<int32_t>(args, 4), *east = array<int32_t>(args, 5);
  float *dn = array<float>(args, 6), *ds = array<float>(args, 7), *dw = array<float>(args, 8), *de = array<float>(args, 9);
  const float q0 = value<float>(args, 10);
  float* coefficient = array<float>(args, 11);
  const float* image = array<float>(args, 12);
#pragma omp parallel for schedule(static)
  for (int64_t column = 0; column < columns; column++)
#pragma omp simd
    for (int64_t row = 0; row < rows; row++) {
      const int64_t at = row + rows * column;
      const float here = image[at];
      const float n = image[north[row] + rows * column] - here, s = image[south[row] + rows * column] - here;
      const float w = image[row + rows * west[column]] - here, e = image[row + rows * east[column]] - here;
      const float gradient = (n * n + s * s + w * w + e * e) / (here * here), laplace = (n + s + w + e) / here;
      const float under = 1 + 0.25f * laplace, q = (0.5f * gradient - laplace * laplace / 16) / (under * under);
      const float c = 1 / (1 + (q - q0) / (q0 * (1 + q0)));
      dn[at] = n, ds[at] = s, dw[at] = w, de[at] = e;
      coefficient[at] = c < 0 ? 0 : c > 1 ? 1 : c;
    }
}

void kmeans(void** args, Size) {
  const float *features = array<float>(args, 0), *centres = array<float>(args, 1);
  int32_t* membership = array<int32_t>(args, 2);
  const int64_t points = value<int32_t>(args, 3), clusters = value<int32_t>(args, 4), dimensions = value<int32_t>(args, 5);
  constexpr int64_t part = 64;
#pragma omp parallel for schedule(static)
  for (int64_t begin = 0; begin < points; begin += part) {
    const int64_t count = std::min(part, points - begin);
    float least[part];
    int32_t index[part] = {};
    std::fill_n(least, part, FLT_MAX);
    for (int64_t c = 0; c < clusters; c++) {
      float distance[part] = {};
      for (int64_t f = 0; f < dimensions; f++) {
        const float centre = centres[c * dimensions + f];
#pragma omp simd
        for (int64_t i = 0; i < count; i++) {
          const float apart = features[f * points + begin + i] - centre;
          distance[i] += apart * apart;
        }
      }
#pragma omp simd
      for (int64_t i = 0; i < count; i++) {
        index[i] = distance[i] < least[i] ? static_cast<int32_t>(c) : index[i];
        least[i] = std::min(least[i], distance[i]);
      }
    }
    std::copy_n(index, count, membership + begin);
  }
}

void backprop(void** args, Size size) {
  const float *input = array<float>(args, 0), *weights = array<float>(args, 1);
  float* partial = array<float>(args, 2);
  const int64_t hidden = value<int32_t>(args, 5), groups = size[1] / 16;
#pragma omp parallel for schedule(static)
  for (int64_t group = 0; group < groups; group++) {
    float sums[16] = {};
    for (int64_t y = 0; y < 16; y++) {
      const int64_t row = 16 * group + y + 1;
#pragma omp simd
      for (int64_t x = 0; x < 16; x++) sums[x] += weights[(hidden + 1) * row + x + 1] * input[row];
    }
    std::copy_n(sums, 16, partial + group * hidden);
  }
}

void gaussian(void** args, Size) {
  float *a = array<float>(args, 0), *b = array<float>(args, 1);
  const int64_t n = value<int32_t>(args, 2);
  for (int64_t t = 0; t < n - 1; t++) {
#pragma omp parallel for schedule(static)
    for (int64_t i = t + 1; i < n; i++) {
      const float factor = a[i * n + t] / a[t * n + t];
#pragma omp simd
      for (int64_t j = t + 1; j < n; j++) a[i * n + j] -= factor * a[t * n + j];
      b[i] -= factor * b[t];
    }
  }
}

void needleman(void** args, Size) {
  int32_t* score = array<int32_t>(args, 0);
  const int32_t* similarity = array<int32_t>(args, 1);
  const int64_t n = value<int32_t>(args, 2), wide = n + 1;
  const int32_t penalty = value<int32_t>(args, 3);
  constexpr int64_t tile = 16;
  const int64_t blocks = n / tile;
  for (int64_t diagonal = 0; diagonal < 2 * blocks - 1; diagonal++) {
#pragma omp parallel for schedule(static)
    for (int64_t bx = std::max<int64_t>(0, diagonal - blocks + 1); bx <= std::min(diagonal, blocks - 1); bx++) {
      const int64_t by = diagonal - bx;
      for (int64_t y = by * tile; y < (by + 1) * tile; y++)
        for (int64_t x = bx * tile; x < (bx + 1) * tile; x++)
          score[(y + 1) * wide + x + 1] = std::max(score[y * wide + x] + similarity[y * n + x],
                                                   std::max(score[(y + 1) * wide + x], score[y * wide + x + 1]) - penalty);
    }
  }
}

void bfs(void** args, Size) {
  const int32_t *starts = array<int32_t>(args, 0), *edges = array<int32_t>(args, 1);
  int32_t* distance = array<int32_t>(args, 2);
  const int64_t nodes = value<int32_t>(args, 3);
  int found = 1;
  for (int32_t level = 0; found; level++) {
    found = 0;
#pragma omp parallel for schedule(static) reduction(| : found)
    for (int64_t node = 0; node < nodes; node++) {
      if (distance[node] != level) continue;
      for (int32_t k = starts[node]; k < starts[node + 1]; k++)
        if (distance[edges[k]] < 0) distance[edges[k]] = level + 1, found = 1;
    }
  }
}

void cfd(void** args, Size) {
  const int64_t n = value<int32_t>(args, 0);
  const int32_t* neighbours = array<int32_t>(args, 1);
  const float *normals = array<float>(args, 2), *v = array<float>(args, 3), *far = array<float>(args, 4);
  float* fluxes = array<float>(args, 5);
  const auto loaded = [&](int64_t i) { return derived(v[i], v[i + n], v[i + 2 * n], v[i + 3 * n], v[i + 4 * n]); };
  const State away = derived(far[0], far[1], far[2], far[3], far[4]);
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < n; i++) {
    const State here = loaded(i);
    float mass = 0, mx = 0, my = 0, mz = 0, energy = 0;
    for (int64_t k = 0; k < 4; k++) {
      const int32_t other = neighbours[k * n + i];
      const float nx = normals[3 * k * n + i], ny = normals[(3 * k + 1) * n + i], nz = normals[(3 * k + 2) * n + i];
      if (other == -1) {
        mx += nx * here.pressure, my += ny * here.pressure, mz += nz * here.pressure;
        continue;
      }
      const State there = other >= 0 ? loaded(other) : away;
      if (other >= 0) {
        const float factor = -std::sqrt(nx * nx + ny * ny + nz * nz) * 0.1f * (here.speed + there.speed + here.sound + there.sound);
        mass += factor * (here.density - there.density);
        energy += factor * (here.energy - there.energy);
        mx += factor * (here.x - there.x), my += factor * (here.y - there.y), mz += factor * (here.z - there.z);
      }
      const float in = 0.5f * (nx * here.vx + ny * here.vy + nz * here.vz),
                  out = 0.5f * (nx * there.vx + ny * there.vy + nz * there.vz);
      const float push = 0.5f * (here.pressure + there.pressure);
      mass += 0.5f * (nx * (here.x + there.x) + ny * (here.y + there.y) + nz * (here.z + there.z));
      energy += in * (here.energy + here.pressure) + out * (there.energy + there.pressure);
      mx += in * here.x + out * there.x + nx * push;
      my += in * here.y + out * there.y + ny * push;
      mz += in * here.z + out * there.z + nz * push;
    }
    fluxes[i] = mass, fluxes[i + n] = mx, fluxes[i + 2 * n] = my, fluxes[i + 3 * n] = mz, fluxes[i + 4 * n] = energy;
  }
}

void lavamd(void** args, Size size) {
  constexpr int64_t particles = 100;
  const float decay = value<float>(args, 0);
  const int32_t *counts = array<int32_t>(args, 1), *lists = array<int32_t>(args, 2);
  const float *positions = array<float>(args, 3), *charges = array<float>(args, 4);
  float* forces = array<float>(args, 5);
#pragma omp parallel for schedule(dynamic)
  for (int64_t box = 0; box < size[0] / 128; box++) {
    float sums[particles][4] = {};
    for (int64_t k = 0; k < counts[box]; k++) {
      const int64_t other = lists[27 * box + k];
      float x[particles], y[particles], z[particles];
      const float* charge = charges + other * particles;
      for (int64_t j = 0; j < particles; j++) {
        const float* place = positions + 4 * (other * particles + j);
        x[j] = place[0], y[j] = place[1], z[j] = place[2];
      }
      for (int64_t i = 0; i < particles; i++) {
        const float* own = positions + 4 * (box * particles + i);
        float sx = 0, sy = 0, sz = 0, sw = 0;
#pragma omp simd reduction(+ : sx, sy, sz, sw)
        for (int64_t j = 0; j < particles; j++) {
          const float dx = own[0] - x[j], dy = own[1] - y[j], dz = own[2] - z[j];
          const float potential = charge[j] * std::exp(-decay * (dx * dx + dy * dy + dz * dz));
          sw += potential;
          sx += 2 * potential * dx, sy += 2 * potential * dy, sz += 2 * potential * dz;
        }
        sums[i][0] += sx, sums[i][1] += sy, sums[i][2] += sz, sums[i][3] += sw;
      }
    }
    std::copy_n(sums[0], 4 * particles, forces + 4 * box * particles);
  }
}
}
