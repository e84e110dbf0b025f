// A contestant's process: says who it is, then answers each line "KEY CALLS" with the nanoseconds that so many calls took.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// As many are queued before the host waits, and as many stand in a list: all contestants do the same.
enum { BATCH = 1000 };

typedef struct {
  const char* key;
  uint64_t (*loop)(uint32_t calls);  // the nanoseconds that count
} turn_t;

static inline uint64_t now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

// A benchmark that goes on after an error measures the error.
__attribute__((noreturn, cold, unused)) static void give_up(const char* call, int result) {
  fprintf(stderr, "%s returned %#x\n", call, (unsigned)result);
  exit(1);
}

static inline char* contents(const char* path, size_t* size) {
  FILE* file = fopen(path, "rb");
  if (!file) give_up(path, -1);
  fseek(file, 0, SEEK_END);
  *size = (size_t)ftell(file);
  rewind(file);
  char* text = (char*)calloc(1, *size + 1);
  if (!text || fread(text, 1, *size, file) != *size) give_up(path, -1);
  fclose(file);
  return text;
}

static inline int take_turns(const char* name, const turn_t* turns, size_t count) {
  printf("%s\n", name);
  fflush(stdout);
  char key[64];
  uint32_t calls;
  while (scanf("%63s %u", key, &calls) == 2) {
    size_t i = 0;
    while (i < count && strcmp(turns[i].key, key) != 0) ++i;
    if (i == count) give_up(key, -1);
    // Threads fell asleep during the others' turns; who launches often pays for waking them once.
    turns[i].loop(BATCH);
    printf("%llu\n", (unsigned long long)turns[i].loop(calls));
    fflush(stdout);
  }
  return 0;
}
