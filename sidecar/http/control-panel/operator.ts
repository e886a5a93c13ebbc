/** What the control panel asks for operators: callers, keys, and decisions as they are made. */
import type { FastifyInstance } from 'fastify'
import { authorizeReader, type Operating, OperatorViews } from '../../usecases/control-panel/operator.ts'
import { expectSession, useSession } from '../../usecases/control-panel/session.ts'
import { TailBody } from './decisions.ts'
import type { PanelRoutes } from './exchange.ts'

const OPERATOR = '/console/operator'

export function addOperatorRoutes(server: FastifyInstance, services: Operating, routes: PanelRoutes): void {
  const views = new OperatorViews(services)
  const open = new Set<TailBody>()
  routes.get(`${OPERATOR}/callers`, async ({ services: used, call }) => {
    const { requester } = await useSession(used, call)
    return { callers: views.callers(requester) }
  })
  routes.get(`${OPERATOR}/keys`, async ({ services: used, call }) => {
    const { requester } = await useSession(used, call)
    return views.keys(requester)
  })
  routes.lines(`${OPERATOR}/decisions`, async ({ services: used, call }) => {
    const { requester } = await useSession(used, call)
    const body = new TailBody({
      listening: views.listen(requester),
      // To listen is no use of the session: it ends as if the page were closed.
      confirm: async () => void authorizeReader((await expectSession(used, call)).requester),
    })
    open.add(body)
    body.once('close', () => open.delete(body))
    return body
  })
  server.addHook('preClose', async () => {
    for (const body of open) body.end('STOPPING')
  })
}
