/** The operations on the matrix in force: what its shadow would change, promotion, and the way back. */
import type { Matrix } from '../../../engine/index.ts'
import type { MatrixVersion, RollBack } from '../../authority/administration/administration.ts'
import { callError, invalidArgument } from '../../base/call-error.ts'
import type { Shadow } from '../shadow.ts'
import { operation } from './operation.ts'

export interface RolloutRequest {
  /** Whether the answer has the matrices themselves. */
  readonly matrices: boolean
  /** Digest of a matrix that somebody would go back to; empty: none. */
  readonly toDigest: string
}

/** Which matrix is in force, and what its shadow would have answered otherwise. */
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
  /** The matrix that somebody would go back to, as JSON; `undefined`: it is not kept. */
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

/** No account has a part in it. */
const about = () => ({ account: undefined })

export const MATRIX_OPERATIONS = {
  getMatrixRollout: operation<RolloutRequest, RolloutView>({
    need: 'operator',
    reads: true,
    about,
    work: async ({ administration, rollout }, { matrices, toDigest }) => {
      const versions = await administration.matrices.versions()
      const { rules, shadow, jsonOf, jsonOfKept } = rollout
      const { engine, matrix, configured, configuredDigest, overruled } = rules
      const json = async (of: Matrix | undefined) => (matrices && of ? jsonOf(of) : undefined)
      const keptJson = async (digest: string) => {
        const kept = await administration.matrices.version(digest)
        return kept && jsonOfKept(kept)
      }
      const to = async () =>
        toDigest === configuredDigest && configured ? jsonOf(configured) : keptJson(toDigest)
      return {
        ...{ digest: engine.digest, configuredDigest, promoted: overruled, versions },
        shadow: shadow && (await viewOf(shadow, json)),
        // A process that keeps no matrix finds it in the directory, if it was promoted or replaced.
        matrix: (await json(matrix)) ?? (matrices ? await keptJson(engine.digest) : undefined),
        toMatrix: toDigest === '' ? undefined : await to(),
      }
    },
  }),

  promoteMatrix: operation<PromotionRequest, void>({
    need: 'operator',
    proof: true,
    about,
    work: async ({ administration, rollout, actor }, { shadowDigest, digest, reason }) => {
      const { rules, shadow, contentOf, follow } = rollout
      if (shadow === undefined || rules.matrix === undefined)
        throw callError('NOT_FOUND', { what: 'shadow: `matrix_shadow` in the configuration names one' })
      const found = shadow.engine.digest
      if (found !== shadowDigest)
        throw callError('MATRIX_REPLACED', { what: 'the shadow', seen: shadowDigest, found })
      const inForce = rules.engine.digest
      if (inForce !== digest)
        throw callError('MATRIX_REPLACED', { what: 'the matrix in force', seen: digest, found: inForce })
      // Both are read before the first pause, in which either may change.
      const [content, replaced] = [contentOf(shadow.matrix), contentOf(rules.matrix)]
      await administration.matrices.promote(actor, {
        ...{ inForce, reason },
        matrix: { digest: found, content: await content },
        replaced: { digest: inForce, content: await replaced },
      })
      await follow()
    },
  }),

  rollBackMatrix: operation<RollBackRequest, void>({
    need: 'operator',
    proof: true,
    about,
    work: async ({ administration, rollout, actor }, { digest, reason, to }) => {
      if (to === undefined) throw invalidArgument({ field: 'to', expected: TO_EXPECTED })
      const configured = rollout.rules.configuredDigest
      await administration.matrices.rollBack(actor, { to, configured, inForce: digest, reason })
      await rollout.follow()
    },
  }),
}

const TO_EXPECTED = 'a digest as `to_digest`, or `to_previous` or `to_configured` set to true'

async function viewOf(
  { engine, matrix, sinceMs, compared, differences, beyond }: Shadow,
  json: (matrix: Matrix) => Promise<string | undefined>,
): Promise<RolloutView['shadow']> {
  const { digest } = engine
  return { digest, sinceMs, compared, differences, beyond, matrix: await json(matrix) }
}
