/** Connections as clients have them, and the same with damaged frames. */
import {
  callOf,
  END_HEADERS,
  END_STREAM,
  FRAME,
  field,
  frame,
  messageFrame,
  PADDED,
  settingsOf,
  uint32,
} from '../http2/frames.ts'

export type Random = () => number

const HEADER_BYTES = 9

/** Unknown types of frames are ignored (RFC 9113, §5.5). */
const UNKNOWN_TYPE = 0x42

const SERVICE = '/portcullis.v1.AuthorizationService'

export interface Questions {
  /** A `CheckRequest`, a `CheckStreamRequest`. */
  readonly check: Buffer
  readonly streamed: Buffer
}

const below = (random: Random, limit: number) => Math.floor(random() * limit)

/** Frames of a connection without damage, after the preface. @param calls how many calls it makes */
export function soundFrames({ check, streamed }: Questions, random: Random, calls: number): Buffer[] {
  const frames: Buffer[] = []
  for (let call = 0; call < calls; call++) {
    const stream = 2 * call + 1
    const kind = random()
    if (kind < 0.6) frames.push(...unary(stream, messageFrame(check), random))
    else if (kind < 0.8) frames.push(...conversation(stream, messageFrame(streamed), random))
    else if (kind < 0.85) frames.push(...watch(stream))
    else frames.push(control(stream, random), ...unary(stream, messageFrame(check), random))
  }
  return frames
}

function head(stream: number, method: string, random: Random): Buffer[] {
  const block = Buffer.concat([
    callOf(`${SERVICE}/${method}`),
    ...(random() < 0.3 ? [field('grpc-timeout', '10S')] : []),
    ...(random() < 0.2 ? [field('x-trace-bin', 'AAEC/w==')] : []),
  ])
  if (random() < 0.85) return [frame(FRAME.headers, { flags: END_HEADERS, stream, payload: block })]
  const cut = 1 + below(random, block.length - 1)
  return [
    frame(FRAME.headers, { stream, payload: block.subarray(0, cut) }),
    frame(FRAME.continuation, { flags: END_HEADERS, stream, payload: block.subarray(cut) }),
  ]
}

function unary(stream: number, message: Buffer, random: Random): Buffer[] {
  const frames = head(stream, 'Check', random)
  const kind = random()
  if (kind < 0.6) frames.push(frame(FRAME.data, { flags: END_STREAM, stream, payload: message }))
  else if (kind < 0.8) {
    const cut = below(random, message.length)
    frames.push(
      frame(FRAME.data, { stream, payload: message.subarray(0, cut) }),
      frame(FRAME.data, { flags: END_STREAM, stream, payload: message.subarray(cut) }),
    )
  } else {
    const padded = Buffer.concat([Buffer.of(7), message, Buffer.alloc(7)])
    frames.push(frame(FRAME.data, { flags: END_STREAM | PADDED, stream, payload: padded }))
  }
  return frames
}

function conversation(stream: number, message: Buffer, random: Random): Buffer[] {
  const messages = Array.from({ length: 1 + below(random, 5) }, () =>
    frame(FRAME.data, { stream, payload: message }),
  )
  const last =
    random() < 0.7
      ? frame(FRAME.data, { flags: END_STREAM, stream })
      : frame(FRAME.rstStream, { stream, payload: uint32(8) })
  return [...head(stream, 'CheckStream', random), ...messages, last]
}

/** A watch never ends by itself. */
function watch(stream: number): Buffer[] {
  return [
    frame(FRAME.headers, { flags: END_HEADERS, stream, payload: callOf(`${SERVICE}/WatchMatrix`) }),
    frame(FRAME.data, { flags: END_STREAM, stream, payload: messageFrame(Buffer.alloc(0)) }),
    frame(FRAME.rstStream, { stream, payload: uint32(8) }),
  ]
}

function control(stream: number, random: Random): Buffer {
  const kind = below(random, 6)
  if (kind === 0) return frame(FRAME.ping, { payload: Buffer.from('12345678') })
  if (kind === 1) return frame(FRAME.windowUpdate, { payload: uint32(1 + below(random, 100_000)) })
  if (kind === 2) return frame(FRAME.settings, { payload: settingsOf({ 4: below(random, 200_000) }) })
  if (kind === 3) return frame(FRAME.priority, { stream, payload: Buffer.of(0, 0, 0, 0, 9) })
  if (kind === 4) return frame(FRAME.settings, { payload: settingsOf({ 1: below(random, 5000), 5: 16_384 }) })
  return frame(UNKNOWN_TYPE, { stream, payload: Buffer.alloc(below(random, 20)) })
}

/** One frame, damaged: what is sent in its place, and whether the one after it comes before it. */
function damage(sound: Buffer, random: Random): { bytes: Buffer; swapped: boolean } {
  const kind = below(random, 9)
  const copy = Buffer.from(sound)
  const swapped = kind === 0
  if (kind === 1) return { bytes: Buffer.alloc(0), swapped }
  if (kind === 2) return { bytes: Buffer.concat([sound, sound]), swapped }
  if (kind === 3) return { bytes: copy.subarray(0, below(random, copy.length)), swapped }
  if (kind === 4) copy.writeUIntBE(below(random, 2 ** (1 + below(random, 24))), 0, 3)
  if (kind === 5) copy[3] = below(random, 12)
  if (kind === 6) copy[4] = below(random, 256)
  if (kind === 7) copy.writeUInt32BE(below(random, random() < 0.5 ? 2 ** 32 : 64), 5)
  if (kind === 8) {
    const from = random() < 0.7 && copy.length > HEADER_BYTES ? HEADER_BYTES : 0
    const at = from + below(random, copy.length - from)
    copy[at] = (copy[at] ?? 0) ^ (1 << below(random, 8))
  }
  return { bytes: copy, swapped }
}

/** @param share of the frames that are damaged */
export function damagedFrames(sound: readonly Buffer[], share: number, random: Random): Buffer[] {
  const frames = [...sound]
  // From one damaged frame to the next one, instead of a look at each of them.
  const step = () => 1 + Math.floor(Math.log(1 - random()) / Math.log(1 - share))
  for (let at = step() - 1; at < frames.length; at += step()) {
    const { bytes, swapped } = damage(frames[at] as Buffer, random)
    const next = frames[at + 1]
    if (swapped && next !== undefined) [frames[at], frames[at + 1]] = [next, frames[at] as Buffer]
    else frames[at] = bytes
  }
  return frames
}
