// A sampler: how a kernel reads between the pixels of an image and beyond its edges. Kernels themselves come later.
#include "check.h"

int main() {
  Setup s;
  ze_sampler_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_SAMPLER_DESC,
                            .addressMode = ZE_SAMPLER_ADDRESS_MODE_CLAMP,
                            .filterMode = ZE_SAMPLER_FILTER_MODE_LINEAR,
                            .isNormalized = false};
  ze_sampler_handle_t sampler = nullptr;
  CHECK(zeSamplerCreate(s.context, s.device, &desc, &sampler));
  prove(sampler != nullptr, "a sampler: clamped to the edge, linear between pixels");
  CHECK(zeSamplerDestroy(sampler));
  prove(zeSamplerDestroy(sampler) == ZE_RESULT_ERROR_INVALID_NULL_HANDLE, "destroying it twice is an error, not a crash: %s",
        last_error());
}
