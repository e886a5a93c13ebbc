/**
 * Several workers before an upstream: a token that is revoked through one of them is denied by all, also
 * where one hangs.
 */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { credentialQuestion } from '../support/contract/answers.ts'
import { BlackBox } from '../support/contract/black-box.ts'
import { FakeUpstream } from '../support/identity/upstream.ts'
import { serve } from '../support/processes/processes.ts'
import { alive, workersOf } from '../support/processes/worker-storm.ts'
import { eventually, newFile, newFolder } from '../support/suite/resources.ts'

const PASSWORD = 'canary-password'
const CALLER = 'canary-caller-token-0123456789abcdef'
const upstream = await FakeUpstream.start([
  { account: '777777', name: 'robot', password: PASSWORD, roles: { '': ['member'] } },
  { account: '777777', name: 'validator', password: PASSWORD, roles: { '': ['service'] }, validator: true },
])

/** Two workers, and connections that reach both of them. */
async function twoWorkers(environment: Readonly<Record<string, string>>, cacheMs = 3_600_000) {
  const config = newFile(
    JSON.stringify({
      data: join(newFolder(), 'data'),
      upstreams: {
        cloud: {
          auth_url: upstream.url,
          timeout_ms: 60_000,
          verify: { profile: 'validator', cache_ms: cacheMs },
        },
      },
      profiles: {
        validator: {
          upstream: 'cloud',
          account: '777777',
          user_name: 'validator',
          password_file: newFile(PASSWORD),
        },
        robot: {
          ...{ upstream: 'cloud', account: '777777', user_name: 'robot' },
          password_file: newFile(PASSWORD),
        },
      },
      callers: [{ name: 'job', token_file: newFile(CALLER), profiles: ['robot'] }],
    }),
  )
  const pool = await serve(['--workers', '2', '--config', config], { environment })
  const boxes = Array.from({ length: 4 }, () => new BlackBox(pool.ready.grpc))
  return { pool, boxes }
}

/** Each loses a worker, last. */
const probed = await twoWorkers({ PORTCULLIS_WORKER_HEARTBEAT_TIMEOUT_MS: '2000' })
const patient = await twoWorkers({}, 1)

const checked = (boxes: readonly BlackBox[], value: string) =>
  Promise.all(boxes.map((box) => box.ask('check', credentialQuestion('iam', 'X-Auth-Token', value))))

test('a token that is revoked through one worker is denied by all of them at once', async () => {
  const { boxes } = probed
  const value = upstream.issue('robot')
  const asked = upstream.count('GET')
  for (const answer of await checked(boxes, value)) expect(answer).toMatchObject({ allowed: true })
  // Each worker has asked for itself.
  expect(upstream.count('GET')).toBeGreaterThan(asked + 1)
  await boxes[0]?.ask('revoke', { value })
  for (const answer of await checked(boxes, value)) expect(answer).toMatchObject({ allowed: false })
})

test('a token that one worker finds to be revoked is given by no other one', async () => {
  const { boxes } = patient
  const scope = { account: '777777' }
  const issued = (box: BlackBox) =>
    box.ask('issue', { profile: 'robot', scope }, { callerToken: CALLER }).then(({ value }) => String(value))
  // Each worker has obtained one for itself.
  const values = await Promise.all(boxes.map(issued))
  const [dead = ''] = values
  const finder = boxes.find((_box, index) => values[index] !== dead) as BlackBox
  for (const answer of await checked(boxes, dead)) expect(answer).toMatchObject({ allowed: true })
  upstream.end(dead)
  const answer = await eventually(async () => {
    const [now] = await checked([finder], dead)
    return now?.allowed === false && now
  })
  expect(answer).toMatchObject({ reason: 'REASON_CREDENTIAL_REVOKED' })
  expect(await eventually(async () => (await issued(boxes[0] as BlackBox)) !== dead)).toBe(true)
})

test.each<[what: string, pool: typeof patient, ended: string]>([
  ['by its silence', probed, 'it did not answer 4 probes'],
  ['because the revocation needs it', patient, 'it did not forget a token within 5000 ms'],
])('a revocation waits until a worker that hangs has ended: %s', async (_what, { pool, boxes }, ended) => {
  const value = upstream.issue('robot')
  for (const answer of await checked(boxes, value)) expect(answer).toMatchObject({ allowed: true })
  const [hanging = 0] = workersOf(pool)
  process.kill(hanging, 'SIGSTOP')
  const awake = await Promise.any(boxes.map(async (box) => (await box.ask('getMatrix', {})) && box))
  await awake.ask('revoke', { value })
  // When it woke up, it could still allow the token.
  expect(alive(hanging)).toBe(false)
  expect(pool.stderr()).toContain(`"worker":${hanging},"ended":"${ended}"`)
  const others = Array.from({ length: 4 }, () => new BlackBox(pool.ready.grpc))
  for (const answer of await checked(others, value)) expect(answer).toMatchObject({ allowed: false })
})
