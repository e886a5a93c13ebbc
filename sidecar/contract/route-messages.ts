/**
 * The result of the routes for a request, and the routes themselves for followers, who find the route of a
 * plain request by themselves.
 */
import * as wire from '../../proto/gen/portcullis/v1/authorization.ts'
import { Reason } from '../../proto/gen/portcullis/v1/decision.ts'
import { METHOD_OVERRIDES, PATH_OVERRIDES } from '../rules/routes/overrides.ts'
import type { Route, RouteMatch, TargetSource } from '../rules/routes/route.ts'
import type { Routes } from '../rules/routes/routes.ts'
import { folded } from '../rules/routes/similar.ts'
import { joined } from './change-messages.ts'
import { CHECK_RESPONSE, FOUND_ROUTE, SCOPE } from './field-numbers.ts'
import { FieldWriter } from './field-writer.ts'
import { EMPTY_RESPONSE, encode } from './responses.ts'

/** Nothing is written between its start and its finish. */
const WRITER = new FieldWriter()

/** Adds to an answer which route the request has. */
export function withRoute(
  answer: Buffer,
  { api, target }: Extract<RouteMatch, { readonly refused: undefined }>,
): Buffer {
  WRITER.start(answer)
  const route = WRITER.begin(CHECK_RESPONSE.route)
  WRITER.text(FOUND_ROUTE.api, api)
  if (target !== undefined) {
    const scope = WRITER.begin(FOUND_ROUTE.target)
    WRITER.text(SCOPE.account, target.account)
    WRITER.text(SCOPE.project, target.project ?? '')
    WRITER.end(scope)
  }
  WRITER.end(route)
  return WRITER.finish()
}

/** The answer to a request that the routes refuse. No rules decided, so it has the digest of none. */
export function refusedResponse({
  refused,
  detail,
}: Exclude<RouteMatch, { readonly refused: undefined }>): Buffer {
  return encode(wire.CheckResponse, {
    ...EMPTY_RESPONSE,
    reason: Reason.REASON_UNKNOWN_API,
    message: detail,
    route: { api: '', target: undefined, refused },
  })
}

/**
 * Most bytes of all routes: of 100,000 whose paths have 150 characters. A follower keeps them in memory, and
 * gets them at the start of each stream.
 */
const ROUTES_BYTES_MAX = 33_554_432

/**
 * The encoded `Routes`, in pieces of at most a part: one after the other they are one message. Empty: there
 * are no routes, or too many.
 */
export function encodedRoutes(routes: Routes | undefined): readonly Buffer[] {
  if (routes === undefined) return []
  const pieces: Buffer[] = []
  let bytes = 0
  for (const piece of joined(encodedOneByOne(routes))) {
    bytes += piece.length
    if (bytes > ROUTES_BYTES_MAX) return []
    pieces.push(piece)
  }
  return pieces
}

function* encodedOneByOne(routes: Routes): Generator<Buffer> {
  yield encode(wire.Routes, { routes: [], overrides: overridesOf(routes) })
  for (const route of routes.inOrder())
    yield encode(wire.Routes, { routes: [routeMessage(route)], overrides: [] })
}

export function routesMessage(routes: Routes): wire.Routes {
  return {
    routes: routes.inOrder().map(routeMessage),
    overrides: overridesOf(routes),
  }
}

function overridesOf({ namesMethods }: Routes): string[] {
  return [...PATH_OVERRIDES, ...(namesMethods ? METHOD_OVERRIDES : [])]
}

function routeMessage({ host, path, methods = [], api, target }: Route): wire.Route {
  return {
    ...{ host, api, below: path.below, methods: [...methods] },
    segments: path.segments.map(({ type, text }) => {
      const form = folded(text)
      return { text, capture: type === 'capture', folded: form === text ? undefined : form }
    }),
    account: target && sourceMessage(target.account),
    project: target?.project && sourceMessage(target.project),
  }
}

function sourceMessage(source: TargetSource): wire.RouteSource {
  switch (source.from) {
    case 'segment':
      return { source: { $case: 'segment', value: source.index } }
    case 'header':
      return { source: { $case: 'header', value: source.name } }
    case 'fixed':
      return { source: { $case: 'fixed', value: source.value } }
  }
}
