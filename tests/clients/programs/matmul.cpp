// A program as one finds them: devices, two versions of a kernel, a reference on the host, timing, and classes around the handles.
// matmul FILE, which has the kernels "matmul_int" and "matmul_tiled"
#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "check.h"

namespace {

constexpr int32_t kSize = 96, kTile = 16;

template <auto destroy>
struct Destroyer {
  template <class T>
  void operator()(T* handle) const {
    CHECK(destroy(handle));
  }
};
template <class Handle, auto destroy>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, Destroyer<destroy>>;

using Module = Owned<ze_module_handle_t, zeModuleDestroy>;
using Kernel = Owned<ze_kernel_handle_t, zeKernelDestroy>;
using List = Owned<ze_command_list_handle_t, zeCommandListDestroy>;
using Pool = Owned<ze_event_pool_handle_t, zeEventPoolDestroy>;
using Event = Owned<ze_event_handle_t, zeEventDestroy>;
using Context = Owned<ze_context_handle_t, zeContextDestroy>;

struct Matrix {
  setup_t s;
  float* data = static_cast<float*>(shared(s));

  explicit Matrix(setup_t setup) : s(setup) {}
  Matrix(const Matrix&) = delete;
  ~Matrix() { CHECK(zeMemFree(s.context, data)); }

  static void* shared(setup_t s) {
    ze_device_mem_alloc_desc_t device = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
    ze_host_mem_alloc_desc_t host = {.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
    void* memory = nullptr;
    CHECK(zeMemAllocShared(s.context, &device, &host, kSize * kSize * sizeof(float), 64, s.device, &memory));
    return memory;
  }
};

double worst(const Matrix& c, const Matrix& a, const Matrix& b) {
  double most = 0;
  for (int row = 0; row < kSize; ++row)
    for (int column = 0; column < kSize; ++column) {
      double sum = 0;
      for (int k = 0; k < kSize; ++k) sum += double{a.data[row * kSize + k]} * b.data[k * kSize + column];
      most = std::max(most, std::fabs(sum - c.data[row * kSize + column]));
    }
  return most;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  setup_t s = set_up();
  Context context(s.context);
  Module module(load_module(s, argv[1]));
  Pool pool(make_pool(s, 1, ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP));
  Event done(make_event(pool.get(), 0));
  List list(make_immediate(s, 0, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS));
  Matrix a(s), b(s), c(s);
  std::mt19937 random(1);
  std::uniform_real_distribution<float> some(-1, 1);
  for (int i = 0; i < kSize * kSize; ++i) a.data[i] = some(random), b.data[i] = some(random);

  for (const char* name : {"matmul_int", "matmul_tiled"}) {
    std::fill_n(c.data, kSize * kSize, NAN);
    Kernel kernel(make_kernel(module.get(), name));
    CHECK(zeKernelSetGroupSize(kernel.get(), kTile, kTile, 1));
    ARGUMENT(kernel.get(), 0, c.data);
    ARGUMENT(kernel.get(), 1, a.data);
    ARGUMENT(kernel.get(), 2, b.data);
    ARGUMENT(kernel.get(), 3, kSize);
    ze_group_count_t groups = {kSize / kTile, kSize / kTile, 1};
    CHECK(zeCommandListAppendLaunchKernel(list.get(), kernel.get(), &groups, done.get(), 0, nullptr));
    CHECK(zeEventHostSynchronize(done.get(), FOREVER));
    ze_kernel_timestamp_result_t times;
    CHECK(zeEventQueryKernelTimestamp(done.get(), &times));
    CHECK(zeEventHostReset(done.get()));
    double error = worst(c, a, b);
    prove(error < 1e-4, "%s: %d x %d in %lu ns, off by no more than %.1e", name, kSize, kSize,
          static_cast<unsigned long>(times.global.kernelEnd - times.global.kernelStart), error);
  }
}
