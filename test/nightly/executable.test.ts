/**
 * The single executable: copied into an empty folder, on a machine that seems to have no Node and no
 * checkout.
 */
import { chmodSync, copyFileSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, inject, test } from 'vitest'
import { SCHEMA_VERSION } from '../../sidecar/directory/schema.ts'
import { manifestOf } from '../support/checkout/packages.ts'
import { BlackBox } from '../support/contract/black-box.ts'
import { repository, run as runProgram } from '../support/interop/command.ts'
import { obtained } from '../support/interop/obtain.ts'
import { manyApis } from '../support/matrices/large-matrix.ts'
import { type Ended, type Ready, startProcess } from '../support/processes/processes.ts'
import { workersOf } from '../support/processes/worker-storm.ts'
import { eventually, newFile, newFolder } from '../support/suite/resources.ts'

const output = newFolder()
const built = await obtained('the single executable', () =>
  runProgram(process.execPath, [join(repository, 'scripts/executable.ts'), output]),
)

const grpcurl = inject('grpcurl')

describe.skipIf(!built.ok)('the executable', () => {
  const folder = newFolder()
  const program = join(folder, 'portcullis')
  if (built.ok) copyFileSync(join(output, 'portcullis'), program)

  type Environment = Readonly<Record<string, string>>
  const start = (args: readonly string[], environment: Environment = {}) =>
    startProcess([program, ...args], {
      cwd: folder,
      environment: { PATH: undefined, NODE_COMPILE_CACHE: undefined, ...environment },
    })
  const run = (args: readonly string[], environment?: Environment): Promise<Ended> =>
    start(args, environment).ended
  const serve = async (args: readonly string[], environment?: Environment) => {
    const child = start(['serve', '--json', '--grpc', '127.0.0.1:0', '--http', 'off', ...args], environment)
    const line = await child.until(() => /^.*\n/.exec(child.stdout())?.[0])
    return { ...child, ready: JSON.parse(line) as Ready }
  }
  const succeeds = async (...args: Parameters<typeof run>) => {
    const { code, stdout, stderr } = await run(...args)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    return stdout
  }

  test('says its version, and completes', async () => {
    expect(await succeeds(['--version'])).toBe(
      `${manifestOf('sidecar').version} (directory ${SCHEMA_VERSION})\n`,
    )
    expect(await succeeds(['completion', 'bash'])).toContain('complete -F')
  })

  test('comes with the licenses of all that is in it, and a bill of materials', () => {
    const licenses = readFileSync(join(output, 'third-party-licenses.txt'), 'utf8')
    const names = ['node', 'find-my-way', '@grpc/grpc-js', '@bufbuild/protobuf', 'pg', 'undici']
    for (const name of names) expect(licenses).toMatch(new RegExp(`^${name} \\d.*\n.+\n\n`, 'm'))
    const { components } = JSON.parse(readFileSync(join(output, 'sbom.cdx.json'), 'utf8'))
    const listed = components.map(({ name }: { name: string }) => name)
    expect(listed).toEqual(expect.arrayContaining(['node', 'find-my-way', 'pg', 'yaml', 'protobufjs']))
  })

  test('decides from the shipped matrix, and reads YAML', async () => {
    expect(await succeeds(['explain', 'audit-logs'])).toContain('audit-logs')
    const file = newFile('drain_ms: 1000\nhttp:\n  address: "off"\n', 'portcullis.yaml')
    chmodSync(file, 0o600)
    expect(await succeeds(['config', 'validate', '--config', file])).toContain('valid')
  })

  test('serves, checks, answers probes and counts, and stops with 0', async () => {
    const file = newFile('decision_log: { file: { path: decisions.jsonl } }\n', 'portcullis.yaml')
    chmodSync(file, 0o600)
    const data = join(newFolder(), 'data')
    const flags = ['--dev', '--data', data, '--http', '127.0.0.1:0', '--config', file]
    const sidecar = await serve(flags, { PORTCULLIS_HEALTH_ADDRESS: '127.0.0.1:0' })
    const { grpc, http, health = '', demo } = sidecar.ready
    if (demo === undefined) throw new Error('expected a demo account')
    const { account, service_user: user } = demo

    expect(await succeeds(['health', '--ready', '--address', grpc])).toBe('ready\n')
    const issued = ['issue', '--account', account, '--user', user.name, '--address', grpc]
    const { stdout: header } = await run(issued, { PORTCULLIS_PASSWORD: user.password })
    expect(await succeeds(['check', 'balance', '-H', header.trim(), '--address', grpc])).toContain('allowed')
    expect(await (await fetch(`http://${health}/metrics`)).text()).toContain('portcullis_decisions_total')
    expect(await (await fetch(`http://${http}/openapi.json`)).json()).toMatchObject({ openapi: '3.1.0' })
    expect(await succeeds(['doctor', '--data', data, '--grpc', grpc])).toContain('0 errors')

    const { code } = await sidecar.stop()
    expect(code).toBe(0)
    const [line = ''] = readFileSync(join(folder, 'decisions.jsonl'), 'utf8').split('\n')
    expect(JSON.parse(line)).toMatchObject({ reason: 'ALLOWED', api: 'balance' })
  })

  // The library reads protos from its own files, and is loaded for both versions at once.
  test.skipIf(!grpcurl.ok)('answers reflection', async () => {
    const sidecar = await serve([])
    const [command = ''] = grpcurl.ok ? grpcurl.command : []
    const listed = await runProgram(command, ['-plaintext', sidecar.ready.grpc, 'list'])
    expect(listed).toContain('portcullis.v1.AuthorizationService')
    await sidecar.stop()
  })

  test.each(['sockets', 'grpc-js'])('serves on the transport %s', async (transport) => {
    const sidecar = await serve([], { PORTCULLIS_GRPC_TRANSPORT: transport })
    expect(await new BlackBox(sidecar.ready.grpc).ask('getMatrix', {})).toBeDefined()
    expect((await sidecar.stop()).code).toBe(0)
  })

  test('is its own workers, replaces one that dies, and ignores SIGUSR1 in all of them', async () => {
    const pool = await serve(['--workers', '2'])
    const [first = 0, second = 0] = workersOf(pool)
    expect([first > 0, second > 0]).toEqual([true, true])
    for (const pid of [pool.pid, first, second]) process.kill(pid, 'SIGUSR1')
    process.kill(first, 'SIGKILL')
    await eventually(() => workersOf(pool).length === 2 && !workersOf(pool).includes(first))
    await eventually(() =>
      run([
        'check',
        'reports',
        '--kind',
        'static_token',
        '--account',
        '1',
        '--address',
        pool.ready.grpc,
      ]).then(({ code }) => code === 0),
    )
    const { code, stderr } = await pool.stop()
    expect({ code, stderr: stderr.match(/debugger.*/i) }).toEqual({ code: 0, stderr: null })
    expect(existsSync(`/proc/${second}`)).toBe(false)
  })

  test('reads a large matrix in its thread', async () => {
    const [matrix, next] = ['one', 'two'].map((name) =>
      newFile(JSON.stringify(manyApis(400, name)), 'matrix.json'),
    )
    const sidecar = await serve(['--matrix', matrix ?? ''], { PORTCULLIS_MATRIX_POLL_MS: '5' })
    renameSync(next ?? '', matrix ?? '')
    await sidecar.until(() => sidecar.stderr().includes('a new matrix is in force'))
    const asked = ['check', 'two', '--kind', 'iam_token_account_scoped', '--account', '1']
    expect(await succeeds([...asked, '--address', sidecar.ready.grpc])).toContain('allowed')
    await sidecar.stop()
  })

  test('keeps tokens fresh in files', async () => {
    const data = join(newFolder(), 'data')
    const directory = newFile(
      'accounts: [{ account: "123456", service_users: [{ name: deployer, permissions: [{ scope: account }] }] }]\n',
      'directory.yaml',
    )
    const applied = await succeeds(['directory', 'apply', directory, '--data', data, '--json'])
    const [, password = ''] = /"value":"([^"]*)"/.exec(applied) ?? []
    const write = (name: string, text: string) => writeFileSync(join(folder, name), text, { mode: 0o600 })
    write('deployer.password', password)
    write('agent.token', 'caller-token-of-the-agent-0123456789abcdef')
    const profile = { account: '123456', user_name: 'deployer', password_file: 'deployer.password' }
    const caller = { name: 'agent', token_file: 'agent.token', profiles: ['nightly'] }
    write('sidecar.json', JSON.stringify({ profiles: { nightly: profile }, callers: [caller] }))
    const sidecar = await serve(['--config', 'sidecar.json', '--data', data])
    const tokens = [{ profile: 'nightly', apis: ['balance'], file: 'balance.token', format: 'header' }]
    const address = { address: sidecar.ready.grpc, caller_token_file: 'agent.token' }
    write('agent.json', JSON.stringify({ sidecar: address, tokens }))
    expect((await run(['agent', '--config', 'agent.json', '--once'])).code).toBe(0)
    const checked = ['check', 'balance', '-H', '@balance.token', '--address', sidecar.ready.grpc]
    expect(await succeeds(checked)).toContain('allowed')
    await sidecar.stop()
  })

  test('has the client of PostgreSQL in it', async () => {
    const url = 'postgres://portcullis:secret@127.0.0.1:1/portcullis?sslmode=disable'
    const { code, stderr } = await run(['migrate', '--check', '--data', join(newFolder(), 'data')], {
      PORTCULLIS_DIRECTORY_URL: url,
    })
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringMatching(/ECONNREFUSED|PostgreSQL/) })
  })
})
