/**
 * The open streams of a connection by their ids. A `Map` would do, but each time it makes room it leaves a
 * table behind that refers to the next one. The first of them that grows old keeps all later ones from the
 * quick collections of garbage, with every stream in them. This table makes no garbage.
 */

/** A kept value: it has an id, an odd number that is not used again. */
interface Identified {
  readonly id: number
}

const SLOTS_MIN = 16

export class StreamTable<Stream extends Identified> {
  /** A stream is in the slot of its id, or in the next one that was free. At most half of them are in use. */
  #slots: (Stream | undefined)[] = emptySlots(SLOTS_MIN)
  #size = 0

  get size(): number {
    return this.#size
  }

  get(id: number): Stream | undefined {
    return this.#slots[this.#slotOf(id)]
  }

  /** @param stream whose id is not in the table */
  add(stream: Stream): void {
    if (2 * ++this.#size > this.#slots.length) this.#grow()
    this.#slots[this.#slotOf(stream.id)] = stream
  }

  delete(id: number): void {
    let free = this.#slotOf(id)
    if (this.#slots[free] === undefined) return
    this.#size--
    this.#slots[free] = undefined
    // A stream that could not be in its own slot may be looked for across the one that is free now.
    for (let slot = this.#after(free); ; slot = this.#after(slot)) {
      const stream = this.#slots[slot]
      if (stream === undefined) return
      if (this.#distance(this.#home(stream.id), slot) < this.#distance(free, slot)) continue
      this.#slots[free] = stream
      this.#slots[slot] = undefined
      free = slot
    }
  }

  /** All of them. The table may change while the list is in use. */
  list(): Stream[] {
    return this.#size === 0 ? [] : this.#slots.filter((stream) => stream !== undefined)
  }

  /** The slot of the stream, or the one where it would be. */
  #slotOf(id: number): number {
    let slot = this.#home(id)
    for (;;) {
      const stream = this.#slots[slot]
      if (stream === undefined || stream.id === id) return slot
      slot = this.#after(slot)
    }
  }

  /** Ids are odd, so that those that follow each other have slots that follow each other. */
  #home(id: number): number {
    return (id >>> 1) & (this.#slots.length - 1)
  }

  #after(slot: number): number {
    return (slot + 1) & (this.#slots.length - 1)
  }

  #distance(from: number, to: number): number {
    return (to - from) & (this.#slots.length - 1)
  }

  #grow(): void {
    const streams = this.list()
    this.#slots = emptySlots(2 * this.#slots.length)
    for (const stream of streams) this.#slots[this.#slotOf(stream.id)] = stream
  }
}

function emptySlots(length: number): undefined[] {
  return new Array(length).fill(undefined)
}
