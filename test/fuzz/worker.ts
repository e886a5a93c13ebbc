/** A thread that fuzzes one target, so that the thread before it can end what never ends. */
import { parentPort, workerData } from 'node:worker_threads'
import { KEPT_BYTES_MAX } from './corpus.ts'
import { Fuzzer } from './fuzzer.ts'
import { countProduct } from './instrument.ts'
import { loadTarget } from './targets.ts'

export interface Work {
  readonly target: string
  readonly corpus: readonly Uint8Array[]
  readonly seed: number
  readonly runs?: number
  readonly ms?: number
  /** Whether to return only the inputs that are worth being kept. */
  readonly smallest?: boolean
  /** The number of inputs so far, the length of the last one, and its bytes. */
  readonly shared: SharedArrayBuffer
}

const { target: name, corpus, seed, runs, ms, smallest = false, shared } = workerData as Work
const head = new Uint32Array(shared, 0, 2)
const content = Buffer.from(shared, 8)

// Ended from within, so that targets can clean up.
parentPort?.once('message', () => process.exit())

const coverage = countProduct()
const target = await loadTarget(name)
const fuzzer = new Fuzzer(target, coverage)
const inputs = corpus.map((each) => Buffer.from(each))
if (smallest) parentPort?.postMessage(await fuzzer.smallest(inputs, KEPT_BYTES_MAX))
else {
  const about = (input: Buffer) => {
    head[0] = (head[0] as number) + 1
    head[1] = input.length
    input.copy(content)
  }
  parentPort?.postMessage(
    await fuzzer.fuzz(inputs, {
      seed,
      about,
      ...(runs !== undefined && { runs }),
      ...(ms !== undefined && { ms }),
    }),
  )
}
