/**
 * Local mode of the TypeScript client before a real sidecar: its answers without a question, which never
 * allow what the sidecar no longer allows.
 */
import { createServer } from 'node:http'
import { join } from 'node:path'
import { Server, ServerCredentials } from '@grpc/grpc-js'
import { describe, expect, test } from 'vitest'
import type { CheckAnswer } from '../../clients/typescript/index.ts'
import { LocalMode } from '../../clients/typescript/local-mode.ts'
import { requireToken } from '../../clients/typescript/node.ts'
import * as wire from '../../proto/gen/portcullis/v1/authorization.ts'
import { Reason } from '../../proto/gen/portcullis/v1/decision.ts'
import { ROOT } from '../support/checkout/sources.ts'
import { ENGINES, rulesOf } from '../support/conformance/rules.ts'
import { startProcess } from '../support/processes/processes.ts'
import { TESTER } from '../support/sidecar/actor.ts'
import { connect } from '../support/sidecar/client.ts'
import {
  ACCOUNT,
  issued,
  OTHER_ACCOUNT,
  PEOPLE,
  populate,
  type RunningSidecar,
  runSidecar,
  SERVICE_USERS,
} from '../support/sidecar/sidecar.ts'
import { eventually, freePort, newFile, newFolder, whenTheFileEnds } from '../support/suite/resources.ts'

const FOLLOWER = 'follower-caller-token-0123456789abcdef'
const READER = 'reader-caller-token-0123456789abcdef'
const config = newFile(
  JSON.stringify({
    callers: [
      { name: 'service', token_file: newFile(FOLLOWER), rights: ['follow'] },
      { name: 'reader', token_file: newFile(READER), rights: ['read'] },
    ],
  }),
  'portcullis.json',
)

const running = await runSidecar({ config })
const [first, ...others] = PEOPLE.accounts
const temporary = ['is revoked', 'loses its holder'].map((name) => ({
  name,
  permissions: [{ scope: 'account' as const }],
}))
const secrets = await populate(running, {
  accounts: [
    { ...(first as (typeof PEOPLE.accounts)[number]), service_users: [...SERVICE_USERS, ...temporary] },
    ...others,
  ],
})

const local = (at: RunningSidecar = running, more: object = {}) =>
  at.connect({ callerToken: FOLLOWER, local: true, ...more })
const question = (value: string, api = 'iam') => ({ api, credentials: { 'X-Auth-Token': value } })

/** Asks until the answer is remembered: the stream may not have begun yet. */
async function known(client: ReturnType<typeof connect>, value: string): Promise<CheckAnswer> {
  return eventually(async () => {
    await client.check(question(value))
    return client.checkLocally(question(value))
  })
}

