/**
 * A sidecar as a process: it lets calls finish before it stops, reads its matrix again on SIGHUP, and leaves
 * nothing behind.
 */
import { existsSync, readdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { PortcullisError } from '../../clients/typescript/index.ts'
import { compile } from '../../engine/index.ts'
import { supportMatrix } from '../../matrix/index.ts'
import { run, serve } from '../support/processes/processes.ts'
import { connect } from '../support/sidecar/client.ts'
import { ACCOUNT } from '../support/sidecar/sidecar.ts'
import { eventually, newFolder, whenTheFileEnds } from '../support/suite/resources.ts'

const good = { api: 'balance', token: { kind: 'static_token', scope: { account: ACCOUNT } } }

describe('a development sidecar', async () => {
  const temporary = newFolder()
  const matrix = join(newFolder(), 'matrix.json')
  const replace = (title: string) => {
    const text = { ...supportMatrix, title }
    writeFileSync(`${matrix}.new`, JSON.stringify(text))
    renameSync(`${matrix}.new`, matrix)
    return compile(text)
  }
  const first = replace('first')
  const child = await serve(['--dev', '--matrix', matrix, '--http', '127.0.0.1:0'], {
    environment: { TMPDIR: temporary, PORTCULLIS_MATRIX_POLL_MS: '0' },
  })
  const { ready } = child
  const client = connect(ready.grpc)
  whenTheFileEnds(() => client.close())

  test('has a ready line with exactly these keys', () => {
    expect(ready).toEqual({
      event: 'ready',
      grpc: expect.stringMatching(/^127\.0\.0\.1:\d+$/),
      http: expect.stringMatching(/^127\.0\.0\.1:\d+$/),
      matrix_digest: first.digest,
      strict: false,
      rules_digest: first.rulesDigest,
      decisions: { kept: false, kept_by: 'decision_log.file.path' },
      demo: {
        account: expect.stringMatching(/^\d{6}$/),
        project: 'demo-project',
        service_user: { name: 'demo', password: expect.stringMatching(/^[\w-]{24}$/) },
        control_panel_user: {
          name: 'demo-owner',
          password: expect.stringMatching(/^[\w-]{24}$/),
          link_secret: expect.stringMatching(/^[\w-]{43}$/),
        },
        static_token: expect.stringMatching(/^pcst_[0-9A-Za-z]{49}$/),
      },
    })
  })

  test('reads the matrix file again on SIGHUP, even if polling is off', async () => {
    const second = replace('second')
    expect((await client.getMatrix()).digest).toBe(first.digest)
    child.signal('SIGHUP')
    await eventually(async () => (await client.getMatrix()).digest === second.digest)
  })

  test('keeps a second one off its addresses: exit code 2 and a one-line error, with --json in JSON', async () => {
    const { grpc, http } = ready
    expect(await run(['serve', '--dev', '--grpc', grpc, '--http', 'off'])).toEqual({
      code: 2,
      stdout: '',
      stderr: `portcullis: grpc address ${grpc} is in use; choose another with --grpc HOST:PORT (or unix:PATH)\n`,
    })
    const args = ['serve', '--json', '--data', newFolder(), '--grpc', '127.0.0.1:0', '--http', http]
    const environment = { PORTCULLIS_LOG_LEVEL: 'silent' }
    const { code, stdout, stderr } = await run(args, { environment })
    expect({ code, stdout, ...JSON.parse(stderr) }).toEqual({
      code: 2,
      stdout: '',
      error: {
        ...{ code: 'FAILED_PRECONDITION', reason: 'ADDRESS_IN_USE', violations: [] },
        message: `http address ${http} is in use; choose another with --http HOST:PORT (or off)`,
      },
    })
  })

  test('answers calls in progress on SIGTERM, deletes its data, and ends with 0', async () => {
    const [made = ''] = readdirSync(temporary)
    expect(existsSync(join(temporary, made, 'directory.sqlite'))).toBe(true)
    const { account = '', service_user } = ready.demo ?? {}
    const password = { userName: service_user?.name ?? '', account, password: service_user?.password ?? '' }
    await client.check(good)
    // Two logins run at the same time and ten wait, so most are in progress when the signal arrives.
    const issuing = Array.from({ length: 12 }, () => client.issue({ password, scope: { account } }))
    await issuing[0]
    child.signal('SIGTERM')
    const outcomes = await Promise.allSettled(issuing)
    expect(outcomes.filter(({ status }) => status === 'rejected')).toEqual([])
    const { code, stdout, stderr } = await child.ended
    expect({ code, stderr, lines: stdout.trimEnd().split('\n').length }).toEqual({
      code: 0,
      stderr: '',
      lines: 1,
    })
    expect(readdirSync(temporary)).toEqual([])
  })
})

test('for a client that retries, no check fails while one sidecar replaces another', async () => {
  const address = `unix:${newFolder()}/sidecar.sock`
  const folder = join(newFolder(), 'data')
  const first = await serve(['--data', folder, '--grpc', address])
  const client = connect(address)
  whenTheFileEnds(() => client.close())
  let answered = 0
  let stop = false
  const asking = (async () => {
    while (!stop) {
      const answer = await eventually(() =>
        client.check(good).catch((error: PortcullisError) => {
          // A client may retry these errors. Any other error would be a failed call.
          expect(error).toBeInstanceOf(PortcullisError)
          expect(error.code).toBe('UNAVAILABLE')
          return undefined
        }),
      )
      expect(answer.allowed).toBe(true)
      answered++
    }
  })()
  await eventually(() => answered > 50)
  first.signal('SIGTERM')
  expect(await first.ended).toMatchObject({ code: 0 })
  await serve(['--data', folder, '--grpc', address])
  const before = answered
  await eventually(() => answered > before + 50)
  stop = true
  await asking
})

test('a development sidecar refuses a folder that is not empty', async () => {
  const folder = newFolder()
  writeFileSync(join(folder, 'something'), '')
  expect(await run(['serve', '--dev', '--data', folder])).toEqual({
    code: 2,
    stdout: '',
    stderr: `portcullis: --dev: expected an empty data folder or none, but ${folder} is not empty; serve it without --dev\n`,
  })
})
