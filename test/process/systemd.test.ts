/**
 * The start where systemd gave no command to report that a sidecar is ready. With its command:
 * workers.test.ts. A real systemd: test/nightly/systemd.test.ts.
 */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { serve } from '../support/processes/processes.ts'
import { newFolder } from '../support/suite/resources.ts'

test('without that command the sidecar serves, and says what is wrong', async () => {
  const environment = { NOTIFY_SOCKET: '/run/systemd/notify', PATH: newFolder() }
  const sidecar = await serve(['--data', join(newFolder(), 'data')], { environment })
  await sidecar.until(() => sidecar.stderr().includes('cannot notify systemd that the sidecar is ready: '))
  expect(await sidecar.stop()).toMatchObject({ code: 0 })
})
