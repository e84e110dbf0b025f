// Preloaded into a process that asks LLVM 15 for the processor's features: those whose names begin with one of the words of
// BENCHMARKS_HIDDEN_FEATURES are absent. Debian's PoCL is built for several processors, chooses among them by these features
// alone, and has no variable that holds it to less.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ASKED _ZN4llvm3sys18getHostCPUFeaturesERNS_9StringMapIbNS_15MallocAllocatorEEE
#define NAME_OF(symbol) #symbol
#define NAME(symbol) NAME_OF(symbol)

// llvm::StringMap<bool>: an entry holds the length of its key, the value, and behind them the key.
struct map {
  char** entries;
  unsigned buckets, items, tombstones, entry_size;
};
#define TOMBSTONE ((char*)(UINTPTR_MAX << 3))
#define VALUE sizeof(size_t)

static int hidden(const char* feature) {
  const char* words = getenv("BENCHMARKS_HIDDEN_FEATURES");
  while (words && *words) {
    const size_t length = strcspn(words, " ");
    if (length && strncmp(feature, words, length) == 0) return 1;
    words += length + (words[length] == ' ');
  }
  return 0;
}

int ASKED(struct map* features) {
  void* llvm = dlopen("libLLVM-15.so.1", RTLD_LAZY);
  int (*ask)(struct map*) = llvm ? (int (*)(struct map*))dlsym(llvm, NAME(ASKED)) : NULL;
  if (!ask) return 0;
  const int known = ask(features);
  for (unsigned i = 0; i < features->buckets; i++) {
    char* entry = features->entries[i];
    if (entry && entry != TOMBSTONE && hidden(entry + features->entry_size)) entry[VALUE] = 0;
  }
  return known;
}
