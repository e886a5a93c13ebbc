/**
 * Writes the members of a line that differ from line to line into a block. The others are copied (parts.ts).
 */
import type { Scope } from '../../../engine/index.ts'
import { escapedJson } from '../../base/visible-text.ts'
import type { Block } from '../backlog.ts'
import { short, TEXT_LENGTH_MAX } from './line-parts.ts'

/**
 * Most bytes of a line without its parts: six texts in which every character is escaped, and the names of the
 * members.
 */
export const REST_BYTES_MAX = 1_024 + 6 * 6 * TEXT_LENGTH_MAX

const TIME_START = Buffer.from('{"time":"')
const TIME_LENGTH = '2026-11-22T09:44:34.123Z'.length
const QUOTE = 0x22

/**
 * The beginning of the lines of an asker: the time, and the asker. Lines of the same millisecond have the
 * same.
 */
export class LineStart {
  readonly #bytes: Buffer
  #ms = Number.NaN
  /** Whether a denied request passes anyway. */
  readonly observed: boolean

  /** @param asker the part about who asks */
  constructor(asker: Buffer, observed = false) {
    this.observed = observed
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
function putText(block: Block, text: string): void {
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

/** Writes the fields of a question into a block. */
type Line<Facts> = (block: Block, facts: Facts) => void

/**
 * A member of a line that depends on the question, or is absent. It also writes what stands before it in any
 * case: each copy costs as much as ten characters.
 */
type Field<Facts> = (before: string) => Line<Facts>

/** Compiles what a line says beside its parts: once, from its members in their order. Texts are constant. */
export function line<Facts>(asked: string, members: readonly (string | Field<Facts>)[]): Line<Facts> {
  const puts: Line<Facts>[] = []
  let before = `,"asked":"${asked}"`
  for (const member of members) {
    if (typeof member === 'string') before += member
    else {
      puts.push(member(before))
      before = ''
    }
  }
  if (before !== '') puts.push(constant(before))
  return (block, facts) => {
    for (const put of puts) put(block, facts)
  }
}

/** A member with a text. */
export function text<Facts>(name: string, of: (facts: Facts) => string | undefined): Field<Facts> {
  return (before) => {
    const absent = constant(before)
    const start = Buffer.from(`${before},"${name}":"`)
    return (block, facts) => {
      const value = of(facts)
      if (value === undefined) return absent(block)
      putPart(block, start)
      putText(block, value)
      block.bytes[block.length++] = QUOTE
    }
  }
}

/** A member with the scope of a token, or the owner of a resource. */
export function scope<Facts>(name: string, of: (facts: Facts) => Scope | undefined): Field<Facts> {
  return (before) => {
    const absent = constant(before)
    const start = Buffer.from(`${before},"${name}":{"account":"`)
    return (block, facts) => {
      const value = of(facts)
      if (value === undefined) return absent(block)
      putPart(block, start)
      putText(block, value.account)
      if (value.project !== undefined) {
        putPart(block, PROJECT)
        putText(block, value.project)
      }
      putPart(block, SCOPE_END)
    }
  }
}

const PROJECT = Buffer.from('","project":"')
const SCOPE_END = Buffer.from('"}')

/** A member with a number that is whole and not negative. */
export function number<Facts>(name: string, of: (facts: Facts) => number): Field<Facts> {
  return (before) => {
    const start = Buffer.from(`${before},"${name}":`)
    return (block, facts) => {
      putPart(block, start)
      const { bytes } = block
      const value = of(facts)
      if (value < 10) bytes[block.length++] = 0x30 + value
      else block.length += bytes.write(String(value), block.length, 'latin1')
    }
  }
}

/** Members that are made elsewhere. */
export function part<Facts>(of: (facts: Facts) => Buffer | undefined): Field<Facts> {
  return (before) => {
    const start = constant(before)
    return (block, facts) => {
      start(block)
      const value = of(facts)
      if (value !== undefined) putPart(block, value)
    }
  }
}

function constant(text: string): (block: Block) => void {
  if (text === '') return () => {}
  const bytes = Buffer.from(text)
  return (block) => putPart(block, bytes)
}
