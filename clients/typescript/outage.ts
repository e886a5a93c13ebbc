/** The lines that guards print while requests cannot be checked (clients/conformance/README.md). */

/** A line at most this often while requests fail. */
const LINE_MS = 60_000

/** Some requests may still be answered, from memory too, and others fail late. */
const QUIET_MS = 10_000

/** Of one connection. Each method returns the line to print, if any. */
export class Outage {
  #isOpen = false
  #failedAtMs = 0
  #printedAtMs = 0
  /** Requests that could not be checked, and those that no line has said yet. */
  #requests = 0
  #more = 0

  get isOpen(): boolean {
    return this.#isOpen
  }

  /** A guard has asked before its first request, and there was no answer. */
  starts(error: string, nowMs: number): string | undefined {
    if (this.#isOpen) return undefined
    this.#begin(nowMs)
    this.#failedAtMs = Number.NEGATIVE_INFINITY
    return `${error}; requests are denied until a sidecar answers`
  }

  /** A request could not be checked. */
  fails(error: string, nowMs: number): string | undefined {
    const isFirst = !this.#isOpen
    if (isFirst) this.#begin(nowMs)
    this.#failedAtMs = nowMs
    this.#requests++
    if (isFirst) return `no answer, so a request was refused: ${error}`
    this.#more++
    if (nowMs - this.#printedAtMs < LINE_MS) return undefined
    const line = `${requests(this.#more, 'more ')} could not be checked: ${error}`
    this.#printedAtMs = nowMs
    this.#more = 0
    return line
  }

  /** A request was answered, by the sidecar or from memory. */
  answers(nowMs: number): string | undefined {
    if (!this.#isOpen || nowMs - this.#failedAtMs < QUIET_MS) return undefined
    this.#isOpen = false
    return `the sidecar answers again; ${requests(this.#requests)} could not be checked`
  }

  #begin(nowMs: number): void {
    this.#isOpen = true
    this.#printedAtMs = nowMs
    this.#requests = 0
    this.#more = 0
  }
}

function requests(count: number, more = ''): string {
  return `${count} ${more}${count === 1 ? 'request' : 'requests'}`
}
