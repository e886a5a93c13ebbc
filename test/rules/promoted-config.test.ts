/**
 * A configuration names APIs, and the matrix that has them can be put in force and taken back while sidecars
 * run. A promoted matrix never keeps one from starting: an API that it lacks is denied, and the log says so.
 */
import { renameSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, test } from 'vitest'
import { compile, type Matrix } from '../../engine/index.ts'
import { command } from '../support/processes/command-line.ts'
import { serve } from '../support/processes/processes.ts'
import { workersOf } from '../support/processes/worker-storm.ts'
import { ask, startTarget } from '../support/sidecar/egress.ts'
import { operatorOf } from '../support/sidecar/operator.ts'
import { fileOf, REASON, ROWS } from '../support/sidecar/shadowed.ts'
import { populate, type RunningSidecar, runSidecar } from '../support/sidecar/sidecar.ts'
import { eventually, newFile, newFolder } from '../support/suite/resources.ts'

/** Has one API more. */
const MORE: Matrix = {
  ...ROWS,
  apis: [
    ...ROWS.apis,
    { id: 'archive', title: 'Archive', accepts: ['iam_token_account_scoped'], section: '5.4' },
  ],
}
const [ROWS_DIGEST, MORE_DIGEST] = [ROWS, MORE].map((matrix) => compile(matrix).digest) as [string, string]
const target = await startTarget()

/** A directory, and a host whose configuration names the API of `MORE` in a route and in egress. */
async function directoryOfHosts() {
  const folder = join(newFolder(), 'data')
  const first = await runSidecar({
    folder,
    flags: { matrix: fileOf(ROWS), matrix_shadow: fileOf(MORE), matrix_poll_ms: 10 },
  })
  const secrets = await populate(first)
  const { directory } = operatorOf(first)
  const config = newFile(
    JSON.stringify({
      routes: [
        { path: '/archive/', api: 'archive' },
        { path: '/balance/', api: 'balance' },
      ],
      egress: {
        address: '127.0.0.1:0',
        routes: [{ path: '/', url: target.url, api: 'archive', profile: 'nightly', callers: 'anyone' }],
      },
      profiles: {
        nightly: {
          account: '123456',
          user_name: 'account',
          password_file: newFile(secrets.passwordOf('account')),
        },
      },
    }),
    'portcullis.json',
  )
  const start = (shadow?: string) =>
    runSidecar({ folder, config, flags: { matrix: fileOf(ROWS), matrix_shadow: shadow } })
  const promote = () =>
    directory.promoteMatrix({ shadowDigest: MORE_DIGEST, digest: ROWS_DIGEST, reason: REASON })
  const rollBack = (to: 'toPrevious' | 'toConfigured') =>
    directory.rollBackMatrix({ digest: MORE_DIGEST, reason: REASON, to: { $case: to, value: true } })
  return { folder, config, first, start, promote, rollBack }
}

/** The outcome of a request for the API: at the routes, and through egress. */
async function answersOf({ client, sidecar }: RunningSidecar) {
  const request = { method: 'GET', host: 'a', path: '/archive/' }
  const [routed, egress] = [
    await client.check({ request, credentials: {} }),
    await ask(sidecar.egressAddress ?? '', '/'),
  ]
  return [routed.reason, egress.status]
}
const OPEN = ['CREDENTIAL_MISSING', 200]
const CLOSED = ['UNKNOWN_API', 403]

const warnings = ({ logLines }: RunningSidecar) =>
  logLines.flatMap((line) => {
    const { level, problem, matrix_digest } = JSON.parse(line)
    return level === 40 && matrix_digest !== undefined ? [[problem, matrix_digest]] : []
  })
const LACKING = [
  ['routes[0].api: expected the id of an API of the matrix', ROWS_DIGEST],
  ['egress.routes[0].api: expected the id of an API of the matrix', ROWS_DIGEST],
]

test('an API that no matrix of the host has keeps a sidecar from starting, until one was promoted', async () => {
  const { start } = await directoryOfHosts()
  await expect(start()).rejects.toThrow(LACKING.map(([problem]) => problem).join('\n'))
})

