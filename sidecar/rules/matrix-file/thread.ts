/**
 * The program of the thread that reads a matrix: it finds everything that is wrong with the file, and sends
 * the matrix or the problems.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { MatrixError } from '../../../matrix/index.ts'
import { readMatrix } from './read.ts'
import { type FromThread, partsOf } from './thread-messages.ts'

parentPort?.postMessage(read(workerData as string))

function read(path: string): FromThread {
  try {
    return { type: 'matrix', parts: partsOf(readMatrix(path)) }
  } catch (error) {
    if (error instanceof MatrixError) return { type: 'invalid', problems: error.problems }
    const { message, code } = error as NodeJS.ErrnoException
    return { type: 'unreadable', message, code }
  }
}