describe('a token that the sidecar has verified', () => {
  test('opens what it opens, without a further question', async () => {
    const client = local()
    const { value, tokenId } = await issued(running, secrets)
    const asked = await client.check(question(value))
    const answer = await known(client, value)
    expect(answer).toEqual({ ...asked, advice: [], conflicts: [], cacheForMs: 0 })
    expect(answer.token?.tokenId).toBe(tokenId)
    for (const [target, reason] of [
      [{ account: ACCOUNT }, 'ALLOWED'],
      [{ account: OTHER_ACCOUNT }, 'ACCOUNT_MISMATCH'],
      // An empty project counts as no project, as in the sidecar.
      [{ account: ACCOUNT, project: '' }, 'ALLOWED'],
    ] as const) {
      const about = { ...question(value), target }
      expect(await client.check(about)).toMatchObject({ reason })
      expect(client.checkLocally(about)).toMatchObject({ reason, allowed: reason === 'ALLOWED' })
    }
  })

  test.each<[how: string, end: (value: string, user: string) => Promise<unknown>]>([
    ['is revoked', (value) => running.client.revoke({ value })],
    [
      'loses its holder',
      (_value, user) =>
        running.sidecar.run(TESTER, 'updateServiceUser', { account: ACCOUNT, name: user, enabled: false }),
    ],
  ])('is denied after it %s', async (how, end) => {
    const client = local()
    const { value } = await issued(running, secrets, { user: how })
    await known(client, value)
    await end(value, how)
    await eventually(() => client.checkLocally(question(value))?.allowed !== true)
    expect(await client.check(question(value))).toMatchObject({ reason: 'CREDENTIAL_REVOKED' })
    expect(client.checkLocally(question(value))).toMatchObject({
      allowed: false,
      reason: 'CREDENTIAL_REVOKED',
    })
  })

  test('gets an answer that no program changes for others', async () => {
    const client = local()
    const { value } = await issued(running, secrets)
    await known(client, value)
    const denied = { ...question(value), target: { account: OTHER_ACCOUNT } }
    await client.check(denied)
    for (const about of [question(value), denied]) {
      const ask = () =>
        client.checkLocally(about) as { -readonly [Key in keyof CheckAnswer]: CheckAnswer[Key] }
      const [changed, same, before] = [ask(), ask(), structuredClone(ask())]
      const { token, accepted, conflicts, advice } = changed
      token?.expiresAt?.setTime(0)
      token?.issuedAt?.setTime(0)
      const shared = [token?.scope, token?.subject, token?.roles, accepted, accepted[0], conflicts, advice]
      for (const part of shared) expect(Object.isFrozen(part)).toBe(true)
      Object.assign(token as object, { tokenId: '', kind: '' })
      Object.assign(changed, { allowed: !changed.allowed, reason: '', message: '', token: undefined })
      expect([same, ask()]).toEqual([before, before])
    }
  })

  test('is asked about once, however many callers want to know', async () => {
    let asked = 0
    const { mode, response } = follower()
    const ask = async () => {
      asked++
      await new Promise(setImmediate)
      return response
    }
    const api = 'reports'
    const about = { api, credentials: { 'X-Token': 'one' } }
    await eventually(() => mode.recall({ api, token: { kind: 'static_token', scope: { account: '1' } } }))
    const answers = await Promise.all(Array.from({ length: 50 }, () => mode.answer(about, ask)))
    expect([asked, answers.every(({ allowed }) => allowed)]).toEqual([1, true])
  })
})

test('a middleware lets a known token pass without asking, and denies it after its end', async () => {
  const client = local()
  const gate = requireToken('iam', { client })
  const server = createServer((request, response) => gate(request, response, () => response.end('served')))
  const port = await freePort()
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  whenTheFileEnds(() => void server.close())
  const { value } = await issued(running, secrets)
  const ask = async () =>
    (await fetch(`http://127.0.0.1:${port}/`, { headers: { 'X-Auth-Token': value } })).status
  expect(await ask()).toBe(200)
  const about = { ...question(value), clientAddress: '127.0.0.1' }
  await eventually(async () => (await ask()) === 200 && client.checkLocally(about))
  await running.client.revoke({ value })
  await eventually(async () => (await ask()) === 401)
})

test('while the sidecar is gone nothing is known after its promise, and it goes on when it is back', async () => {
  const folder = join(newFolder(), 'data')
  const port = await freePort()
  const flags = { 'grpc.address': `127.0.0.1:${port}`, 'directory.staleness_ms': 500 }
  const earlier = await runSidecar({ config, folder, flags })
  const people = await populate(earlier)
  const { value } = await issued(earlier, people)
  const client = local(earlier)
  await known(client, value)
  await earlier.sidecar.close()
  await eventually(() => client.checkLocally(question(value)) === undefined)
  await expect(client.check(question(value))).rejects.toMatchObject({ code: 'UNAVAILABLE' })
  await runSidecar({ config, folder, flags })
  await eventually(async () => {
    await client.check(question(value)).catch(() => {})
    return client.checkLocally(question(value))
  })
})

describe('a sidecar that cannot be followed is asked each time, which is said once', () => {
  test('because the caller lacks the right', async () => {
    const failures: Error[] = []
    const client = running.connect({
      callerToken: READER,
      local: { onFailure: (error) => void failures.push(error) },
    })
    const { value } = await issued(running, secrets)
    await eventually(() => failures.length > 0)
    expect(await client.check(question(value))).toMatchObject({ allowed: true })
    expect(client.checkLocally(question(value))).toBeUndefined()
    expect(failures).toMatchObject([{ code: 'PERMISSION_DENIED', reason: 'CALLER_RIGHT_MISSING' }])
  })

  test('because it is older', async () => {
    const server = new Server()
    const { watchChanges: _, ...older } = wire.AuthorizationServiceService
    const response = { ...follower().response, position: undefined }
    server.addService(older, {
      check: (_call: unknown, answer: (error: null, response: wire.CheckResponse) => void) =>
        answer(null, response),
    })
    const port = await new Promise<number>((resolve, reject) =>
      server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
        error ? reject(error) : resolve(bound),
      ),
    )
    whenTheFileEnds(() => server.forceShutdown())
    const failures: Error[] = []
    const client = connect(`127.0.0.1:${port}`, {
      local: { onFailure: (error) => void failures.push(error) },
    })
    whenTheFileEnds(() => client.close())
    await eventually(() => failures.length > 0)
    for (let count = 2; count > 0; count--)
      expect(await client.check(question('one'))).toMatchObject({ allowed: true, cacheForMs: 0 })
    expect(failures).toMatchObject([{ code: 'UNIMPLEMENTED' }])
  })
})