test('the log says what a shadow would deny if it were promoted', async () => {
  const { start, promote } = await directoryOfHosts()
  await promote()
  const { logLines } = await start(fileOf(ROWS))
  const said = logLines.map((line) => JSON.parse(line)).filter(({ shadow_digest }) => shadow_digest)
  expect(said.flatMap(({ level, problem }) => (level === 40 ? [problem] : []))).toEqual(
    LACKING.map(([problem]) => problem),
  )
})

test('an API that a promoted matrix has is served, whatever the file has', async () => {
  const { start, promote } = await directoryOfHosts()
  await promote()
  const running = await start()
  expect(await answersOf(running)).toEqual(OPEN)
  expect(warnings(running)).toEqual([])
})

describe.each(['toPrevious', 'toConfigured'] as const)('after a roll-back %s', (to) => {
  test('a running sidecar denies an API that is gone, and names it', async () => {
    const { start, promote, rollBack } = await directoryOfHosts()
    await promote()
    const running = await start()
    await rollBack(to)
    await eventually(() => warnings(running).length > 0)
    expect(warnings(running)).toEqual(LACKING)
    expect(await answersOf(running)).toEqual(CLOSED)
  })

  test('a sidecar starts, denies the same, and says the same', async () => {
    const { start, promote, rollBack } = await directoryOfHosts()
    await promote()
    await rollBack(to)
    const running = await start()
    expect(warnings(running)).toEqual(LACKING)
    expect(await answersOf(running)).toEqual(CLOSED)
  })
})

describe('config validate', () => {
  const validated = async ({ folder, config }: { folder: string; config: string }) => {
    const words = ['config', 'validate', '--json', '--config', config, '--data', folder]
    const { code, stdout } = await command([...words, '--matrix', fileOf(ROWS)])
    const { problems, warnings } = JSON.parse(stdout)
    return { code, problems, warnings: warnings.filter((each: string) => each.includes('.api:')) }
  }

  test('judges by the matrix that the sidecar would have in force', async () => {
    const host = await directoryOfHosts()
    const problems = LACKING.map(([problem]) => problem)
    expect(await validated(host)).toEqual({ code: 1, problems, warnings: [] })
    await host.promote()
    expect(await validated(host)).toEqual({ code: 0, problems: [], warnings: [] })
    await host.rollBack('toConfigured')
    const denied = 'the matrix in force does not have it, so its requests are denied'
    const warnings = problems.map((problem) => `${problem}; ${denied}`)
    expect(await validated(host)).toEqual({ code: 0, problems: [], warnings })
  })
})

test('a worker is replaced although the file lacks an API that the configuration names', async () => {
  const matrix = fileOf(MORE)
  const config = newFile(
    JSON.stringify({ routes: [{ path: '/archive/', api: 'archive' }] }),
    'portcullis.json',
  )
  const words = ['--workers', '2', '--matrix', matrix, '--data', join(newFolder(), 'data')]
  const pool = await serve([...words, '--config', config, '--http', 'off'])
  renameSync(fileOf(ROWS), matrix)
  const [killed, other] = workersOf(pool) as [number, number]
  process.kill(killed, 'SIGKILL')
  await eventually(() => workersOf(pool).some((pid) => ![killed, other].includes(pid)))
  const [, [replacing = 0]] = [killed, workersOf(pool).filter((pid) => pid !== other)]
  await eventually(() => pool.stderr().includes(`"worker":${replacing},"msg":"a worker is ready"`))
  expect(pool.stderr()).toContain(LACKING[0]?.[0])
})

test.each(['promote', 'rollback'])(
  '%s lists the APIs that the configuration of this host names and the matrix lacks',
  async (verb) => {
    const { folder, first, config, promote } = await directoryOfHosts()
    await promote()
    // The host beside it would take the API back.
    const host = await runSidecar({ folder, flags: { matrix: fileOf(ROWS), matrix_shadow: fileOf(ROWS) } })
    await first.sidecar.close()
    const words = [
      '--address',
      host.address,
      '--data',
      folder,
      '--config',
      config,
      '--reason',
      REASON,
      '--yes',
    ]
    const { code, stdout } = await command(['matrix', verb, ...words])
    expect(code).toBe(0)
    for (const [problem] of LACKING)
      expect(stdout).toContain(`warning: ${problem}; its requests will be denied`)
  },
)

