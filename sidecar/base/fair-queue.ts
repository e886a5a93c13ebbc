/**
 * A queue whose turns are shared fairly. It has lanes with weights. Within a lane the turns go round by
 * share, for example by source, then by user, then by connection. So a client that asks often waits behind
 * its own calls, and others do not.
 */

export interface FairQueueOptions<Lane extends string> {
  /** The lanes. Of lanes that wait, one with twice the weight of another has twice as many turns. */
  readonly weights: Readonly<Record<Lane, number>>
  /** How much work runs at the same time. */
  readonly concurrent: number
  /** How much work may wait in each lane. */
  readonly waiting: number
  /** Makes the error for work that is refused because its lane is full. */
  readonly full: () => Error
}

/** The place of an entry. */
export interface Place<Lane extends string> {
  readonly lane: Lane
  /** From the widest share to the narrowest. */
  readonly shares: readonly string[]
}

interface LaneState {
  readonly weight: number
  readonly waiting: Share
  /** Rises with each turn of another lane: the lane with the most credit has the next turn. */
  credit: number
}

export class FairQueue<Lane extends string> {
  readonly #options: FairQueueOptions<Lane>
  readonly #lanes: Readonly<Record<Lane, LaneState>>
  #running = 0
  #arrivals = 0

  constructor(options: FairQueueOptions<Lane>) {
    this.#options = options
    this.#lanes = Object.fromEntries(
      Object.entries<number>(options.weights).map(([lane, weight]) => [
        lane,
        { weight, waiting: new Share(), credit: 0 },
      ]),
    ) as Record<Lane, LaneState>
  }

  /**
   * Runs the work when it is its turn. In a full lane the longest share loses its newest work, which may be
   * this one.
   *
   * @throws the error of `full` where the work is refused, and any error of the work
   */
  run<T>({ lane, shares }: Place<Lane>, work: () => Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    const { waiting } = this.#lanes[lane]
    waiting.add(shares, {
      arrival: ++this.#arrivals,
      refuse: reject,
      start: async () => {
        try {
          resolve(await work())
        } catch (error) {
          reject(error)
        }
      },
    })
    this.#startNext()
    if (waiting.length > this.#options.waiting) waiting.dropFromLongest().refuse(this.#options.full())
    return promise
  }

  /** How much waits in each lane. */
  get waiting(): Readonly<Record<Lane, number>> {
    const counts = Object.entries<LaneState>(this.#lanes).map(([lane, { waiting }]) => [lane, waiting.length])
    return Object.fromEntries(counts) as Record<Lane, number>
  }

  #startNext(): void {
    while (this.#running < this.#options.concurrent) {
      const next = this.#nextLane()?.waiting.take()
      if (next === undefined) return
      this.#running++
      void this.#start(next)
    }
  }

  async #start(entry: Entry): Promise<void> {
    await entry.start()
    this.#running--
    this.#startNext()
  }

  /** Smooth weighted round robin over the lanes in which work waits. */
  #nextLane(): LaneState | undefined {
    const lanes = this.#lanesWaiting()
    let next: LaneState | undefined
    let weights = 0
    for (const lane of lanes) {
      lane.credit += lane.weight
      weights += lane.weight
      if (next === undefined || lane.credit > next.credit) next = lane
    }
    if (next !== undefined) next.credit -= weights
    return next
  }

  #lanesWaiting(): LaneState[] {
    return Object.values<LaneState>(this.#lanes).filter((lane) => {
      if (lane.waiting.length > 0) return true
      // A lane in which nothing waits saves up no turns, and owes none.
      lane.credit = 0
      return false
    })
  }
}

interface Entry {
  /** Number of the arrival. */
  readonly arrival: number
  start(): Promise<void>
  refuse(error: Error): void
}

/** The waiting part of one share: entries, or narrower shares that take turns. */
class Share {
  readonly #entries: Entry[] = []
  /** In the order of their turns. */
  readonly #parts = new Map<string, Share>()
  length = 0
  /** Arrival of the newest entry. */
  #newest = 0

  add(shares: readonly string[], entry: Entry): void {
    this.length++
    this.#newest = entry.arrival
    const [name, ...narrower] = shares
    if (name === undefined) {
      this.#entries.push(entry)
      return
    }
    let part = this.#parts.get(name)
    if (part === undefined) {
      part = new Share()
      this.#parts.set(name, part)
    }
    part.add(narrower, entry)
  }

  /** Takes the entry whose turn it is. */
  take(): Entry | undefined {
    const entry = this.#entries.shift()
    if (entry !== undefined) {
      this.length--
      return entry
    }
    for (const [name, part] of this.#parts) {
      this.length--
      this.#parts.delete(name)
      const taken = part.take()
      // The other parts have their turns first.
      if (part.length > 0) this.#parts.set(name, part)
      return taken
    }
    return undefined
  }

  /** Takes the newest entry of the longest part. There must be one. */
  dropFromLongest(): Entry {
    this.length--
    let [longestName, longest]: [string, Share | undefined] = ['', undefined]
    for (const [name, part] of this.#parts)
      if (
        longest === undefined ||
        part.length > longest.length ||
        (part.length === longest.length && part.#newest > longest.#newest)
      )
        [longestName, longest] = [name, part]
    if (longest === undefined) return this.#entries.pop() as Entry
    const dropped = longest.dropFromLongest()
    if (longest.length === 0) this.#parts.delete(longestName)
    return dropped
  }
}
