/** A sidecar whose directory is in PostgreSQL serves from a data folder that cannot be written. */
import { describe, expect, inject, test } from 'vitest'
import { BlackBox } from '../../support/contract/black-box.ts'
import { PostgresServer } from '../../support/postgres/server.ts'
import { LAUNCHER, startProcess } from '../../support/processes/processes.ts'
import { runSidecar } from '../../support/sidecar/sidecar.ts'
import { CAN_MOUNT, withReadOnly } from '../../support/suite/read-only.ts'
import { newFolder, whenTheFileEnds } from '../../support/suite/resources.ts'

const programs = inject('postgres')

describe.skipIf(!programs.ok || !CAN_MOUNT)('a read-only data folder', () => {
  test('serves', async () => {
    if (!programs.ok) return
    const server = await PostgresServer.start(programs.folder)
    whenTheFileEnds(() => server.remove())
    const { sidecar, folder } = await runSidecar()
    await sidecar.close()
    const line = [process.execPath, LAUNCHER, 'serve', '--json', '--grpc', '127.0.0.1:0', '--http', 'off']
    const child = startProcess(withReadOnly(folder, [...line, '--data', folder]), {
      environment: { PORTCULLIS_DIRECTORY_URL: await server.newDatabase() },
      cwd: newFolder(),
    })
    const ready = JSON.parse(await child.until(() => /^.*\n/.exec(child.stdout())?.[0])) as { grpc: string }
    expect(await new BlackBox(ready.grpc).ask('getMatrix', {})).toHaveProperty('matrix')
    expect(await child.stop()).toMatchObject({ code: 0, stderr: expect.not.stringContaining('EROFS') })
  })
})
