/** The numbers of HTTP/2 (RFC 9113). */

/** The first bytes of a client (§3.4). */
export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1')

/** The length of what precedes the payload of a frame, in bytes (§4.1). */
export const FRAME_HEADER_BYTES = 9

/** Types of frames (§6). */
export const FRAME = {
  data: 0x0,
  headers: 0x1,
  priority: 0x2,
  rstStream: 0x3,
  settings: 0x4,
  pushPromise: 0x5,
  ping: 0x6,
  goAway: 0x7,
  windowUpdate: 0x8,
  continuation: 0x9,
} as const

/** Flags of frames (§6): the same bit means another thing in another frame. */
export const FLAG = {
  none: 0x0,
  ack: 0x1,
  endStream: 0x1,
  endHeaders: 0x4,
  padded: 0x8,
  priority: 0x20,
} as const

/** Settings (§6.5.2). */
export const SETTING = {
  headerTableSize: 0x1,
  enablePush: 0x2,
  maxConcurrentStreams: 0x3,
  initialWindowSize: 0x4,
  maxFrameSize: 0x5,
  maxHeaderListSize: 0x6,
} as const

/** The length of one setting in bytes (§6.5.1). */
export const SETTING_BYTES = 6

/** Error codes (§7). */
export const ERROR = {
  NO_ERROR: 0x0,
  PROTOCOL_ERROR: 0x1,
  INTERNAL_ERROR: 0x2,
  FLOW_CONTROL_ERROR: 0x3,
  STREAM_CLOSED: 0x5,
  FRAME_SIZE_ERROR: 0x6,
  REFUSED_STREAM: 0x7,
  CANCEL: 0x8,
  COMPRESSION_ERROR: 0x9,
  ENHANCE_YOUR_CALM: 0xb,
} as const

export type ErrorCode = (typeof ERROR)[keyof typeof ERROR]

/** Initial size of a flow-control window in bytes (§6.9.2), and the largest one (§6.9.1). */
export const WINDOW_DEFAULT = 65_535
export const WINDOW_MAX = 0x7fff_ffff

/**
 * Least and largest value of SETTINGS_MAX_FRAME_SIZE, in bytes (§4.2). The least is the bound without
 * that setting.
 */
export const FRAME_BYTES_DEFAULT = 16_384
export const FRAME_BYTES_MAX = 0xff_ffff

/** The largest number of a stream (§5.1.1). The bit above it is reserved, and ignored (§4.1). */
export const STREAM_ID_MAX = 0x7fff_ffff

/** The size of the dynamic table for header fields in bytes (§6.5.2). */
export const HEADER_TABLE_BYTES = 4_096

/** An error after which the connection cannot go on (§5.4.1). Its message goes to the client in GOAWAY. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError'
  readonly code: ErrorCode
  /** The bound that was exceeded, if it is one. */
  readonly bound: Bound | undefined

  constructor(code: ErrorCode, message: string, bound?: Bound) {
    super(message)
    this.code = code
    this.bound = bound
  }
}

/**
 * The bounds of a connection and of all of them. Each is counted when it is exceeded, and so are connections
 * that end because their frames are not HTTP/2, which an attacker can open one after the other.
 */
export const BOUNDS = [
  'connections',
  'connections_per_address',
  'streams',
  'header_block',
  'header_list',
  'buffered_bytes',
  'resets',
  'pings',
  'settings',
  'idle_frames',
  'request_time',
  'reader_time',
  'protocol_error',
] as const
export type Bound = (typeof BOUNDS)[number]

/** How far a connection is on its way to its end (§6.8). */
export type Draining = 'no' | 'announced' | 'last_stream_told'
