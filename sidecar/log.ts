/** The log: JSON lines on standard error. */
import { fstatSync, writeSync } from 'node:fs'
import { Socket } from 'node:net'
import { type DestinationStream, type Logger, pino } from 'pino'
import { escapedJson } from './base/visible-text.ts'
import type { Config } from './config/config.ts'

/** @param base fields of every line; with several processes, the pid of the one that wrote it */
export function newLog(level: Config['log_level'], base: { readonly pid: number } | null = null): Logger {
  makePipeNonBlocking(STANDARD_ERROR)
  return pino({ level, base }, new LossyOutput(STANDARD_ERROR))
}

const STANDARD_ERROR = 2

/** How many lines of the logs of this process were dropped. */
export function droppedLogLines(): number {
  return droppedInAll
}

let droppedInAll = 0

/**
 * An output that drops lines instead of blocking the sidecar. A line cannot be written, for example, if the disk is full or
 * nobody reads the pipe. Before the next line that can be written, a notice says how many were dropped.
 */
class LossyOutput implements DestinationStream {
  readonly #descriptor: number
  #dropped = 0
  /** Whether only a part of the last line was written. */
  #lineIncomplete = false

  constructor(descriptor: number) {
    this.#descriptor = descriptor
  }

  write(json: string): void {
    // A terminal would obey control characters of C1, for example in a name.
    const line = `${escapedJson(json.trimEnd())}\n`
    if (this.#dropped > 0 && this.#tryWrite(droppedNotice(this.#dropped))) this.#dropped = 0
    if (this.#dropped === 0 && this.#tryWrite(line)) return
    this.#dropped++
    droppedInAll++
  }

  /** Returns whether the whole text was written. */
  #tryWrite(text: string): boolean {
    let left = Buffer.from(this.#lineIncomplete ? `\n${text}` : text)
    try {
      while (left.length > 0) {
        left = left.subarray(writeSync(this.#descriptor, left))
        this.#lineIncomplete = left.length > 0
      }
      return true
    } catch {
      return false
    }
  }
}

function droppedNotice(dropped: number): string {
  const msg = 'lines of this log could not be written'
  return `${JSON.stringify({ level: 40, time: Date.now(), dropped, msg })}\n`
}

/** Makes writes to a full pipe fail. By default the writer would wait until somebody reads. */
function makePipeNonBlocking(descriptor: number): void {
  try {
    const found = fstatSync(descriptor)
    // Opening the descriptor as a socket makes it non-blocking. The socket itself is never written to.
    if (found.isFIFO() || found.isSocket())
      keptOpen.push(new Socket({ fd: descriptor, readable: false, writable: true }).unref())
  } catch {
    // If the descriptor cannot be examined or changed, it stays blocking.
  }
}

/** A collected socket would close its descriptor, so the sockets are kept here. */
const keptOpen: Socket[] = []
