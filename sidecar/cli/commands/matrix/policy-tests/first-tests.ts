/** `portcullis matrix test --init`: writes tests that hold the current matrix. */
import { existsSync, writeFileSync } from 'node:fs'
import { dirname, relative, resolve } from 'node:path'
import { compile } from '../../../../../engine/index.ts'
import { characterise } from '../../../../../matrix/policy-tests/index.ts'
import { packageFilePath } from '../../../../base/package.ts'
import { readRules } from '../../../read-rules.ts'
import { CommandError, usageError } from '../../../terminal/errors.ts'
import { print } from '../../../terminal/output.ts'
import type { TestOptions } from './test-options.ts'

/** @throws CommandError where the file exists or cannot be written */
export function writeTests(paths: readonly string[], options: TestOptions): void {
  if (paths.length > 0) throw usageError('--init: expected no tests to run beside it')
  const file = options.init === true || options.init === undefined ? 'policy-tests.yaml' : options.init
  const { matrix, engine } = readRules({ ...options, strict: false })
  const engines = { lenient: engine, strict: compile(matrix, { strict: true }) }
  const text = characterise({ matrix, engines, schema: schemaFrom(file) })
  try {
    // Tests that were changed by hand are not replaced.
    writeFileSync(file, text, { flag: 'wx' })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new CommandError(
      'FAILED_PRECONDITION',
      code === 'EEXIST'
        ? `${file} exists; remove it, or name another file`
        : `${file} cannot be written (${code})`,
    )
  }
  print(`${file}: tests of ${engine.digest}`)
}

/** Where the schema of this installation is, as seen from a file; one executable has none. */
function schemaFrom(file: string): string | undefined {
  const path = packageFilePath('config/policy-tests.schema.json')
  if (path === undefined || !existsSync(path)) return undefined
  return relative(dirname(resolve(file)), path).replaceAll('\\', '/')
}
