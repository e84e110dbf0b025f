// A sampler: addressing and filtering of image reads.
#pragma once

#include "../../abi/handle.h"
#include "../../backends/image_view.h"

namespace anyzero {

class Context;
class Device;

// Threading: immutable, so any thread.
class Sampler : public Object<Sampler, Kind::Sampler> {
 public:
  static ze_result_t create(Context& context, Device& device, const ze_sampler_desc_t* desc, ze_sampler_handle_t* handle);
  ze_result_t destroy();

  // Checks a descriptor; one from a pNext chain has not been checked before.
  static ze_result_t read(const ze_sampler_desc_t& desc, SamplerState* state);

  const SamplerState& state() const { return state_; }
  Device& device() const { return device_; }

  Sampler(Context& context, Device& device, const SamplerState& state);

 private:
  Ref<Context> context_;
  Device& device_;
  SamplerState state_;
};

}  // namespace anyzero
