/**
 * Reads a large matrix in a thread, so that calls do not wait: to find duplicate keys, unknown fields and
 * conflicts in a file of a megabyte takes some hundred milliseconds.
 */
import { extname, join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { MatrixError } from '../../../matrix/index.ts'
import { isExecutable, packageFile } from '../../base/package.ts'
import type { FromThread, MatrixParts, ReadByThread } from './thread-messages.ts'

/** Next to this file, in the sources as in the package. The executable has it as a text. */
const program = () =>
  isExecutable
    ? packageFile('thread.cjs').toString()
    : join(import.meta.dirname, `thread${extname(import.meta.filename)}`)

/**
 * Resolves to a matrix that `readMatrix` accepts. Rejects as `readMatrix` throws.
 *
 * @param stopped ends the thread
 * @param name of what is read, for errors
 */
export async function readInThread(
  from: ReadByThread,
  stopped: AbortSignal,
  name = String(from),
): Promise<MatrixParts> {
  const answer = await ask(from, stopped, name)
  switch (answer.type) {
    case 'matrix':
      return answer.parts
    case 'invalid':
      throw new MatrixError(answer.problems, name)
    case 'unreadable':
      throw Object.assign(new Error(answer.message), { code: answer.code })
  }
}

async function ask(from: ReadByThread, stopped: AbortSignal, name: string): Promise<FromThread> {
  stopped.throwIfAborted()
  const { promise, resolve, reject } = Promise.withResolvers<FromThread>()
  // It needs no option of this process, and above all no secret of its environment.
  const thread = new Worker(program(), { eval: isExecutable, workerData: from, execArgv: [], env: {} })
  const stop = () => reject(stopped.reason)
  stopped.addEventListener('abort', stop)
  thread.once('message', resolve)
  thread.once('error', (cause) => reject(withoutThread(name, cause)))
  thread.once('exit', () => reject(withoutThread(name, undefined)))
  try {
    return await promise
  } finally {
    stopped.removeEventListener('abort', stop)
    await thread.terminate()
  }
}

/** No memory or no threads left says nothing about the file, so it is read again at the next look. */
function withoutThread(name: string, cause: unknown): Error {
  const why = cause instanceof Error ? `: ${cause.message}` : ''
  const error = new Error(`matrix: ${name} cannot be read, because its thread has ended${why}`, { cause })
  return Object.assign(error, { code: 'EAGAIN' })
}
