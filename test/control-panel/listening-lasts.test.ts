/**
 * Listening to decisions lasts longer than any request may take, over HTTP/1.1 and, with https, over HTTP/2.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:http2'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { SESSION } from '../support/console/control-panel.ts'
import { listen, startForOperators } from '../support/console/operators.ts'
import { CERTIFICATE, KEY } from '../support/proxies/self-signed.ts'
import { type RunningSidecar, runSidecar } from '../support/sidecar/sidecar.ts'
import { eventually, newFolder, passing } from '../support/suite/resources.ts'

/** Shorter than it is listened to here, and long enough for a request on a busy machine. */
const times = { http: { headersMs: 1_000, requestMs: 1_000, keepAliveMs: 1_000, checkIntervalMs: 50 } }
const QUESTION = { api: 'balance', token: { kind: 'static_token', scope: { account: '1' } } }

/** Asks now and then, until as many lines were heard. */
async function asked({ client }: RunningSidecar, heard: () => number): Promise<void> {
  for (let count = 1; count <= 6; count++) {
    await client.check(QUESTION)
    await eventually(() => heard() === count)
    await passing(250)
  }
}

test('over HTTP/1.1', async () => {
  const panel = await startForOperators({ times })
  const heard = await listen(await panel.loggedInAs('reader'), panel.port)
  await asked(panel.running, () => heard.lines().filter(({ api }) => api === 'balance').length)
  heard.leave()
})

test('over HTTP/2', async () => {
  const folder = newFolder()
  const [certificate, key] = [join(folder, 'certificate'), join(folder, 'key')]
  writeFileSync(certificate, CERTIFICATE)
  writeFileSync(key, KEY, { mode: 0o600 })
  const running = await runSidecar({
    times,
    flags: {
      ...{ 'http.address': '127.0.0.1:0', 'http.tls.certificate': certificate, 'http.tls.key': key },
      ...{ 'http.console': true, 'http.connect': true, 'http.control_panel.idle_minutes': 30 },
      'decision_log.file.path': join(folder, 'decisions.log'),
    },
  })
  const origin = `https://${running.sidecar.httpAddress}`
  const session = connect(origin, { rejectUnauthorized: false })
  try {
    const ours = { 'x-portcullis-console': '1', origin }
    const login = session.request({
      ...{ ':method': 'POST', ':path': `${SESSION}/operator`, 'content-type': 'application/json', ...ours },
    })
    const token = readFileSync(join(running.folder, 'administrator-token'), 'utf8').trim()
    login.end(JSON.stringify({ token }))
    const cookie = await new Promise<string>((resolve) => {
      login.on('response', (answer) => resolve(String(answer['set-cookie']).split(';')[0] ?? ''))
    })
    login.close()
    let text = ''
    const stream = session.request({ ':path': '/console/operator/decisions', cookie, ...ours })
    stream.setEncoding('utf8').on('data', (part: string) => {
      text += part
    })
    await eventually(() => text.includes('"listening"'))
    await asked(running, () => text.split('"api":"balance"').length - 1)
    expect(stream.closed).toBe(false)
    stream.close()
  } finally {
    session.destroy()
  }
})
