/** The matrix in force, and the cells in which two matrices differ, as hooks. */
import { useCallback, useMemo } from 'preact/hooks'
import { inSlices } from '../../../ui/in-slices.ts'
import { useApi, usePanel } from '../../context.tsx'
import { type Compared, Matrices } from '../../model/matrices.ts'
import { type Rollout, rolloutOf, wasReplaced } from '../../model/rollout.ts'
import { type Loaded, useLoaded } from '../../parts/use-loaded.ts'

interface Read {
  readonly rollout: Rollout
  /** When it was read, by the clock of the sidecar. */
  readonly atMs: number
}

interface UsedRollout {
  readonly loaded: Loaded<Read>
  readonly matrices: Matrices
  /** The matrix in force with its shadow. */
  readonly compared: Loaded<Compared | undefined>
}

export function useRollout(): UsedRollout {
  const { directory } = useApi()
  const { panel } = usePanel()
  const load = useCallback(
    async (signal: AbortSignal): Promise<Read> => {
      const rollout = rolloutOf(await directory.getMatrixRollout({}, { signal }))
      return { rollout, atMs: panel.nowMs() }
    },
    [directory, panel],
  )
  const loaded = useLoaded(load)
  const matrices = useMemo(
    () =>
      new Matrices({
        read: (toDigest, signal) => directory.getMatrixRollout({ matrices: true, toDigest }, { signal }),
        run: inSlices,
      }),
    [directory],
  )
  const { rollout } = loaded.value ?? {}
  const next = rollout?.shadow?.digest
  // One that is in force already changes nothing.
  const compared = useCompared(matrices, rollout?.digest, next === rollout?.digest ? undefined : next)
  const { error, reload } = compared
  const retry = async () => {
    // The digests are those of before.
    if (error !== undefined && wasReplaced(error)) await loaded.reload()
    else await reload()
  }
  return { loaded, matrices, compared: { ...compared, reload: retry } }
}

/** @param before digest; where one of the two is `undefined`, nothing is compared */
export function useCompared(
  matrices: Matrices,
  before: string | undefined,
  after: string | undefined,
): Loaded<Compared | undefined> {
  const load = useCallback(
    async (signal: AbortSignal) =>
      before === undefined || after === undefined ? undefined : matrices.compared(before, after, signal),
    [matrices, before, after],
  )
  const loaded = useLoaded<Compared | undefined>(load)
  const [first, second] = loaded.value?.of ?? []
  // The value may be of the matrices before.
  return first === before && second === after ? loaded : { ...loaded, value: undefined }
}
