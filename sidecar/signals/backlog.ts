/**
 * The lines that are not yet written: a bounded number of blocks. A line is made in its place in the last
 * block. Blocks are written one after the other, and no decision waits for that.
 */

/** Where lines go. */
export interface Destination {
  /**
   * Writes some of these blocks of bytes, which are whole lines or the rest of them.
   *
   * @param onRefused called with lines among those bytes that never will be written
   * @returns how many bytes are done with, from the first one
   * @throws Error where they may be written later; WriteLater where the destination says when
   */
  write(blocks: readonly [Buffer, ...Buffer[]], onRefused: BacklogOptions['onRefused']): Promise<number>
  close(): Promise<void>
}

/** The destination is there and does not take lines for now. */
export class WriteLater extends Error {
  override readonly name = 'WriteLater'
  /** How long it wants to be left alone, in milliseconds. */
  readonly pauseMs: number | undefined

  constructor(message: string, pauseMs: number | undefined) {
    super(message)
    this.pauseMs = pauseMs
  }
}

export interface BacklogOptions {
  readonly destination: Destination
  /** Most bytes of lines that wait. */
  readonly bytesMax: number
  /** How long a line may wait for others, in milliseconds. */
  readonly delayMs: number
  /** Lines are lost, because the destination refuses them. */
  readonly onRefused: (lines: number, problem: string) => void
  /** The outcome of each attempt to write. After a success there is room again. */
  readonly onAttempt: (error: Error | undefined) => void
}

export const BLOCK_BYTES = 262_144

/** So many blocks are worth a write. Each write wakes another thread, which costs as much as fifty lines. */
const BLOCKS_A_WRITE = 4

/** Most blocks in one write. */
const BLOCKS_A_WRITE_MAX = 64

/** Blocks that are kept for later. Making one costs as much as a hundred lines. */
const SPARE_BLOCKS = 2 * BLOCKS_A_WRITE

/** Pauses after attempts that failed, in milliseconds: twice as long each time, or what the error says. */
const PAUSE_MS_MIN = 1_000
const PAUSE_MS_MAX = 30_000

/** A block of lines. The writer of a line moves its `length`. */
export class Block {
  readonly bytes = Buffer.allocUnsafeSlow(BLOCK_BYTES)
  length = 0
  lines = 0
}

export class Backlog {
  readonly #options: BacklogOptions
  readonly #blocksMax: number
  /** So many full blocks are written at once, so that there is room for lines meanwhile. */
  readonly #blocksAWrite: number
  #last = new Block()
  /** Blocks that are full, the oldest first. */
  readonly #full: Block[] = []
  readonly #spare: Block[] = []
  #timer: NodeJS.Timeout | undefined
  #writing: Promise<void> | undefined
  #pauseMs = 0
  #closing = false

  constructor(options: BacklogOptions) {
    this.#options = options
    this.#blocksMax = Math.max(2, Math.floor(options.bytesMax / BLOCK_BYTES))
    this.#blocksAWrite = Math.min(BLOCKS_A_WRITE, Math.floor(this.#blocksMax / 2))
  }

  /** A block with room for a line of a given length; `undefined`: there is none. */
  room(bytes: number): Block | undefined {
    const last = this.#last
    if (last.length === 0) this.#writeSoon()
    if (BLOCK_BYTES - last.length >= bytes) return last
    if (this.#full.length + 1 >= this.#blocksMax || bytes > BLOCK_BYTES) return undefined
    this.#full.push(last)
    this.#last = this.#spare.pop() ?? new Block()
    if (this.#full.length >= this.#blocksAWrite && this.#pauseMs === 0) this.#write()
    return this.#last
  }

  /** Lines that wait. */
  get lines(): number {
    return this.#full.reduce((sum, { lines }) => sum + lines, this.#last.lines)
  }

  /** Writes the waiting lines for a time in milliseconds. @returns how many lines are lost */
  async close(withinMs: number): Promise<number> {
    this.#closing = true
    clearTimeout(this.#timer)
    const late = Promise.withResolvers<void>()
    const timer = setTimeout(late.resolve, withinMs)
    const all = async () => {
      await this.#writing
      this.#pushLast()
      await this.#writeFull()
    }
    await Promise.race([all(), late.promise])
    clearTimeout(timer)
    const { lines } = this
    await Promise.race([this.#options.destination.close().catch(() => {}), late.promise])
    return lines
  }

  #writeSoon(): void {
    if (this.#timer === undefined) this.#writeIn(this.#options.delayMs)
  }

  /** The timer keeps no process alive: `close` writes the rest. */
  #writeIn(ms: number): void {
    clearTimeout(this.#timer)
    if (this.#closing) return
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      // While others wait, the last block goes on: a few lines must not take the room of many.
      if (this.#full.length === 0) this.#pushLast()
      this.#write()
    }, ms).unref()
  }

  #pushLast(): void {
    if (this.#last.length === 0) return
    this.#full.push(this.#last)
    this.#last = this.#spare.pop() ?? new Block()
  }

  #write(): void {
    this.#writing ??= this.#writeFull().finally(() => {
      this.#writing = undefined
    })
  }

  async #writeFull(): Promise<void> {
    for (
      let [first, ...more] = this.#nextBytes();
      first !== undefined;
      [first, ...more] = this.#nextBytes()
    ) {
      try {
        const { destination, onRefused } = this.#options
        const written = await destination.write([first, ...more], onRefused)
        this.#told(undefined)
        this.#take(written)
      } catch (error) {
        this.#told(error as Error)
        return
      }
    }
    if (this.#last.length > 0) this.#writeSoon()
  }

  #nextBytes(): Buffer[] {
    return this.#full.slice(0, BLOCKS_A_WRITE_MAX).map(({ bytes, length }) => bytes.subarray(0, length))
  }

  /** So many bytes are done with. The rest of a block moves to its front. */
  #take(bytes: number): void {
    let left = bytes
    for (let block = this.#full[0]; block !== undefined && left > 0; block = this.#full[0]) {
      const taken = Math.min(left, block.length)
      left -= taken
      if (taken < block.length) {
        block.lines -= linesIn(block.bytes.subarray(0, taken))
        block.bytes.copyWithin(0, taken, block.length)
        block.length -= taken
        return
      }
      block.length = 0
      this.#full.shift()
      block.lines = 0
      if (this.#spare.length < SPARE_BLOCKS) this.#spare.push(block)
    }
  }

  /** After a failure the next attempt is made later. */
  #told(error: Error | undefined): void {
    const asked = error instanceof WriteLater ? error.pauseMs : undefined
    const pauseMs = Math.max(PAUSE_MS_MIN, asked ?? Math.min(2 * this.#pauseMs, PAUSE_MS_MAX))
    this.#pauseMs = error === undefined ? 0 : pauseMs
    this.#options.onAttempt(error)
    if (error !== undefined) this.#writeIn(this.#pauseMs)
  }
}

const LINE_FEED = 0x0a

/** Lines end with a line feed, and have no other: texts in JSON write it as an escape. */
export function linesIn(bytes: Buffer): number {
  let lines = 0
  for (let at = bytes.indexOf(LINE_FEED); at >= 0; at = bytes.indexOf(LINE_FEED, at + 1)) lines++
  return lines
}
