/** The matrix that was promoted in a directory: every process that follows the directory decides by it. */
import { type KeptMatrix, MatrixVersionRecords } from '../directory/matrix-versions.ts'
import type { DirectoryStore } from '../directory/store.ts'

export type { KeptMatrix }

export interface PromotedMatrices {
  /** `undefined`: each process has the matrix of its configuration. @throws CallError */
  inForce(): Promise<KeptMatrix | undefined>
  /** Whether one was ever in force that was promoted. @throws CallError */
  wasPromoted(): Promise<boolean>
  /** Calls `listener` when another one may be in force. @returns what ends that */
  watch(listener: () => void): () => void
}

/** Time between two looks at a directory file, in milliseconds, where no check looks at it. */
const LOOK_MS = 100

export function promotedIn({
  records: { queries },
  verification: { changes },
}: DirectoryStore): PromotedMatrices {
  const records = new MatrixVersionRecords(queries)
  return {
    inForce: () => records.inForce(),
    wasPromoted: () => records.has(),
    watch: (listener) => {
      let heard = count()
      return changes.watch(() => {
        if (count() === heard) return
        heard = count()
        listener()
      }, LOOK_MS)
    },
  }

  /** How often the matrix was touched. */
  function count(): number {
    const { matrix = 0, everything = 0 } = changes.state.touched
    return matrix + everything
  }
}
