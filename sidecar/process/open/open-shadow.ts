/** Opens the matrix that is computed beside the one in force, and says what it would change. */
import type { Logger } from 'pino'
import type { Engine } from '../../../engine/index.ts'
import type { Health } from '../../base/health.ts'
import type { Config } from '../../config/config.ts'
import { Rules } from '../../rules/rules.ts'
import type { ComparedShadow } from '../../usecases/compared-shadow.ts'
import type { Meters } from '../../usecases/decision-meters.ts'
import type { ProblemsUnder } from './under-matrix.ts'

interface Told {
  /** The rules in force. */
  readonly rules: Rules
  readonly log: Logger
  readonly health: Health
  readonly now: () => number
  readonly meters: Meters | undefined
  readonly problemsUnder: ProblemsUnder
}

/**
 * @returns undefined: no decision is compared, and nothing is loaded for it
 * @throws MatrixError, or an Error that says why the file cannot be read
 */
export async function openShadow(config: Config, told: Told): Promise<ComparedShadow | undefined> {
  const { matrix_shadow: path } = config
  if (path === undefined) return undefined
  const { rules, log, health, now, meters, problemsUnder } = told
  const { ComparedShadow } = await import('../../usecases/compared-shadow.ts')
  const shadow = new Rules({
    ...{ path, strict: config.strict, pollMs: config.matrix_poll_ms, keepMatrix: true },
    onRefused: (error) =>
      log.error(
        { matrix_shadow: path, problem: error.message },
        'the file of matrix_shadow cannot be used; the last good one is still compared',
      ),
    onLook: ({ refused }) => health.set('shadow_refused', refused),
  })
  return new ComparedShadow({
    ...{ rules, shadow, now },
    onBegin: (inForce, beside) => {
      health.setShadow(beside.digest)
      if (inForce.digest === beside.digest) {
        log.info({ matrix_digest: inForce.digest }, 'the matrix of matrix_shadow is in force')
        return
      }
      log.info(
        { matrix_digest: inForce.digest, shadow_digest: beside.digest, ...cellsBetween(inForce, beside) },
        'decisions are compared with another matrix, which decides nothing',
      )
      for (const problem of problemsUnder(beside))
        log.warn(
          { problem, shadow_digest: beside.digest },
          'the matrix of matrix_shadow does not have what the configuration names; if it were promoted, such requests would be denied',
        )
    },
    counterOf: meters && ((...cell) => meters.shadowCounter(...cell)),
    onDefect: (error) =>
      log.error(
        { err: error },
        'decisions cannot be compared with matrix_shadow; answers do not depend on it',
      ),
  })
}

/** How many cells the other matrix opens and closes. An API with another id counts as one that is gone. */
function cellsBetween(inForce: Engine, shadow: Engine): { cells_opened: number; cells_closed: number } {
  return { cells_opened: cellsBeyond(shadow, inForce), cells_closed: cellsBeyond(inForce, shadow) }
}

/** How many cells one allows and the other does not. */
function cellsBeyond(one: Engine, other: Engine): number {
  let cells = 0
  for (const { id, accepted } of one.apis.values()) {
    const others = other.apis.get(id)?.accepted ?? []
    for (const { kind } of accepted) if (!others.some((each) => each.kind === kind)) cells++
  }
  return cells
}