describe('a question to a sidecar that does not answer', () => {
  /** A client that follows, whose questions are counted and get no answer. */
  async function unanswered(options: object) {
    const { told } = follower()
    const server = new Server()
    const asked: unknown[] = []
    const { watchChanges, check } = wire.AuthorizationServiceService
    server.addService(
      { watchChanges, check },
      {
        watchChanges: (call: { write: (told: unknown) => void }) => call.write(told),
        check: (call: unknown) => void asked.push(call),
      },
    )
    const port = await new Promise<number>((resolve, reject) =>
      server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
        error ? reject(error) : resolve(bound),
      ),
    )
    whenTheFileEnds(() => server.forceShutdown())
    const client = connect(`127.0.0.1:${port}`, { local: true, ...options })
    whenTheFileEnds(() => client.close())
    const claims = { api: 'iam', token: { kind: 'iam_token_account_scoped', scope: { account: '1' } } }
    await eventually(() => client.checkLocally(claims))
    return { client, asked }
  }

  test('ends by the deadline of its caller, also for a caller that waits for the question of another', async () => {
    const { client, asked } = await unanswered({ deadlineMs: 500 })
    const ended: string[] = []
    const ask = (name: string, value: string) =>
      client
        .check(question(value))
        .catch(({ code }: { readonly code: string }) => ended.push(`${name} ${code}`))
    const answers = [ask('first', 'one'), ask('waiting', 'one')]
    await eventually(() => asked.length > 0)
    // One that asks later has its own deadline after that.
    await Promise.all([...answers, ask('later', 'other')])
    expect(ended.at(-1)).toBe('later DEADLINE_EXCEEDED')
    expect(ended.toSorted()).toEqual(['first', 'later', 'waiting'].map((name) => `${name} DEADLINE_EXCEEDED`))
  })

  test('ends by the signal of its caller', async () => {
    const { client, asked } = await unanswered({ deadlineMs: 1_000_000 })
    for (const isFirst of [true, false]) {
      const leaving = new AbortController()
      const answer = client.check(question('one'), { signal: leaving.signal })
      await eventually(() => asked.length > 0)
      leaving.abort()
      await expect(answer, `first: ${isFirst}`).rejects.toMatchObject({ code: 'CANCELLED' })
    }
  })
})

test.each(['issuedAt', 'expiresAt'])(
  'an answer whose %s is not a time is a PortcullisError',
  async (field) => {
    const { mode, response } = follower()
    const token = { ...response.token, [field]: new Date(Number.NaN) } as wire.VerifiedToken
    const asked = { api: 'iam', credentials: [['X-Token', 'one']] as [string, string][] }
    const answer = mode.answer(asked, async () => ({ ...response, token }))
    await expect(answer).rejects.toMatchObject({ name: 'PortcullisError', code: 'INTERNAL' })
    expect(mode.recall(asked)).toBeUndefined()
  },
)

test.each<[what: string, check: object, said: string]>([
  ['no subject', { api: 'iam' }, 'credentials: expected request headers'],
  ['an API that is not a text', { api: 7, credentials: {} }, 'api: expected a string'],
  [
    'a target without an account',
    { api: 'iam', credentials: {}, target: {} },
    'target.account: expected a string',
  ],
  ['invalid headers', { api: 'iam', credentials: null }, 'credentials: expected a Headers'],
])('a question with %s is refused with a TypeError', async (_what, check, said) => {
  await expect(local().check(check as never)).rejects.toThrow(said)
})

