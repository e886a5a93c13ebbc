/**
 * The matrices that were promoted. The last one is in force in every process of the directory; the ones
 * before it are kept, so that it can be taken back.
 */
import type { DirectoryChange } from './change.ts'
import type { Queries } from './database.ts'
import { number, text } from './rows.ts'

/** How many are kept. The audit trail knows of all. */
export const VERSIONS_MAX = 10

/** `replaced`: it was in force by a configuration, and kept when another one was promoted over it. */
type VersionAction = 'promoted' | 'rolled_back' | 'replaced'

/** A matrix that was put in force. */
export interface MatrixVersion {
  /** Rises with each. */
  readonly position: number
  /** Empty: each process has the matrix of its configuration. */
  readonly digest: string
  readonly action: VersionAction
  /** The author who put it in force, as the audit trail names them. */
  readonly actor: string
  readonly reason: string
  readonly atMs: number
}

/** A matrix as it is kept. */
export interface KeptMatrix {
  readonly digest: string
  /** JSON, compressed by gzip. */
  readonly content: Buffer
}

/** The matrix that is put in force. */
export interface Placing {
  /** `undefined`: each process has the matrix of its configuration again. */
  readonly matrix: KeptMatrix | undefined
  readonly action: 'promoted' | 'rolled_back'
  readonly reason: string
}

/** Reads what was put in force. */
export class MatrixVersionRecords {
  readonly #queries: Queries

  constructor(queries: Queries) {
    this.#queries = queries
  }

  /** The matrix in force in every process; `undefined`: each has that of its configuration. */
  async inForce(): Promise<KeptMatrix | undefined> {
    const [row] = await this.#queries.all(`SELECT digest, content FROM matrix_versions ${LAST}`)
    return row && keptOf(row)
  }

  /** Whether one was ever put in force. */
  async has(): Promise<boolean> {
    return (await this.#queries.all(`SELECT position FROM matrix_versions ${LAST}`)).length > 0
  }

  /** Those that are kept, newest first: the first one is in force. */
  async all(): Promise<readonly MatrixVersion[]> {
    const rows = await this.#queries.all(
      'SELECT position, digest, action, actor, reason, at_ms FROM matrix_versions ORDER BY position DESC',
    )
    return rows.map((row) => ({
      position: number(row.position),
      digest: text(row.digest),
      action: text(row.action) as VersionAction,
      actor: text(row.actor),
      reason: text(row.reason),
      atMs: number(row.at_ms),
    }))
  }

  /** The matrix of that digest; `undefined`: it is no longer kept. */
  async content(digest: string): Promise<KeptMatrix | undefined> {
    const [row] = await this.#queries.all(
      `SELECT digest, content FROM matrix_versions WHERE digest = :digest ${LAST}`,
      { digest },
    )
    return row && keptOf(row)
  }
}

const LAST = 'ORDER BY position DESC LIMIT 1'

function keptOf({ digest, content }: Readonly<Record<string, unknown>>): KeptMatrix | undefined {
  return content === null ? undefined : { digest: text(digest), content: Buffer.from(content as Uint8Array) }
}

/** Puts a matrix in force in every process of the directory. The oldest one that is kept is forgotten. */
export async function putInForce(
  { writer }: DirectoryChange,
  { matrix, action, reason }: Placing,
): Promise<void> {
  await keep(writer, { matrix, action, reason })
  const recorded = action === 'promoted' ? 'matrix.promote' : 'matrix.roll_back'
  const name = matrix?.digest ?? 'the matrices of the configurations'
  writer.record(recorded, { account: '', name, id: matrix?.digest ?? 'configured' }, { reason })
}

/** Keeps what a configuration had put in force before the first promotion, so that it can come back. */
export async function keepReplaced({ writer }: DirectoryChange, matrix: KeptMatrix): Promise<void> {
  await keep(writer, { matrix, action: 'replaced', reason: '' })
}

async function keep(
  writer: DirectoryChange['writer'],
  { matrix, action, reason }: Omit<Placing, 'action'> & Pick<MatrixVersion, 'action'>,
): Promise<void> {
  const { queries, actor, nowMs } = writer
  const [last] = await queries.all('SELECT COALESCE(MAX(position), 0) AS position FROM matrix_versions')
  const position = number(last?.position) + 1
  await writer.insert('matrix_versions', {
    ...{ position, digest: matrix?.digest ?? '', content: matrix?.content ?? null },
    ...{ action, actor, reason, at_ms: nowMs },
  })
  await queries.all('DELETE FROM matrix_versions WHERE position <= :last', { last: position - VERSIONS_MAX })
}
