/** The application that is served over the connections. It sees requests and answers, and no frame. */
import type { HeaderList } from './hpack/decoder.ts'
import type { Stream } from './stream.ts'

/** The other side of a connection. The acceptor of connections may pass an object that says more. */
export interface Peer {
  /** The IP address; undefined: a Unix socket, or the peer was gone before it could be asked. */
  readonly address: string | undefined
}

export interface Application<Head> {
  /**
   * Makes what is needed of the fields of a request. The result may serve many requests on that connection.
   */
  readHead(list: HeaderList, peer: Peer): Head
  /** A request has begun; it has ended too if `stream.remoteEnded`. */
  open(stream: Stream<Head>): void
  /** Bytes of the body, which are only lent. They are the last ones if `stream.remoteEnded`. */
  data(stream: Stream<Head>, bytes: Buffer, start: number, end: number): void
  /** The stream is closed, and its answer is not complete. Only called if `stream.state` is set. */
  aborted(stream: Stream<Head>): void
  /** The peer has read what kept `stream.waitForRoom` waiting. */
  resume(stream: Stream<Head>): void
  /** The rest of a message has not arrived in time (`stream.awaitRest`). */
  late(stream: Stream<Head>): void
  /** The work of a turn is done, and its answers are about to be sent. */
  turnEnds(): void
}
