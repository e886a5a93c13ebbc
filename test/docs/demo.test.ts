/** The commands that a development sidecar suggests do what is said beside them. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { startDemo } from '../support/demo.ts'
import { ROOT } from '../support/sources.ts'

test('the commands that a development sidecar suggests do what is said beside them', async () => {
  const launcher = join(ROOT, 'sidecar/portcullis.js')
  const demo = await startDemo(['--grpc', '127.0.0.1:0', '--http', 'off'])
  try {
    const commands = demo.output.split('Try it, in another terminal:')[1]?.trim().split('\n') ?? []
    const script = commands
      .map((line) => line.trim().replaceAll('npx portcullis', `'${process.execPath}' '${launcher}'`))
      .map((line) =>
        line.startsWith('export') || line.startsWith('TOKEN') ? line : `${line}\necho "exit $?"`,
      )
      .join('\n')
    const { stdout } = await promisify(execFile)('bash', ['-c', script])
    const exits = Array.from(stdout.matchAll(/^exit (\d)$/gm), ([, code]) => code)
    expect(exits).toEqual(['0', '1', '0', '0', '0'])
    expect(stdout).toContain('denied    reports: TOKEN_KIND_NOT_ACCEPTED')
    expect(stdout).toMatch(/^name +another$/m)
  } finally {
    await demo.stop()
  }
})
