/** The log: lines of JSON on standard error. */
import { fstatSync, writeSync } from 'node:fs'
import { Socket } from 'node:net'
import { type DestinationStream, type Logger, pino } from 'pino'
import type { Config } from './config/config.ts'

/** @param base what every line says; where several processes write, which one it was */
export function newLog(level: Config['log_level'], base: { readonly pid: number } | null = null): Logger {
  refuseToWait(STANDARD_ERROR)
  return pino({ level, base }, new LossyOutput(STANDARD_ERROR))
}

const STANDARD_ERROR = 2

/**
 * A log must not stop what it tells of: a line that cannot be written, because the disk is full or nobody reads the pipe,
 * is dropped, and before the next one that can be it says how many were.
 */
class LossyOutput implements DestinationStream {
  readonly #descriptor: number
  #dropped = 0
  /** Whether of the last line only the beginning was written. */
  #torn = false

  constructor(descriptor: number) {
    this.#descriptor = descriptor
  }

  write(line: string): void {
    if (this.#dropped > 0 && this.#put(aboutDropped(this.#dropped))) this.#dropped = 0
    if (this.#dropped > 0 || !this.#put(line)) this.#dropped++
  }

  /** Whether all of it was written. */
  #put(text: string): boolean {
    let left = Buffer.from(this.#torn ? `\n${text}` : text)
    try {
      while (left.length > 0) {
        left = left.subarray(writeSync(this.#descriptor, left))
        this.#torn = left.length > 0
      }
      return true
    } catch {
      return false
    }
  }
}

function aboutDropped(dropped: number): string {
  const msg = 'lines of this log could not be written'
  return `${JSON.stringify({ level: 40, time: Date.now(), dropped, msg })}\n`
}

/** Has a full pipe refuse what is written to it, which by default would make the writer wait until somebody reads. */
function refuseToWait(descriptor: number): void {
  try {
    const found = fstatSync(descriptor)
    // Opening it as a socket is what does it; nothing is ever written to that.
    if (found.isFIFO() || found.isSocket())
      opened.push(new Socket({ fd: descriptor, readable: false, writable: true }).unref())
  } catch {
    // What cannot be told or changed is written to as it is.
  }
}

/** As long as these are there, the descriptors are open. */
const opened: Socket[] = []
