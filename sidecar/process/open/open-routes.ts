/** Opens the routes of the configuration. Loaded only where there are routes. */
import { type Config, ConfigError } from '../../config/config.ts'
import { placedProblems } from '../../config/text-file.ts'
import { compileRoutes } from '../../rules/routes/compile-routes.ts'
import type { Routes } from '../../rules/routes/routes.ts'

/**
 * Routes stay as they are until the next start.
 *
 * @param apis ids of the APIs; without it, whether the matrix has them is for `under-matrix.ts`
 * @throws ConfigError that names every route that is not as expected, with its line
 */
export function openRoutes(
  { routes: settings = [], file }: Pick<Config, 'routes' | 'file'>,
  apis?: { has(id: string): boolean },
): Routes {
  const { routes, problems } = compileRoutes(settings, apis)
  if (routes !== undefined) return routes
  throw new ConfigError((file === undefined ? problems : placedProblems(file, problems)).join('\n'))
}
