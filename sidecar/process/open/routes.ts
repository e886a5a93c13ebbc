/** Opens the routes of the configuration under the matrix in force. Loaded only where there are routes. */
import type { Logger } from 'pino'
import type { Engine } from '../../../engine/index.ts'
import { ConfigError } from '../../config/config.ts'
import { compileRoutes } from '../../rules/routes/compile.ts'
import type { RouteSetting } from '../../rules/routes/route.ts'
import type { Routes } from '../../rules/routes/routes.ts'
import type { Rules } from '../../rules/rules.ts'

/**
 * Routes stay as they are until the next start. An API that a new matrix no longer has is unknown to every
 * check, so the requests of its routes are denied.
 *
 * @throws ConfigError that names every route that is not as expected
 */
export function openRoutes(settings: readonly RouteSetting[], rules: Rules, log: Logger): Routes {
  const { routes, problems } = compileRoutes(settings, rules.engine.apis)
  if (routes === undefined) throw new ConfigError(problems.join('\n'))
  rules.watch(({ apis }: Engine) => {
    for (const { index, api } of routes.all)
      if (!apis.has(api))
        log.warn(
          { route: `routes[${index}]`, api },
          'the new matrix has no such API; its requests are denied',
        )
  })
  return routes
}
