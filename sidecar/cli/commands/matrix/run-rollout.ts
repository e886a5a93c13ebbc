/** The work of `portcullis matrix shadow`, `promote` and `rollback`. It is loaded when one of them runs. */
import type { DirectoryClient } from '../../../../clients/typescript/index.ts'
import { compile } from '../../../../engine/index.ts'
import {
  bearsOn,
  compareMatrices,
  isOfCell,
  type Judged,
  judgeFlips,
  loadMatrix,
} from '../../../../matrix/index.ts'
import type {
  GetMatrixRolloutResponse,
  MatrixShadow,
  MatrixVersion,
} from '../../../../proto/gen/portcullis/v1/directory.ts'
import { columns } from '../../../base/text-table.ts'
import { type IdentityOptions, readIdentity, withDirectory } from '../../sidecar-connection.ts'
import { type ConfirmOptions, confirm } from '../../terminal/confirm.ts'
import { CommandError, EXIT, usageError } from '../../terminal/errors.ts'
import { type ConnectionOptions, counted, print, printJson } from '../../terminal/output.ts'
import { paint, type Terminal } from '../../terminal/terminal.ts'
import { diffText } from './diff-text.ts'
import type { RollBackCalls } from './offline-rollout.ts'
import { readAllowedFlips } from './read-allowed-flips.ts'

/** The bounds on putting another matrix in force. */
interface GateOptions {
  /** The file of the flips that were signed off. */
  readonly allow?: string
  /** How many others may open something: cells, and facts of kinds. */
  readonly maxOpened: number
  readonly maxLoosened: number
}

/** The bounds on putting another matrix in force. */
interface GateOptions {
  /** The file of the flips that were signed off. */
  readonly allow?: string
  /** How many others may open something: cells, and facts of kinds. */
  readonly maxOpened: number
  readonly maxLoosened: number
}

export type ShadowOptions = ConnectionOptions & IdentityOptions

export interface PromoteOptions extends ShadowOptions, ConfirmOptions, GateOptions {
  readonly reason: string
  readonly config?: string
  readonly since?: Date
}

export interface RollBackOptions extends ShadowOptions, ConfirmOptions, GateOptions {
  readonly reason: string
  readonly unseen?: boolean
  readonly to?: string
  readonly toConfigured?: boolean
  /** In the directory itself. */
  readonly offline?: boolean
  readonly config?: string
  readonly matrix?: string
}

/** @throws CommandError, PortcullisError or Error */
export async function showShadow(options: ShadowOptions): Promise<void> {
  const rollout = await asking(options, (directory) =>
    directory.getMatrixRollout({ matrices: !options.json }),
  )
  if (options.json) {
    const { matrix: _, shadow, ...shown } = rollout
    const { matrix: __, ...shadowShown } = shadow ?? {}
    printJson({ ...shown, ...(shadow && { shadow: shadowShown }) })
    return
  }
  const { shadow } = rollout
  print(
    [
      `${paint('bold', 'in force')}  ${rollout.digest}  of the ${rollout.promoted ? 'directory' : 'configuration'}`,
      ...(shadow === undefined
        ? ['no shadow: `matrix_shadow` in the configuration names one']
        : [
            `${paint('bold', 'shadow')}    ${shadow.digest}  since ${timeOf(shadow.since)}`,
            '',
            ...(shadow.digest === rollout.digest
              ? ['the shadow is in force']
              : [diffText(diffOf(rollout, shadow)), '', ...differencesOf(shadow)]),
            '',
          ]),
      ...versionsOf(rollout.versions),
    ].join('\n'),
  )
}

