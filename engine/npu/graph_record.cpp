#include "graph_record.h"

namespace anyzero {

namespace {

TraceRecord* begin(Recorder& of, TraceKind kind, std::string_view what, uint64_t start, uint64_t end) {
  TraceRecord* record = &of.next();
  *record = {};
  record->kind = static_cast<uint8_t>(kind);
  record->what = static_cast<uint32_t>(place_of_text(what));
  record->start = start;
  record->end = end;
  return record;
}

}  // namespace

void GraphStep::record() const noexcept try {
  Recorder* of = recorder();
  if (!of) return;
  TraceRecord* record = begin(*of, TraceKind::Graph, step_, start_, ticks());
  if (!model_.empty()) record->values[static_cast<uint32_t>(TraceGraphValue::Model)] = 1 + place_of_text(model_);
  record->values[static_cast<uint32_t>(TraceGraphValue::Bytes)] = bytes_;
  of->complete();
} catch (...) {  // no memory for a name: the record is dropped
}

void record_layers(const std::vector<LayerTime>& layers, uint64_t start, uint64_t end) {
  constexpr uint64_t kMicrosecond = 1000;
  Recorder* of = recorder();
  if (!of) return;
  uint64_t offset = 0;
  for (const LayerTime& layer : layers) {
    if (layer.status != LayerTime::Status::Executed) continue;
    TraceRecord* record = begin(*of, TraceKind::Layer, layer.name, start, end);
    const uint64_t duration = layer.real_us * kMicrosecond;
    record->values[static_cast<uint32_t>(TraceLayerValue::Type)] = place_of_text(layer.type);
    record->values[static_cast<uint32_t>(TraceLayerValue::Implementation)] = place_of_text(layer.exec_type);
    record->values[static_cast<uint32_t>(TraceLayerValue::Offset)] = offset;
    record->values[static_cast<uint32_t>(TraceLayerValue::Duration)] = duration;
    offset += duration;
    of->complete();
  }
}

}  // namespace anyzero
