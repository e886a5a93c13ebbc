/** What a connection is made of, and who shares it: the connection itself, its session and its frames. */
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
  /** What the connection sends. */
  readonly sender: Sender<Head>
  readonly blocks: HeaderBlocks<Head>
  readonly rates: Rates
  /** What the peer may send on the connection, and on each stream. */
  readonly window: ReceiveWindow
  readonly windows: StreamWindows<Head>
  readonly turn: Turn
}
