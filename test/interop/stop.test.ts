/** Stopping: a sidecar stops on a signal, whatever its clients do. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { startClient } from '../support/interop/client.ts'
import { languages } from '../support/interop/languages.ts'
import { startSidecar } from '../support/interop/sidecar.ts'
import { newFolder } from '../support/suite/resources.ts'

let folder: string
let config: string
beforeAll(() => {
  folder = newFolder()
  config = join(folder, 'portcullis.json')
  writeFileSync(config, JSON.stringify({ drain_ms: 600_000 }))
})

test('a sidecar that gets the signal as soon as it is ready stops normally', async () => {
  const sidecar = await startSidecar('--config', config)
  await sidecar.stop()
})

for (const { language, program } of languages)
  test.skipIf(!program.ok)(
    `a ${language} client that watches health learns of the stop, and does not hold it up`,
    async () => {
      const sidecar = await startSidecar('--config', config)
      const client = startClient(program, sidecar.address)
      const watching = Promise.withResolvers<void>()
      const watch = { call: 'Health/Watch', requests: [{}] } as const
      const answer = client.ask(watch, () => watching.resolve())
      await watching.promise
      await sidecar.stop()
      expect(await answer).toEqual({ responses: [{ status: 'SERVING' }, { status: 'NOT_SERVING' }] })
      await client.stop()
    },
  )
