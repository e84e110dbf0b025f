// The name of a model in the cache: the same for the same model wherever its weights lie, another one for any other model.
#include "../../engine/npu/model_key.h"

#include <cassert>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "exec/trap.h"

using anyzero::ContentHash;
using anyzero::model_key;
using anyzero::ModelSerializer;
using anyzero::SerializedModel;

namespace {

std::string constant(const void* at, size_t size) {
  return "<layer type=\"Const\"><rt_info><attribute name=\"WeightsPointerAttribute\" version=\"0\" mp=\"" +
         std::to_string(reinterpret_cast<uintptr_t>(at)) + "\" ms=\"" + std::to_string(size) + "\" /></rt_info></layer>";
}

std::string net(const std::string& layers) {
  return "<?xml version=\"1.0\"?><net name=\"n\"><layers>" + layers + "</layers></net>";
}

bool key_of(const std::string& xml, ContentHash* key, const char* flags = "") {
  return model_key({ModelSerializer::Pointing, xml, {}}, flags, key);
}

ContentHash good(const std::string& xml, const char* flags = "") {
  ContentHash key;
  assert(key_of(xml, &key, flags));
  return key;
}

void places_do_not_count() {
  const std::vector<unsigned char> first(1000, 7), second(1000, 7);
  std::vector<unsigned char> other(1000, 7);
  other[999] = 8;
  const ContentHash key = good(net(constant(first.data(), 1000)));
  assert(key == good(net(constant(second.data(), 1000))));
  assert(key != good(net(constant(other.data(), 1000))));
  assert(key != good(net(constant(first.data(), 999))));
  assert(key != good(net(constant(first.data(), 1000)), "--config"));
  assert(key != good(net(constant(first.data(), 1000) + "<layer/>")));
}

void sharing_is_not_mistaken_for_values() {
  const uint64_t value = 5, none = 0;
  const ContentHash shared = good(net(constant(&value, 8) + constant(&value, 8)));
  // The second constant here holds what the number of the first one looks like.
  assert(shared != good(net(constant(&value, 8) + constant(&none, 8))));
  assert(shared == good(net(constant(&value, 8) + constant(&value, 8))));
}

void both_serialisers_have_names() {
  const std::string xml = net("");
  const std::vector<unsigned char> weights(100, 1), others(100, 2);
  ContentHash one, two;
  assert(model_key({ModelSerializer::Whole, xml, weights}, nullptr, &one) &&
         model_key({ModelSerializer::Whole, xml, others}, "", &two));
  assert(one != two);
  assert(model_key({ModelSerializer::Whole, xml, weights}, "", &two) && one == two);
}

void what_is_odd_has_no_name() {
  ContentHash key;
  assert(!key_of(net(constant(reinterpret_cast<void*>(64), 1000)), &key));        // memory that is not there
  assert(!key_of(net(constant(reinterpret_cast<void*>(-1024L), 100000)), &key));  // and that cannot be
  std::string xml = net(constant("12345678", 8));
  for (const char* bad : {" mp=\"x", " mp=\"-", " mp='", " mp = \""}) {
    std::string changed = xml;
    changed.replace(changed.find(" mp=\""), 5, bad);
    assert(!key_of(changed, &key));
  }
  assert(!key_of("<!DOCTYPE x>" + xml, &key));
  for (size_t cut = 0; cut < xml.size(); ++cut) (void)key_of(xml.substr(0, cut), &key);
}

}  // namespace

int main() {
  anyzero::install_traps();
  places_do_not_count();
  sharing_is_not_mistaken_for_values();
  both_serialisers_have_names();
  what_is_odd_has_no_name();
  std::puts("model_key_test: ok");
  return 0;
}
