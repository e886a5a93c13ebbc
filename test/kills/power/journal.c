/*
 * Loaded into a process (LD_PRELOAD): writes down what it does to the files of the folder JOURNAL_ROOT, in
 * their order, so that a test can build the disks that a power cut may leave. A record is a line, for some
 * with bytes behind it. A file is named by its inode:
 *
 *   C ino LENGTH  it was created under this path         W ino offset LENGTH  these bytes were written
 *   T ino size    it was cut or extended                 S, E ino number  a sync began, and ended
 *   R, L LENGTH   renamed, linked: two paths             U LENGTH  the path was removed
 *   D ino LENGTH  a folder was made under this path
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define FILES 65536
#define TRUE_ONE(name) __typeof__(name) *next = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

static const char *root;
static int journal = -1;
/* The inode behind a descriptor; 0: none of ours. */
static ino_t inodes[FILES];
static int syncs;
static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void begin(void) {
  const char *path = getenv("JOURNAL");
  root = getenv("JOURNAL_ROOT");
  TRUE_ONE(open);
  if (path && root) journal = next(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
}

static int ours(const char *path) {
  size_t length = root ? strlen(root) : 0;
  return journal >= 0 && path && strncmp(path, root, length) == 0 && (path[length] == '/' || !path[length]);
}

static ino_t inode(int file) { return file >= 0 && file < FILES && journal >= 0 ? inodes[file] : 0; }

/* One write, so that a record is whole, whichever process and thread it is of. */
static void put(const char *line, const void *bytes, size_t length) {
  struct iovec parts[2] = {{(void *)line, strlen(line)}, {(void *)bytes, length}};
  TRUE_ONE(writev);
  int kept = errno;
  if (next(journal, parts, length ? 2 : 1) < 0) abort();
  errno = kept;
}

static void putPaths(char kind, ino_t ino, const char *one, const char *other) {
  char line[64], paths[8192];
  int length = snprintf(paths, sizeof paths, other ? "%s\n%s" : "%s", one, other);
  if (ino) snprintf(line, sizeof line, "%c %lu %d\n", kind, (unsigned long)ino, length);
  else snprintf(line, sizeof line, "%c %d\n", kind, length);
  put(line, paths, length);
}

static void putNumbers(char kind, ino_t ino, long value) {
  char line[64];
  snprintf(line, sizeof line, "%c %lu %ld\n", kind, (unsigned long)ino, value);
  put(line, "", 0);
}

static int opened(int file, const char *path, int flags, int existed) {
  struct stat found;
  if (file < 0 || file >= FILES) return file;
  inodes[file] = 0;
  if (!ours(path) || fstat(file, &found) != 0) return file;
  inodes[file] = found.st_ino;
  if (!existed) putPaths('C', found.st_ino, path, NULL);
  else if (flags & O_TRUNC) putNumbers('T', found.st_ino, 0);
  return file;
}

#define OPENING(call)                                     \
  mode_t mode = 0;                                        \
  if (flags & (O_CREAT | __O_TMPFILE)) {                  \
    va_list more;                                         \
    va_start(more, flags);                                \
    mode = va_arg(more, mode_t);                          \
    va_end(more);                                         \
  }                                                       \
  if (!ours(path)) return opened(call, path, flags, 1);   \
  pthread_mutex_lock(&order);                             \
  int existed = faccessat(AT_FDCWD, path, F_OK, 0) == 0;  \
  int file = opened(call, path, flags, existed);          \
  pthread_mutex_unlock(&order);                           \
  return file;

int open(const char *path, int flags, ...) { TRUE_ONE(open); OPENING(next(path, flags, mode)) }
int open64(const char *path, int flags, ...) { TRUE_ONE(open64); OPENING(next(path, flags, mode)) }
int openat(int at, const char *path, int flags, ...) { TRUE_ONE(openat); OPENING(next(at, path, flags, mode)) }

int close(int file) {
  TRUE_ONE(close);
  if (file >= 0 && file < FILES) inodes[file] = 0;
  return next(file);
}

static ssize_t written(int file, const void *bytes, ssize_t length, off_t offset) {
  char line[96];
  if (length <= 0) return length;
  snprintf(line, sizeof line, "W %lu %ld %zd\n", (unsigned long)inode(file), (long)offset, length);
  put(line, bytes, length);
  return length;
}

static off_t position(int file) {
  struct stat found;
  if (fcntl(file, F_GETFL) & O_APPEND) return fstat(file, &found) == 0 ? found.st_size : 0;
  return lseek(file, 0, SEEK_CUR);
}

#define WRITING(call, offset)                                      \
  if (!inode(file)) return call;                                   \
  pthread_mutex_lock(&order);                                      \
  off_t at = offset;                                               \
  ssize_t done = written(file, bytes, call, at);                   \
  pthread_mutex_unlock(&order);                                    \
  return done;

ssize_t write(int file, const void *bytes, size_t length) {
  TRUE_ONE(write);
  WRITING(next(file, bytes, length), position(file))
}
ssize_t pwrite(int file, const void *bytes, size_t length, off_t offset) {
  TRUE_ONE(pwrite);
  WRITING(next(file, bytes, length, offset), offset)
}
ssize_t pwrite64(int file, const void *bytes, size_t length, off64_t offset) {
  TRUE_ONE(pwrite64);
  WRITING(next(file, bytes, length, offset), offset)
}

/* Several parts as one: as many bytes of them as were written. */
static ssize_t writtenParts(int file, const struct iovec *parts, int count, ssize_t length, off_t offset) {
  for (ssize_t left = length; count > 0 && left > 0; parts++, count--) {
    ssize_t part = left < (ssize_t)parts->iov_len ? left : (ssize_t)parts->iov_len;
    written(file, parts->iov_base, part, offset);
    offset += part;
    left -= part;
  }
  return length;
}

#define WRITING_PARTS(call, offset)                                 \
  if (!inode(file)) return call;                                    \
  pthread_mutex_lock(&order);                                       \
  off_t at = offset;                                                \
  ssize_t done = writtenParts(file, parts, count, call, at);        \
  pthread_mutex_unlock(&order);                                     \
  return done;

ssize_t writev(int file, const struct iovec *parts, int count) {
  TRUE_ONE(writev);
  WRITING_PARTS(next(file, parts, count), position(file))
}
ssize_t pwritev(int file, const struct iovec *parts, int count, off_t offset) {
  TRUE_ONE(pwritev);
  WRITING_PARTS(next(file, parts, count, offset), offset)
}
ssize_t pwritev64(int file, const struct iovec *parts, int count, off64_t offset) {
  TRUE_ONE(pwritev64);
  WRITING_PARTS(next(file, parts, count, offset), offset)
}

#define DOING(condition, call, record)   \
  if (!(condition)) return call;         \
  pthread_mutex_lock(&order);            \
  int done = call;                       \
  if (done == 0) record;                 \
  pthread_mutex_unlock(&order);          \
  return done;

int ftruncate(int file, off_t size) {
  TRUE_ONE(ftruncate);
  DOING(inode(file), next(file, size), putNumbers('T', inode(file), size))
}
int ftruncate64(int file, off64_t size) {
  TRUE_ONE(ftruncate64);
  DOING(inode(file), next(file, size), putNumbers('T', inode(file), size))
}
int rename(const char *from, const char *to) {
  TRUE_ONE(rename);
  DOING(ours(to), next(from, to), putPaths('R', 0, from, to))
}
int link(const char *from, const char *to) {
  TRUE_ONE(link);
  DOING(ours(to), next(from, to), putPaths('L', 0, from, to))
}
int unlink(const char *path) {
  TRUE_ONE(unlink);
  DOING(ours(path), next(path), putPaths('U', 0, path, NULL))
}
int remove(const char *path) {
  TRUE_ONE(remove);
  DOING(ours(path), next(path), putPaths('U', 0, path, NULL))
}
int mkdir(const char *path, mode_t mode) {
  struct stat found;
  TRUE_ONE(mkdir);
  DOING(ours(path), next(path, mode), stat(path, &found) == 0 ? putPaths('D', found.st_ino, path, NULL) : (void)0)
}

/* What was written before a sync began is on the disk when it has ended. Meanwhile other threads write. */
static int synced(int file, int (*sync)(int)) {
  ino_t ino = inode(file);
  if (!ino) return sync(file);
  long number = getpid() * 100000L + __atomic_add_fetch(&syncs, 1, __ATOMIC_SEQ_CST);
  putNumbers('S', ino, number);
  int done = sync(file);
  if (done == 0) putNumbers('E', ino, number);
  return done;
}
int fsync(int file) {
  TRUE_ONE(fsync);
  return synced(file, next);
}
int fdatasync(int file) {
  TRUE_ONE(fdatasync);
  return synced(file, next);
}
