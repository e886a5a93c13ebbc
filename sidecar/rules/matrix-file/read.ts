/** Reads the matrix of a file. */
import { readFileSync, statSync } from 'node:fs'
import type { Matrix } from '../../../engine/index.ts'
import { loadMatrix, MATRIX_BYTES_MAX, MatrixError } from '../../../matrix/index.ts'

/**
 * Reads the matrix of a file.
 *
 * @throws MatrixError, or an Error that says why the file cannot be read; both name the file
 */
export function readMatrix(path: string): Matrix {
  const bytes = readMatrixFile(path)
  try {
    return loadMatrix(bytes)
  } catch (error) {
    throw error instanceof MatrixError ? new MatrixError(error.problems, path) : error
  }
}

/** Reads a matrix file without looking at its content. */
export function readMatrixFile(path: string): Buffer {
  let size: number
  try {
    size = statSync(path).size
    if (size <= MATRIX_BYTES_MAX) return readFileSync(path)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw Object.assign(new Error(`matrix: ${path} cannot be read (${code})`, { cause: error }), { code })
  }
  const expected = `expected at most ${MATRIX_BYTES_MAX} bytes, found ${size}`
  throw new MatrixError([{ path: '', expected }], path)
}
