#include "network_query.h"

#include <vector>

#include "../abi/error.h"
#include "../objects/modules/text.h"
#include "compiled_graph.h"
#include "graph_image.h"

namespace anyzero {

ze_result_t NetworkQuery::create(Context& context, Device& device, const ze_graph_desc_2_t& desc,
                                 ze_graph_query_network_handle_t* handle, std::string* log) {
  if (ze_result_t r = context.require(device)) return r;
  if (desc.format != ZE_GRAPH_FORMAT_NGRAPH_LITE)
    return fail(ZE_RESULT_ERROR_INVALID_ENUMERATION, "only a serialised model can be queried for its layers");
  MappedBlob blob;
  std::vector<std::string> names;
  const ze_result_t laid_out = lay_out_model(desc, &blob, log);
  // A valid model that this device does not support gives an empty list; another device may run it.
  if (laid_out && laid_out != ZE_RESULT_ERROR_UNSUPPORTED_FEATURE) return fail(laid_out, "%s", log->c_str());
  if (!laid_out && !query_layers(blob.view.manifest, blob.view.weights, &names, log))
    return fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "%s", log->c_str());
  std::string layers;
  for (const std::string& name : names) layers += "<" + name + ">";
  *handle = handle_of<ze_graph_query_network_handle_t>(make(context, std::move(layers)));
  return ZE_RESULT_SUCCESS;
}

ze_result_t NetworkQuery::destroy() {
  retire();
  return ZE_RESULT_SUCCESS;
}

ze_result_t NetworkQuery::getSupportedLayers(size_t* size, char* layers) {
  return copy_out(layers_.c_str(), layers_.size() + 1, size, layers);
}

}  // namespace anyzero
