/**
 * A directory file that is exchanged under a running sidecar with workers: every worker stops answering, and
 * says so.
 */
import { renameSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { connect } from '../../clients/typescript/index.ts'
import { serve } from '../support/processes/processes.ts'
import { issued, populate, runSidecar } from '../support/sidecar/sidecar.ts'
import { eventually, newFolder, whenTheFileEnds } from '../support/suite/resources.ts'

test('every worker stops answering, is not ready, and acknowledges no revocation', async () => {
  const folder = join(newFolder(), 'data')
  const base = await runSidecar({ folder })
  const { value } = await issued(base, await populate(base))
  await base.sidecar.close()
  const served = await serve(['--data', folder, '--workers', '2', '--http', '127.0.0.1:0'], {
    environment: { PORTCULLIS_HEALTH_ADDRESS: '127.0.0.1:0' },
  })
  const readiness = async (address: string | undefined) => {
    const answer = await fetch(`http://${address}/readyz`, { headers: { connection: 'close' } })
    return [answer.status, await answer.json()]
  }
  expect(await readiness(served.ready.health)).toEqual([200, { status: 'ready' }])
  // Each client has a connection of its own, so that together they reach both workers.
  const clients = Array.from({ length: 8 }, () => connect(served.ready.grpc, { deadlineMs: 100_000 }))
  whenTheFileEnds(() => {
    for (const client of clients) client.close()
  })
  const check = (client: (typeof clients)[number]) =>
    client.check({ api: 'balance', credentials: [['X-Auth-Token', value]] })
  for (const client of clients) expect(await check(client)).toMatchObject({ allowed: true })

  const file = join(folder, 'directory.sqlite')
  renameSync(file, `${file}.away`)
  // A worker may rely on its last look for some milliseconds.
  await new Promise((resolve) => setTimeout(resolve, 50))
  const refused = { code: 'UNAVAILABLE', reason: 'DIRECTORY_REPLACED' }
  for (const client of clients) {
    await expect(check(client)).rejects.toMatchObject(refused)
    await expect(client.revoke({ value })).rejects.toMatchObject(refused)
  }
  // A worker looks once a second by itself.
  const unready = [503, { status: 'not ready', problems: ['directory_replaced'] }]
  // The primary answers for both workers, and HTTP for the one that has the connection.
  for (const address of [served.ready.http, served.ready.health]) {
    const found = await eventually(async () => {
      const answer = await readiness(address)
      return answer[0] === 503 && answer
    })
    expect(found).toEqual(unready)
  }
  expect(served.stderr()).toContain('the directory file was replaced while it was open')
})
