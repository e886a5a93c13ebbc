/** Opens the rules, and says in the log and in health checks what becomes of their file. */
import type { Logger } from 'pino'
import type { Health } from '../../base/health.ts'
import { type Config, ConfigError } from '../../config/config.ts'
import { Rules } from '../../rules/rules.ts'

/** @throws ConfigError */
export function checkMatrixAge({ matrix_poll_ms: pollMs, max_matrix_age_ms: ageMs }: Config): void {
  // Without looks at the file, every matrix would be too old at some time.
  if (ageMs > 0 && (pollMs === 0 || ageMs < pollMs))
    throw new ConfigError(
      'max_matrix_age_ms: expected matrix_poll_ms above 0, and no less than matrix_poll_ms, because the sidecar must look at the file to know whether it is stale',
    )
}

/** @throws MatrixError, or an Error that says why the file cannot be read */
export function openRules(config: Config, log: Logger, health: Health): Rules {
  const rules = new Rules({
    path: config.matrix,
    strict: config.strict,
    pollMs: config.matrix_poll_ms,
    maxAgeMs: config.max_matrix_age_ms,
    keepMatrix: config.http.console || config.matrix_shadow !== undefined,
    onRefused: (error) =>
      log.error(
        { matrix: config.matrix, problem: error.message },
        'the matrix file cannot be used; the last good one stays in force',
      ),
    onOverruled: (engine) =>
      log.warn(
        { matrix: config.matrix, matrix_digest: engine.digest },
        'the matrix file has changed, but a promoted matrix is in force in its place: promote the new one, or run `portcullis matrix rollback --to-configured`',
      ),
    onLook: ({ refused, stale }) => {
      health.set('matrix_refused', refused)
      if (stale && health.state.problems.matrix_stale === undefined)
        log.error(
          { max_matrix_age_ms: config.max_matrix_age_ms },
          'the matrix in force has not matched its file for too long; the sidecar is not ready until it does',
        )
      health.set('matrix_stale', stale)
    },
  })
  health.setMatrix(rules.engine.digest)
  rules.watch((engine) => {
    health.setMatrix(engine.digest)
    log.info({ matrix_digest: engine.digest, rules_digest: engine.rulesDigest }, 'a new matrix is in force')
  })
  return rules
}
