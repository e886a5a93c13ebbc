/**
 * The cost of a refusal: twice the input takes twice the steps, and no error is longer than a response can
 * be.
 */
import { describe, expect, test } from 'vitest'
import { COUNTING_FLAGS } from '../support/inputs/work.ts'
import { startProcess } from '../support/processes/processes.ts'

interface Cost {
  readonly steps: number
  readonly characters: number
}

const PROGRAM = new URL('../support/inputs/error-costs.ts', import.meta.url).pathname

const { code, stdout, stderr } = await startProcess([process.execPath, ...COUNTING_FLAGS, PROGRAM, '500'])
  .ended
const inputs = stdout
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line) as { name: string; once: Cost; twice: Cost })

test('the program that counts runs to its end', () => {
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(inputs.length).toBeGreaterThan(20)
})

describe.each(inputs)('$name', ({ once, twice }) => {
  test('is refused in time linear in its length', () => {
    // Where counting ends at a bound, twice the input takes the same steps.
    expect(twice.steps / once.steps).toBeLessThan(2.5)
  })

  test('gets an error of bounded length', () => {
    expect(twice.characters).toBeLessThan(50_000)
    expect(twice.characters - once.characters).toBeLessThan(1_000)
  })
})
