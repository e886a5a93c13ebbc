/**
 * Header blocks as they arrive: joined from several frames, decoded, and remembered if the same bytes come
 * again.
 */
import { CompressionError, HeaderDecoder, type HeaderList, TooManyFields } from './hpack/decoder.ts'
import { ConnectionError, ERROR, HEADER_TABLE_BYTES } from './protocol.ts'
import { type RequestShape, shapeOf } from './request-head.ts'

/** Most CONTINUATION frames of one block. A block within its limit needs at most a few. */
const CONTINUATIONS_MAX = 32

/** The longest block that is remembered, in bytes. With a warm table, blocks have less than a hundred. */
const REMEMBERED_BYTES_MAX = 256

/** The fields of a request, as HTTP/2 and as the application understand them. */
export interface RequestHead<Head> extends RequestShape {
  /** undefined: the request is malformed. */
  readonly app: Head | undefined
  /** Whether there were more fields than the limit allows. The application has seen those that fit. */
  readonly tooLarge: boolean
  /** The bytes that the fields hold in memory. */
  readonly bytes: number
}

/** A block that is not complete. */
export interface OpenBlock {
  readonly stream: number
  readonly endStream: boolean
  /** When it began. */
  readonly sinceMs: number
  readonly parts: Buffer[]
  bytes: number
}

export class HeaderBlocks<Head> {
  readonly #decoder: HeaderDecoder
  readonly #blockBytesMax: number
  readonly #interpret: (list: HeaderList) => Head
  #lastBlock: Buffer = Buffer.alloc(0)
  #lastVersion = -1
  #lastHead: RequestHead<Head> | undefined
  /** The block whose CONTINUATION frames are awaited. */
  open: OpenBlock | undefined

  /** @param interpret makes what the application needs of the fields. One result may serve many requests. */
  constructor(listBytesMax: number, interpret: (list: HeaderList) => Head) {
    this.#decoder = new HeaderDecoder(HEADER_TABLE_BYTES, listBytesMax)
    // The worst code has thirty bits for an octet. A client that uses less than twice the length is generous
    // already.
    this.#blockBytesMax = 2 * listBytesMax
    this.#interpret = interpret
  }

  /** Begins a block of several frames. */
  begin(stream: number, endStream: boolean, sinceMs: number): OpenBlock {
    this.open = { stream, endStream, sinceMs, parts: [], bytes: 0 }
    return this.open
  }

  /** Adds a part. @throws ConnectionError if there are too many, or too many bytes */
  add(block: OpenBlock, bytes: Buffer, start: number, end: number): void {
    block.bytes += end - start
    block.parts.push(Buffer.from(bytes.subarray(start, end)))
    if (block.bytes > this.#blockBytesMax || block.parts.length > CONTINUATIONS_MAX)
      throw new ConnectionError(
        ERROR.ENHANCE_YOUR_CALM,
        `more than ${this.#blockBytesMax} bytes or ${CONTINUATIONS_MAX} frames of header fields`,
        'header_block',
      )
  }

  /** Reads a request. @throws ConnectionError with COMPRESSION_ERROR (RFC 9113, §4.3) */
  request(bytes: Buffer, start: number, end: number): RequestHead<Head> {
    const last = this.#lastHead
    if (last !== undefined && this.#decoder.version === this.#lastVersion && this.#isLast(bytes, start, end))
      return last
    const before = this.#decoder.version
    const list = this.fields(bytes, start, end)
    const shape = shapeOf(list.fields)
    const app = shape.fault === '' || list.tooLarge ? this.#interpret(list) : undefined
    // Fields that did not fit may have been those that were required.
    const { tooLarge } = list
    const head = { ...shape, fault: tooLarge ? '' : shape.fault, app, tooLarge, bytes: list.bytes }
    if (this.#decoder.version === before && end - start <= REMEMBERED_BYTES_MAX)
      this.#remember(bytes, start, end, head)
    return head
  }

  /**
   * Reads fields that are not a request: trailers, or those of a stream that is ignored.
   *
   * @throws ConnectionError
   */
  fields(bytes: Buffer, start: number, end: number): HeaderList {
    try {
      return this.#decoder.decode(bytes, start, end)
    } catch (error) {
      if (error instanceof TooManyFields)
        throw new ConnectionError(ERROR.ENHANCE_YOUR_CALM, error.message, 'header_list')
      if (!(error instanceof CompressionError)) throw error
      throw new ConnectionError(ERROR.COMPRESSION_ERROR, `header fields with ${error.message}`)
    }
  }

  #isLast(bytes: Buffer, start: number, end: number): boolean {
    const last = this.#lastBlock
    if (end - start !== last.length) return false
    for (let index = 0; index < last.length; index++) if (bytes[start + index] !== last[index]) return false
    return true
  }

  #remember(bytes: Buffer, start: number, end: number, head: RequestHead<Head>): void {
    this.#lastBlock = Buffer.from(bytes.subarray(start, end))
    this.#lastVersion = this.#decoder.version
    this.#lastHead = head
  }
}
