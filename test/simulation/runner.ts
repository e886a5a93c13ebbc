/** A process that runs seeds, one after the other. */
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import type { Outcome, Run } from './outcome.ts'

const PROGRAM = fileURLToPath(new URL('run-seeds.ts', import.meta.url))

/** In memory, where there is such a folder: files are synced there at once. */
const MEMORY = '/dev/shm'

export class Runner {
  readonly #process: ChildProcessByStdio<Writable, Readable, null>
  readonly #lines: AsyncIterator<string>

  /** @param defect a known one by its name; `undefined`: the code as it is */
  constructor(defect?: string) {
    this.#process = spawn(process.execPath, [PROGRAM], {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: {
        ...process.env,
        ...(existsSync(MEMORY) && { SIMULATION_FOLDER: MEMORY }),
        DEFECT: defect,
      },
    })
    this.#lines = createInterface({ input: this.#process.stdout })[Symbol.asyncIterator]()
  }

  /** @throws Error where the process has ended */
  async run(run: Run): Promise<Outcome> {
    this.#process.stdin.write(`${JSON.stringify(run)}\n`)
    const { done, value } = await this.#lines.next()
    if (done) throw new Error(`the process that ran seed ${run.seed} has ended`)
    return JSON.parse(value)
  }

  close(): void {
    this.#process.stdin.end()
    this.#process.kill()
  }
}

interface Search {
  readonly from: number
  readonly seeds: number
  readonly steps: number
  readonly jobs: number
  /** No seed begins after this time. */
  readonly untilMs?: number
  /** A known one by its name. */
  readonly defect?: string | undefined
}

/** The results of a search, in numbers. */
interface Ran {
  readonly count: number
  /** Of all seeds together. */
  readonly found: Readonly<Record<string, number>>
  /** The first one that broke a promise; no other begins after it. */
  readonly broken: Outcome | undefined
}

/** Runs seeds in several processes until one breaks a promise. */
export async function firstBroken({ from, seeds, steps, jobs, untilMs, defect }: Search): Promise<Ran> {
  const found: Record<string, number> = {}
  let next = from
  let count = 0
  let broken: Outcome | undefined
  const work = async () => {
    const runner = new Runner(defect)
    try {
      while (
        broken === undefined &&
        next < from + seeds &&
        Date.now() < (untilMs ?? Number.POSITIVE_INFINITY)
      ) {
        const outcome = await runner.run({ seed: next++, steps })
        count++
        if (outcome.broken !== undefined) broken ??= outcome
        for (const [name, value] of Object.entries(outcome.found ?? {}))
          if (typeof value === 'number') found[name] = (found[name] ?? 0) + value
      }
    } finally {
      runner.close()
    }
  }
  await Promise.all(Array.from({ length: jobs }, work))
  return { count, found, broken }
}

/** Removes what a broken run does not need: all steps without which it still breaks a promise. */
export async function shrunk(runner: Runner, run: Run, triesMax = 200): Promise<Run> {
  let best = run
  let tries = 0
  const isBroken = async (skipped: readonly number[]) => {
    tries++
    const { broken } = await runner.run({ ...best, skipped })
    if (broken !== undefined) best = { ...best, skipped, steps: broken.steps }
    return broken !== undefined
  }
  for (let size = Math.ceil(best.steps / 2); size >= 1 && tries < triesMax; size = Math.floor(size / 2))
    for (let from = 0; from < best.steps && tries < triesMax; from += size) {
      const skipped = new Set(best.skipped)
      for (let step = from; step < Math.min(from + size, best.steps); step++) skipped.add(step)
      if (skipped.size > (best.skipped?.length ?? 0)) await isBroken([...skipped].sort((a, b) => a - b))
    }
  return best
}
