/**
 * Followers with tokens: each is a sidecar without a directory, except that programs call it in this process.
 * They run in a thread, so that they do not delay the driver of the hub.
 */
import { setPriority } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parentPort as parent, Worker, workerData } from 'node:worker_threads'
import { pino } from 'pino'
import type { Verification } from '../../sidecar/authority/authority.ts'
import { Health } from '../../sidecar/base/health.ts'
import { Secret } from '../../sidecar/base/secret.ts'
import { openHub } from '../../sidecar/process/open/open-hub.ts'
import { shippedEngine } from './questions.ts'

interface HerdOptions {
  /** Of the hub. */
  readonly address: string
  readonly callerToken: string
  /** Followers, and the tokens that each of them knows. */
  readonly followers: number
  readonly tokens: readonly string[]
  readonly stalenessMs: number
  /** For what they keep. */
  readonly folder: string
}

/** The message of the thread once each follower has the answer about each token in memory. */
interface InStep {
  /** Checks that got an error on the way. */
  readonly failed: number
}

export class Herd {
  readonly #worker: Worker

  private constructor(worker: Worker) {
    this.#worker = worker
  }

  /** Starts them. Resolves when each knows its tokens. */
  static async start(options: HerdOptions): Promise<Herd> {
    const herd = new Herd(new Worker(import.meta.filename, { workerData: options }))
    await herd.inStep()
    return herd
  }

  /** Resolves when each has forgotten everything, and has its tokens in memory again. */
  inStep(): Promise<InStep> {
    const { promise, resolve, reject } = Promise.withResolvers<InStep>()
    this.#worker.once('message', resolve).once('error', reject)
    return promise.finally(() => this.#worker.off('error', reject))
  }

  async close(): Promise<void> {
    await this.#worker.terminate()
  }
}

/** Time between two looks whether everything was forgotten, in milliseconds. */
const LOOK_MS = 10

/** Of this thread: other hosts do not share the processors of their hub. */
const PRIORITY = 10

if (parent !== null) {
  setPriority(PRIORITY)
  await follow(workerData as HerdOptions)
}

async function follow({ followers, tokens, folder, ...hub }: HerdOptions): Promise<void> {
  const engine = shippedEngine()
  const opened = await Promise.all(
    Array.from({ length: followers }, (_, index) =>
      openHub(
        {
          ...{ addresses: [hub.address], stalenessMs: hub.stalenessMs, timeoutMs: 2_000 },
          ...{ token: () => new Secret(hub.callerToken), tls: () => undefined },
        },
        {
          ...{ knownFolder: join(folder, String(index)), rememberedTokens: tokens.length, rules: { engine } },
          ...{
            siblings: undefined,
            log: pino({ level: 'silent' }),
            health: new Health(Date.now),
            now: Date.now,
          },
        },
      ),
    ),
  )
  const forgotten = opened.map(({ changes }) => changes.state.touched.everything)
  for (let time = 0; ; time++) {
    const failures = await Promise.all(
      opened.map(async ({ authority, changes }, index) => {
        // The first time, nothing is known yet.
        while (time > 0 && changes.state.touched.everything === forgotten[index]) {
          changes.moment()
          await delay(LOOK_MS)
        }
        let failed = 0
        for (let asked = tokens; asked.length > 0; ) {
          const found = asked.map((token) => authority.verify(token, engine.tokenKinds))
          const waiting = found.flatMap((each) =>
            each instanceof Promise ? [each.then(expectOk, () => void failed++)] : [],
          )
          await Promise.all(waiting)
          asked = asked.filter((_token, at) => found[at] instanceof Promise)
        }
        forgotten[index] = changes.state.touched.everything
        return failed
      }),
    )
    parent?.postMessage({ failed: failures.reduce((sum, failed) => sum + failed, 0) } satisfies InStep)
  }
}

function expectOk({ ok }: Verification): void {
  if (!ok) throw new Error('a follower denies a token that is active')
}
