/** The operations on the matrix in force: what its shadow would change, promotion, and the way back. */
import type { Matrix } from '../../../engine/index.ts'
import { callError, invalidArgument } from '../../base/call-error.ts'
import { isVisible, VISIBLE_EXPECTED } from '../../base/visible-text.ts'
import type { DirectoryChange } from '../../directory/change.ts'
import {
  type KeptMatrix,
  keepReplaced,
  type MatrixVersion,
  MatrixVersionRecords,
  putInForce,
} from '../../directory/matrix-versions.ts'
import type { MatrixRollout } from '../matrix-rollout.ts'
import type { Shadow } from '../shadow.ts'
import { type Context, changing, reading } from './operation.ts'
import { DIRECTORY } from './subject.ts'

export interface RolloutRequest {
  /** Whether the answer has the matrices themselves. */
  readonly matrices: boolean
  /** Digest of a matrix to go back to; empty: none. */
  readonly toDigest: string
}

/** The matrix in force, and the differences of its shadow. */
export interface RolloutView {
  readonly digest: string
  /** Digest of the matrix of the configuration of this process. */
  readonly configuredDigest: string
  /** Whether a promoted matrix is in force. */
  readonly promoted: boolean
  /** As JSON, if it was asked for; `undefined` also where neither this process nor the directory has it. */
  readonly matrix: string | undefined
  /** `undefined`: the configuration names none. */
  readonly shadow:
    | (Omit<Shadow, 'engine' | 'matrix'> & { digest: string; matrix: string | undefined })
    | undefined
  readonly versions: readonly MatrixVersion[]
  /** The matrix to go back to, as JSON; `undefined`: it is not kept. */
  readonly toMatrix: string | undefined
}

export interface PromotionRequest {
  /** Digests of the shadow and of the matrix in force that were compared. */
  readonly shadowDigest: string
  readonly digest: string
  readonly reason: string
}

export interface RollBackRequest {
  /** Digest of the matrix that was seen in force. */
  readonly digest: string
  readonly reason: string
  /** `undefined`: the request does not say which. */
  readonly to: RollBack['to'] | undefined
}

export const MATRIX_OPERATIONS = {
  getMatrixRollout: reading<RolloutRequest>()({
    need: 'operator',
    subject: DIRECTORY,
    work: async (context, { matrices, toDigest }): Promise<RolloutView> => {
      const kept = new MatrixVersionRecords(context.records.queries)
      const versions = await kept.all()
      const { rules, shadow, jsonOf, jsonOfKept } = rolloutIn(context)
      const { engine, matrix, configured, configuredDigest, overruled } = rules
      const json = async (of: Matrix | undefined) => (matrices && of ? jsonOf(of) : undefined)
      const keptJson = async (digest: string) => {
        const found = await kept.content(digest)
        return found && jsonOfKept(found)
      }
      const to = async () =>
        toDigest === configuredDigest && configured ? jsonOf(configured) : keptJson(toDigest)
      return {
        ...{ digest: engine.digest, configuredDigest, promoted: overruled, versions },
        shadow: shadow && (await viewOf(shadow, json)),
        // A process that keeps no matrix finds it in the directory, if it was promoted or replaced.
        matrix: (await json(matrix)) ?? (matrices ? await keptJson(engine.digest) : undefined),
        // Survives: `toDigest === ''` → `false`, `''` → `"Stryker was here!"`. It only spares a query: no
        // matrix is kept that has no digest.
        toMatrix: toDigest === '' ? undefined : await to(),
      }
    },
  }),

  promoteMatrix: changing<PromotionRequest>()({
    need: 'operator',
    subject: DIRECTORY,
    proof: true,
    prepare: async (context, { shadowDigest, digest, reason }) => {
      const { rules, shadow, contentOf } = rolloutIn(context)
      if (shadow === undefined || rules.matrix === undefined)
        throw callError('NOT_FOUND', { what: 'shadow: `matrix_shadow` in the configuration names one' })
      const found = shadow.engine.digest
      if (found !== shadowDigest)
        throw callError('MATRIX_REPLACED', { what: 'the shadow', seen: shadowDigest, found })
      const inForce = rules.engine.digest
      expectInForce(digest, inForce)
      // Both are read before the first pause, in which either may change.
      const [content, replaced] = [contentOf(shadow.matrix), contentOf(rules.matrix)]
      const matrices = {
        matrix: { digest: found, content: await content },
        replaced: { digest: inForce, content: await replaced },
      }
      checkReason(reason)
      return matrices
    },
    work: ({ change, ready }, { digest, reason }) => promote(change, { ...ready, inForce: digest, reason }),
    afterwards: (context) => rolloutIn(context).follow(),
  }),

  rollBackMatrix: changing<RollBackRequest>()({
    need: 'operator',
    subject: DIRECTORY,
    proof: true,
    prepare: (_, { to, reason }) => {
      if (to === undefined) throw invalidArgument({ field: 'to', expected: TO_EXPECTED })
      checkReason(reason)
      return to
    },
    work: (context, { digest, reason }) =>
      rollBack(context.change, {
        ...{ to: context.ready, inForce: digest, reason },
        configured: rolloutIn(context).rules.configuredDigest,
      }),
    afterwards: (context) => rolloutIn(context).follow(),
  }),
}

