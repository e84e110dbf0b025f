// A model as the client passes it for compilation: an XML text and weights, in one of two envelopes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "../layouts/gen/graph.h"

namespace anyzero {

struct SerializedModel {
  ModelSerializer serializer = ModelSerializer::Whole;
  std::string_view xml;
  std::span<const unsigned char> weights;

  // Both point into `input`. False with a reason.
  static bool split(std::span<const unsigned char> input, SerializedModel* model, std::string* reason);
};

}  // namespace anyzero
