/** Routes of a large provider, and requests for them. */
import type { RouteRequest, RouteSetting } from '../../sidecar/rules/routes/route.ts'

const ACTIONS = ['start', 'stop', 'tags']

/** So many routes: ten for each kind of resource, with `{id}` beside texts, and some for each method. */
export function manyRoutes(count: number): RouteSetting[] {
  const routes: RouteSetting[] = []
  for (let kind = 0; routes.length < count; kind++) {
    const path = `/service${kind % 100}/v${kind % 7}/resource${Math.floor(kind / 100)}`
    const api = `api-${kind % 3_000}`
    const item = `${path}/{id}`
    for (const methods of [['GET'], ['POST']]) routes.push({ path, methods, api })
    for (const methods of [['GET'], ['PUT'], ['DELETE']]) routes.push({ path: item, methods, api })
    for (const action of ACTIONS) routes.push({ path: `${item}/${action}`, methods: ['POST'], api })
    routes.push({ path: `${item}/tags/{tag}`, api }, { path: `${path}/search`, methods: ['GET'], api })
  }
  return routes.slice(0, count)
}

/** A request for each route, in an order that looks like chance and is always the same. */
export function requestsFor(routes: readonly RouteSetting[]): RouteRequest[] {
  const header = () => undefined
  return Array.from({ length: routes.length }, (_, index) => {
    const { path, methods = ['GET'] } = routes[(index * STEP) % routes.length] as RouteSetting
    const target = path.replace(/\{\w+\}/g, String(index))
    return { method: methods[0] ?? 'GET', host: 'api.example.com', target, header }
  })
}

/** A prime that no number of routes here has as a factor, so that each route comes once. */
const STEP = 7_919
