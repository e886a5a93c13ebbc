/** Reports bounds that were exceeded: the first time at once, then every few seconds with their counts. */

/** Time between two reports, in milliseconds. */
const REPORT_MS = 10_000

export class Reports {
  readonly #report: (counts: Readonly<Record<string, number>>) => void
  readonly #counts = new Map<string, number>()
  #timer: NodeJS.Timeout | undefined

  constructor(report: (counts: Readonly<Record<string, number>>) => void) {
    this.#report = report
  }

  add(bound: string): void {
    this.#counts.set(bound, (this.#counts.get(bound) ?? 0) + 1)
    if (this.#timer === undefined) this.#tell()
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#counts.size > 0) this.#report(Object.fromEntries(this.#counts))
  }

  #tell(): void {
    this.#timer = undefined
    if (this.#counts.size === 0) return
    this.#report(Object.fromEntries(this.#counts))
    this.#counts.clear()
    this.#timer = setTimeout(() => this.#tell(), REPORT_MS).unref()
  }
}
