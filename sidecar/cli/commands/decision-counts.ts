/** By what decisions are counted. */
import type { Line } from '../../signals/decision-log/read-line.ts'

export const COUNTED = {
  reason: ({ reason }: Line) => reason,
  api: ({ api }: Line) => api,
  kind: ({ kind }: Line) => kind,
  user: ({ subject }: Line) => subject?.id,
  account: ({ scope, subject, target }: Line) => scope?.account ?? subject?.account ?? target?.account,
  project: ({ scope, target }: Line) => scope?.project ?? target?.project,
  token: ({ token }: Line) => token,
  client: ({ client_address: client, caller }: Line) => client ?? caller?.address,
  caller: ({ caller }: Line) => caller?.name,
  day: ({ time }: Line) => time.slice(0, 10),
} as const

export type Counted = keyof typeof COUNTED

/** Most different values that are counted. Decisions with further ones are counted together. */
const VALUES_MAX = 10_000

export class Counts {
  decisions = 0
  /** Decisions with further values. */
  further = 0
  readonly #of: ((line: Line) => string | undefined) | undefined
  readonly #counts = new Map<string | undefined, number>()

  /** @param by `undefined`: only how many there are */
  constructor(by: Counted | undefined) {
    this.#of = by && COUNTED[by]
  }

  add(line: Line): void {
    this.decisions++
    if (this.#of === undefined) return
    const value = this.#of(line)
    const count = this.#counts.get(value)
    if (count !== undefined) this.#counts.set(value, count + 1)
    else if (this.#counts.size < VALUES_MAX) this.#counts.set(value, 1)
    else this.further++
  }

  /** The most frequent first. */
  get rows(): readonly (readonly [value: string | undefined, count: number])[] {
    return [...this.#counts].sort(([a = '', one], [b = '', other]) => other - one || (a < b ? -1 : 1))
  }
}
