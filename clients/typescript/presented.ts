/** The secrets that the program presents with each call, so that the sidecar knows who asks. */
import { readFileSync } from 'node:fs'
import { Metadata } from '@grpc/grpc-js'

/** The secrets of a program. */
export interface Secrets {
  readonly callerToken?: string
  readonly callerTokenFile?: string
  readonly iamToken?: string
}

/** A file is read again after this time, so that a new secret needs no restart. */
const FRESH_MS = 10_000

export class Presented {
  readonly #file: string | undefined
  #readAtMs = 0
  #metadata = new Metadata()

  /** @throws TypeError if there is no usable token in the file or the options */
  constructor({ callerToken, callerTokenFile, iamToken }: Secrets) {
    if (callerToken !== undefined && callerTokenFile !== undefined)
      throw new TypeError('callerTokenFile: expected either callerToken or callerTokenFile')
    this.#file = callerTokenFile
    if (iamToken !== undefined) this.#metadata.set('x-auth-token', secretIn('iamToken', iamToken))
    if (callerToken !== undefined) this.#setCallerToken(secretIn('callerToken', callerToken))
    if (callerTokenFile !== undefined) this.#read(callerTokenFile)
  }

  /** Whether there is no secret. */
  get isEmpty(): boolean {
    return Object.keys(this.#metadata.getMap()).length === 0
  }

  /** For the next call. It must not be changed. */
  get metadata(): Metadata {
    if (this.#file !== undefined && performance.now() - this.#readAtMs > FRESH_MS)
      try {
        this.#read(this.#file)
      } catch {
        // The earlier token may still count.
      }
    return this.#metadata
  }

  #read(file: string): void {
    this.#readAtMs = performance.now()
    this.#setCallerToken(secretIn('callerTokenFile', textOf(file)))
  }

  #setCallerToken(token: string): void {
    // Calls that are under way keep what they were made with.
    this.#metadata = this.#metadata.clone()
    this.#metadata.set('authorization', `Bearer ${token}`)
  }
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new TypeError(
      `callerTokenFile: expected a file that can be read (${(error as NodeJS.ErrnoException).code})`,
    )
  }
}

/**
 * The secret in the text of a file or a variable. A byte order mark and white space around it are not part of
 * it. Bytes that are not UTF-8 become other characters.
 */
function secretIn(option: string, text: string): string {
  // To JavaScript the mark is white space, too.
  const token = text.trim()
  if (!/^[\x21-\x7e]+$/.test(token))
    throw new TypeError(`${option}: expected visible ASCII characters without spaces`)
  return token
}
