/** A connection whose frames are written by hand, and what the server says on it. */
import { connect, type NetConnectOpts, type Socket } from 'node:net'
import { FRAME, frameReader } from '../http2/frames.ts'

/** Why the server has ended a connection. */
export interface GoAway {
  readonly code: number
  readonly debug: string
}

/** The frames that a connection has seen. */
export interface Seen {
  /** Frames by their type. */
  readonly frames: Map<number, number>
  /** The last GOAWAY; absent: the server has sent none. */
  goAway?: GoAway
}

export interface RawConnection {
  readonly socket: Socket
  readonly seen: Seen
  /** Resolves when the connection is closed, by either side. */
  readonly closed: Promise<Seen>
}

/** Where a server listens: `HOST:PORT` or `unix:PATH`. */
export function endpointOf(address: string): NetConnectOpts {
  if (address.startsWith('unix:')) return { path: address.slice('unix:'.length) }
  const colon = address.lastIndexOf(':')
  return { host: address.slice(0, colon), port: Number(address.slice(colon + 1)) }
}

/** @param onFrame sees every frame of the server, with its header */
export function openRaw(address: string, onFrame: (frame: Buffer) => void = () => {}): RawConnection {
  const socket = connect(endpointOf(address))
  const seen: Seen = { frames: new Map() }
  const read = frameReader((frame) => {
    const type = frame[3] ?? 0
    seen.frames.set(type, (seen.frames.get(type) ?? 0) + 1)
    if (type === FRAME.goAway)
      seen.goAway = { code: frame.readUInt32BE(13), debug: frame.subarray(17).toString('latin1') }
    onFrame(frame)
  })
  socket.on('data', read)
  // How it ends is the server's affair.
  socket.on('error', () => {})
  const closed = new Promise<Seen>((resolve) => socket.once('close', () => resolve(seen)))
  return { socket, seen, closed }
}