/** @throws CommandError, PortcullisError or Error */
export async function promote(options: PromoteOptions, terminal: Terminal): Promise<void> {
  const { reason, since, allow, json } = options
  const entries = allow === undefined ? [] : readAllowedFlips(allow)
  await asking(options, async (directory) => {
    const rollout = await directory.getMatrixRollout({ matrices: true })
    const { shadow, digest } = rollout
    if (shadow === undefined)
      throw new CommandError(
        'FAILED_PRECONDITION',
        'there is no shadow to promote: `matrix_shadow` in the configuration of the sidecar names one',
      )
    const diff = diffOf(rollout, shadow, entries)
    const refusals = [
      ...refusalsOf(diff.judged, options),
      ...(since !== undefined && (shadow.since ?? new Date()) > since
        ? [`the shadow is computed since ${timeOf(shadow.since)}; --since is ${timeOf(since)}`]
        : []),
    ]
    const denied = await deniedUnder(options, shadow.matrix)
    if (!json) print([diffText(diff), ...(denied ?? []).map(deniedText)].join('\n'))
    if (refusals.length > 0) {
      refuse(json, 'not promoted', { promoted: false, digest, shadowDigest: shadow.digest, refusals })
      return
    }
    await confirm(terminal, options, () => 'Put the shadow in force in every process of the directory?')
    await directory.promoteMatrix({ shadowDigest: shadow.digest, digest, reason })
    if (json)
      printJson({ promoted: true, digest: shadow.digest, replaced: digest, ...(denied && { denied }) })
    else print(`in force: ${shadow.digest}`)
  })
}

/** @throws CommandError, PortcullisError or Error */
export async function rollBack(options: RollBackOptions, terminal: Terminal): Promise<void> {
  const { reason, to, toConfigured = false, unseen = false, allow, json } = options
  const entries = allow === undefined ? [] : readAllowedFlips(allow)
  const calls = options.offline
    ? (await import('./offline-rollout.ts')).withoutSidecar
    : (_: RollBackOptions, work: (directory: RollBackCalls) => Promise<void>) => asking(options, work)
  await calls(options, async (directory) => {
    const now = await directory.getMatrixRollout({ matrices: false })
    const meant = toConfigured ? undefined : versionMeant(now.versions, now.digest, to)
    const what = meant === undefined ? 'the matrix of each configuration' : meant.digest
    const toDigest = meant?.digest ?? now.configuredDigest
    const rollout = await directory.getMatrixRollout({ matrices: true, toDigest })
    const { digest, matrix, toMatrix } = rollout
    // A sidecar that keeps no matrices can go back, too.
    const diff =
      matrix === '' || toMatrix === ''
        ? undefined
        : diffOf(rollout, { digest: toDigest, matrix: toMatrix }, entries)
    const refusals =
      diff !== undefined ? refusalsOf(diff.judged, options) : unseen ? [] : [unseenText(rollout, toDigest)]
    const denied = await deniedUnder(options, toMatrix)
    if (!json && diff !== undefined) print([diffText(diff), ...(denied ?? []).map(deniedText)].join('\n'))
    if (refusals.length > 0) {
      refuse(json, 'not rolled back', { rolledBack: false, digest, toDigest, refusals })
      return
    }
    await confirm(
      terminal,
      options,
      () => `Put ${what} in force in every process of the directory, in place of ${digest}?`,
    )
    await directory.rollBackMatrix({
      ...{ digest, reason },
      to:
        meant === undefined
          ? { $case: 'toConfigured', value: true }
          : { $case: 'toDigest', value: meant.digest },
    })
    if (json)
      printJson({
        rolledBack: true,
        digest: meant?.digest ?? '',
        replaced: digest,
        ...(denied && { denied }),
      })
    else print(`in force: ${what}`)
  })
}

/**
 * The ids in the configuration of this host that the matrix does not have; `undefined`: no configuration was
 * given. The log of each sidecar says it, too.
 */
async function deniedUnder(
  { config: file }: Pick<RollBackOptions, 'config'>,
  matrix: string,
): Promise<readonly string[] | undefined> {
  if (file === undefined || matrix === '') return undefined
  const { readConfig } = await import('../../../config/config.ts')
  const { problemsUnder } = await import('../config-check.ts')
  return problemsUnder(readConfig({ file, environment: process.env }), compile(loadMatrix(matrix)))
}

function deniedText(problem: string): string {
  return paint('yellow', `warning: ${problem}; its requests will be denied`)
}

/** Why another matrix is not put in force: its flips without a sign-off. Empty: it may be. */
function refusalsOf({ left }: Judged, { maxOpened, maxLoosened }: GateOptions): string[] {
  const opening = left.filter((flip) => bearsOn(flip, 'opened'))
  const opened = opening.filter(isOfCell).length
  const loosened = opening.length - opened
  return [
    ...(opened > maxOpened
      ? [`${counted(opened, 'cell')} would open without a sign-off; --max-opened is ${maxOpened}`]
      : []),
    ...(loosened > maxLoosened
      ? [
          `${counted(loosened, 'fact')} of kinds would be loosened or changed without a sign-off; --max-loosened is ${maxLoosened}`,
        ]
      : []),
  ]
}

