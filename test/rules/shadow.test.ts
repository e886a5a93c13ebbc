/**
 * A matrix that is computed beside the one in force: its counts, its log lines and its file. Nothing of it
 * reaches an answer.
 */
import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { compile, type Matrix } from '../../engine/index.ts'
import { supportMatrix } from '../../matrix/index.ts'
import type { Shadow } from '../../sidecar/usecases/shadow.ts'
import { ACCOUNT_KIND, STATIC_KIND } from '../support/matrices/engines.ts'
import { OTHER_CELLS } from '../support/matrices/shadow-matrices.ts'
import { command } from '../support/processes/command-line.ts'
import { issued, populate, runSidecar } from '../support/sidecar/sidecar.ts'
import { linesIn } from '../support/signals/decision-log.ts'
import { eventually, newFile, newFolder } from '../support/suite/resources.ts'

const text = JSON.stringify
const claims = (api: string, kind = ACCOUNT_KIND, account = '1') => ({
  api,
  token: { kind, scope: { account } },
})

/** A sidecar with both matrices in files. */
async function run(flags: Readonly<Record<string, string | number>> = {}) {
  const folder = newFolder()
  const [inForce, shadow, log] = ['matrix.json', 'shadow.json', 'decisions.log'].map((name) =>
    join(folder, name),
  )
  const put = (path = '', content: string) => {
    writeFileSync(`${path}.new`, content)
    renameSync(`${path}.new`, path)
  }
  put(inForce, text(supportMatrix))
  put(shadow, text(OTHER_CELLS))
  const running = await runSidecar({
    flags: {
      ...{ 'http.address': '127.0.0.1:0', 'health.address': '127.0.0.1:0', matrix: inForce },
      ...{ matrix_shadow: shadow, matrix_poll_ms: 5, 'decision_log.file.path': log, ...flags },
    },
  })
  return {
    ...{ running, log: log ?? '' },
    computed: running.sidecar.shadow as Shadow,
    putInForce: (matrix: Matrix) => put(inForce, text(matrix)),
    putShadow: (content: string) => put(shadow, content),
    readiness: async () =>
      (await fetch(`http://${running.sidecar.healthAddress}/readyz?verbose`)).json() as Promise<
        Record<string, unknown>
      >,
    said: (part: string) => running.logLines.filter((line) => line.includes(part)),
  }
}

test('each difference is counted with its account, and has a line where others are left out', async () => {
  const { running, computed, log } = await run({ 'decision_log.sample_percent': 0 })
  const { client, sidecar } = running
  const secrets = await populate(running)
  const { value: token } = await issued(running, secrets)
  const credentials = { 'X-Auth-Token': token }
  for (const api of ['balance', 'balance', 'reports', 'iam']) await client.check({ api, credentials })
  await client.check(claims('balance', ACCOUNT_KIND, '2'))
  await client.check(claims('balance', STATIC_KIND))
  await client.check({ api: 'support-tickets', credentials: { 'X-Token': secrets.staticToken } })
  expect(computed).toMatchObject({ compared: 7, beyond: 0 })
  const row = { accounts: [], otherAccounts: 0, firstMs: expect.any(Number), lastMs: expect.any(Number) }
  expect(computed.differences).toEqual([
    {
      ...{ ...row, api: 'balance', kind: ACCOUNT_KIND, direction: 'closed', count: 3 },
      accounts: [
        { account: '123456', count: 2 },
        { account: '2', count: 1 },
      ],
    },
    {
      ...{ ...row, api: 'reports', kind: ACCOUNT_KIND, direction: 'opened', count: 1 },
      accounts: [{ account: '123456', count: 1 }],
    },
    { ...row, api: 'support-tickets', kind: '', direction: 'unknown', count: 1, otherAccounts: 1 },
  ])
  for (const { firstMs, lastMs } of computed.differences)
    expect([computed.sinceMs <= firstMs, firstMs <= lastMs]).toEqual([true, true])
  const shown = [computed.differences, sidecar.metrics(), running.logLines].map((each) => text(each)).join()
  await sidecar.close()
  const lines = linesIn(log)
  expect(
    lines.map(({ api, allowed, shadow, sample_percent }) => [api, allowed, shadow, sample_percent]),
  ).toEqual([
    ...['balance', 'balance'].map((api) => [api, true, 'closed', undefined]),
    ['reports', false, 'opened', undefined],
    ['balance', true, 'closed', undefined],
    ['support-tickets', false, 'unknown', undefined],
  ])
  for (const [shadow, count] of Object.entries({ closed: 3, opened: 1, unknown: 1 })) {
    const found = await command(['decisions', log, '--shadow', shadow, '--count'])
    expect(found).toMatchObject({ code: 0, stdout: `${count}\n` })
  }
  const replayed = await command([
    'replay',
    log,
    '--matrix',
    newFile(text(OTHER_CELLS), 'other.json'),
    '--json',
  ])
  expect(JSON.parse(replayed.stdout)).toMatchObject({ decisions: 5, changed: 4 })
  for (const secret of [token, secrets.staticToken, secrets.passwordOf('account')])
    expect(shown + text(lines)).not.toContain(secret)
})

