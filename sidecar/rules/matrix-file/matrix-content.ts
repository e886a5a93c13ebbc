/** A matrix as a directory keeps it: JSON, compressed by gzip. It is read as strictly as a file. */
import { promisify } from 'node:util'
import { gunzip, gunzipSync, gzip } from 'node:zlib'
import type { Matrix } from '../../../engine/index.ts'
import { forms } from '../../../matrix/document/index.ts'
import { loadMatrix, MatrixError, tooLong } from '../../../matrix/load.ts'
import { inSlices } from '../../base/slices.ts'
import { isLargeText } from './read.ts'
import { jsonOf, matrixOf, partsInSteps } from './thread-messages.ts'

/** A matrix that is in force in the place of that of the file. */
export interface Promoted {
  readonly matrix: Matrix
  /** As compiling finds it. */
  readonly digest: string
  /** Whether it is so large that others have their turn while it is compiled. */
  readonly large: boolean
}

const { bytesMax } = forms.json

const NAME = 'the promoted matrix'

/** A matrix as JSON, made while others have their turn. */
export async function jsonOfMatrix(matrix: Matrix, closed: AbortSignal): Promise<string> {
  return jsonOf(await inSlices(partsInSteps(matrix), closed))
}

/** @throws MatrixError where the matrix is longer than a file may be */
export async function contentOf(matrix: Matrix, closed: AbortSignal): Promise<Buffer> {
  const json = Buffer.from(await jsonOfMatrix(matrix, closed))
  if (json.length > bytesMax)
    throw new MatrixError([{ path: '', expected: tooLong('json', bytesMax, json.length) }], NAME)
  return promisify(gzip)(json)
}

/** @throws Error where it cannot be decompressed */
export async function jsonOfKept({ content }: { readonly content: Buffer }): Promise<string> {
  return (await promisify(gunzip)(content, { maxOutputLength: bytesMax })).toString()
}

/** Longest content that is decompressed at once. */
const AT_ONCE_BYTES_MAX = 16_384

/**
 * Reads a matrix that was kept: in this turn if it is small.
 *
 * @throws MatrixError, or an Error where it cannot be decompressed
 */
export async function readContent(
  { digest, content }: { readonly digest: string; readonly content: Buffer },
  closed: AbortSignal,
): Promise<Promoted> {
  const options = { maxOutputLength: bytesMax }
  const json =
    content.length > AT_ONCE_BYTES_MAX
      ? await promisify(gunzip)(content, options)
      : gunzipSync(content, options)
  if (!isLargeText(json.length)) return { matrix: loadMatrix(json), digest, large: false }
  const { readInThread } = await import('./read-in-thread.ts')
  const parts = await readInThread(json, closed, NAME)
  return { matrix: await inSlices(matrixOf(parts), closed), digest, large: true }
}
