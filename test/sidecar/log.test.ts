/** A log that cannot be written does not stop the sidecar. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { startProcess } from '../support/processes.ts'
import { whenTheFileEnds } from '../support/resources.ts'

const LINES = 20_000

/** Writes more lines than a pipe can buffer, reports that, and then writes a line from time to time. */
const PROGRAM = `
  import { newLog } from ${JSON.stringify(new URL('../../sidecar/log.ts', import.meta.url).href)}
  const log = newLog('info')
  for (let line = 0; line < ${LINES}; line++) log.info({ line }, 'a line')
  process.stdout.write('written')
  setInterval(() => log.info('one more'), 5)
`

function start(stderr: 'pipe' | number): ChildProcess {
  const child = spawn(process.execPath, ['--input-type=module', '-e', PROGRAM], {
    stdio: ['ignore', 'pipe', stderr],
  })
  whenTheFileEnds(() => void child.kill('SIGKILL'))
  return child
}

test('if nobody reads the pipe, lines are dropped, and their number is logged as soon as lines can be written again', async () => {
  const child = start('pipe')
  const [said] = await once(child.stdout as Readable, 'data')
  expect(String(said)).toBe('written')
  let written = 0
  let dropped = 0
  for await (const line of createInterface(child.stderr as Readable)) {
    // Of one line only the beginning may have been written. It counts as dropped.
    const parsed = /^\{.*\}$/.test(line) ? (JSON.parse(line) as { line?: number; dropped?: number }) : {}
    if (parsed.line !== undefined) written++
    dropped += parsed.dropped ?? 0
    if (written + dropped >= LINES) break
  }
  expect(written).toBeGreaterThan(0)
  expect(dropped).toBeGreaterThan(0)
})

test.runIf(process.platform === 'linux')('if the disk is full, the sidecar keeps running', async () => {
  const full = openSync('/dev/full', 'w')
  const child = start(full)
  closeSync(full)
  const [said] = await once(child.stdout as Readable, 'data')
  expect(String(said)).toBe('written')
  // The process still runs after several more failed lines.
  await new Promise((resolve) => setTimeout(resolve, 50))
  expect(child.exitCode).toBeNull()
})

test('a line has escapes in place of characters that nobody sees, and the same values', async () => {
  const name = 'a\u202eb\u009b2J\u{e0041}'
  const program = `
    import { newLog } from ${JSON.stringify(new URL('../../sidecar/log.ts', import.meta.url).href)}
    newLog('info').info({ name: ${JSON.stringify(name)} }, ${JSON.stringify(name)})
  `
  const child = startProcess([process.execPath, '--input-type=module', '-e', program])
  const { stderr } = await child.ended
  expect(stderr).toMatch(/^[\x20-\x7e]+\n$/)
  expect(JSON.parse(stderr)).toMatchObject({ name, msg: name })
})
