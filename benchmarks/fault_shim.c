// What benchmarks/faults.py puts between a program and its disk and clock: cc -shared -fPIC -o shim.so fault_shim.c -ldl
//
// For files below $FAULTS_ROOT, writes can fail as on a full disk or take long, and everything that an fsync has made
// durable is copied to $FAULTS_SHADOW, so that the driver can put the directory back to what a power cut would have
// left. The clock of the day can be shifted. The driver sets the faults in the file $FAULTS_CONTROL. With
// $FAULTS_DROP_FSYNC an fsync makes nothing durable, as on a disk that lies.
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

struct control {
  volatile int64_t clock_offset_seconds;
  volatile int32_t disk_is_full;
  volatile int32_t write_delay_us;
};

static const struct control no_faults;
static const struct control* control = &no_faults;
static const char *root, *shadow;
static size_t root_length;

static void* real(const char* name) { return dlsym(RTLD_NEXT, name); }

__attribute__((constructor)) static void begin(void) {
  const char* path = getenv("FAULTS_CONTROL");
  root = getenv("FAULTS_ROOT");
  shadow = getenv("FAULTS_SHADOW");
  if (!path || !root || !shadow) return;
  root_length = strlen(root);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  void* memory = mmap(NULL, sizeof(struct control), PROT_READ, MAP_SHARED, file, 0);
  close(file);
  if (memory != MAP_FAILED) control = memory;
}

static int is_watched(int file) {
  if (!root_length) return 0;
  char link[64], path[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < (ssize_t)root_length) return 0;
  path[length] = 0;
  return strncmp(path, root, root_length) == 0;
}

// The name of a file that stays the same when it is renamed, and is not used again when it is deleted.
static void identity(int file, const char* name, char* out, size_t size, int* is_directory) {
  struct statx status;
  memset(&status, 0, sizeof status);
  syscall(SYS_statx, file, name, name[0] ? AT_SYMLINK_NOFOLLOW : AT_EMPTY_PATH, STATX_INO | STATX_BTIME | STATX_TYPE, &status);
  snprintf(out, size, "%llu-%lld.%u", (unsigned long long)status.stx_ino, (long long)status.stx_btime.tv_sec,
           (unsigned)status.stx_btime.tv_nsec);
  *is_directory = S_ISDIR(status.stx_mode);
}

// Writes the shadow of a file or a directory under a temporary name first: the program may be killed at any moment.
static void remember(int file) {
  char id[128], temporary[PATH_MAX], final[PATH_MAX];
  int is_directory;
  identity(file, "", id, sizeof id, &is_directory);
  snprintf(temporary, sizeof temporary, "%s/.%s.%d", shadow, id, (int)syscall(SYS_gettid));
  snprintf(final, sizeof final, "%s/%s", shadow, id);
  if (is_directory) {
    FILE* out = fopen(temporary, "w");
    const int again = openat(file, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR* directory = again < 0 ? NULL : fdopendir(again);
    if (!out || !directory) return;
    for (struct dirent* entry; (entry = readdir(directory));) {
      if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
      char child[128];
      int child_is_directory;
      identity(dirfd(directory), entry->d_name, child, sizeof child, &child_is_directory);
      fprintf(out, "%s %c %s\n", child, child_is_directory ? 'd' : 'f', entry->d_name);
    }
    closedir(directory);
    fclose(out);
  } else {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    const int in = open(link, O_RDONLY | O_CLOEXEC), out = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (in < 0 || out < 0) return;
    char buffer[65536];
    for (ssize_t length; (length = read(in, buffer, sizeof buffer)) > 0;)
      if (syscall(SYS_write, out, buffer, length) != length) break;
    close(in);
    close(out);
  }
  rename(temporary, final);
}

ssize_t write(int file, const void* data, size_t size) {
  static ssize_t (*next)(int, const void*, size_t);
  if (!next) next = real("write");
  if ((control->disk_is_full || control->write_delay_us) && is_watched(file)) {
    if (control->write_delay_us) usleep(control->write_delay_us);
    if (control->disk_is_full) {
      errno = ENOSPC;
      return -1;
    }
  }
  return next(file, data, size);
}

int fsync(int file) {
  static int (*next)(int);
  if (!next) next = real("fsync");
  if (control->disk_is_full && is_watched(file)) {
    errno = ENOSPC;
    return -1;
  }
  const int result = next(file);
  if (result == 0 && is_watched(file) && !getenv("FAULTS_DROP_FSYNC")) remember(file);
  return result;
}

int clock_gettime(clockid_t clock, struct timespec* out) {
  static int (*next)(clockid_t, struct timespec*);
  if (!next) next = real("clock_gettime");
  const int result = next(clock, out);
  if (clock == CLOCK_REALTIME) out->tv_sec += control->clock_offset_seconds;
  return result;
}

time_t time(time_t* out) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (out) *out = now.tv_sec;
  return now.tv_sec;
}

int gettimeofday(struct timeval* out, void* zone) {
  (void)zone;
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  out->tv_sec = now.tv_sec;
  out->tv_usec = now.tv_nsec / 1000;
  return 0;
}
