/** Looks at the matrix, and at the sidecar that serves with this configuration, if one does. */
import { statSync } from 'node:fs'
import { connect } from '../../../clients/typescript/index.ts'
import type { Engine } from '../../../engine/index.ts'
import { lintMatrix, supportMatrix } from '../../../matrix/index.ts'
import { parseAddress } from '../../base/address.ts'
import type { Config } from '../../config/config.ts'
import { readMatrix } from '../../rules/matrix-file/read.ts'
import type { FoundHealth } from '../commands/ask-health.ts'
import { readRules } from '../read-rules.ts'
import { DAY_MS, type Finding, findingsOf } from './finding.ts'

/** How long a sidecar on this machine may take to answer, in milliseconds. */
const ANSWER_MS = 2_000

/** @returns the engine as well, where the matrix is valid */
export function matrixFindings(config: Config, nowMs: number): { findings: Finding[]; engine?: Engine } {
  const { ok, error, warning } = findingsOf('matrix')
  const { matrix: file } = config
  const subject = file ?? 'the shipped matrix'
  try {
    const { engine } = readRules(config)
    const { problems } = lintMatrix(file === undefined ? supportMatrix : readMatrix(file))
    const age =
      file === undefined ? '' : `, ${Math.floor((nowMs - statSync(file).mtimeMs) / DAY_MS)} days old`
    const conflicts = `${engine.conflicts.length} conflicts${config.strict ? ', all denied (strict)' : ''}`
    const findings =
      problems.length > 0
        ? [
            warning(
              subject,
              `${problems.length} problems: the conflicts that it declares are not those that it has`,
              `portcullis matrix lint ${file ?? ''}`.trim(),
            ),
          ]
        : [ok(subject, `valid, ${conflicts}${age}`)]
    return { findings, engine }
  } catch (caught) {
    const fix = 'portcullis matrix lint FILE; a running sidecar continues with the last good matrix'
    return { findings: [error(subject, (caught as Error).message.split('\n')[0] ?? '', fix)] }
  }
}

/** The matrix that is computed beside the one in force, where there is one. */
export function shadowFindings({ matrix_shadow: file, strict }: Config): Finding[] {
  if (file === undefined) return []
  const { ok, error } = findingsOf('matrix')
  try {
    const { digest } = readRules({ matrix: file, strict }).engine
    return [ok(file, `valid; decisions are compared with it, and it decides nothing: ${digest}`)]
  } catch (caught) {
    const fix = 'portcullis matrix lint FILE; a running sidecar still compares the last good matrix'
    return [error(file, (caught as Error).message.split('\n')[0] ?? '', fix)]
  }
}

/** The matrix that is in force in the place of the configured one, where one was promoted. */
export function promotionFindings(digest: string | undefined, configured: Engine | undefined): Finding[] {
  if (digest === undefined) return []
  const { ok, warning } = findingsOf('matrix')
  if (digest === configured?.digest) return [ok(digest, 'promoted, and the same as the configured one')]
  const fix = 'portcullis matrix shadow; portcullis matrix rollback --to-configured takes it back'
  return [warning(digest, 'it was promoted, and is in force in the place of the configured one', fix)]
}

/**
 * Asks the sidecar which rules are in force.
 *
 * @param promotedDigest of the matrix that is in force in the place of the configured one
 */
export async function sidecarFindings(
  { grpc: { address, tls } }: Config,
  engine: Engine | undefined,
  promotedDigest: string | undefined,
): Promise<Finding[]> {
  const { ok, warning } = findingsOf('sidecar')
  const parsed = parsedOrNone(address)
  // A sidecar with TLS wants the certificate of a client, and a free port is known to the sidecar alone.
  if (tls !== undefined || parsed === undefined || (parsed.type !== 'unix' && parsed.port === 0)) return []
  const client = connect(address, { deadlineMs: ANSWER_MS })
  let rules: Awaited<ReturnType<typeof client.getMatrix>>
  try {
    rules = await client.getMatrix()
  } catch {
    return [ok(address, 'no sidecar answers')]
  } finally {
    client.close()
  }
  const { digest, rulesDigest } = rules
  if (promotedDigest !== undefined)
    return [
      digest === promotedDigest
        ? ok(address, 'a sidecar answers')
        : warning(
            address,
            'a sidecar answers, but it does not use the promoted matrix',
            'read its log; `data` and `directory` of its configuration say which directory it has',
          ),
    ]
  return [
    engine === undefined || rulesDigest === engine.rulesDigest
      ? ok(address, 'a sidecar answers')
      : warning(
          address,
          'a sidecar answers, but it uses other rules than the configured matrix',
          'send it SIGHUP, or restart it where `strict` or the file was changed',
        ),
  ]
}

/**
 * Asks the sidecar whether it should get traffic, as probes do. Its view of its directory or its hub may
 * differ from the view from here.
 */
export async function readinessFindings({ grpc, http, health }: Config): Promise<Finding[]> {
  const isAsked = (listener: { readonly address: string; readonly tls?: object }) =>
    listener.tls === undefined && isFixed(listener.address)
  const listener = [health, grpc, http].find(isAsked)
  if (listener === undefined) return []
  const { askGrpc, askHealthListener } = await import('../commands/ask-health.ts')
  const { address } = listener
  const asked = listener === grpc ? askGrpc(address, ANSWER_MS, {}) : askHealthListener(address, ANSWER_MS)
  // That none answers is said elsewhere.
  const found: FoundHealth = await asked.catch(() => ({ status: 'ready' }))
  if (found.status === 'ready') return []
  const said = [found.status, ...(found.problems ?? [])].join(', ')
  return [findingsOf('sidecar').error(address, `a sidecar answers, and says: ${said}`, FIX_UNREADY)]
}

const FIX_UNREADY =
  'docs/operate/health.md#what-makes-it-unready says what each code means; its log says more'

/** Whether it can be known from outside. */
function isFixed(address: string): boolean {
  const parsed = parsedOrNone(address)
  return parsed !== undefined && (parsed.type === 'unix' || parsed.port !== 0)
}

/** The check of the configuration finds the faults of an address. */
function parsedOrNone(address: string): ReturnType<typeof parseAddress> | undefined {
  try {
    return parseAddress('grpc.address', address)
  } catch {
    return undefined
  }
}