function refuse(
  json: boolean | undefined,
  not: string,
  report: { readonly refusals: readonly string[]; readonly [field: string]: unknown },
): void {
  if (json) printJson(report)
  else print(report.refusals.map((each) => paint('red', `${not}: ${each}`)).join('\n'))
  process.exitCode = EXIT.denied
}

function unseenText({ matrix, digest }: GetMatrixRolloutResponse, toDigest: string): string {
  return `there is no longer a copy of ${matrix === '' ? digest : toDigest}, so what would open is not known; --unseen goes back all the same`
}

/** @throws CommandError unless exactly one is meant */
function versionMeant(
  versions: readonly MatrixVersion[],
  inForce: string,
  to: string | undefined,
): MatrixVersion {
  const others = versions.filter(({ digest }) => digest !== '' && digest !== inForce)
  const meant = to === undefined ? others.slice(0, 1) : others.filter(({ digest }) => startsWith(digest, to))
  const [version] = meant
  if (version !== undefined && new Set(meant.map(({ digest }) => digest)).size === 1) return version
  if (to === undefined)
    throw new CommandError(
      'FAILED_PRECONDITION',
      'there is no earlier matrix among the last ten; --to-configured goes back to those of the configurations',
    )
  throw usageError(
    `--to: expected the digest of one of the last ten that is not in force, found ${meant.length}; \`portcullis matrix shadow\` shows them`,
  )
}

/** With or without the name of the algorithm. */
function startsWith(digest: string, beginning: string): boolean {
  return digest.startsWith(beginning) || digest.startsWith(`sha256:${beginning}`)
}

function asking<T>(options: ShadowOptions, work: (directory: DirectoryClient) => Promise<T>): Promise<T> {
  return withDirectory({ ...options, ...readIdentity(options) }, work)
}

/** The matrix in force and another one, as `matrix diff` compares two files. */
function diffOf(
  { matrix, digest }: GetMatrixRolloutResponse,
  after: Pick<MatrixShadow, 'digest' | 'matrix'>,
  entries: ReturnType<typeof readAllowedFlips> = [],
): Parameters<typeof diffText>[0] {
  const comparison = compareMatrices(loadMatrix(matrix), loadMatrix(after.matrix))
  const judged = judgeFlips(comparison, entries, new Date().toISOString().slice(0, 10))
  return {
    before: { name: shortOf(digest), problems: [] },
    after: { name: shortOf(after.digest), problems: [] },
    ...{ comparison, judged, failing: [], unsettled: false },
  }
}

/** Enough of a digest for people. */
function shortOf(digest: string): string {
  return digest.slice(0, 'sha256:'.length + 12)
}

function differencesOf({ compared, differences, beyond }: MatrixShadow): string[] {
  const total = differences.reduce((sum, { count }) => sum + count, beyond)
  const headline = `${counted(compared, 'decision')} compared, ${total} would differ`
  return [
    paint('bold', headline),
    ...(differences.length === 0
      ? []
      : [
          columns(
            differences.map(({ direction, api, kind, count, last, accounts, otherAccounts }) => [
              ...[
                direction,
                api,
                kind === '' ? 'no known token' : kind,
                String(count),
                `last ${timeOf(last)}`,
              ],
              [
                ...accounts.map(({ account, count: times }) => `account ${account} (${times})`),
                ...(otherAccounts > 0 ? [`others or none (${otherAccounts})`] : []),
              ].join(', '),
            ]),
          ),
        ]),
    ...(beyond > 0 ? [`and ${beyond} in further cells`] : []),
  ]
}

function versionsOf(versions: readonly MatrixVersion[]): string[] {
  if (versions.length === 0) return ['no matrix was promoted']
  return [
    paint('bold', 'put in force'),
    columns(
      versions.map(({ digest, action, actor, reason, putInForceAt }) => [
        ...[timeOf(putInForceAt), action, digest === '' ? 'those of the configurations' : shortOf(digest)],
        ...[actor, reason],
      ]),
    ),
  ]
}

function timeOf(time: Date | undefined): string {
  return time?.toISOString() ?? ''
}