test('its file may change: counts start again, and an invalid one is reported and never compared', async () => {
  const { running, computed, putShadow, putInForce, readiness, said } = await run()
  const beside = compile(OTHER_CELLS)
  expect(await readiness()).toMatchObject({ status: 'ready', shadow_digests: [beside.digest] })
  expect(said('decisions are compared')).toEqual([
    // The renamed API is closed and opened with its one kind.
    expect.stringMatching(`"shadow_digest":"${beside.digest}","cells_opened":2,"cells_closed":2`),
  ])
  await running.client.check(claims('balance'))
  expect(computed).toMatchObject({ compared: 1, differences: [{ api: 'balance' }] })

  putShadow('{')
  await eventually(async () => text((await readiness()).warnings) === '["shadow_refused"]')
  expect(said('the last good one is still compared')).not.toEqual([])
  expect(computed).toMatchObject({ compared: 1, engine: { digest: beside.digest } })

  putShadow(text({ ...OTHER_CELLS, title: 'another' }))
  await eventually(async () => (await readiness()).warnings === undefined)
  expect(computed).toMatchObject({ compared: 0, differences: [], matrix: { title: 'another' } })
  await running.client.check(claims('balance'))
  expect(computed.compared).toBe(1)

  putInForce({ ...OTHER_CELLS, title: 'in force' })
  await eventually(() => computed.compared === 0)
  await running.client.check(claims('balance'))
  expect(computed).toMatchObject({ compared: 1, differences: [] })
})

test('SIGHUP reads it again', async () => {
  const { running, computed, putShadow } = await run({ matrix_poll_ms: 0 })
  putShadow(text({ ...OTHER_CELLS, title: 'another' }))
  running.sidecar.reload()
  expect(computed.matrix.title).toBe('another')
})

test('an invalid one keeps a sidecar from starting, and the commands that read it say so', async () => {
  const broken = newFile('{', 'shadow.json')
  await expect(runSidecar({ flags: { matrix_shadow: broken } })).rejects.toThrow(broken)
  const config = newFile(text({ matrix_shadow: broken, data: newFolder() }), 'portcullis.json')
  const checked = await command(['config', 'validate', '--config', config])
  expect(checked).toMatchObject({ code: 1, stdout: expect.stringContaining(`problem: ${broken}`) })
  const found = await command(['doctor', '--config', config])
  expect(found).toMatchObject({ code: 1, stdout: expect.stringMatching(/error +matrix +\S+shadow\.json/) })
})

test('without it nothing is computed, and health says nothing of it', async () => {
  const running = await runSidecar({ flags: { 'health.address': '127.0.0.1:0' } })
  expect([running.sidecar.shadow, running.sidecar.shadowDigest]).toEqual([undefined, undefined])
  const answer = await fetch(`http://${running.sidecar.healthAddress}/readyz?verbose`)
  expect(await answer.json()).not.toHaveProperty('shadow_digests')
})
