// A model as the client hands it over to be compiled: an XML text and weights, in one of two envelopes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace anyzero {

enum class ModelSerializer : uint32_t {
  Whole = 1,    // the XML, and the weights behind it
  Pointing = 2  // the XML alone, with the addresses of the weights in it
};

struct SerializedModel {
  ModelSerializer serializer = ModelSerializer::Whole;
  std::string_view xml;
  std::span<const unsigned char> weights;

  // Both stay inside `input`. False with a reason.
  static bool split(std::span<const unsigned char> input, SerializedModel* model, std::string* reason);
};

}  // namespace anyzero
