/** Administration of the matrix that is in force in every process of a directory. */
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
import type { DirectoryStore } from '../../directory/store.ts'
import type { Actor } from '../actor.ts'
import { changeDirectory } from './change.ts'

/** Longest reason, in characters. */
const REASON_LENGTH_MAX = 1_000

/** What somebody puts in force, having looked at what is. */
interface Replacement {
  /** Digest of the matrix that was seen in force. */
  readonly inForce: string
  /** Why, for the audit trail and the list of versions. */
  readonly reason: string
}

export interface Promotion extends Replacement {
  readonly matrix: KeptMatrix
  /** The matrix in force here, which is kept if it is that of the configuration. */
  readonly replaced: KeptMatrix
}

export interface RollBack extends Replacement {
  /**
   * Which matrix: one of those that are kept, by its digest; `previous`: the last one before that in force;
   * `configured`: each process has that of its own configuration.
   */
  readonly to: { readonly digest: string } | 'previous' | 'configured'
  /** Digest of the matrix of the configuration, which is in force where none was promoted. */
  readonly configured: string
}

/** Every method throws `CallError` where there is no answer. */
export class MatrixAdministration {
  readonly #store: DirectoryStore

  constructor(store: DirectoryStore) {
    this.#store = store
  }

  /** Those that are kept, newest first: the first one is in force. */
  versions(): Promise<readonly MatrixVersion[]> {
    return new MatrixVersionRecords(this.#store.records.queries).all()
  }

  /** One of those that are kept, by its digest; `undefined`: it is not. */
  version(digest: string): Promise<KeptMatrix | undefined> {
    return new MatrixVersionRecords(this.#store.records.queries).content(digest)
  }

  /** Puts a matrix in force in every process of the directory. */
  async promote(actor: Actor, { matrix, replaced, inForce, reason }: Promotion): Promise<void> {
    checkReason(reason)
    await this.#replace(actor, async (change, [last]) => {
      expectInForce(inForce, last === undefined || last.digest === '' ? replaced.digest : last.digest)
      if (last === undefined || last.digest === '') await keepReplaced(change, replaced)
      await putInForce(change, { matrix, action: 'promoted', reason })
    })
  }

  /** Puts an earlier matrix in force again. */
  async rollBack(actor: Actor, { to, configured, inForce, reason }: RollBack): Promise<void> {
    checkReason(reason)
    await this.#replace(actor, async (change, versions) => {
      const [last] = versions
      const current = last === undefined || last.digest === '' ? configured : last.digest
      expectInForce(inForce, current)
      if (to === 'configured') {
        if (last === undefined || last.digest === '')
          throw callError('NOT_FOUND', { what: 'promoted matrix' })
        await putInForce(change, { matrix: undefined, action: 'rolled_back', reason })
        return
      }
      const meant = versions.find(
        ({ digest }) => digest !== '' && (to === 'previous' ? digest !== current : digest === to.digest),
      )
      const kept = meant && (await new MatrixVersionRecords(change.writer.queries).content(meant.digest))
      if (kept === undefined)
        throw callError('NOT_FOUND', { what: `${KEPT}${to === 'previous' ? '' : ' with that digest'}` })
      await putInForce(change, { matrix: kept, action: 'rolled_back', reason })
    })
  }

  #replace(
    actor: Actor,
    work: (change: DirectoryChange, versions: readonly MatrixVersion[]) => Promise<void>,
  ): Promise<void> {
    return changeDirectory(this.#store, actor, async (change) =>
      work(change, await new MatrixVersionRecords(change.writer.queries).all()),
    )
  }
}

const KEPT = 'earlier matrix among the last ten'

/** @throws CallError if another one is in force than the one that was seen */
function expectInForce(seen: string, found: string): void {
  if (seen !== found) throw callError('MATRIX_REPLACED', { what: 'the matrix in force', seen, found })
}

/** @throws CallError */
function checkReason(reason: string): void {
  if (reason.trim() === '' || reason.length > REASON_LENGTH_MAX || !isVisible(reason))
    throw invalidArgument({
      field: 'reason',
      expected: `1 to ${REASON_LENGTH_MAX} characters, ${VISIBLE_EXPECTED}`,
    })
}