/** The rollout, which a program without the rules of a sidecar never asks for. */
function rolloutIn({ rollout }: Pick<Context, 'rollout'>): MatrixRollout {
  if (rollout === undefined) throw new TypeError('expected the rules of a sidecar')
  return rollout
}

/** The matrix that a requester puts in force, with the one that it has seen in force. */
interface Replacement {
  /** Digest of the matrix that was seen in force. */
  readonly inForce: string
  /** Why, for the audit trail and the list of versions. */
  readonly reason: string
}

interface Promoted extends Replacement {
  readonly matrix: KeptMatrix
  /** The matrix in force here, which is kept if it is that of the configuration. */
  readonly replaced: KeptMatrix
}

/** Puts a matrix in force in every process of the directory. @throws CallError */
export async function promote(
  change: DirectoryChange,
  { matrix, replaced, inForce, reason }: Promoted,
): Promise<void> {
  const { current } = await versionsIn(change)
  expectInForce(inForce, current || replaced.digest)
  if (current === '') await keepReplaced(change, replaced)
  await putInForce(change, { matrix, action: 'promoted', reason })
}

export interface RollBack extends Replacement {
  /**
   * The matrix: one of those that are kept, by its digest; `previous`: the last one before that in force;
   * `configured`: each process has that of its configuration.
   */
  readonly to: { readonly digest: string } | 'previous' | 'configured'
  /** Digest of the matrix of the configuration, which is in force where none was promoted. */
  readonly configured: string
}

/** Puts an earlier matrix in force again. @throws CallError */
export async function rollBack(
  change: DirectoryChange,
  { to, configured, inForce, reason }: RollBack,
): Promise<void> {
  const { records, versions, current } = await versionsIn(change)
  expectInForce(inForce, current || configured)
  if (to === 'configured') {
    if (current === '') throw callError('NOT_FOUND', { what: 'promoted matrix' })
    await putInForce(change, { matrix: undefined, action: 'rolled_back', reason })
    return
  }
  const meant = versions.find(
    ({ digest }) =>
      digest !== '' && (to === 'previous' ? digest !== (current || configured) : digest === to.digest),
  )
  const kept = meant && (await records.content(meant.digest))
  if (kept === undefined)
    throw callError('NOT_FOUND', { what: `${KEPT}${to === 'previous' ? '' : ' with that digest'}` })
  await putInForce(change, { matrix: kept, action: 'rolled_back', reason })
}

/** @returns `current`: digest of the promoted matrix that is in force; empty: none is */
async function versionsIn(change: DirectoryChange) {
  change.writer.hold({ alone: ['the matrix in force'] })
  const records = new MatrixVersionRecords(change.writer.queries)
  const versions = await records.all()
  return { records, versions, current: versions[0]?.digest ?? '' }
}

const KEPT = 'earlier matrix among the last ten'

/** @throws CallError if another one is in force than the one that was seen */
function expectInForce(seen: string, found: string): void {
  if (seen !== found) throw callError('MATRIX_REPLACED', { what: 'the matrix in force', seen, found })
}

/** Longest reason, in characters. */
const REASON_LENGTH_MAX = 1_000

/** @throws CallError */
export function checkReason(reason: string): void {
  if (reason.trim() === '' || reason.length > REASON_LENGTH_MAX || !isVisible(reason))
    throw invalidArgument({
      field: 'reason',
      expected: `1 to ${REASON_LENGTH_MAX} characters, ${VISIBLE_EXPECTED}`,
    })
}

const TO_EXPECTED = 'a digest as `to_digest`, or `to_previous` or `to_configured` set to true'

async function viewOf(
  { engine, matrix, sinceMs, compared, differences, beyond }: Shadow,
  json: (matrix: Matrix) => Promise<string | undefined>,
): Promise<RolloutView['shadow']> {
  const { digest } = engine
  return { digest, sinceMs, compared, differences, beyond, matrix: await json(matrix) }
}
