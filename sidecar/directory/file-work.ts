/** Starts the threads that work on a whole directory file. SQLite blocks the thread that it works in. */
import { once } from 'node:events'
import { extname, join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { isExecutable, packageFile } from '../base/package.ts'

export interface FileWork {
  readonly work: 'search for damage' | 'empty the log'
  readonly path: string
}

/** Next to this file, in the sources as in the package. The executable has it as a text. */
const program = () =>
  isExecutable
    ? packageFile('file-thread.cjs').toString()
    : join(import.meta.dirname, `file-thread${extname(import.meta.filename)}`)

/** It needs no option of this process, and above all no secret of its environment. */
export function startFileThread(work: FileWork): Worker {
  return new Worker(program(), { eval: isExecutable, workerData: work, execArgv: [], env: {} })
}

/** A thread that empties the log of a file. */
export class LogThread implements AsyncDisposable {
  readonly #thread: Worker
  readonly #ended: Promise<undefined>

  constructor(path: string) {
    this.#thread = startFileThread({ work: 'empty the log', path })
    this.#ended = once(this.#thread, 'exit').then(
      () => undefined,
      () => undefined,
    )
  }

  /** Resolves when most of it is in the file, or this has failed. */
  async copied(): Promise<void> {
    await this.#answer()
  }

  /**
   * Moves the rest to the file. Nothing may be written meanwhile.
   *
   * @returns whether it is empty now; `undefined`: this has failed
   */
  emptied(): Promise<boolean | undefined> {
    const answer = this.#answer()
    this.#thread.postMessage('the rest')
    return answer
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#thread.terminate()
  }

  /** A thread that has ended gives none. */
  #answer(): Promise<boolean | undefined> {
    const message = new Promise<boolean>((resolve) => void this.#thread.once('message', resolve))
    return Promise.race([message, this.#ended])
  }
}
