/**
 * Loaded into a server before anything else (`node --import`): tells the parent, whenever it asks, how much
 * processor time this process has used, all threads, user and system, together with its workers; or how much memory it
 * occupies itself. `/proc/PID/stat` tells the same in ticks of 10 ms and on Linux alone; this is in microseconds, anywhere.
 */
import cluster from 'node:cluster'

process.on('message', async (what) => {
  if (what === 'memory') {
    globalThis.gc?.()
    process.send?.(process.memoryUsage.rss())
  } else if (what === 'cpu') {
    const { user, system } = process.cpuUsage()
    const ofWorkers = await Promise.all(Object.values(cluster.workers ?? {}).map(cpuOf))
    process.send?.(ofWorkers.reduce((sum, each) => sum + each, user + system))
  }
})
if (cluster.isPrimary) {
  // Being asked is no reason to stay, and a parent that is gone is one to leave.
  process.channel?.unref()
  process.on('disconnect', () => process.kill(process.pid, 'SIGTERM'))
}

/** A worker has this loaded as well, and answers with a number; whatever else it says is not meant for us. */
function cpuOf(worker) {
  return new Promise((resolve) => {
    const listen = (message) => {
      if (typeof message !== 'number') return
      worker.off('message', listen)
      resolve(message)
    }
    worker.on('message', listen)
    worker.send('cpu')
  })
}
