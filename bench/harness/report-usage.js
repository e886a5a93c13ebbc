/**
 * Loaded into a server before anything else (`node --import`). When the parent asks, it reports the processor
 * time of this process and its workers (all threads, user and system), or the resident memory of this process
 * after a collection, or after one that also gives unused pages back, or the size of its old generation, or
 * how long its event loop was blocked at most since the last such question. `/proc/PID/stat` has the same
 * figures, but in steps of 10 ms and only on Linux. These are in microseconds, on every system.
 */
import { subscribe } from 'node:diagnostics_channel'
import { basename } from 'node:path'
import { getHeapSpaceStatistics } from 'node:v8'

/** The child processes of this process, from the channel where Node reports each one. */
const children = new Set()
subscribe('child_process', ({ process: child }) => {
  children.add(child)
  child.once('exit', () => children.delete(child))
})

process.on('message', async (what) => {
  if (what === 'memory') {
    globalThis.gc?.()
    process.send?.(process.memoryUsage.rss())
  } else if (what === 'trimmed-memory') {
    await globalThis.gc?.({ type: 'major', flavor: 'last-resort', execution: 'async' })
    process.send?.(process.memoryUsage.rss())
  } else if (what === 'old') {
    const spaces = getHeapSpaceStatistics()
    process.send?.(spaces.find(({ space_name: name }) => name === 'old_space')?.space_used_size)
  } else if (what === 'block') {
    process.send?.(longestBlock())
  } else if (what === 'cpu') {
    const { user, system } = process.cpuUsage()
    const ofWorkers = await Promise.all([...children].filter(({ connected }) => connected).map(cpuOf))
    process.send?.(ofWorkers.reduce((sum, each) => sum + each, user + system))
  }
})
/**
 * The longest block since the last question, and the processor time of this thread at the last turn;
 * `undefined`: there was no question.
 */
let block

/**
 * In microseconds of this thread's processor time, which other programs of the machine do not lengthen as
 * they lengthen a block by the clock. The first question begins to watch.
 */
function longestBlock() {
  if (block === undefined) {
    block = { longest: 0, before: threadTime() }
    setInterval(noteTurn, 1).unref()
  }
  noteTurn()
  const { longest } = block
  block.longest = 0
  return longest
}

function noteTurn() {
  const now = threadTime()
  block.longest = Math.max(block.longest, now - block.before)
  block.before = now
}

function threadTime() {
  const { user, system } = process.threadCpuUsage()
  return user + system
}

// A worker of the sidecar ends with its primary by itself, and its channel is its work.
if (!/^worker\.[jt]s$/.test(basename(process.argv[1] ?? ''))) {
  // The open channel must not keep the server running, and the server ends when its parent is gone.
  process.channel?.unref()
  process.on('disconnect', () => process.kill(process.pid, 'SIGTERM'))
}

/** Workers have this file loaded as well, and answer with a number. Their other messages are not for us. */
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
