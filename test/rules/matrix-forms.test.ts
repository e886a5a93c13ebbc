/** A matrix file in any form: the process reads it, the thread reads it, and commands read it by its name. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { stringify } from 'yaml'
import { compile, finish } from '../../engine/index.ts'
import { MatrixError, supportMatrix } from '../../matrix/index.ts'
import { readMatrix } from '../../sidecar/rules/matrix-file/read.ts'
import { readInThread } from '../../sidecar/rules/matrix-file/read-in-thread.ts'
import { matrixOf } from '../../sidecar/rules/matrix-file/thread-messages.ts'
import { Rules } from '../../sidecar/rules/rules.ts'
import { newFolder } from '../support/suite/resources.ts'

const shipped = readFileSync(join(import.meta.dirname, '../../matrix/support-matrix.json'), 'utf8')
const folder = newFolder()
const YAML = stringify(JSON.parse(shipped))
const digest = compile(supportMatrix).digest

test.each([
  ['matrix.json', shipped],
  ['matrix.jsonc', `// ours\n${shipped}`],
  ['matrix', `// ours\n${shipped}`],
  ['matrix.yaml', YAML],
  ['matrix.YML', YAML],
])('%s', async (name, text) => {
  const path = join(folder, name)
  writeFileSync(path, text)
  expect(readMatrix(path)).toEqual(supportMatrix)
  expect(finish(matrixOf(await readInThread(path, new AbortController().signal)))).toEqual(supportMatrix)
  const rules = new Rules({ path, strict: false, pollMs: 0, onRefused: () => {} })
  expect(rules.engine.digest).toBe(digest)
  rules.close()
})

test.each([
  ['comments.json', `// ours\n${shipped}`, undefined],
  ['misspelt.yaml', YAML.replace('family: iam_token', 'famly: iam_token'), 6],
])('a problem of %s is the same from the thread, with its line', async (name, text, line) => {
  const path = join(folder, name)
  writeFileSync(path, text)
  const refusal = async (read: () => unknown) => {
    try {
      await read()
    } catch (error) {
      expect(error).toBeInstanceOf(MatrixError)
      return error as MatrixError
    }
    throw new Error('expected a refusal')
  }
  const here = await refusal(() => readMatrix(path))
  const there = await refusal(() => readInThread(path, new AbortController().signal))
  expect(there.message).toBe(here.message)
  expect(there.problems).toEqual(here.problems)
  expect(here.message).toContain(`${path}: the matrix is not valid:`)
  if (line !== undefined) expect(here.message).toContain(`\n  ${line}:5: tokenKinds[0].famly: unknown field`)
})
