#include "sampler.h"

#include "../../abi/error.h"
#include "../devices/context.h"
#include "../devices/device.h"

namespace anyzero {

Sampler::Sampler(Context& context, Device& device, const SamplerState& state)
    : context_(&context), device_(device), state_(state) {}

ze_result_t Sampler::read(const ze_sampler_desc_t& desc, SamplerState* state) {
  if (static_cast<uint32_t>(desc.addressMode) > ZE_SAMPLER_ADDRESS_MODE_MIRROR)
    return fail(ZE_RESULT_ERROR_INVALID_ENUMERATION, "%u is not a sampler address mode", static_cast<uint32_t>(desc.addressMode));
  if (static_cast<uint32_t>(desc.filterMode) > ZE_SAMPLER_FILTER_MODE_LINEAR)
    return fail(ZE_RESULT_ERROR_INVALID_ENUMERATION, "%u is not a sampler filter mode", static_cast<uint32_t>(desc.filterMode));
  *state = {desc.addressMode, desc.filterMode, desc.isNormalized != 0};
  return ZE_RESULT_SUCCESS;
}

ze_result_t Sampler::create(Context& context, Device& device, const ze_sampler_desc_t* desc, ze_sampler_handle_t* handle) {
  if (ze_result_t result = context.require(device)) return result;
  auto* limits = device.properties().get<ze_device_image_properties_t>(ZE_STRUCTURE_TYPE_DEVICE_IMAGE_PROPERTIES);
  if (!limits || limits->maxSamplers == 0)
    return fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "this device has no samplers (maxSamplers is 0)");
  SamplerState state;
  if (ze_result_t result = read(*desc, &state)) return result;
  *handle = handle_of<ze_sampler_handle_t>(Sampler::make(context, device, state));
  return ZE_RESULT_SUCCESS;
}

ze_result_t Sampler::destroy() {
  retire();
  return ZE_RESULT_SUCCESS;
}

}  // namespace anyzero
