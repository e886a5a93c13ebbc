/** Writes a new matrix file with its schema. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { loadMatrix, MatrixError } from '../../../../matrix/index.ts'
import { type NewMatrix, newMatrixText } from '../../../../matrix/new-matrix.ts'
import schema from '../../../../matrix/support-matrix.schema.json' with { type: 'json' }
import { matrixForm } from '../../../rules/matrix-file/read.ts'
import { CommandError } from '../../terminal/errors.ts'

/** Next to the matrix, so that editors need no network. */
export const SCHEMA_FILE = 'matrix.schema.json'

/**
 * Writes a matrix and its schema. @returns the path of the schema
 *
 * @throws MatrixError where the input makes no valid matrix; CommandError where the file is there
 */
export function writeNewMatrix(file: string, made: NewMatrix): string {
  const form = matrixForm(file)
  const text = newMatrixText(made, form.id, `./${SCHEMA_FILE}`)
  try {
    loadMatrix(text, form)
  } catch (error) {
    throw error instanceof MatrixError ? new MatrixError(error.problems, basename(file)) : error
  }
  return writeNewFile(file, text)
}

/** Writes a new matrix file and its schema. @returns the path of the schema @throws CommandError */
export function writeNewFile(file: string, text: string): string {
  const schemaFile = join(dirname(file), SCHEMA_FILE)
  const schemaText = `${JSON.stringify(schema, undefined, 2)}\n`
  try {
    // `wx`: an existing file stays.
    writeFileSync(file, text, { flag: 'wx' })
    if (!existsSync(schemaFile) || readFileSync(schemaFile, 'utf8') !== schemaText)
      writeFileSync(schemaFile, schemaText)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const why =
      code === 'EEXIST' ? 'is there already; `portcullis matrix add` edits it' : `cannot be written (${code})`
    throw new CommandError('FAILED_PRECONDITION', `${file} ${why}`)
  }
  return schemaFile
}
