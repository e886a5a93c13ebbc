/**
 * Today's version and the sources of the commit that kept `proto/released.binpb`, in both directions: today's
 * client and command line ask a sidecar of that time, its client asks today's sidecar, and today's sidecar
 * takes over its data folder. It needs the history of Git; the modules are today's.
 */
import { existsSync, globSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Check, Client } from '../../clients/typescript/index.ts'
import type { Scope } from '../../engine/index.ts'
import { PermissionScope } from '../../proto/gen/portcullis/v1/directory.ts'
import { repository, run } from '../support/interop/command.ts'
import { missing } from '../support/interop/obtain.ts'
import { engine, STATIC_KIND } from '../support/matrices/engines.ts'
import { done } from '../support/processes/backup.ts'
import { command } from '../support/processes/command-line.ts'
import { LAUNCHER, serve } from '../support/processes/processes.ts'
import { connect } from '../support/sidecar/client.ts'
import { newFolder, whenTheFileEnds } from '../support/suite/resources.ts'

const released = await sourcesOfRelease().catch((error: Error) => {
  missing('the sources of the release', error.message)
  return undefined
})

/** The folder with the sources. */
async function sourcesOfRelease(): Promise<string> {
  const git = async (...words: string[]) => (await run('git', words)).trim()
  // Without its whole history, the last commit seems to have made everything.
  if ((await git('rev-parse', '--is-shallow-repository')) !== 'false')
    throw new Error('the history is cut off')
  const commit = await git('log', '-1', '--format=%H', '--', 'proto/released.binpb')
  if (commit === '') throw new Error('no commit has proto/released.binpb')
  const folder = newFolder()
  await git('archive', '--output', join(folder, 'sources.tar'), commit)
  await run('tar', ['-xf', join(folder, 'sources.tar'), '-C', folder])
  symlinkSync(join(repository, 'node_modules'), join(folder, 'node_modules'))
  // The first release has its generated code in git.
  const generate = join(folder, 'scripts/generate.ts')
  if (existsSync(generate)) await run(process.execPath, [generate, 'messages', 'openapi', 'schemas', 'ids'])
  return folder
}

type Connect = (address: string, options: object) => Client

describe.skipIf(released === undefined)('the version of the release', async () => {
  if (released === undefined) return
  const launcher = join(released, 'sidecar/portcullis.js')
  // It was in the sidecar's folder once.
  const [client = ''] = globSync('{clients/typescript,sidecar/client}/index.ts', { cwd: released })
  const { connect: connectThen } = (await import(join(released, client))) as { connect: Connect }
  const started = async (program: string, data = join(newFolder(), 'data')) => {
    const { ready, stop } = await serve(['--data', data], { launcher: program })
    const callerToken = readFileSync(join(data, 'administrator-token'), 'utf8').trim()
    return { address: ready.grpc, data, callerToken, stop }
  }
  const clientOf = (make: Connect, { address, callerToken }: Awaited<ReturnType<typeof started>>): Client => {
    const client = make(address, { callerToken })
    whenTheFileEnds(() => client.close())
    return client
  }

  test.each([
    ['today’s client asks a sidecar of the release', connect as Connect, launcher],
    ['a client of the release asks today’s sidecar', connectThen, LAUNCHER],
  ])('%s', async (_what, make, program) => {
    const client = clientOf(make, await started(program))
    const tokens = await tokensBy(client)
    const checks = questionsAbout(tokens)
    const expected = checks.map(({ decision }) => decision)
    const single = await client.checkBatch(checks.map(({ check }) => check))
    expect(single.map(wordsOf)).toEqual(expected)
    const streamed = client.checkStream(checks.map(({ check }) => check))
    const answers: unknown[] = []
    for await (const answer of streamed) answers.push(wordsOf(answer))
    expect(answers).toEqual(expected)
    expect((await client.plan(['iam', 'secrets'])).digest).toBe(engine.digest)
    await client.revoke({ value: tokens[0] })
    expect((await client.check({ api: 'balance', credentials: [['X-Auth-Token', tokens[0]]] })).reason).toBe(
      'CREDENTIAL_REVOKED',
    )
  })

  test('today’s command line asks a sidecar of the release', async () => {
    const { address } = await started(launcher)
    const words = [
      'check',
      'balance',
      '--kind',
      STATIC_KIND,
      '--account',
      '1',
      '--address',
      address,
      '--json',
    ]
    const { code, stdout } = await command(words)
    expect({ code, ...JSON.parse(stdout) }).toMatchObject({ code: 0, allowed: true, reason: 'ALLOWED' })
  })

  test('today’s sidecar takes over the data folder of one of the release', async () => {
    const then = await started(launcher)
    const tokens = await tokensBy(clientOf(connectThen, then))
    await then.stop()
    const client = clientOf(connect as Connect, await started(LAUNCHER, then.data))
    const checks = questionsAbout(tokens)
    const answers = await client.checkBatch(checks.map(({ check }) => check))
    expect(answers.map(wordsOf)).toEqual(checks.map(({ decision }) => decision))
    expect(
      (await done('backup', join(newFolder(), 'backup'), '--data', then.data)).last_change,
    ).toBeGreaterThan(3)
  })
})

