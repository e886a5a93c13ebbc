/** The routes of the control panel for operators: callers, keys, and decisions as they are made. */
import { callError, invalidArgument } from '../../base/call-error.ts'
import { authorizeReader, type Operating, OperatorViews } from '../../usecases/control-panel/operator.ts'
import { DecisionSearches, type SearchQuestion } from '../../usecases/control-panel/search.ts'
import { expectSession, useSession } from '../../usecases/control-panel/session.ts'
import { SHADOW_DIRECTIONS } from '../../usecases/shadow.ts'
import { TailBody } from './decision-routes.ts'
import type { Fields, PanelRoutes } from './panel-exchange.ts'

const OPERATOR = '/console/operator'

/** @param leaving aborts when the server begins to close */
export function addOperatorRoutes(services: Operating, routes: PanelRoutes, leaving: AbortSignal): void {
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
  routes.get(`${OPERATOR}/removal`, async ({ services: used, call }) => {
    const { requester } = await useSession(used, call)
    return { left: views.left(requester) }
  })
  routes.lines(`${OPERATOR}/decisions`, async ({ services: used, call }) => {
    const { requester } = await useSession(used, call)
    const body = new TailBody({
      listening: views.listen(requester),
      // To listen is not a use of the session: it ends as if the page were closed.
      confirm: async () => void authorizeReader((await expectSession(used, call)).requester),
    })
    open.add(body)
    body.once('close', () => open.delete(body))
    return body
  })
  const searches = new DecisionSearches(services.decisions)
  routes.post(
    `${OPERATOR}/decisions/search`,
    readSearch,
    async ({ services: used, call, reply }, question) => {
      const { requester } = await useSession(used, call)
      const gone = new AbortController()
      reply.raw.once('close', () => gone.abort(callError('STOPPING', {})))
      const signal = AbortSignal.any([gone.signal, leaving])
      const { rows, next, ...rest } = await searches.search(used, requester, question, signal)
      return { rows, nextPageToken: next ?? '', ...rest }
    },
  )
  leaving.addEventListener('abort', () => {
    for (const body of open) body.end('STOPPING')
  })
}

/** The search of the page. An empty value counts as absent. */
function readSearch(fields: Fields): SearchQuestion {
  const text = (name: string) => fields.optionalText(name) || undefined
  const fingerprint = text('fingerprint')
  if (fingerprint !== undefined && !/^[0-9a-f]{32}$/i.test(fingerprint))
    throw invalidArgument({ field: 'fingerprint', expected: '32 hexadecimal digits' })
  const token = fields.has('token') ? fields.secret('token') : undefined
  const hasToken = token !== undefined && token.reveal().trim() !== ''
  if (hasToken && fingerprint !== undefined)
    throw invalidArgument({ field: 'fingerprint', expected: 'no token beside it' })
  const verdict = text('verdict')
  if (verdict !== undefined && verdict !== 'allowed' && verdict !== 'denied')
    throw invalidArgument({ field: 'verdict', expected: '`allowed` or `denied`' })
  const direction = text('shadow')
  const shadow = SHADOW_DIRECTIONS.find((each) => each === direction)
  if (shadow !== direction)
    throw invalidArgument({ field: 'shadow', expected: '`opened`, `closed` or `unknown`' })
  return {
    sinceMs: timeIn(fields, 'since_ms'),
    untilMs: timeIn(fields, 'until_ms'),
    ...{ user: text('user'), token: hasToken ? token : undefined, fingerprint: fingerprint?.toLowerCase() },
    ...{ api: text('api'), reason: text('reason'), account: text('account'), project: text('project') },
    ...{ requestId: text('request_id'), address: text('address'), pageToken: text('page_token') },
    allowed: verdict === undefined ? undefined : verdict === 'allowed',
    shadow,
  }
}

function timeIn(fields: Fields, name: string): number | undefined {
  if (!fields.has(name)) return undefined
  const value = fields.value(name)
  if (!Number.isSafeInteger(value))
    throw invalidArgument({ field: name, expected: 'milliseconds since 1970' })
  return value as number
}
