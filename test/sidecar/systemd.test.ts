/**
 * How systemd learns that a sidecar is ready, and what happens without its command. A real systemd:
 * test/interop/systemd.test.ts.
 */
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { serve } from '../support/processes/processes.ts'
import { eventually, newFolder } from '../support/suite/resources.ts'

test.each(['1', '2'])('with %s workers systemd hears of it once, by its own command', async (workers) => {
  const folder = newFolder()
  const told = join(folder, 'told')
  const command = join(folder, 'systemd-notify')
  writeFileSync(command, `#!/bin/sh\necho "$@ $NOTIFY_SOCKET" >> ${told}\n`)
  chmodSync(command, 0o755)
  const environment = { NOTIFY_SOCKET: '/run/systemd/notify', PATH: `${folder}:${process.env.PATH}` }
  const sidecar = await serve(['--workers', workers, '--data', join(folder, 'data')], { environment })
  await eventually(() => existsSync(told))
  expect(await sidecar.stop()).toMatchObject({ code: 0, stderr: expect.not.stringContaining('systemd') })
  expect(readFileSync(told, 'utf8')).toBe('--ready /run/systemd/notify\n')
})

test('without that command the sidecar serves, and says what is wrong', async () => {
  const environment = { NOTIFY_SOCKET: '/run/systemd/notify', PATH: newFolder() }
  const sidecar = await serve(['--data', join(newFolder(), 'data')], { environment })
  await sidecar.until(() => sidecar.stderr().includes('cannot notify systemd that the sidecar is ready: '))
  expect(await sidecar.stop()).toMatchObject({ code: 0 })
})