const ACCOUNT = '123456'

/** An account, made by an operator, and a token of each kind. */
async function tokensBy(client: Client) {
  const { directory } = client
  await directory.createAccount({ account: ACCOUNT })
  await directory.createProject({ account: ACCOUNT, name: 'alpha' })
  const permissions = [{ scope: PermissionScope.PERMISSION_SCOPE_ACCOUNT, projects: [] }]
  const { password } = await directory.createServiceUser({ account: ACCOUNT, name: 'robot', permissions })
  await directory.createControlPanelUser({ account: ACCOUNT, name: 'owner', owner: true })
  const key = await directory.createStaticToken({ account: ACCOUNT, userName: 'owner', name: 'key' })
  const by = { password: { userName: 'robot', account: ACCOUNT, password } }
  const account = await client.issue({ ...by, scope: { account: ACCOUNT } })
  const project = await client.issue({ ...by, scope: { account: ACCOUNT, project: 'alpha' } })
  return [account.value, project.value, key.value] as const
}

const SCOPES = [{ account: ACCOUNT }, { account: ACCOUNT, project: 'alpha' }]
const TARGETS = [undefined, ...SCOPES, { account: 'other' }]

/**
 * Every cell, by claims and by a genuine token of each kind, for each target; with what is right to
 * answer.
 */
function questionsAbout(tokens: Awaited<ReturnType<typeof tokensBy>>) {
  return [...engine.apis.keys(), 'nosuch'].flatMap((api) =>
    Array.from(engine.tokenKinds.values()).flatMap(({ id: kind, header, scopeLevel }, index) =>
      TARGETS.flatMap((target) => {
        const scope = SCOPES[scopeLevel === 'project' ? 1 : 0] as Scope
        const decision = wordsOf(engine.decide({ api, kind, scope, target }))
        const about = { api, ...(target && { target }) }
        const credentials: [string, string][] = [[header, tokens[index] as string]]
        const checks: Check[] = [
          { ...about, token: { kind, scope } },
          { ...about, credentials },
        ]
        return checks.map((check) => ({ check, decision }))
      }),
    ),
  )
}

interface Words {
  readonly allowed: boolean
  readonly reason: string
  readonly digest: string | undefined
  readonly accepted: readonly { readonly kind: string; readonly header: string }[]
}

/** The common words of both versions, whatever their sentences are. */
function wordsOf({ allowed, reason, digest, accepted }: Words): Words {
  return { allowed, reason, digest, accepted: accepted.map(({ kind, header }) => ({ kind, header })) }
}
