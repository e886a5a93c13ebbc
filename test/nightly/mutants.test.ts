/** `npm run mutants` changes code that tests judge, and says what they notice. Stryker is obtained once. */
import { expect, test } from 'vitest'
import { run } from '../support/interop/command.ts'
import { available } from '../support/interop/obtain.ts'

const INSTALL = "import('./scripts/on-demand.ts').then(({ installOnDemand }) => installOnDemand('mutants'))"

const ran = await available(
  'Stryker',
  () => run(process.execPath, ['--eval', INSTALL]),
  () => run(process.execPath, ['scripts/mutants.ts', 'engine/freeze.ts']),
)

test.skipIf(!ran.ok)('each change of a small file is noticed', () => {
  expect(ran.ok && ran.value).toMatch(
    /^engine\/freeze\.ts: (\d+) of \1 mutants killed, 0 named survivors, 0 others/m,
  )
})
