/**
 * Writes the members of a line that differ from line to line into a block. The others are copied (parts.ts).
 */
import type { Scope } from '../../../engine/index.ts'
import { escapedJson } from '../../base/visible-text.ts'
import type { Block } from './backlog.ts'
import { short, TEXT_LENGTH_MAX } from './parts.ts'

/**
 * Most bytes of a line without its parts: six texts in which every character is escaped, and the names of the
 * members.
 */
export const REST_BYTES_MAX = 1_024 + 6 * 6 * TEXT_LENGTH_MAX

const TIME_START = Buffer.from('{"time":"')
const TIME_LENGTH = '2026-11-22T09:44:34.123Z'.length
const QUOTE = 0x22

/**
 * The beginning of the lines of an asker: the time, and who asks. Lines of the same millisecond have the
 * same.
 */
export class LineStart {
  readonly #bytes: Buffer
  #ms = Number.NaN

  /** @param asker the part about who asks */
  constructor(asker: Buffer) {
    this.#bytes = Buffer.concat([TIME_START, Buffer.alloc(TIME_LENGTH), Buffer.of(QUOTE), asker])
  }

  get length(): number {
    return this.#bytes.length
  }

  /** @param ms since the epoch */
  at(ms: number): Buffer {
    if (ms !== this.#ms) {
      this.#bytes.write(new Date(ms).toISOString(), TIME_START.length, TIME_LENGTH, 'latin1')
      this.#ms = ms
    }
    return this.#bytes
  }
}

export function putPart(block: Block, bytes: Buffer): void {
  block.bytes.set(bytes, block.length)
  block.length += bytes.length
}

/** Puts a text into a string of JSON. Nearly every text is visible ASCII. */
export function putText(block: Block, text: string): void {
  const { bytes } = block
  let at = block.length
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code < 0x20 || code > 0x7e || code === QUOTE || code === 0x5c || index === TEXT_LENGTH_MAX) {
      putEscaped(block, short(text))
      return
    }
    bytes[at++] = code
  }
  block.length = at
}

function putEscaped(block: Block, text: string): void {
  block.length += block.bytes.write(escapedJson(JSON.stringify(text)).slice(1, -1), block.length)
}

const PROJECT = Buffer.from('","project":"')

/**
 * @param start the name of the member, up to the account
 * @param end what ends the text and the object, and what comes then
 */
export function putScope(block: Block, start: Buffer, { account, project }: Scope, end: Buffer): void {
  putPart(block, start)
  putText(block, account)
  if (project !== undefined) {
    putPart(block, PROJECT)
    putText(block, project)
  }
  putPart(block, end)
}

/** @param value whole and not negative */
export function putNumber(block: Block, value: number): void {
  const { bytes } = block
  if (value < 10) bytes[block.length++] = 0x30 + value
  else block.length += bytes.write(String(value), block.length, 'latin1')
}
