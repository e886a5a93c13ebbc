/** Tells the application that its token has changed: by a command, or by a signal to its process. */
import { spawn } from 'node:child_process'
import { readAtMost, SMALL_FILE_BYTES_MAX } from '../../base/bounded-file.ts'
import type { AgentToken } from '../../config/agent-config.ts'

/**
 * Runs the command and sends the signal. Its output is not kept, because it may print the token.
 *
 * @throws Error that says why it failed
 */
export async function notify({ command, commandTimeoutMs, file, signal }: AgentToken): Promise<void> {
  if (command !== undefined) await runCommand(command, file, commandTimeoutMs)
  if (signal !== undefined) process.kill(pidOf(signal.pidFile), signal.name)
}

function runCommand(
  [program = '', ...args]: readonly string[],
  file: string,
  timeoutMs: number,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      env: { ...process.env, PORTCULLIS_TOKEN_FILE: file },
      stdio: 'ignore',
      // A separate group, so that everything that it started can be killed with it.
      detached: true,
    })
    const timer = setTimeout(() => {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
    }, timeoutMs)
    child.once('error', ({ code }: NodeJS.ErrnoException) => {
      clearTimeout(timer)
      reject(new Error(`the command cannot be started (${code})`))
    })
    child.once('exit', (code, signalName) => {
      clearTimeout(timer)
      if (code === 0) resolve()
      else reject(new Error(`the command ended with ${code ?? signalName}`))
    })
  })
}

/** @throws Error if the file has no number of a process */
function pidOf(path: string): number {
  let text: string
  try {
    text = readAtMost(path, SMALL_FILE_BYTES_MAX).toString().trim()
  } catch (error) {
    throw new Error(`the pid file cannot be read (${(error as NodeJS.ErrnoException).code})`)
  }
  // 0 and negative numbers are groups of processes, and 1 is the parent of all processes.
  if (!/^[1-9]\d{0,9}$/.test(text) || Number(text) < 2)
    throw new Error('expected the number of a process in the pid file')
  return Number(text)
}
