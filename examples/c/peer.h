// A second process of the same program, and a socket to it. Level Zero leaves both to the application.
#pragma once

#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

extern char** environ;

inline void send_bytes(int socket, const void* bytes, size_t size) {
  if (write(socket, bytes, size) != static_cast<ssize_t>(size)) prove(false, "the other process is listening");
}

inline void receive_bytes(int socket, void* bytes, size_t size) {
  if (recv(socket, bytes, size, MSG_WAITALL) != static_cast<ssize_t>(size)) prove(false, "the other process has answered");
}

// Starts the program again with "receiver" as its argument; the new process finds the socket as its standard input.
struct Peer {
  int socket = -1;
  pid_t pid = -1;

  Peer() {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) prove(false, "a socket pair can be made");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
    char name[] = "/proc/self/exe", role[] = "receiver";
    char* arguments[] = {name, role, nullptr};
    if (posix_spawn(&pid, name, &actions, nullptr, arguments, environ) != 0) prove(false, "a second process can be started");
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    socket = ends[0];
  }

  // Waits for the other process and checks that it succeeded.
  ~Peer() {
    close(socket);
    int status = 0;
    waitpid(pid, &status, 0);
    prove(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the receiving process (%d) ended well", static_cast<int>(pid));
  }
};
