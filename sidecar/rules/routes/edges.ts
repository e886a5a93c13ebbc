/** The steps from a place of the tree to the next, by the number of a text: one array, which is one look. */
export class Edges {
  /** Three numbers an edge: from, text and to. Where `from` is 0, there is no edge. */
  #slots = new Int32Array(3 * 64)
  #mask = 63
  #count = 0

  /** @param from above 0 @returns 0: there is none */
  get(from: number, text: number): number {
    const slots = this.#slots
    for (let slot = hashOf(from, text) & this.#mask; ; slot = (slot + 1) & this.#mask) {
      const at = 3 * slot
      if (slots[at] === from && slots[at + 1] === text) return slots[at + 2] as number
      if (slots[at] === 0) return 0
    }
  }

  /** Adds what is not there yet. */
  add(from: number, text: number, to: number): void {
    if (2 * ++this.#count > this.#mask) this.#grow()
    this.#put(from, text, to)
  }

  *[Symbol.iterator](): Generator<readonly [from: number, text: number, to: number]> {
    const slots = this.#slots
    for (let at = 0; at < slots.length; at += 3)
      if (slots[at] !== 0) yield [slots[at] as number, slots[at + 1] as number, slots[at + 2] as number]
  }

  #put(from: number, text: number, to: number): void {
    let slot = hashOf(from, text) & this.#mask
    while (this.#slots[3 * slot] !== 0) slot = (slot + 1) & this.#mask
    this.#slots.set([from, text, to], 3 * slot)
  }

  #grow(): void {
    const all = [...this]
    this.#mask = 2 * this.#mask + 1
    this.#slots = new Int32Array(3 * (this.#mask + 1))
    for (const [from, text, to] of all) this.#put(from, text, to)
  }
}

/** Neighbouring numbers get places far from each other. */
function hashOf(from: number, text: number): number {
  const mixed = Math.imul(from, 0x9e3779b1) ^ Math.imul(text, 0x85ebca6b)
  return mixed ^ (mixed >>> 15)
}
