/** The routes of the control panel: loaded only where it is on. */
import type { IncomingMessage } from 'node:http'
import type { HttpRoutes } from '../../base/http/http-routes.ts'
import type { Administering } from '../../usecases/administration/administer.ts'
import type { Admitting, PerCall } from '../../usecases/capabilities.ts'
import type { Operating } from '../../usecases/control-panel/operator.ts'
import type { Authenticating } from '../../usecases/requester.ts'
import type { PageAddress } from '../host-header.ts'
import { addFactorRoutes } from './factor-routes.ts'
import { addOperatorRoutes } from './operator-routes.ts'
import { PageRequests } from './page-requests.ts'
import { PanelRoutes } from './panel-exchange.ts'
import { addPasskeyRoutes } from './passkey-routes.ts'
import { addSessionRoutes } from './session-routes.ts'

/**
 * @param lasts called with a request whose answer may never end
 * @param leaving aborts when the server begins to close
 * @returns what finds the session of a request, for calls of the contract
 */
export function addControlPanelRoutes(
  routes: HttpRoutes,
  services: PerCall<Authenticating & Administering> & Admitting & Operating,
  address: PageAddress,
  lasts: (request: IncomingMessage) => void,
  leaving: AbortSignal,
): PageRequests {
  const { controlPanel } = services
  if (controlPanel === undefined) throw new TypeError('expected the control panel to be on')
  const pages = new PageRequests(address)
  const panel = new PanelRoutes(routes, { ...services, controlPanel }, pages, lasts)
  addSessionRoutes(panel)
  addPasskeyRoutes(panel)
  addFactorRoutes(panel)
  addOperatorRoutes(services, panel, leaving)
  return pages
}
