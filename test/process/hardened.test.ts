/** A sidecar works if Node does not generate code from strings. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ROOT } from '../support/checkout/sources.ts'
import { serve } from '../support/processes/processes.ts'
import { connect } from '../support/sidecar/client.ts'
import { whenTheFileEnds } from '../support/suite/resources.ts'

test('without HTTP no code is generated from strings: reading a matrix, issuing, checking, stopping', async () => {
  const matrix = join(ROOT, 'matrix/support-matrix.json')
  const child = await serve(['--dev', '--http', 'off', '--matrix', matrix], {
    environment: { NODE_OPTIONS: '--disallow-code-generation-from-strings' },
  })
  const client = connect(child.ready.grpc)
  whenTheFileEnds(() => client.close())
  const { account = '', service_user } = child.ready.demo ?? {}
  const { name: userName = '', password = '' } = service_user ?? {}
  const { value } = await client.issue({ password: { userName, account, password }, scope: { account } })
  const check = { api: 'balance', credentials: [['X-Auth-Token', value] as const] }
  expect(await client.check(check)).toMatchObject({ allowed: true })
  child.signal('SIGTERM')
  expect(await child.ended).toMatchObject({ code: 0, stderr: '' })
})
