/** The matrix that was promoted in the directory of a hub. */
import type { KeptMatrix, PromotedMatrices } from '../promoted-matrices.ts'
import type { HubLine } from './hub-line.ts'
import { GET_PROMOTED_MATRIX, readPromotedMatrix } from './hub-messages.ts'

/** The status of gRPC for a call that does not exist. */
const UNIMPLEMENTED = 12

const NOTHING = Buffer.alloc(0)

export class HubPromotion {
  readonly #watchers = new Set<() => void>()

  /** The hub has said its rules. */
  changed(): void {
    for (const watcher of this.#watchers) watcher()
  }

  /** @param line to the hub that is asked */
  of(line: Pick<HubLine, 'ask'>): PromotedMatrices {
    return {
      inForce: () => inForceAt(line),
      // A hub does not send earlier ones.
      wasPromoted: async () => (await inForceAt(line)) !== undefined,
      watch: (listener) => {
        this.#watchers.add(listener)
        return () => this.#watchers.delete(listener)
      },
    }
  }
}

async function inForceAt(line: Pick<HubLine, 'ask'>): Promise<KeptMatrix | undefined> {
  try {
    return await line.ask(GET_PROMOTED_MATRIX, NOTHING, readPromotedMatrix)
  } catch (error) {
    // An earlier version of the hub has no such call, and nothing to promote.
    if (codeOf((error as Error).cause) === UNIMPLEMENTED) return undefined
    throw error
  }
}

function codeOf(cause: unknown): unknown {
  return (cause as { readonly code?: unknown } | undefined)?.code
}
