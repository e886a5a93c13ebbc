/** The routes of the control panel: loaded only where it is on. */
import type { IncomingMessage } from 'node:http'
import type { FastifyInstance } from 'fastify'
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
 * @returns what finds the session of a request, for calls of the contract
 */
export function addControlPanelRoutes(
  server: FastifyInstance,
  services: PerCall<Authenticating & Administering> & Admitting & Operating,
  address: PageAddress,
  lasts: (request: IncomingMessage) => void,
): PageRequests {
  const { controlPanel } = services
  if (controlPanel === undefined) throw new TypeError('expected the control panel to be on')
  const pages = new PageRequests(address)
  const routes = new PanelRoutes(server, { ...services, controlPanel }, pages, lasts)
  addSessionRoutes(routes)
  addPasskeyRoutes(routes)
  addFactorRoutes(routes)
  addOperatorRoutes(server, services, routes)
  return pages
}
