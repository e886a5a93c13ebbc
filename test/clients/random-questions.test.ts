/**
 * The TypeScript client in local mode and its sidecar get random questions: every answer from memory is that
 * of the sidecar. `QUESTIONS` says how many: 1,000,000 in `npm run nightly -- clients`. `SEED` asks the same
 * ones again.
 */
import { expect, test } from 'vitest'
import type { Check } from '../../clients/typescript/index.ts'
import { supportMatrix } from '../../matrix/index.ts'
import { randomFrom } from '../support/inputs/random.ts'
import { ACCOUNT, issued, OTHER_ACCOUNT, populate, runSidecar } from '../support/sidecar/sidecar.ts'
import { eventually, newFile } from '../support/suite/resources.ts'

const COUNT = Number(process.env.QUESTIONS ?? 2_000)
const SEED = Number(process.env.SEED ?? 1)
const BATCH = 500

const FOLLOWER = 'follower-caller-token-0123456789abcdef'
const callers = [{ name: 'service', token_file: newFile(FOLLOWER), rights: ['follow'] }]

test(`local answers are those of the sidecar (SEED=${SEED})`, async () => {
  const running = await runSidecar({ config: newFile(JSON.stringify({ callers }), 'portcullis.json') })
  const secrets = await populate(running)
  const wishes = [{}, { project: 'alpha' }, { user: 'alpha', project: 'alpha' }]
  const tokens = await Promise.all(wishes.map(async (wish) => (await issued(running, secrets, wish)).value))
  const question = questions([...tokens, secrets.staticToken, 'unknown', '', 'a b', 'a,b'])
  const client = running.connect({ callerToken: FOLLOWER, local: true })
  const claims = { kind: 'static_token', scope: { account: ACCOUNT } }
  await eventually(() => client.checkLocally({ api: 'balance', token: claims }))
  let remembered = 0
  for (let asked = 0; asked < COUNT; asked += BATCH) {
    const checks = Array.from({ length: Math.min(BATCH, COUNT - asked) }, question)
    const expected = await running.client.checkBatch(checks)
    for (const [index, check] of checks.entries()) {
      const recalled = client.checkLocally(check)
      if (recalled !== undefined) remembered++
      const { advice: _a, conflicts: _c, cacheForMs: _f, ...answer } = recalled ?? (await client.check(check))
      const { advice, conflicts, cacheForMs, ...asSaid } = expected[index] as NonNullable<
        (typeof expected)[number]
      >
      expect(answer, JSON.stringify(check)).toEqual(asSaid)
    }
  }
  expect(remembered).toBeGreaterThan(COUNT / 2)
})

function questions(values: readonly string[]): () => Check {
  const random = randomFrom(SEED)
  const one = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T
  const apis = [...supportMatrix.apis.map(({ id }) => id), 'no-such-api']
  const kinds = [...supportMatrix.tokenKinds.map(({ id }) => id), 'no-such-kind']
  const names = ['X-Token', 'x-auth-token', 'X-AUTH-TOKEN', 'x-token', 'X-Other']
  const scope = () => {
    const project = one([undefined, undefined, 'alpha', 'beta'])
    return { account: one([ACCOUNT, ACCOUNT, OTHER_ACCOUNT]), ...(project !== undefined && { project }) }
  }
  return () => {
    const about = {
      api: one(apis),
      clientAddress: one(['', '192.0.2.1', '2001:db8::1']),
      ...(random() < 0.75 && { target: scope() }),
    }
    if (random() < 0.2) return { ...about, token: { kind: one(kinds), scope: scope() } }
    const length = random() < 0.9 ? 1 : 2
    return {
      ...about,
      credentials: Array.from({ length }, () => [one(names), one(values)] as [string, string]),
    }
  }
}
