/** Sessions are in the directory: every worker knows them, and a restored backup has none. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Browser, SESSION, startPanel } from '../support/console/control-panel.ts'
import { done, newBackup } from '../support/processes/backup.ts'
import { serve } from '../support/processes/processes.ts'
import { newFolder } from '../support/suite/resources.ts'

test('two workers know the same sessions, and each link works once for both of them', async () => {
  const pool = await serve(['--dev', '--workers', '2', '--http', '127.0.0.1:0'])
  try {
    const { http, demo } = pool.ready as unknown as Ready
    const shown = new Browser(Number(http.split(':').at(-1)))
    const secret = demo.control_panel_user.link_secret
    const links = await Promise.all([1, 2, 3, 4].map(() => shown.post(`${SESSION}/link`, { secret })))
    expect(links.map(({ status }) => status).sort()).toEqual([200, 401, 401, 401])
    // Each request has a separate connection, and the workers get them in turn.
    const look = () => Promise.all([1, 2, 3, 4].map(() => shown.get(SESSION)))
    for (const { json } of await look()) expect(json).toMatchObject({ who: { name: 'demo-owner' } })
    const { cookie } = shown
    await shown.post(`${SESSION}/end`, {})
    shown.cookie = cookie
    for (const { json } of await look()) expect(json).toMatchObject({ signedIn: false })
  } finally {
    await pool.stop()
  }
})

interface Ready {
  readonly http: string
  readonly demo: { readonly control_panel_user: { readonly link_secret: string } }
}

test('a restored backup has the password, and no session and no invitation', async () => {
  const { running, loggedIn, invite } = await startPanel()
  const shown = await loggedIn('olga')
  const secret = await invite('pia')
  const [backup, keys] = [newBackup(), newBackup()]
  await done('backup', backup, '--keys', keys, '--data', running.folder)
  await running.sidecar.close()
  const folder = join(newFolder(), 'data')
  await done('restore', backup, '--keys', keys, '--data', folder)
  const restored = await startPanel({ folder })
  const again = restored.browser()
  again.takeSession(shown)
  expect((await again.get(SESSION)).json).toMatchObject({ signedIn: false })
  expect((await again.post(`${SESSION}/invitation`, { secret })).status).toBe(401)
  const login = { account: '123456', user: 'olga', password: 'nine green bottles' }
  expect((await again.post(`${SESSION}/login`, login)).status).toBe(200)
})
