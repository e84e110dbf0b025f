#include "aliasing.h"

#include <algorithm>
#include <cstdint>

namespace anyzero {

namespace {

// The addresses of an argument's tensor in an infer request; empty if unknown or not allocated yet.
struct TensorBytes {
  uintptr_t begin = 0, end = 0;

  bool overlaps(const TensorBytes& other) const { return begin < other.end && other.begin < end; }
};

TensorBytes bytes_of_tensor(const OpenVino& openvino, const OpenVino::Request* request, const GraphArgument& argument) {
  TensorBytes bytes;
  OpenVino::Tensor* tensor = nullptr;
  void* data = nullptr;
  if ((argument.input() ? openvino.get_input : openvino.get_output)(request, argument.port, &tensor)) return bytes;
  if (openvino.tensor_data(tensor, &data) == 0 && data) {
    bytes.begin = reinterpret_cast<uintptr_t>(data);
    bytes.end = bytes.begin + argument.bytes;
  }
  openvino.tensor_free(tensor);
  return bytes;
}

bool could_be(const GraphArgument& output, const GraphArgument& input) {
  return input.dynamic() && input.element_type == output.element_type && input.shape.size() == output.shape.size();
}

}  // namespace

void find_aliased_outputs(const OpenVino& openvino, const OpenVino::Compiled* compiled, std::vector<GraphArgument>* arguments) {
  std::vector<GraphArgument>& all = *arguments;
  OpenVino::Request* request = nullptr;
  if (openvino.create_request(compiled, &request)) return;  // executions fail in the same way, and report the reason
  std::vector<TensorBytes> tensors(all.size());
  for (size_t i = 0; i < all.size(); ++i)
    if (all[i].has_port() && !all[i].dynamic()) tensors[i] = bytes_of_tensor(openvino, request, all[i]);
  openvino.request_free(request);
  for (size_t i = 0; i < all.size(); ++i) {
    GraphArgument& output = all[i];
    if (output.input() || !output.has_port()) continue;
    for (size_t k = 0; k < all.size() && !output.aliased; ++k)
      if (all[k].input() && all[k].has_port())
        output.aliased = output.dynamic() ? could_be(output, all[k]) : tensors[i].overlaps(tensors[k]);
  }
}

}  // namespace anyzero
