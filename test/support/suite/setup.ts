/**
 * Runs before every test file, in its process, in which other files run before and after it. The resources of
 * the file are closed when it ends; the folder and the environment that it works in are then as they were.
 */
import { syncBuiltinESMExports } from 'node:module'
import threads, { Worker, type WorkerOptions } from 'node:worker_threads'
import { configureGlobal } from 'fast-check'
import { afterAll } from 'vitest'
import './hashes.ts'
import { closeAll } from './resources.ts'

/** Sources are compiled once for threads too, which take most of their time otherwise. */
class CachingWorker extends Worker {
  constructor(program: string | URL, options: WorkerOptions = {}) {
    const { NODE_COMPILE_CACHE } = process.env
    const { env } = options
    // A thread would take an absent variable for a folder of the name `undefined`.
    const isCached = typeof env === 'object' && NODE_COMPILE_CACHE !== undefined
    super(program, isCached ? { ...options, env: { ...env, NODE_COMPILE_CACHE } } : options)
  }
}
if (threads.Worker.name !== CachingWorker.name) {
  Object.assign(threads, { Worker: CachingWorker })
  syncBuiltinESMExports()
}

// The same inputs each time, so that what failed fails again. `SEED` chooses others.
configureGlobal({ seed: Number(process.env.SEED ?? 1) })

const folder = process.cwd()
const environment = { ...process.env }

afterAll(async () => {
  // A thread has the folder of its process, and cannot change it.
  if (process.cwd() !== folder) process.chdir(folder)
  for (const name of Object.keys(process.env)) if (!(name in environment)) delete process.env[name]
  Object.assign(process.env, environment)
  await closeAll()
})
