/** The log: lines on standard error, of JSON or for people. */
import { fstatSync, type Stats, writeSync } from 'node:fs'
import { Socket } from 'node:net'
import { isatty } from 'node:tty'
import { type DestinationStream, type Logger, pino } from 'pino'
import { escapedJson } from '../../base/visible-text.ts'
import type { Config } from '../../config/config.ts'
import { prettyLine } from './pretty-log.ts'

/** @param base fields of every line; with several processes, the pid of the one that wrote it */
export function newLog(
  { level, format }: Config['log'],
  base: { readonly pid: number } | null = null,
): Logger {
  makePipeNonBlocking(STANDARD_ERROR)
  const pretty = format === 'auto' ? isatty(STANDARD_ERROR) : format === 'pretty'
  return pino({ level, base }, new LossyOutput(STANDARD_ERROR, pretty ? prettyLine : jsonLine))
}

/** A terminal would obey control characters of C1, for example in a name. */
function jsonLine(json: string): string {
  return `${escapedJson(json.trimEnd())}\n`
}

const STANDARD_ERROR = 2

/** How many lines of the logs of this process were dropped. */
export function droppedLogLines(): number {
  return droppedInAll
}

let droppedInAll = 0

/**
 * An output that drops lines instead of blocking the sidecar. A line cannot be written, for example, if the
 * disk is full or the pipe has no reader. Before the next line that can be written, a notice says how many
 * were dropped.
 */
class LossyOutput implements DestinationStream {
  readonly #descriptor: number
  readonly #lineOf: (json: string) => string
  #dropped = 0
  /** Whether only a part of the last line was written. */
  #lineIncomplete = false

  /** @param lineOf what is written of a line of JSON */
  constructor(descriptor: number, lineOf: (json: string) => string) {
    this.#descriptor = descriptor
    this.#lineOf = lineOf
  }

  write(json: string): void {
    const line = this.#lineOf(json)
    if (this.#dropped > 0 && this.#tryWrite(this.#lineOf(droppedNotice(this.#dropped)))) this.#dropped = 0
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
  return JSON.stringify({ level: 40, time: Date.now(), dropped, msg })
}

/** Makes writes to a full pipe fail. By default the writer would wait until there is a reader. */
function makePipeNonBlocking(descriptor: number): void {
  try {
    // Opening the descriptor as a socket makes it non-blocking. The socket itself is never written to.
    if (isPipeOrSocket(fstatSync(descriptor)))
      keptOpen.push(new Socket({ fd: descriptor, readable: false, writable: true }).unref())
  } catch {
    // If the descriptor cannot be examined or changed, it stays blocking.
  }
}

function isPipeOrSocket(found: Stats): boolean {
  return found.isFIFO() || found.isSocket()
}

/** A collected socket would close its descriptor, so the sockets are kept here. */
const keptOpen: Socket[] = []
