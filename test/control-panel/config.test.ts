/** Where people may log in to the page: an operator learns what is missing, before anything is opened. */
import { writeFileSync } from 'node:fs'
import { connect, constants } from 'node:http2'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { applyFile } from '../../sidecar/authority/administration/directory-file.ts'
import { PASSWORD, SESSION } from '../support/console/control-panel.ts'
import { CERTIFICATE, KEY } from '../support/proxies/self-signed.ts'
import { TESTER } from '../support/sidecar/actor.ts'
import { ACCOUNT, runSidecar } from '../support/sidecar/sidecar.ts'
import { newFile, newFolder } from '../support/suite/resources.ts'

const ON = { console: true, connect: true, control_panel: {} }

test.each<[http: object, problem: string]>([
  [{ ...ON, console: false }, 'http.control_panel: expected http.console: true too'],
  [{ control_panel: {} }, 'http.control_panel: expected http.console: true and http.connect: true too'],
  [{ ...ON, public_url: 'http://panel.example' }, 'http.control_panel: expected https in http.public_url'],
  [
    { ...ON, public_url: 'https://panel.example' },
    'http.control_panel: expected http.tls, or http.trusted_proxies with the proxy of http.public_url; otherwise',
  ],
  [{ ...ON, public_url: 'https://panel.example', trusted_proxies: [] }, 'or http.trusted_proxies'],
  [{ ...ON, control_panel: { idle_minutes: 0 } }, 'http.control_panel.idle_minutes'],
  [{ ...ON, control_panel: { idle: 1 } }, 'http.control_panel'],
])('%j is refused', async (http, problem) => {
  const config = newFile(JSON.stringify({ http }), 'portcullis.json')
  await expect(runSidecar({ config, flags: { 'http.address': '127.0.0.1:0' } })).rejects.toThrow(problem)
})

test.each([
  { public_url: 'http://localhost:8180' },
  { public_url: 'https://localhost' },
  { public_url: 'https://panel.example/identity-base', trusted_proxies: ['192.0.2.1'] },
])('a page is reached as %j says', async (http) => {
  const config = newFile(JSON.stringify({ http: { ...ON, ...http } }), 'portcullis.json')
  const { sidecar } = await runSidecar({ config, flags: { 'http.address': '127.0.0.1:0' } })
  expect(sidecar.httpAddress).toBeDefined()
})

test('over https and HTTP/2, the cookie is bound to the host, and calls have its session', async () => {
  const folder = newFolder()
  const tls = { certificate: join(folder, 'server.pem'), key: join(folder, 'server.key') }
  writeFileSync(tls.certificate, CERTIFICATE)
  writeFileSync(tls.key, KEY, { mode: 0o600 })
  const http = { ...ON, tls, address: '127.0.0.1:0' }
  const { sidecar } = await runSidecar({
    config: newFile(JSON.stringify({ http }), 'portcullis.json'),
    flags: { 'http.address': '127.0.0.1:0' },
  })
  await applyFile(sidecar.administration, TESTER, {
    accounts: [{ account: ACCOUNT, control_panel_users: [{ name: 'olga', owner: true }] }],
  })
  const { links } = await sidecar.administration.controlPanel()
  const { secret } = await links.create(TESTER, ACCOUNT, 'olga', 'invitation')
  const origin = `https://${sidecar.httpAddress}`
  const session = connect(origin, { rejectUnauthorized: false })
  try {
    const post = (path: string, body: object, headers: object = {}) =>
      new Promise<{ status: unknown; cookie: string; text: string }>((resolve, reject) => {
        const stream = session.request({
          ...{ ':method': 'POST', ':path': path, origin, 'content-type': 'application/json' },
          ...{ 'x-portcullis-console': '1', ...headers },
        })
        let [status, cookie, text]: [unknown, string, string] = [0, '', '']
        stream.on('response', (answer) => {
          status = answer[constants.HTTP2_HEADER_STATUS]
          cookie = String(answer['set-cookie'])
        })
        stream.setEncoding('utf8').on('data', (part: string) => {
          text += part
        })
        stream.on('error', reject).on('end', () => resolve({ status, cookie, text }))
        stream.end(JSON.stringify(body))
      })
    const body = { secret: secret.reveal(), password: PASSWORD }
    const begun = await post(`${SESSION}/invitation/accept`, body)
    expect(begun.cookie).toMatch(/^__Host-portcullis=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Secure$/)
    const list = (headers: object) =>
      post('/portcullis.v1.DirectoryService/ListProjects', { account: ACCOUNT }, headers)
    const cookie = begun.cookie.split(';')[0]
    expect((await list({ cookie })).status).toBe(200)
    // Over http the name of the cookie is another one: no page of http can have put it there.
    expect((await list({ cookie: cookie?.replace('__Host-', '') })).status).toBe(401)
    expect((await list({ cookie, origin: `http://${sidecar.httpAddress}` })).status).toBe(403)
  } finally {
    session.close()
  }
})
