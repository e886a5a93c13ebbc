/** A development sidecar as a newcomer starts it: a process of its own, and what it prints. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const launcher = fileURLToPath(new URL('../../sidecar/portcullis.js', import.meta.url))

export interface Demo {
  /** Everything on standard output up to the suggested commands. */
  readonly output: string
  readonly process: ChildProcess
  stop(): Promise<void>
}

/** Starts `serve --dev` and waits for its welcome. Rejects with what it printed where it ends instead. */
export async function startDemo(flags: readonly string[]): Promise<Demo> {
  const child = spawn(process.execPath, [launcher, 'serve', '--dev', ...flags], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  let complaints = ''
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    complaints += chunk
  })
  await new Promise<void>((resolve, reject) => {
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk
      if (/explain audit-logs.*\n/.test(output)) resolve()
    })
    child.once('exit', () => reject(new Error(`the sidecar ended: ${complaints}`)))
  })
  return {
    output,
    process: child,
    stop: async () => {
      const ended = once(child, 'exit')
      child.kill('SIGTERM')
      await ended
    },
  }
}
