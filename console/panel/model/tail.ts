/**
 * The live tail of decisions: what arrives, what is kept of it, and what a filter shows. Thousands of lines
 * may arrive in a second, so each line is looked at once, and nothing grows.
 */

/** A line of the decision log, as far as the page shows it (`line.schema.json` of the sidecar). */
export interface Decision {
  readonly time: string
  readonly protocol: string
  readonly caller: { readonly address?: string; readonly name?: string }
  readonly api: string
  readonly kind?: string
  readonly allowed: boolean
  readonly reason: string
  readonly strict: boolean
  readonly matrix: string
  readonly conflicts: readonly string[]
  readonly asked: string
  readonly scope?: Owner
  readonly target?: Owner
  readonly token?: string
  readonly subject?: { readonly id: string; readonly type: string; readonly account: string }
  readonly header?: string
  readonly client_address?: string
  readonly trace_id?: string
  readonly request_id?: string
  readonly latency_us: number
  /** It passed anyway. */
  readonly observed?: true
  readonly sample_percent?: number
  readonly dropped?: number
}

interface Owner {
  readonly account: string
  readonly project?: string
}

/** The sidecar's facts about the lines, before the first one. */
export interface Facts {
  readonly samplePercent: number
  readonly workers: number
}

/** The content of a line of the answer. */
export type Told =
  | { readonly type: 'decision'; readonly decision: Decision }
  | { readonly type: 'listening'; readonly facts: Facts }
  | { readonly type: 'missed'; readonly count: number }
  | { readonly type: 'ended'; readonly reason: string }
  | { readonly type: 'alive' }

/** @returns `undefined` for what a later version of the sidecar may say */
export function toldBy(line: string): Told | undefined {
  let value: Partial<Decision> & Record<string, unknown>
  try {
    value = JSON.parse(line)
  } catch {
    return undefined
  }
  if (typeof value?.reason === 'string' && typeof value.api === 'string')
    return { type: 'decision', decision: value as Decision }
  if (typeof value?.missed === 'number') return { type: 'missed', count: value.missed }
  if (typeof value?.ended === 'string') return { type: 'ended', reason: value.ended }
  if (typeof value?.listening === 'object') return { type: 'listening', facts: value.listening as Facts }
  return value?.alive === true ? { type: 'alive' } : undefined
}

/** Makes lines of texts that begin and end anywhere. */
export class Lines {
  #rest = ''

  /** @returns the lines that are whole now */
  add(text: string): readonly string[] {
    const lines = (this.#rest + text).split('\n')
    this.#rest = lines.pop() ?? ''
    return lines
  }
}

export interface TailFilter {
  /** Anywhere in the line, whatever its case; empty: every line. */
  readonly text: string
  readonly verdict: 'all' | 'allowed' | 'denied'
  /** Empty: every reason. */
  readonly reason: string
  /** Empty: every API. */
  readonly api: string
}

export const NO_FILTER: TailFilter = { text: '', verdict: 'all', reason: '', api: '' }

/** A decision, or how many are missing at this place. */
export type Entry =
  | { readonly id: number; readonly decision: Decision }
  | { readonly id: number; readonly missed: number }

/** Most entries that are kept, and most that are shown. */
export const KEPT_MAX = 1_000

/** Most APIs that can be chosen. Every caller may ask about APIs that do not exist. */
const APIS_MAX = 200

/** The kept lines. The newest entry is the first. While it is paused, the shown lines stay. */
export class Tail {
  #next = 0
  #filter = NO_FILTER
  /** The newest of all. */
  #recent: Entry[] = []
  /** The newest of those that the filter lets through. */
  #shown: readonly Entry[] = []
  #paused = false
  /** The number of lines that have come since it was paused, or since the last look, the oldest first. */
  #waiting: Entry[] = []
  #waitingCount = 0
  /** How many decisions have come, those that the filter leaves out too. */
  received = 0
  /** How many of them deny. */
  denied = 0
  /** There are sixteen at most. */
  readonly reasons = new Set<string>()
  readonly apis = new Set<string>()

  get shown(): readonly Entry[] {
    return this.#shown
  }

  get paused(): boolean {
    return this.#paused
  }

  /** How many entries have come since it was paused that the filter lets through. */
  get waiting(): number {
    return this.#waitingCount
  }

  add(decision: Decision): void {
    this.received++
    if (!decision.allowed) this.denied++
    this.reasons.add(decision.reason)
    if (this.apis.size < APIS_MAX) this.apis.add(decision.api)
    this.#put({ id: this.#next++, decision })
  }

  missed(count: number): void {
    this.#put({ id: this.#next++, missed: count })
  }

  pause(): void {
    this.#paused = true
  }

  resume(): void {
    this.#paused = false
    this.show()
  }

  /** Shows what has come. Called once a frame, however much that is. @returns whether anything is new */
  show(): boolean {
    if (this.#paused || this.#waiting.length === 0) return false
    this.#shown = [...this.#waiting.reverse(), ...this.#shown].slice(0, KEPT_MAX)
    this.#waiting = []
    this.#waitingCount = 0
    return true
  }

  /** Shows what a filter lets through, of all that is still kept. */
  filter(filter: TailFilter): void {
    this.#filter = filter
    const kept = new Map<number, Entry>()
    for (const entry of [...this.#recent, ...this.#waiting, ...this.#shown]) kept.set(entry.id, entry)
    const found = [...kept.values()].filter((entry) => passes(entry, filter)).sort((a, b) => b.id - a.id)
    this.#shown = found.slice(0, KEPT_MAX)
    this.#waiting = []
    this.#waitingCount = 0
  }

  clear(): void {
    this.#recent = []
    this.#shown = []
    this.#waiting = []
    this.#waitingCount = 0
  }

  #put(entry: Entry): void {
    push(this.#recent, entry)
    if (!passes(entry, this.#filter)) return
    this.#waitingCount++
    push(this.#waiting, entry)
  }
}

/** The oldest are let go of many at a time, because moving all of the others costs something. */
function push(entries: Entry[], entry: Entry): void {
  entries.push(entry)
  if (entries.length >= 2 * KEPT_MAX) entries.splice(0, entries.length - KEPT_MAX)
}

/** That decisions are missing is said whatever is looked for: one of them could have been it. */
function passes(entry: Entry, { text, verdict, reason, api }: TailFilter): boolean {
  if (!('decision' in entry)) return true
  const { decision } = entry
  if (verdict !== 'all' && decision.allowed !== (verdict === 'allowed')) return false
  if (reason !== '' && decision.reason !== reason) return false
  if (api !== '' && decision.api !== api) return false
  return text === '' || textOf(decision).includes(text.trim().toLowerCase())
}

/** All that can be looked for. */
function textOf({ caller, scope, target, subject, conflicts, ...decision }: Decision): string {
  return [
    ...[decision.api, decision.kind, decision.reason, decision.protocol, caller.name, caller.address],
    ...[scope?.account, scope?.project, target?.account, target?.project, subject?.id, subject?.type],
    ...[decision.token, decision.header, decision.client_address, decision.trace_id, decision.request_id],
    ...conflicts,
  ]
    .join('\n')
    .toLowerCase()
}

/** How long to wait before it is listened to again, in milliseconds: twice as long after each failure. */
export function pauseBefore(failures: number): number {
  return Math.min(1_000 * 2 ** Math.max(0, failures - 1), 30_000)
}
