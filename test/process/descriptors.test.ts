/** A process that may open too few files says so, instead of being ready without being reachable. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { openSqlite } from '../../sidecar/directory/sqlite.ts'
import { ROOT } from '../support/checkout/sources.ts'
import { BlackBox } from '../support/contract/black-box.ts'
import { type Ready, start, startProcess } from '../support/processes/processes.ts'
import { newFolder, whenTheFileEnds } from '../support/suite/resources.ts'

/** Opens a directory where one to four descriptors are free, and prints why it cannot. */
const OPEN_WITH_FEW = `
  const { closeSync, openSync } = await import('node:fs')
  const { openSqlite } = await import(${JSON.stringify(join(ROOT, 'sidecar', 'directory', 'sqlite.ts'))})
  const [file] = process.argv.slice(-1)
  const taken = []
  try {
    for (;;) taken.push(openSync('/dev/null', 'r'))
  } catch {}
  const messages = []
  for (const free of [1, 2, 3, 4]) {
    closeSync(taken.pop())
    try {
      openSqlite(file)
      messages.push('it was opened')
    } catch (error) {
      messages.push(error.message)
    }
  }
  process.stdout.write(JSON.stringify(messages))
`

const limited = (descriptors: number, ...args: string[]) =>
  start(['serve', '--json', '--grpc', '127.0.0.1:0', '--http', 'off', ...args], { descriptors })

describe.skipIf(process.platform !== 'linux')('a limit of open files', () => {
  test.each<[limit: number, args: string[]]>([
    [25, []],
    [50, []],
    [50, ['--workers', '2']],
  ])('of %d, with %j, is too low to start', async (limit, args) => {
    const { code, stdout, stderr } = await limited(limit, ...args).ended
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    const { error } = JSON.parse(stderr.trim().split('\n').at(-1) ?? '')
    expect(error.message).toMatch(
      new RegExp(
        `^the process may open ${limit} files and connections, and \\d+ are open already; expected a`,
      ),
    )
  })

  test('that leaves one to four for the directory does not make it a damaged one', async () => {
    const file = join(newFolder(), 'directory.sqlite')
    await openSqlite(file).close()
    const { code, stdout } = await startProcess([
      ...['sh', '-c', 'ulimit -n 64 && exec "$0" "$@"', process.execPath],
      ...['--input-type=module', '--eval', OPEN_WITH_FEW, file],
    ]).ended
    const message = expect.stringMatching(
      /directory\.sqlite: cannot be used as a directory \(the limit on open files is reached; raise it: see `ulimit -n`\)$/,
    )
    expect({ code, messages: JSON.parse(stdout) }).toEqual({ code: 0, messages: Array(4).fill(message) })
  })

  test('of 90 lets 32 clients in', async () => {
    const sidecar = limited(90)
    const ready = JSON.parse(await sidecar.until(() => /^.*\n/.exec(sidecar.stdout())?.[0])) as {
      grpc: string
    }
    for (let client = 0; client < 32; client++)
      expect(await new BlackBox(ready.grpc).ask('getMatrix', {})).toHaveProperty('matrix')
    expect(await sidecar.stop()).toMatchObject({ code: 0 })
  })

  test('of 100 lets new clients in, however many idle connections there are', async () => {
    const sidecar = limited(100, '--http', '127.0.0.1:0')
    const ready = JSON.parse(await sidecar.until(() => /^.*\n/.exec(sidecar.stdout())?.[0])) as Ready
    const first = new BlackBox(ready.grpc)
    await first.ask('getMatrix', {})
    for (const address of [ready.grpc, ready.http]) {
      const [host = '', port = ''] = address.split(':')
      for (let count = 0; count < 150; count++) {
        const socket = connect(Number(port), host)
          .on('error', () => {})
          .resume()
        whenTheFileEnds(() => void socket.destroy())
        await once(socket, 'connect')
      }
    }
    expect((await fetch(`http://${ready.http}/healthz`)).status).toBe(200)
    expect(await new BlackBox(ready.grpc).ask('getMatrix', {})).toHaveProperty('matrix')
    // A client whose idle connection was closed connects again.
    expect(await first.ask('getMatrix', {})).toHaveProperty('matrix')
    expect(await sidecar.stop()).toMatchObject({ code: 0 })
  })
})
