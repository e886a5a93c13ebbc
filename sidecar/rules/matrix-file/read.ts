/** Reads the matrix of a file, in the form that its name says. */
import { createRequire } from 'node:module'
import type { Matrix } from '../../../engine/index.ts'
import { type DocumentForm, formOfName, forms } from '../../../matrix/document/index.ts'
import { yamlForm } from '../../../matrix/document/yaml.ts'
import { loadMatrix, MatrixError, tooLong } from '../../../matrix/load.ts'
import { FileTooLong, readAtMost } from '../../base/bounded-file.ts'

/**
 * Reads the matrix of a file.
 *
 * @throws MatrixError, or an Error that says why the file cannot be read; both name the file
 */
export function readMatrix(path: string): Matrix {
  const bytes = readMatrixFile(path)
  try {
    return loadMatrix(bytes, matrixForm(path))
  } catch (error) {
    throw error instanceof MatrixError ? new MatrixError(error.problems, path) : error
  }
}

/** The parser of YAML is loaded only where a file is YAML: it has 72 files. */
let yaml: DocumentForm | undefined

/** The format of a matrix file, by the ending of its name. */
export function matrixForm(path: string): DocumentForm {
  const id = formOfName(path)
  if (id !== 'yaml') return forms[id]
  yaml ??= yamlForm(yamlLibrary())
  return yaml
}

export function yamlLibrary(): typeof import('yaml') {
  return createRequire(import.meta.url)('yaml')
}

/** Reads a matrix file without looking at its content. */
export function readMatrixFile(path: string): Buffer {
  const { id, bytesMax } = matrixForm(path)
  try {
    return readAtMost(path, bytesMax)
  } catch (error) {
    if (error instanceof FileTooLong)
      throw new MatrixError([{ path: '', expected: tooLong(id, bytesMax, error.bytes) }], path)
    const { code } = error as NodeJS.ErrnoException
    throw Object.assign(new Error(`matrix: ${path} cannot be read (${code})`, { cause: error }), { code })
  }
}

/** Twice the matrix of the source. A larger text is read and compiled while others have their turn. */
const READ_AT_ONCE_BYTES_MAX = 32_768

/** @param bytes of a matrix as text */
export function isLargeText(bytes: number): boolean {
  return bytes > READ_AT_ONCE_BYTES_MAX
}
