/** Several workers before an upstream: a token that is revoked through one of them is denied by all. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { credentialQuestion } from '../support/answers.ts'
import { BlackBox } from '../support/black-box.ts'
import { serve } from '../support/processes.ts'
import { newFile, newFolder } from '../support/resources.ts'
import { FakeUpstream } from '../support/upstream.ts'

const PASSWORD = 'canary-password'
const upstream = await FakeUpstream.start([
  { account: '777777', name: 'robot', password: PASSWORD, roles: { '': ['member'] } },
  { account: '777777', name: 'validator', password: PASSWORD, roles: { '': ['service'] }, validator: true },
])

test('a token that is revoked through one worker is denied by all of them at once', async () => {
  const config = newFile(
    JSON.stringify({
      data: join(newFolder(), 'data'),
      upstreams: {
        cloud: {
          auth_url: upstream.url,
          timeout_ms: 60_000,
          verify: { profile: 'validator', cache_ms: 3_600_000 },
        },
      },
      profiles: {
        validator: {
          upstream: 'cloud',
          account: '777777',
          user_name: 'validator',
          password_file: newFile(PASSWORD),
        },
      },
    }),
  )
  const { ready } = await serve([
    '--workers',
    '2',
    '--grpc',
    '127.0.0.1:0',
    '--http',
    'off',
    '--config',
    config,
  ])
  const boxes = Array.from({ length: 4 }, () => new BlackBox(ready.grpc))
  const value = upstream.issue('robot')
  const checks = () =>
    Promise.all(boxes.map((box) => box.ask('check', credentialQuestion('iam', 'X-Auth-Token', value))))
  for (const answer of await checks()) expect(answer).toMatchObject({ allowed: true })
  // Each worker has asked for itself.
  expect(upstream.count('GET')).toBeGreaterThan(1)
  await boxes[0]?.ask('revoke', { value })
  for (const answer of await checks()) expect(answer).toMatchObject({ allowed: false })
})
