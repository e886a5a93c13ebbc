/** The actions that are due in a simulation, in their order. */

export interface Due {
  readonly atMs: number
  readonly order: number
  readonly run: () => void
  /** Set to have it not done. */
  cancelled: boolean
}

/** A binary heap. */
export class DueHeap {
  #all: Due[] = []
  #order = 0

  clear(): void {
    this.#all = []
    this.#order = 0
  }

  /** Has something done at that time, after what was to be done then already. */
  at(atMs: number, run: () => void): Due {
    const due = { atMs, order: this.#order++, run, cancelled: false }
    this.#add(due)
    return due
  }

  /** Removes what is to be done first, where its time has come. */
  take(nowMs: number): (() => void) | undefined {
    const { first } = this
    if (first === undefined || first.atMs > nowMs) return undefined
    this.removeFirst()
    return first.run
  }

  /** The next one that was not cancelled. */
  get first(): Due | undefined {
    while (this.#all[0]?.cancelled) this.removeFirst()
    return this.#all[0]
  }

  #add(due: Due): void {
    const all = this.#all
    let place = all.push(due) - 1
    for (
      let above = (place - 1) >> 1;
      place > 0 && isBefore(due, all[above] as Due);
      above = (place - 1) >> 1
    ) {
      all[place] = all[above] as Due
      place = above
    }
    all[place] = due
  }

  removeFirst(): void {
    const all = this.#all
    const last = all.pop()
    if (last === undefined || all.length === 0) return
    let place = 0
    for (;;) {
      let below = 2 * place + 1
      if (below + 1 < all.length && isBefore(all[below + 1] as Due, all[below] as Due)) below++
      if (below >= all.length || isBefore(last, all[below] as Due)) break
      all[place] = all[below] as Due
      place = below
    }
    all[place] = last
  }
}

function isBefore(one: Due, other: Due): boolean {
  return one.atMs === other.atMs ? one.order < other.order : one.atMs < other.atMs
}
