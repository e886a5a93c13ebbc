/** Certificates with any names at all. No authority has signed them, so only their names can be read. */
import { X509Certificate } from 'node:crypto'
import { CERTIFICATE } from '../support/proxies/self-signed.ts'

/** A name of a certificate (RFC 5280, §4.2.1.6): the number of its type, and its octets. */
export interface AlternativeName {
  readonly type: number
  readonly value: string
}

const SUBJECT_ALT_NAME = Buffer.from('0603551d11', 'hex')
const [signed, ...signature] = partsOf(new X509Certificate(CERTIFICATE).raw)
const facts = partsOf(signed as Buffer).slice(0, -1)

/** `undefined`: Node takes it for no certificate. */
export function certificateWith(names: readonly AlternativeName[]): X509Certificate | undefined {
  const listed = names.map(({ type, value }) => der(0x80 | type, Buffer.from(value, 'latin1')))
  const extension = der(0x30, SUBJECT_ALT_NAME, der(0x04, der(0x30, ...listed)))
  const whole = der(0x30, der(0x30, ...facts, der(0xa3, der(0x30, extension))), ...signature)
  try {
    return new X509Certificate(whole)
  } catch {
    return undefined
  }
}

function der(tag: number, ...content: readonly Buffer[]): Buffer {
  const bytes = Buffer.concat(content)
  const { length } = bytes
  const size = length < 0x80 ? [length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.of(tag, ...size), bytes])
}

/** The parts of a structure, each with its tag and its length. */
function partsOf(structure: Buffer): Buffer[] {
  const parts: Buffer[] = []
  for (let at = contentAt(structure, 0); at < structure.length; ) {
    const end = contentAt(structure, at) + lengthAt(structure, at)
    parts.push(structure.subarray(at, end))
    at = end
  }
  return parts
}

function contentAt(bytes: Buffer, at: number): number {
  const first = bytes[at + 1] as number
  return at + 2 + (first < 0x80 ? 0 : first & 0x7f)
}

function lengthAt(bytes: Buffer, at: number): number {
  const first = bytes[at + 1] as number
  return first < 0x80 ? first : bytes.readUIntBE(at + 2, first & 0x7f)
}
