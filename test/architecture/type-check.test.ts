/**
 * The type check takes every source, and each in one project: everything else is in `tsconfig.json`, so that
 * a new folder needs no entry.
 */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ROOT, sources } from '../support/checkout/sources.ts'

/** Code for both a browser and Node is checked with the types of a browser and without them. */
const WITH_AND_WITHOUT_DOM = /^console\/(gen|model|panel\/model|texts)\//

/** Its packages are installed on demand: test/nightly/peers.test.ts checks it. */
const PEERS = /^bench\/peers\//

test('each source is in one project of the type check', () => {
  const files = ['.', 'tsconfig.shipped.json', 'console'].flatMap(filesOf)
  const expected = sources.flatMap(({ path }) => {
    if (!/\.tsx?$/.test(path) || PEERS.test(path)) return []
    return WITH_AND_WITHOUT_DOM.test(path) ? [path, path] : [path]
  })
  expect(files.sort()).toEqual(expected.sort())
})

/** The TypeScript of a project, from the root. */
function filesOf(project: string): string[] {
  const compiler = join(ROOT, 'node_modules/typescript/bin/tsc')
  const shown = execFileSync(process.execPath, [compiler, '-p', project, '--showConfig'], {
    cwd: ROOT,
    encoding: 'utf8',
  })
  return (JSON.parse(shown).files as string[])
    .filter((file) => /\.tsx?$/.test(file))
    .map((file) => join(project.endsWith('.json') ? '.' : project, file))
}
