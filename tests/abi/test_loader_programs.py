"""C programs that are linked with our loader: exit handlers, threads, forks, and what a call through it costs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.abi.calls import LIBRARY
from tests.abi.loaders import LOADER, build_program, copy_of_driver, run_program, write_description

# Maximum overhead of the loader per call, in instructions: a jump through a table, and the look at a handle for it.
ALLOWED_ALONE, ALLOWED_AMONG_SEVERAL = 6, 30

WORK = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "ze_api.h"

static void check(ze_result_t result, const char* call) {
  if (!result) return;
  printf("%s: %#x\n", call, result);
  fflush(stdout);
  _Exit(1);
}
#define OK(call) check(call, #call)

static ze_driver_handle_t driver;

static void find_driver(void) {
  uint32_t one = 1;
  OK(zeInit(0));
  OK(zeDriverGet(&one, &driver));
}

static void work(void) {
  uint32_t one = 1;
  ze_device_handle_t device;
  OK(zeDeviceGet(driver, &one, &device));
  ze_context_desc_t context_desc = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
  ze_context_handle_t context;
  OK(zeContextCreate(driver, &context_desc, &context));
  ze_command_queue_desc_t queue = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC};
  ze_command_list_handle_t list;
  OK(zeCommandListCreateImmediate(context, device, &queue, &list));
  ze_host_mem_alloc_desc_t host = {.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
  unsigned char *memory, value = 0x42;
  size_t size = 1 << 20;
  OK(zeMemAllocHost(context, &host, size, 64, (void**)&memory));
  OK(zeCommandListAppendMemoryFill(list, memory, &value, 1, size, NULL, 0, NULL));
  OK(zeCommandListHostSynchronize(list, UINT64_MAX));
  for (size_t i = 0; i < size; ++i) if (memory[i] != value) exit(2);
  OK(zeMemFree(context, memory));
  OK(zeCommandListDestroy(list));
  OK(zeContextDestroy(context));
}
"""

EXITS = (
    WORK
    + r"""
static void at_exit(void) { work(); puts("exit handler"); }
__attribute__((destructor)) static void at_unload(void) { if (driver) work(), puts("destructor"); }

static void* start(void* unused) {
  (void)unused;
  uint32_t one = 1;
  ze_driver_handle_t found;
  OK(zeInit(0));
  OK(zeDriverGet(&one, &found));
  return found;
}

int main(void) {
  pthread_t threads[16];
  void* found;
  atexit(at_exit);
  for (int i = 0; i < 16; ++i) pthread_create(&threads[i], NULL, start, NULL);
  for (int i = 0; i < 16; ++i) {
    pthread_join(threads[i], &found);
    if (driver && driver != found) return 3;
    driver = found;
  }
  work();
  return 0;
}
"""
)

FORKS = (
    WORK
    + r"""
#include <sys/wait.h>
#include <unistd.h>

static void* start(void* unused) {
  (void)unused;
  zeInit(0);
  return NULL;
}

static int round_of(long microseconds) {
  pthread_t starting;
  pthread_create(&starting, NULL, start, NULL);
  usleep(microseconds);
  pid_t child = fork();
  if (child == 0) {
    alarm(120);
    find_driver();
    work();
    _exit(0);
  }
  int status;
  waitpid(child, &status, 0);
  pthread_join(starting, NULL);
  find_driver();
  work();
  return status;
}

int main(void) {
  for (long microseconds = 0; microseconds < 4000; microseconds += 200) {
    pid_t fresh = fork();
    if (fresh == 0) _exit(round_of(microseconds) != 0);
    int status;
    waitpid(fresh, &status, 0);
    if (status) return printf("after %ld microseconds: %#x\n", microseconds, status), 1;
  }
  return 0;
}
"""
)

COST = (
    WORK
    + r"""
#include <signal.h>

static volatile long steps;
static void step(int number) {
  (void)number;
  ++steps;
}
// The processor's trap flag: a signal after each instruction.
#define STEPPING(operation) __asm__ volatile("pushfq\n\t" operation ", (%%rsp)\n\tpopfq" ::: "memory", "cc")

int main(void) {
  find_driver();
  signal(SIGTRAP, step);
  ze_api_version_t version;
  OK(zeDriverGetApiVersion(driver, &version));  // lazily bound functions are bound
  STEPPING("orq $0x100");
  ze_result_t result = zeDriverGetApiVersion(driver, &version);
  STEPPING("andq $~0x100");
  OK(result);
  work();
  printf("%ld\n", steps);
  return 0;
}
"""
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("programs")


@pytest.fixture(scope="module")
def description(folder: Path) -> str:
    return str(write_description(folder / "description"))


def test_threads_and_exit_handlers(folder: Path, description: str) -> None:
    program = build_program(folder, "exits", EXITS, LOADER)
    second = copy_of_driver(folder)
    for drivers in ([], [second]):
        output = run_program(program, drivers=drivers, ANYZERO_DESCRIPTION=description)
        assert output.splitlines() == ["exit handler", "destructor"]


def test_a_fork_while_another_thread_starts_the_drivers(folder: Path, description: str) -> None:
    program = build_program(folder, "forks", FORKS, LOADER)
    run_program(program, ANYZERO_DESCRIPTION=description)


def test_what_a_call_costs(folder: Path, description: str) -> None:
    second = copy_of_driver(folder)
    direct = build_program(folder, "direct", COST, LIBRARY)
    loaded = build_program(folder, "loaded", COST, LOADER)
    cost = int(run_program(direct, ANYZERO_DESCRIPTION=description))
    alone = int(run_program(loaded, ANYZERO_DESCRIPTION=description))
    several = int(run_program(loaded, drivers=[second], ANYZERO_DESCRIPTION=description))
    print(f"zeDriverGetApiVersion: {cost} instructions, {alone} through the loader, {several} with two libraries")
    assert 0 < cost < alone <= cost + ALLOWED_ALONE
    assert alone < several <= cost + ALLOWED_AMONG_SEVERAL
