// Specialization constants: numbers that a module leaves open, and that are as good as written in its source.
#include "kernels.h"

namespace {

constexpr uint32_t kTerms = 0, kCoefficient = 1;  // their numbers in specialization_constants.cl

bool computes(const Setup& s, const ze_module_constants_t* constants, std::vector<float> expected) {
  Bytes code = spirv("specialization_constants");
  ze_module_desc_t desc = spirv_desc(code);
  desc.pConstants = constants;
  ze_module_handle_t module = make_module(s, desc);
  ze_kernel_handle_t polynomial = make_kernel(module, "polynomial");
  float* x = s.host<float>(4);
  float* y = s.host<float>(4);
  for (int i = 0; i < 4; ++i) x[i] = static_cast<float>(i);
  run_kernel(s, polynomial, 4, 4, y, x);
  bool good = std::vector<float>(y, y + 4) == expected;
  CHECK(zeMemFree(s.context, x));
  CHECK(zeMemFree(s.context, y));
  CHECK(zeKernelDestroy(polynomial));
  CHECK(zeModuleDestroy(module));
  return good;
}

}  // namespace

int main() {
  Setup s;
  prove(computes(s, nullptr, {1, 2, 3, 4}), "with the values of the source it is x + 1");

  // The driver takes as many bytes from each address as the constant has in the module.
  uint32_t numbers[] = {kTerms, kCoefficient};
  int32_t terms = 3;
  float coefficient = 0.5f;
  const void* values[] = {&terms, &coefficient};
  ze_module_constants_t constants = {.numConstants = 2, .pConstantIds = numbers, .pConstantValues = values};
  prove(computes(s, &constants, {0.5f, 1.5f, 3.5f, 6.5f}), "with others it is (x^2 + x + 1) / 2");
}