describe('without a sidecar, a roll-back', () => {
  /** A directory in which `MORE` was promoted over `ROWS`. Its sidecars have stopped. */
  async function stopped() {
    const { folder, first, promote } = await directoryOfHosts()
    await promote()
    await first.sidecar.close()
    const rollBack = (...words: string[]) => {
      const flags = ['--offline', '--data', folder, '--matrix', fileOf(ROWS), '--reason', REASON]
      return command(['matrix', 'rollback', ...flags, ...words, '--yes'])
    }
    const inForce = async () => {
      const { sidecar } = await runSidecar({ folder, flags: { matrix: fileOf(ROWS) } })
      const records = await sidecar.administration.records.audit('', { after: '', size: 100 })
      await sidecar.close()
      return [sidecar.matrixDigest, records.findLast(({ action }) => action === 'matrix.roll_back')?.actor]
    }
    return { folder, rollBack, inForce }
  }

  test.each([[[]], [['--to', ROWS_DIGEST.slice(0, 20)]], [['--to-configured']]])(
    'is in force at the next start: %j',
    async (words) => {
      const { rollBack, inForce } = await stopped()
      const { code, stdout } = await rollBack(...words)
      expect(code).toBe(0)
      expect(stdout).toContain('archive')
      expect(stdout).toContain('in force: ')
      expect(await inForce()).toEqual([ROWS_DIGEST, expect.stringContaining('command line')])
    },
  )

  test('asks what opens, as with one', async () => {
    const { rollBack, inForce } = await stopped()
    await rollBack()
    const refused = await rollBack('--to', MORE_DIGEST)
    expect(refused.code).toBe(1)
    expect(refused.stdout).toContain('not rolled back: 1 cell would open without a sign-off')
    expect(await inForce()).toEqual([ROWS_DIGEST, expect.anything()])
    expect((await rollBack('--to', MORE_DIGEST, '--max-opened', '1')).code).toBe(0)
    expect(await inForce()).toEqual([MORE_DIGEST, expect.anything()])
  })

  test('is the way back from a matrix that keeps sidecars from starting', async () => {
    const { folder, rollBack, inForce } = await stopped()
    const database = new DatabaseSync(join(folder, 'directory.sqlite'))
    database.exec(`UPDATE matrix_versions SET content = x'00' WHERE digest = '${MORE_DIGEST}'`)
    database.close()
    await expect(inForce()).rejects.toThrow('`portcullis matrix rollback --offline` goes back')
    const unseen = await rollBack()
    expect(unseen.code).toBe(1)
    expect(unseen.stdout).toContain(`not rolled back: there is no longer a copy of ${MORE_DIGEST}`)
    expect((await rollBack('--unseen')).code).toBe(0)
    expect(await inForce()).toEqual([ROWS_DIGEST, expect.anything()])
  })

  test('is heard by a sidecar that runs beside it', async () => {
    const { folder, first, promote } = await directoryOfHosts()
    await promote()
    const words = ['--offline', '--data', folder, '--matrix', fileOf(ROWS), '--reason', REASON, '--yes']
    expect((await command(['matrix', 'rollback', ...words])).code).toBe(0)
    await eventually(() => first.sidecar.matrixDigest === ROWS_DIGEST)
  })

  test.each<[string, string[], message: string]>([
    ['an address', ['--address', '127.0.0.1:1'], '--offline: expected no --address with it'],
    ['a data folder that is not there', [], 'expected a data folder of Portcullis'],
  ])('is refused with %s', async (_what, words, message) => {
    const folder = join(newFolder(), 'nothing')
    const ended = await command([
      'matrix',
      'rollback',
      '--offline',
      '--data',
      folder,
      '--reason',
      'x',
      ...words,
    ])
    expect(ended.code).toBe(2)
    expect(ended.stderr).toContain(message)
  })
})
