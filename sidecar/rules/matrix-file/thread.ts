/**
 * The program of the thread that reads a matrix: it finds everything that is wrong with the file, and sends
 * the matrix or the problems.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { finish } from '../../../engine/index.ts'
import { loadMatrix, MatrixError } from '../../../matrix/load.ts'
import { readMatrix } from './read.ts'
import { type FromThread, partsInSteps, type ReadByThread } from './thread-messages.ts'

parentPort?.postMessage(read(workerData as ReadByThread))

function read(from: ReadByThread): FromThread {
  try {
    const matrix = typeof from === 'string' ? readMatrix(from) : loadMatrix(from)
    return { type: 'matrix', parts: finish(partsInSteps(matrix)) }
  } catch (error) {
    if (error instanceof MatrixError) return { type: 'invalid', problems: error.problems }
    const { message, code } = error as NodeJS.ErrnoException
    return { type: 'unreadable', message, code }
  }
}
