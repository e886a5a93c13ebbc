/** The rules of frames that both sides of a connection check (RFC 9113, §6). */
import { ConnectionError, ERROR } from './protocol.ts'

/** Lengths of payloads in bytes: PRIORITY (§6.3), PING (§6.7), and those with one number (§6.4, §6.9). */
export const PRIORITY_BYTES = 5
export const PING_BYTES = 8
export const NUMBER_BYTES = 4
/** The least payload of GOAWAY (§6.8). */
export const GOAWAY_BYTES_MIN = 8

/** The end of what is padded. @throws ConnectionError if the padding is longer than the rest (§6.1) */
export function paddedEnd(bytes: Buffer, start: number, end: number, before: number): number {
  if (end - start < before) throw new ConnectionError(ERROR.FRAME_SIZE_ERROR, 'a frame without its padding')
  const padded = end - (bytes[start] as number)
  if (padded < start + before) throw protocolError('padding that is longer than the frame')
  return padded
}

export function mustHaveStream(stream: number): void {
  if (stream === 0) throw protocolError('a frame that needs a stream')
}

export function mustHaveNoStream(stream: number): void {
  if (stream !== 0) throw protocolError('a frame about the connection on a stream')
}

export function mustMeasure(bytes: number, expected: number): void {
  if (bytes !== expected)
    throw new ConnectionError(ERROR.FRAME_SIZE_ERROR, `a payload of ${bytes} bytes, expected ${expected}`)
}

export function protocolError(message: string): ConnectionError {
  return new ConnectionError(ERROR.PROTOCOL_ERROR, message)
}
