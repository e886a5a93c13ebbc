/**
 * Loaded into a server before anything else (`node --import`): tells the parent, whenever it asks, how much
 * processor time this process has used, all threads, user and system, or how much memory it occupies. `/proc/PID/stat` tells the same in ticks of
 * 10 ms and on Linux alone; this is in microseconds, anywhere.
 */

process.on('message', (what) => {
  if (what === 'memory') {
    globalThis.gc?.()
    process.send?.(process.memoryUsage.rss())
    return
  }
  const { user, system } = process.cpuUsage()
  process.send?.(user + system)
})
// Being asked is no reason to stay, and a parent that is gone is one to leave.
process.channel?.unref()
process.on('disconnect', () => process.kill(process.pid, 'SIGTERM'))
