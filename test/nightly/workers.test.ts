/** Workers that die or hang while connections arrive, a hundred times. */
import { expect, test } from 'vitest'
import { type Blow, storm } from '../support/processes/worker-storm.ts'

const ROUNDS = 25
const BLOWS: readonly Blow[] = (['SIGKILL', 'SIGSTOP'] as const).flatMap((signal) =>
  (['one', 'all'] as const).map((victims) => ({ victims, signal })),
)

test('a hundred times: every worker is replaced, and no call hangs', async () => {
  const blows = Array.from({ length: ROUNDS }, () => BLOWS).flat()
  expect(blows).toHaveLength(100)
  await storm(blows)
})
