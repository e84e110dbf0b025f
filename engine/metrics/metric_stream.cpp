#include "metric_stream.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "../abi/error.h"
#include "../system/clock.h"
#include "../system/signal.h"
#include "../system/thread.h"

namespace anyzero {

namespace {

constexpr uint32_t kShortestPeriod = 100'000;  // a snapshot takes some microseconds

// Open streams by their number, for markers in command lists.
struct OpenStreams {
  uint32_t last = 0;
  std::map<uint32_t, std::shared_ptr<MetricStream>> by_number;
};

Guarded<OpenStreams>& streams() {
  static auto* streams = new Guarded<OpenStreams>;  // leaked: threads outlive static storage
  return *streams;
}

}  // namespace

MetricStream::MetricStream(MetricGroup& group, Event* event, uint32_t notify_every, uint32_t period_ns)
    : group_(group), event_(event), notify_every_(notify_every), period_ns_(period_ns), reports_(kReports) {
  last_ = group_->snapshot();
}

bool MetricStream::start(const std::shared_ptr<MetricStream>& stream) {
  auto open = streams().open();
  stream->number_ = ++open->last;
  auto held = std::make_unique<std::shared_ptr<MetricStream>>(stream);
  if (!start_thread(sample_until_closed, held.get(), "az-metrics")) return false;
  held.release();  // the thread's
  open->by_number[stream->number_] = stream;
  return true;
}

void MetricStream::close() {
  streams().open()->by_number.erase(number_);
  closed_.store(1, std::memory_order_release);
  futex_wake(&closed_, 1);
}

void* MetricStream::sample_until_closed(void* held) {
  const std::unique_ptr<std::shared_ptr<MetricStream>> owner(static_cast<std::shared_ptr<MetricStream>*>(held));
  MetricStream& stream = **owner;
  uint64_t next = now_ns() + stream.period_ns_;
  while (!stream.closed_.load(std::memory_order_acquire)) {
    const uint64_t now = now_ns();
    if (now < next) {
      FutexWord word{&stream.closed_, 0};
      futex_sleep_any(&word, 1, next - now);
      continue;
    }
    stream.add_report(nullptr);
    // A thread that comes late leaves out periods, so that reports do not follow each other at once.
    next = std::max(next + stream.period_ns_, now + stream.period_ns_ / 2);
  }
  return nullptr;
}

void MetricStream::add_report(const uint32_t* marker) {
  std::lock_guard lock(mutex_);
  Snapshot now = group_->snapshot();
  const size_t place = group_->marker();
  now.values[place] = marker_;
  reports_[written_++ % kReports] = {last_, now};
  if (written_ - taken_ > kReports) {
    taken_ = written_ - kReports;
    dropped_ = true;
  }
  last_ = now;
  if (marker) marker_ = *marker;
  if (event_ && written_ - taken_ >= notify_every_) event_->hostSignal();
}

size_t MetricStream::read(size_t most, uint8_t* to, bool* dropped) {
  std::lock_guard lock(mutex_);
  *dropped = std::exchange(dropped_, false);
  const size_t count = std::min<uint64_t>(most, written_ - taken_);
  for (size_t i = 0; i < count; ++i) std::memcpy(to + i * sizeof(Report), &reports_[taken_++ % kReports], sizeof(Report));
  return count;
}

void* MetricStream::marker(uint32_t value) const { return reinterpret_cast<void*>(uint64_t{number_} << 32 | value); }

void MetricStream::mark(void* marker) {
  const auto packed = reinterpret_cast<uintptr_t>(marker);
  std::shared_ptr<MetricStream> stream;
  {
    auto open = streams().open();
    if (const auto found = open->by_number.find(static_cast<uint32_t>(packed >> 32)); found != open->by_number.end())
      stream = found->second;
  }
  const auto value = static_cast<uint32_t>(packed);
  if (stream) stream->add_report(&value);
}

ze_result_t MetricStreamer::open(Context& context, Device& device, MetricGroup& group, zet_metric_streamer_desc_t* desc,
                                 Event* event, zet_metric_streamer_handle_t* handle) {
  if (ze_result_t r = context.require(device)) return r;
  if (&group.device() != &device) return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "hMetricGroup is a group of another device");
  if (event && event->counts())
    return fail(ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT, "hNotificationEvent must not be a counter-based event");
  desc->samplingPeriod = std::max(desc->samplingPeriod, kShortestPeriod);
  desc->notifyEveryNReports = std::clamp<uint32_t>(desc->notifyEveryNReports, 1, MetricStream::kReports);
  auto stream = std::make_shared<MetricStream>(group, event, desc->notifyEveryNReports, desc->samplingPeriod);
  if (!stream->counting())
    return fail(ZE_RESULT_ERROR_NOT_AVAILABLE, "the system no longer lets the process open the counters of this group");
  if (!MetricStream::start(stream))
    return fail(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "the system grants no thread for the metric streamer");
  *handle = handle_of<zet_metric_streamer_handle_t>(make(context, std::move(stream)));
  return ZE_RESULT_SUCCESS;
}

ze_result_t MetricStreamer::close() {
  stream_->close();
  retire();
  return ZE_RESULT_SUCCESS;
}

ze_result_t MetricStreamer::readData(uint32_t most, size_t* size, uint8_t* data) {
  if (*size == 0 || !data) {
    *size = std::min<size_t>(most, MetricStream::kReports) * sizeof(Report);
    return ZE_RESULT_SUCCESS;
  }
  bool dropped = false;
  *size = stream_->read(std::min<size_t>(most, *size / sizeof(Report)), data, &dropped) * sizeof(Report);
  return dropped ? ZE_RESULT_WARNING_DROPPED_DATA : ZE_RESULT_SUCCESS;
}

}  // namespace anyzero
