/** Opens the routes of the configuration. Loaded only where there are routes. */
import { ConfigError } from '../../config/config.ts'
import { compileRoutes } from '../../rules/routes/compile-routes.ts'
import type { RouteSetting } from '../../rules/routes/route.ts'
import type { Routes } from '../../rules/routes/routes.ts'

/**
 * Routes stay as they are until the next start. Whether the matrix has their APIs is for `under-matrix.ts`.
 *
 * @throws ConfigError that names every route that is not as expected
 */
export function openRoutes(settings: readonly RouteSetting[]): Routes {
  const { routes, problems } = compileRoutes(settings, undefined)
  if (routes === undefined) throw new ConfigError(problems.join('\n'))
  return routes
}
