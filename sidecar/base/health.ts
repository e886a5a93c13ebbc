/** The problems because of which the sidecar must get no traffic, although it runs. Health checks report them. */
export class Health {
  readonly #problems = new Set<string>()
  readonly #watchers = new Set<() => void>()

  /** Stable codes, for example `signing_keys_unreadable`; empty: there is no problem. */
  get problems(): readonly string[] {
    return [...this.#problems]
  }

  set(problem: string, present: boolean): void {
    if (this.#problems.has(problem) === present) return
    if (present) this.#problems.add(problem)
    else this.#problems.delete(problem)
    for (const notify of this.#watchers) notify()
  }

  /** Calls `notify` at each change from now on. */
  watch(notify: () => void): void {
    this.#watchers.add(notify)
  }
}
