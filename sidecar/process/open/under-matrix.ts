/**
 * The ids of the matrix in the configuration, under the one in force. That can be promoted, taken back or
 * edited while sidecars run, so a missing id is denied, and the log says so. A configuration keeps a
 * sidecar from starting only where no matrix but that of the configuration was ever in force.
 */
import type { Logger } from 'pino'
import type { Engine } from '../../../engine/index.ts'
import { type Config, ConfigError } from '../../config/config.ts'
import type { Rules } from '../../rules/rules.ts'

/** The keys of the configuration that name ids missing from the matrix, and the expected ids. */
export type ProblemsUnder = (engine: Engine) => readonly string[]

/** Of the routes. Their form does not depend on a matrix, but their APIs do. */
export function problemsOfRoutes({ routes = [] }: Pick<Config, 'routes'>, { apis }: Engine): string[] {
  return routes.flatMap(({ api }, index) =>
    apis.has(api) ? [] : [`routes[${index}].api: expected the id of an API of the matrix`],
  )
}

/**
 * Looks now, and whenever another matrix is in force.
 *
 * @param isOwn whether no matrix but that of the configuration was ever in force
 * @throws ConfigError
 */
export function followMatrix(
  problemsUnder: ProblemsUnder,
  { rules, log, isOwn }: { readonly rules: Rules; readonly log: Logger; readonly isOwn: boolean },
): void {
  const problems = problemsUnder(rules.engine)
  if (problems.length > 0 && isOwn) throw new ConfigError(problems.join('\n'))
  const warn = (found: readonly string[], { digest }: Engine) => {
    for (const problem of found)
      log.warn(
        { problem, matrix_digest: digest },
        'the matrix in force does not have what the configuration names; such requests are denied',
      )
  }
  warn(problems, rules.engine)
  rules.watch((engine) => warn(problemsUnder(engine), engine))
}
