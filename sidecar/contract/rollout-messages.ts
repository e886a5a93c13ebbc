/** The matrix in force and its shadow: values → wire, and which matrix to put in force back. */
import type * as wire from '../../proto/gen/portcullis/v1/directory.ts'
import type { RollBackRequest, RolloutView } from '../usecases/administration/matrix.ts'

/** `undefined`: the request does not say which. */
export function requestedMatrix(to: wire.RollBackMatrixRequest['to']): RollBackRequest['to'] {
  if (to?.$case === 'toDigest' && to.value !== '') return { digest: to.value }
  if (to?.$case === 'toPrevious' && to.value) return 'previous'
  return to?.$case === 'toConfigured' && to.value ? 'configured' : undefined
}

export function rolloutMessage({
  matrix,
  shadow,
  versions,
  toMatrix,
  ...inForce
}: RolloutView): wire.GetMatrixRolloutResponse {
  return {
    ...inForce,
    matrix: matrix ?? '',
    toMatrix: toMatrix ?? '',
    shadow: shadow && shadowMessage(shadow),
    versions: versions.map(({ digest, action, actor, reason, atMs }) => ({
      ...{ digest, action, actor, reason, putInForceAt: new Date(atMs) },
    })),
  }
}

function shadowMessage({
  digest,
  matrix,
  sinceMs,
  compared,
  differences,
  beyond,
}: NonNullable<RolloutView['shadow']>): wire.MatrixShadow {
  return {
    ...{ digest, matrix: matrix ?? '', since: new Date(sinceMs), compared, beyond },
    differences: differences.map(({ firstMs, lastMs, accounts, ...row }) => ({
      ...row,
      first: new Date(firstMs),
      last: new Date(lastMs),
      accounts: accounts.map((each) => ({ ...each })),
    })),
  }
}
