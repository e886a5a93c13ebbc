/** The matrix in force, the differences of its shadow, and the earlier matrices. */
import type { Comparison } from '../../../matrix/compare.ts'
import { bearsOn } from '../../../matrix/flip-sides.ts'
import type {
  GetMatrixRolloutResponse,
  MatrixDifference,
  MatrixShadow,
  MatrixVersion,
} from '../../gen/portcullis/v1/directory.ts'
import { PORTCULLIS, quoted } from '../../model/shell.ts'
import { msOf } from './dates.ts'
import type { ApiError } from './errors.ts'

export type Difference = 'opened' | 'closed' | 'unknown'

/** Opened cells are the danger, so they come first. */
export const DIFFERENCES: readonly Difference[] = ['opened', 'closed', 'unknown']

/** A matrix that was put in force. */
export interface Version {
  /** Empty: each process had the matrix of its configuration again. */
  readonly digest: string
  /** `promoted`, `rolled_back` or `replaced`. */
  readonly action: string
  readonly actor: string
  readonly reason: string
  readonly atMs: number | undefined
}

/** Decisions about one cell that the shadow would have made otherwise. */
export interface DifferenceRow {
  readonly api: string
  /** Empty: it is not known. */
  readonly kind: string
  readonly count: number
  readonly firstMs: number | undefined
  readonly lastMs: number | undefined
  /** Most frequent first. */
  readonly accounts: readonly { readonly account: string; readonly count: number }[]
  /** How many were of other accounts, or of none. */
  readonly others: number
}

export interface DifferenceGroup {
  readonly direction: Difference
  readonly count: number
  /** Most frequent first. */
  readonly rows: readonly DifferenceRow[]
}

export interface ShadowView {
  readonly digest: string
  readonly sinceMs: number | undefined
  readonly compared: number
  /** How many would have been other decisions. */
  readonly differing: number
  /** Those with a row at least. */
  readonly groups: readonly DifferenceGroup[]
  /** How many decisions with a difference are in no row. */
  readonly beyond: number
}

export interface Rollout {
  readonly digest: string
  /** Of the configuration of the process that answered. */
  readonly configuredDigest: string
  readonly promoted: boolean
  /** How it came into force; `undefined`: none was ever promoted, or this process is behind. */
  readonly by: Version | undefined
  /** Another matrix was put in force, and this process does not have it yet. */
  readonly behind: boolean
  readonly shadow: ShadowView | undefined
  /** Newest first. */
  readonly versions: readonly Version[]
  /** Those that can be put in force again, each once. */
  readonly earlier: readonly Version[]
}

export function rolloutOf(answer: GetMatrixRolloutResponse): Rollout {
  const { digest, configuredDigest, promoted, shadow } = answer
  const versions = answer.versions.map(versionOf)
  const [last] = versions
  const behind = last !== undefined && (last.digest === '' ? promoted : last.digest !== digest)
  const others = versions.filter((each) => each.digest !== '' && each.digest !== digest)
  return {
    ...{ digest, configuredDigest, promoted, versions, behind },
    by: behind ? undefined : last,
    shadow: shadow && shadowOf(shadow),
    earlier: others.filter(
      ({ digest: each }, at) => others.findIndex((other) => other.digest === each) === at,
    ),
  }
}

function versionOf({ digest, action, actor, reason, putInForceAt }: MatrixVersion): Version {
  return { digest, action, actor, reason, atMs: msOf(putInForceAt) }
}

function shadowOf({ digest, since, compared, differences, beyond }: MatrixShadow): ShadowView {
  const groups = DIFFERENCES.map((direction) => {
    const rows = differences.filter((each) => differenceOf(each) === direction).map(rowOf)
    return { direction, count: rows.reduce((sum, { count }) => sum + count, 0), rows }
  }).filter(({ rows }) => rows.length > 0)
  return {
    ...{ digest, groups, sinceMs: msOf(since), compared, beyond },
    differing: groups.reduce((sum, { count }) => sum + count, beyond),
  }
}

/** A value of a later version of the sidecar is unknown, too. */
function differenceOf({ direction }: MatrixDifference): Difference {
  return DIFFERENCES.find((each) => each === direction) ?? 'unknown'
}

function rowOf({ api, kind, count, first, last, accounts, otherAccounts }: MatrixDifference): DifferenceRow {
  return {
    ...{ api, kind, count, firstMs: msOf(first), lastMs: msOf(last) },
    ...{ accounts, others: otherAccounts },
  }
}

/** The numbers that another matrix may open, as the commands count them. */
export interface Opening {
  /** Cells, those of the new id of a renamed API too, and one that opens in one mode alone. */
  readonly opened: number
  /** Facts of kinds that are looser, or neither looser nor tighter. */
  readonly loosened: number
}

export function openingOf(comparison: Pick<Comparison, 'flips' | 'renames' | 'kindFlips'>): Opening {
  const { flips, renames, kindFlips } = comparison
  const count = (of: Parameters<typeof bearsOn>[0][]) => of.filter((flip) => bearsOn(flip, 'opened')).length
  return {
    opened: count([...flips, ...renames.flatMap(({ gained }) => gained)]),
    loosened: count([...kindFlips]),
  }
}

/** Whether the user typed a number that was shown. It is read as people write it: `1,204`. */
export function confirmsNumber(typed: string, shown: number): boolean {
  return typed.replaceAll(/[\s,.’']/g, '') === String(shown)
}

/** Enough of a digest for people. */
export function shortOf(digest: string): string {
  return digest.length > SHORT ? `${digest.slice(0, SHORT)}…` : digest
}

const SHORT = 'sha256:'.length + 12

/** Whether another matrix is in force, or is the shadow, than the user looked at. */
export function wasReplaced({ reason }: ApiError): boolean {
  return reason === 'MATRIX_REPLACED'
}

export function promoteCommand(reason: string, opening: Opening): string {
  return `${PORTCULLIS} matrix promote${reasonArgument(reason)}${openingArguments(opening)}`
}

/**
 * @param digest empty: each process has the matrix of its configuration again
 * @param opening `undefined`: it is not known
 */
export function rollBackCommand(reason: string, digest: string, opening: Opening | undefined): string {
  const to = digest === '' ? '--to-configured' : `--to ${quoted(digest)}`
  const most = opening === undefined ? ' --unseen' : openingArguments(opening)
  return `${PORTCULLIS} matrix rollback ${to}${reasonArgument(reason)}${most}`
}

/** Without the numbers, the commands put nothing in force that opens something. */
function openingArguments({ opened, loosened }: Opening): string {
  return [
    ...(opened > 0 ? [` --max-opened ${opened}`] : []),
    ...(loosened > 0 ? [` --max-loosened ${loosened}`] : []),
  ].join('')
}

function reasonArgument(reason: string): string {
  return ` --reason ${quoted(reason.trim() === '' ? '<reason>' : reason.trim())}`
}
