/**
 * The program of the thread that answers the primary while a statement of SQLite blocks its worker. It has a
 * separate channel, because the worker's is blocked as well. While no statement runs, it does not answer: a
 * worker that is silent then hangs.
 */
import { Socket } from 'node:net'
import { workerData } from 'node:worker_threads'

const { channel, statementCount } = workerData as {
  readonly channel: number
  readonly statementCount: SharedArrayBuffer
}
const count = new Int32Array(statementCount)
let last = 0
const primary = new Socket({ fd: channel })
primary.on('data', (question) => {
  const now = Atomics.load(count, 0)
  // It is odd while a statement runs. Short ones may follow one another without a pause.
  if (now % 2 !== 0 || now !== last) primary.write(question)
  last = now
})
// When the primary is gone, the worker is about to end.
primary.on('error', () => {})
