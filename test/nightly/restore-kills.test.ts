/**
 * A restoration that is killed leaves the directory as it was, or as the backup has it, and never anything
 * between.
 */
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { openSqlite } from '../../sidecar/directory/sqlite.ts'
import { done, newBackup, scene } from '../support/processes/backup.ts'
import { run, start } from '../support/processes/processes.ts'
import { newFolder } from '../support/suite/resources.ts'

const KILLS = 24

test('killed at any time, it leaves a whole directory of before or after', async () => {
  const { running, token, data } = await scene()
  const backup = newBackup()
  await done('backup', backup, ...data)
  await running.client.revoke({ value: token })
  await running.sidecar.close()
  const copy = () => {
    const folder = join(newFolder(), 'data')
    cpSync(running.folder, folder, { recursive: true })
    return folder
  }
  const restore = (folder: string) => ['restore', backup, '--replace', '--data', folder]
  const startedMs = performance.now()
  expect(await run(restore(copy()))).toMatchObject({ code: 0 })
  const tookMs = performance.now() - startedMs
  // Each kill is nearer to the moment when the directory is replaced: half-way between a kill before it and
  // one after it.
  let [beforeMs, afterMs] = [0, tookMs * 1.5]
  for (let kill = 0; kill < KILLS; kill++) {
    const folder = copy()
    const restoring = start(restore(folder))
    const killedMs = (beforeMs + afterMs) / 2
    await delay(killedMs)
    restoring.signal('SIGKILL')
    await restoring.ended
    // It opens only if it is whole, and a revocation is never lost.
    const database = openSqlite(join(folder, 'directory.sqlite'))
    const [row] = await database.all(
      'SELECT (SELECT action FROM audit ORDER BY sequence DESC LIMIT 1) AS last, (SELECT COUNT(*) FROM revocations) AS revoked',
    )
    await database.close()
    expect(row).toEqual({ last: expect.stringMatching(/^(token\.revoke|directory\.restore)$/), revoked: 2 })
    if (row?.last === 'directory.restore') afterMs = killedMs
    else beforeMs = killedMs
    // A process is not as fast as the one before.
    if (afterMs - beforeMs < 4) [beforeMs, afterMs] = [beforeMs * 0.9, afterMs * 1.1]
  }
})
