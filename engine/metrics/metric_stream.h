// Streams of a metric group: a thread takes a snapshot every so often.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "../objects/sync/event.h"
#include "../system/mutex.h"
#include "metric_group.h"

namespace anyzero {

// The reports of a streamer. Shared with its thread and with markers in command lists, which may outlive the streamer.
// Threading: any thread.
class MetricStream {
 public:
  MetricStream(MetricGroup& group, Event* event, uint32_t notify_every, uint32_t period_ns);

  // Starts the thread; false if the system grants none.
  static bool start(const std::shared_ptr<MetricStream>& stream);
  // No more reports.
  void close();

  // False if the system refuses to count.
  bool counting() const { return group_.counting(); }
  // Moves up to `most` of the oldest reports to `to`; returns how many, and whether older ones were replaced since the last call.
  size_t read(size_t most, uint8_t* to, bool* dropped);

  // The argument of `mark` for this stream.
  void* marker(uint32_t value) const;
  // Ends the current report; the following ones have the marker. Does nothing for a stream that is closed.
  static void mark(void* marker);

  static constexpr size_t kReports = 8192;

 private:
  static void* sample_until_closed(void* stream);
  void add_report(const uint32_t* marker);

  CountingGroup group_;
  Ref<Event> event_;
  const uint32_t notify_every_, period_ns_;
  uint32_t number_ = 0;
  std::atomic<uint32_t> closed_{0};
  Mutex mutex_;  // guards the rest
  Snapshot last_;
  uint64_t marker_ = 0;
  std::vector<Report> reports_;  // a ring
  uint64_t written_ = 0, taken_ = 0;
  bool dropped_ = false;
};

// Threading: any thread.
class MetricStreamer : public Object<MetricStreamer, Kind::MetricStreamer> {
 public:
  static ze_result_t open(Context& context, Device& device, MetricGroup& group, zet_metric_streamer_desc_t* desc, Event* event,
                          zet_metric_streamer_handle_t* handle);
  ze_result_t close();
  ze_result_t readData(uint32_t most, size_t* size, uint8_t* data);

  MetricStream& stream() const { return *stream_; }

  MetricStreamer(Context& context, std::shared_ptr<MetricStream> stream) : context_(&context), stream_(std::move(stream)) {}

 private:
  Ref<Context> context_;
  std::shared_ptr<MetricStream> stream_;
};

}  // namespace anyzero
