/**
 * The snapshot of SIGUSR2: what an operator sees of a process that runs, and who else may. The signal:
 * test/process/workers.test.ts.
 */
import { mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { SCHEMA_VERSION } from '../../sidecar/directory/schema.ts'
import { runSidecar } from '../support/sidecar/sidecar.ts'
import { eventually, newFile } from '../support/suite/resources.ts'

const TOKEN_SHA256 = 'ab'.repeat(32)

/** The snapshots in a data folder, by the pid of their process. */
function snapshotsIn(folder: string): ReadonlyMap<number, Record<string, unknown>> {
  const names = readdirSync(folder).filter((name) => /^diagnostics-\d+\.json$/.test(name))
  return new Map(
    names.map((name) => [
      Number(/\d+/.exec(name)?.[0]),
      JSON.parse(readFileSync(join(folder, name), 'utf8')) as Record<string, unknown>,
    ]),
  )
}

test('a snapshot has versions, settings, keys, queues, caches, memory, health and the digest, in a file for its owner alone', async () => {
  const config = newFile(JSON.stringify({ callers: [{ name: 'a', token_sha256: TOKEN_SHA256 }] }))
  const { sidecar, folder, logLines } = await runSidecar({ config })
  for (let time = 0; time < 2; time++) {
    const before = logLines.length
    sidecar.diagnose()
    await eventually(() => logLines.slice(before).some((line) => line.includes('snapshot was written')))
  }
  const [[pid, snapshot] = []] = snapshotsIn(folder)
  expect(pid).toBe(process.pid)
  expect(snapshot).toMatchObject({
    written_at: expect.stringMatching(/Z$/),
    versions: { node: process.versions.node, directory: SCHEMA_VERSION },
    health: { phase: 'serving' },
    matrix: { digest: sidecar.matrixDigest, rules_digest: sidecar.rulesDigest },
    settings: { data: folder, 'callers[0].token_sha256': '[hidden]', 'log.level': 'info' },
    signing_keys: expect.arrayContaining([{ state: 'active', since: expect.any(String) }]),
    waiting: { passwords: expect.any(Object), changes: expect.any(Object) },
    cached: expect.any(Object),
    memory: { rss: expect.any(Number), heap: expect.any(Object) },
    log_lines_dropped: 0,
  })
  expect(JSON.stringify(snapshot)).not.toContain(TOKEN_SHA256)
  const files = readdirSync(folder).filter((name) => name.startsWith('diagnostics'))
  expect(files).toEqual([`diagnostics-${process.pid}.json`])
  expect(statSync(join(folder, files[0] as string)).mode & 0o777).toBe(0o600)
})

test('where the file cannot be written, the log says so, and nothing is left', async () => {
  const { sidecar, folder, logLines } = await runSidecar()
  const name = `diagnostics-${process.pid}.json`
  mkdirSync(join(folder, name))
  sidecar.diagnose()
  await eventually(() => logLines.some((line) => line.includes('snapshot cannot be written')))
  expect(readdirSync(folder).filter((each) => each.startsWith('diagnostics'))).toEqual([name])
})
