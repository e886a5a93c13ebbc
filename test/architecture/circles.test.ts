/** The two circles of checks: every test is in one of them, and the pages name what there is. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { GATE, NIGHTLY, type Step } from '../../scripts/circles.ts'
import { ROOT } from '../support/checkout/sources.ts'

const text = (path: string) => readFileSync(join(ROOT, path), 'utf8')
const { scripts } = JSON.parse(text('package.json')) as { scripts: Readonly<Record<string, string>> }

/** The files of tests that a step names. Vitest takes each name for a part of a path. */
function filesOf({ command }: Step): readonly string[] {
  const names = command.filter((word) => word.startsWith('test/') && !word.endsWith('.ts'))
  return names.flatMap((name) => {
    const files = tests.filter((path) => path.startsWith(name))
    expect(files, name).not.toEqual([])
    return files
  })
}

const tests = globSync('test/**/*.test.ts', { cwd: ROOT, exclude: ['**/node_modules'] })

test('every file of test/nightly and test/attack is in one part of the nightly circle', () => {
  const named = Object.values(NIGHTLY).flat().flatMap(filesOf)
  const nightly = tests.filter((path) => /^test\/(nightly|attack)\//.test(path))
  expect(named.filter((path) => nightly.includes(path)).sort()).toEqual(nightly.sort())
})

test('the steps of the gate name files that are there', () => {
  expect(GATE.flatMap(filesOf).filter((path) => path.startsWith('test/nightly/'))).toEqual([])
})

test('CONTRIBUTING says when to run each part, and the workflow runs each', () => {
  const parts = Object.keys(NIGHTLY)
  const rows = text('CONTRIBUTING.md').match(/^\| .* \| `.*` \|$/gm) ?? []
  const said = rows.flatMap((row) => [...row.matchAll(/`([a-z]+)`/g)].map(([, part = '']) => part))
  expect([...new Set(said)].sort()).toEqual(parts)
  const workflow = /^ +part: \[(.*)\]$/m.exec(text('.github/workflows/nightly.yml'))?.[1]
  expect(workflow?.split(', ')).toEqual(parts)
})

test('there are few npm scripts, and CONTRIBUTING names each', () => {
  expect(Object.keys(scripts).length).toBeLessThanOrEqual(24)
  const page = text('CONTRIBUTING.md')
  const unnamed = Object.keys(scripts).filter(
    (name) => !new RegExp(`npm (run )?${name}\\b|\`${name}\``).test(page),
  )
  expect(unnamed).toEqual(['prepare', 'prestart', 'build'])
})
