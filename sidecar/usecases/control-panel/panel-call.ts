/** A request of the page, as use cases of the control panel are given it. */

import type { Origin } from '../../authority/authority.ts'
import type { ControlPanel } from '../../authority/control-panel/control-panel.ts'
import { nameOfSource, sourceAt } from '../../authority/login-source.ts'
import { type IpAddress, whereabouts } from '../../base/ip-address.ts'
import type { Clocked, Recognizing } from '../capabilities.ts'
import type { ChangeRates } from '../change-rates.ts'
import type { LoginTracing } from '../login-trace.ts'
import type { CallOrigin } from '../requester.ts'

export interface PanelCall {
  readonly clientAddress: IpAddress | undefined
  /** Tells the connections of the client apart. */
  readonly connection: string
  readonly requestId: string
  /** What the browser says of itself. */
  readonly client: string
  /** The origin of the page, which the server knows to be its own. */
  readonly page: string
  /** SHA-256 of the secret of the session that it has; `undefined`: it has none. */
  readonly session: Buffer | undefined
}

/** What the use cases of the control panel are given, where it is on. */
export interface PanelServices extends LoginTracing, Recognizing, Clocked {
  readonly changeRates: ChangeRates
  readonly controlPanel: ControlPanel
}

/** Where the call came from, for the log and the audit trail. */
export function originOf({
  clientAddress,
  requestId,
}: PanelCall): CallOrigin & { readonly requestId: string } {
  return { protocol: 'http', address: whereabouts(clientAddress), requestId }
}

/** Name of the source, which shares the password checks with others. */
export function sourceOf({ clientAddress }: PanelCall): string {
  return nameOfSource(sourceAt(clientAddress))
}

/** Where the call's passwords and tokens take their turn to be checked. */
export function placeOf({ clientAddress, connection }: PanelCall): Pick<Origin, 'source' | 'connection'> {
  return { source: sourceAt(clientAddress), connection }
}
