/** The lists of `npm run mutants` say what is there: files, tests, and survivors that are in the text. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { AREAS } from '../../scripts/mutants/areas.ts'
import { keyOf } from '../../scripts/mutants/report.ts'
import { SURVIVORS } from '../../scripts/mutants/survivors.ts'
import { ROOT, sources } from '../support/checkout/sources.ts'

const parts = Object.values(AREAS).flatMap((area) => area.parts)
const changed = parts.flatMap(({ files }) => files)

test('every file that is changed and every test that judges is there, and no file is changed twice', () => {
  const named = [...changed, ...parts.flatMap(({ tests }) => tests)]
  expect(named.filter((path) => !existsSync(join(ROOT, path)))).toEqual([])
  expect(new Set(changed)).toHaveLength(changed.length)
})

test.each(SURVIVORS)('$file: $from → $to is a change of a line, with a reason', (survivor) => {
  const { file, line, from, to, reason } = survivor
  expect(changed).toContain(file)
  const text = sources.find(({ path }) => path === file)?.text ?? ''
  expect(text.split('\n').map((each) => each.trim())).toContain(line)
  expect(line).toContain(from)
  expect(to).not.toBe(from)
  expect(reason).toMatch(/^[A-Z].{20,}\.$/)
})

test('no survivor is named twice', () => {
  expect(new Set(SURVIVORS.map(keyOf))).toHaveLength(SURVIVORS.length)
})
