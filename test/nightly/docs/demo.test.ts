/** The commands that a development sidecar suggests do what is said beside them. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { ROOT } from '../../support/checkout/sources.ts'
import { Browser, SESSION } from '../../support/console/control-panel.ts'
import { startDemo } from '../../support/processes/demo.ts'

test.each([
  ['the shipped matrix', [], 'reports'],
  ['another one', ['--matrix', join(ROOT, 'examples/matrices/city-library.json')], 'printers'],
])(
  'a development sidecar with %s lets its owner log in, and the commands that it suggests do what is said',
  async (_name, matrix, denied) => {
    const launcher = join(ROOT, 'sidecar/portcullis.js')
    const demo = await startDemo(['--grpc', '127.0.0.1:0', '--http', '127.0.0.1:0', ...matrix])
    try {
      const [, port, secret] = /^ {2}http:\/\/localhost:(\d+)\/console\/#\/link\?secret=(\S+)$/m.exec(
        demo.output,
      ) ?? ['', '', '']
      const follow = () => new Browser(Number(port)).post(`${SESSION}/link`, { secret })
      expect(await follow()).toMatchObject({
        status: 200,
        json: { who: { name: 'demo-owner', owner: true } },
      })
      expect(await follow()).toMatchObject({ status: 401 })
      const [, account] = /Demo account (\d+)/.exec(demo.output) ?? []
      const [, password] = /^ +password {2,}(\S+)$/m.exec(demo.output) ?? []
      const login = { account, user: 'demo-owner', password }
      expect(await new Browser(Number(port)).post(`${SESSION}/login`, login)).toMatchObject({ status: 200 })
      const commands = /Try it, in another terminal:\n\n(.*?)\n\n/s.exec(demo.output)?.[1]?.split('\n') ?? []
      const script = commands
        .map((line) => line.trim().replaceAll('npx portcullis', `'${process.execPath}' '${launcher}'`))
        .map((line) =>
          line.startsWith('export') || line.startsWith('TOKEN') ? line : `${line}\necho "exit $?"`,
        )
        .join('\n')
      const { stdout } = await promisify(execFile)('bash', ['-c', script])
      const exits = Array.from(stdout.matchAll(/^exit (\d)$/gm), ([, code]) => code)
      expect(exits).toEqual(['0', '1', '0', '0', '0'])
      expect(stdout).toContain(`denied    ${denied}: TOKEN_KIND_NOT_ACCEPTED`)
      // No word of the source in a sidecar with another matrix.
      expect(/IAM|X-Auth-Token/.test(demo.output + stdout)).toBe(matrix.length === 0)
      expect(stdout).toMatch(/^name +another$/m)
    } finally {
      await demo.stop()
    }
  },
)
