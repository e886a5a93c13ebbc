/** A request of the page, as use cases of the control panel are given it. */

import type { ControlPanel } from '../../authority/control-panel/control-panel.ts'
import type { LoginRequest } from '../../authority/control-panel/log-in.ts'
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

/** The call as a request for a session. */
export function loginRequestOf(
  { changeRates }: Pick<PanelServices, 'changeRates'>,
  call: PanelCall,
): LoginRequest {
  return {
    origin: originOf(call),
    from: { source: sourceAt(call.clientAddress), connection: call.connection },
    client: call.client,
    replaces: call.session,
    spend: (actor) => changeRates.spend(actor),
  }
}
