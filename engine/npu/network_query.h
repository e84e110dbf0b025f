// The layers of a model that the device can run.
#pragma once

#include <string>

#include "../abi/gen/ze_npu_ext.h"
#include "../abi/handle.h"
#include "../objects/devices/context.h"

namespace anyzero {

// Threading: immutable.
class NetworkQuery : public Object<NetworkQuery, Kind::NetworkQuery> {
 public:
  static ze_result_t create(Context& context, Device& device, const ze_graph_desc_2_t& desc,
                            ze_graph_query_network_handle_t* handle, std::string* log);
  ze_result_t destroy();
  // The names in angle brackets, concatenated.
  ze_result_t getSupportedLayers(size_t* size, char* layers);

  NetworkQuery(Context& context, std::string layers) : context_(&context), layers_(std::move(layers)) {}

 private:
  Ref<Context> context_;
  std::string layers_;
};

}  // namespace anyzero
