/** Each known defect can be put into the code as it is today. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { DEFECTS, placesOf } from './defects.ts'
import { replaced } from './replacing.ts'

test('there are thirty or more, each with a unique name', () => {
  expect(new Set(DEFECTS.map(({ name }) => name)).size).toBe(DEFECTS.length)
  expect(DEFECTS.length).toBeGreaterThanOrEqual(30)
})

test.each(DEFECTS)('$name: its place is in the code', (defect) => {
  for (const { file, code, instead } of placesOf(defect)) {
    const source = readFileSync(fileURLToPath(new URL(`../../${file}`, import.meta.url)), 'utf8')
    expect(replaced(source, code, instead)).not.toBe(source)
  }
})
