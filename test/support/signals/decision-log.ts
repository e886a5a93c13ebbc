/** Lines of decision logs, each held to the schema; and logs whose destination is the test. */
import { readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { pino } from 'pino'
import { Health } from '../../../sidecar/base/health.ts'
import { linesIn as countLines, type Destination } from '../../../sidecar/signals/backlog.ts'
import { DecisionLog, type DecisionLogOptions } from '../../../sidecar/signals/decision-log/decision-log.ts'
import { Fingerprints } from '../../../sidecar/signals/decision-log/fingerprints.ts'
import schema from '../../../sidecar/signals/decision-log/line.schema.json' with { type: 'json' }
import type { Line } from '../../../sidecar/signals/decision-log/read-line.ts'
import type { AskerFacts } from '../../../sidecar/usecases/decision-recorder.ts'
import { ROOT } from '../checkout/sources.ts'

export const SCHEMA_FILE = `${ROOT}sidecar/signals/decision-log/line.schema.json`

/** The fields that the tests look at beside those that a replay reads. */
export interface LoggedLine extends Line {
  readonly time: string
  readonly protocol: string
  readonly caller: { readonly address?: string; readonly name?: string }
  readonly trace_id?: string
  readonly request_id?: string
  readonly matrix: string
  readonly token?: string
  readonly client_address?: string
  readonly latency_us: number
  readonly sample_percent?: number
  readonly dropped?: number
}

/** Closed, so that a member that the schema does not describe is found. */
const closed = JSON.parse(JSON.stringify(schema), (_key, value) =>
  value?.type === 'object' ? { ...value, additionalProperties: false } : value,
)
const validate = new Ajv2020({ allErrors: true }).compile(closed)

/** @throws Error for a line that is not as the schema says */
export function linesOf(text: string): LoggedLine[] {
  if (text !== '' && !text.endsWith('\n')) throw new Error('expected whole lines')
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => {
      const value: unknown = JSON.parse(line)
      if (!validate(value)) throw new Error(`${JSON.stringify(validate.errors)}: ${line}`)
      return value as LoggedLine
    })
}

export function linesIn(path: string): LoggedLine[] {
  return linesOf(readFileSync(path, 'utf8'))
}

/** A destination that keeps what it gets, or fails on request. */
export class Kept implements Destination {
  text = ''
  failing: Error | undefined
  /** Why it never takes lines, which are lost. */
  refusing: string | undefined
  /** How many bytes it takes at once. */
  bytesMax = Number.POSITIVE_INFINITY
  /** Writes that wait for `release`. */
  #waiting: PromiseWithResolvers<void> | undefined

  hold(): void {
    this.#waiting = Promise.withResolvers()
  }

  release(): void {
    this.#waiting?.resolve()
    this.#waiting = undefined
  }

  async write(
    [first]: readonly [Buffer, ...Buffer[]],
    onRefused: (lines: number, problem: string) => void,
  ): Promise<number> {
    await this.#waiting?.promise
    if (this.failing !== undefined) throw this.failing
    const taken = first.subarray(0, this.bytesMax)
    if (this.refusing !== undefined) {
      onRefused(countLines(taken), this.refusing)
      return taken.length
    }
    this.text += taken.toString('latin1')
    return taken.length
  }

  async close(): Promise<void> {}

  /** As it was written: bytes, not characters. */
  get lines(): LoggedLine[] {
    return linesOf(Buffer.from(this.text, 'latin1').toString())
  }
}

export const FACTS: AskerFacts = {
  protocol: 'grpc',
  address: '127.0.0.1',
  name: undefined,
  traceparent: [],
  requestIds: [],
}

/** A log that writes into `kept`. */
export function newDecisionLog(options: Partial<DecisionLogOptions> = {}) {
  const kept = new Kept()
  const health = new Health(Date.now)
  health.started()
  const said: { readonly msg: string; readonly decisions?: number; readonly problem?: string }[] = []
  const log = new DecisionLog({
    destination: kept,
    fingerprints: new Fingerprints('the secret of the test'),
    samplePercent: 100,
    required: false,
    bytesMax: 1_048_576,
    now: Date.now,
    log: pino({ base: null }, { write: (line: string) => void said.push(JSON.parse(line)) }),
    health,
    ...options,
  })
  return { log, kept, health, said, listener: log.listener(FACTS, undefined) }
}