/** Local mode with a sidecar that has the shipped rules, and its answer about a token. */
function follower() {
  const rules = wire.Rules.decode(rulesOf(ENGINES.shipped as never))
  const position = { change: 1, recordedAt: new Date(1), basis: 'keys' }
  const told: wire.WatchChangesResponse = {
    ...{ position, rules, rulesPart: undefined, timeOfDay: new Date() },
    voided: { everything: true, tokenIds: [], userIds: [], accounts: [], projectIds: [] },
    ...{ validFor: { seconds: 60, nanos: 0 }, sentAt: { seconds: 1, nanos: 0 } },
  }
  async function* open(begin: () => unknown, signal: AbortSignal) {
    begin()
    yield told
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
  }
  const mode = new LocalMode(open, {})
  whenTheFileEnds(() => mode.close())
  const response: wire.CheckResponse = {
    ...{ allowed: true, reason: Reason.REASON_ALLOWED, message: '', header: 'X-Token', scheme: '' },
    ...{
      accepted: [],
      conflicts: [],
      advice: [],
      digest: '',
      strict: false,
      verified: true,
      cacheFor: undefined,
      position,
      route: undefined,
    },
    rulesDigest: rules.matrix?.rulesDigest ?? '',
    token: {
      ...{
        kind: 'static_token',
        scope: { account: '1', project: '' },
        tokenId: 't',
        roles: [],
        authority: '',
      },
      ...{
        subject: { id: 'u', name: '', type: '' },
        issuedAt: undefined,
        expiresAt: undefined,
        projectId: '',
      },
      derivedFrom: [],
    },
  }
  return { mode, response, told }
}

test('a client that is not closed does not keep its program alive', async () => {
  const { value } = await issued(running, secrets)
  const program = `
    import { connect } from ${JSON.stringify(join(ROOT, 'test/support/sidecar/client.ts'))}
    const options = { callerToken: '${FOLLOWER}', local: true }
    const client = connect(${JSON.stringify(running.address)}, options)
    const question = (value) => ({ api: 'iam', credentials: { 'X-Auth-Token': value } })
    do await client.check(question(process.env.TOKEN))
    while (client.checkLocally(question(process.env.TOKEN)) === undefined)
    // A call does, to its end.
    console.log((await client.check(question('unknown'))).reason)
  `
  const command = [process.execPath, '--input-type=module', '--eval', program]
  const { code, stdout, stderr } = await startProcess(command, { environment: { TOKEN: value } }).ended
  expect([code, stdout], stderr).toEqual([0, 'CREDENTIAL_INVALID\n'])
})

test('the calls of a client that is closed end, while those of another one on the same connection go on', async () => {
  const [closing, other] = [running.connect(), running.connect()]
  const asked = async function* () {
    yield { api: 'balance', token: { kind: 'static_token', scope: { account: '1' } } } as const
    await new Promise(() => {})
  }
  const streams = [closing.watchMatrix(), closing.checkStream(asked()), other.checkStream(asked())] as const
  for (const stream of streams) await stream.next()
  const ends = streams.map((stream) => stream.next())
  const [watch, checks, others] = ends
  let ended = false
  const end = () => {
    ended = true
  }
  others?.then(end, end)
  closing.close()
  for (const each of [watch, checks])
    await expect(each).rejects.toMatchObject({ name: 'PortcullisError', code: 'CANCELLED' })
  expect(await other.plan(['iam'])).toBeDefined()
  expect(ended).toBe(false)
  other.close()
})

test('a client that was closed answers nothing, not even from memory', async () => {
  const { value } = await issued(running, secrets)
  for (const client of [local(), running.connect()]) {
    if (client.checkLocally(question(value)) === undefined) await client.check(question(value))
    client.close()
    expect(client.checkLocally(question(value))).toBeUndefined()
    const calls = {
      check: () => client.check(question(value)),
      checkBatch: () => client.checkBatch([question(value)]),
      checkStream: () => client.checkStream([question(value)]).next(),
      watchMatrix: () => client.watchMatrix().next(),
      plan: () => client.plan(['iam']),
      directory: () => client.directory.listAccounts({}),
    }
    for (const [name, call] of Object.entries(calls))
      await expect(call(), name).rejects.toMatchObject({
        name: 'PortcullisError',
        code: 'CANCELLED',
        message: 'the client is closed',
      })
  }
})
