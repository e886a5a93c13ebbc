/** The parts of a connection, and their users: the connection itself, its session and its frames. */
import type { HeaderBlocks } from './header-blocks.ts'
import type { Rates } from './rates.ts'
import type { ReceiveWindow } from './receive-window.ts'
import type { Sender } from './sender.ts'
import type { Stream } from './stream.ts'
import type { StreamIds } from './stream-ids.ts'
import type { StreamTable } from './stream-table.ts'
import type { StreamWindows } from './stream-windows.ts'
import type { Turn } from './turn.ts'

export interface Parts<Head> {
  /** The open streams. */
  readonly streams: StreamTable<Stream<Head>>
  readonly ids: StreamIds
  /** The sender of the connection. */
  readonly sender: Sender<Head>
  readonly blocks: HeaderBlocks<Head>
  readonly rates: Rates
  /** The bytes that the peer may send on the connection, and on each stream. */
  readonly window: ReceiveWindow
  readonly windows: StreamWindows<Head>
  readonly turn: Turn
}
