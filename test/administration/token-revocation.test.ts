/** Who may revoke a token by its value: over gRPC and at the identity endpoint. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { compile } from '../../engine/index.ts'
import { supportMatrix } from '../../matrix/index.ts'
import { applyFile } from '../../sidecar/authority/administration/directory-file.ts'
import { Secret } from '../../sidecar/base/secret.ts'
import type { DirectoryStore } from '../../sidecar/directory/store.ts'
import { run } from '../../sidecar/usecases/administration/run.ts'
import { Callers } from '../../sidecar/usecases/callers.ts'
import type { IdentitySettings } from '../../sidecar/usecases/identity/identity-token.ts'
import { revokeSubject } from '../../sidecar/usecases/identity/subject.ts'
import { revoke } from '../../sidecar/usecases/revoke.ts'
import { openAuthority } from '../support/directory/scene.ts'
import { TESTER } from '../support/sidecar/actor.ts'
import { runSidecar } from '../support/sidecar/sidecar.ts'
import { newFile, newFolder, whenTheFileEnds } from '../support/suite/resources.ts'

const JOB_TOKEN = 'job-caller-token-0123456789abcdef'
const running = await runSidecar({
  config: newFile(`callers: [{ name: job, token_file: ${newFile(JOB_TOKEN)} }]\n`, 'portcullis.yaml'),
})
const operatorToken = readFileSync(join(running.folder, 'administrator-token'), 'utf8').trim()
let accounts = 0

/** Two accounts with people, the IAM token and the static token of each of them. */
async function newPeople({ administration } = running.sidecar) {
  const tokens = new Map<
    string,
    { readonly iam: string; readonly project: string; readonly static: string }
  >()
  const account = `account-${++accounts}`
  const other = `account-${++accounts}`
  const { secrets } = await applyFile(administration, TESTER, {
    accounts: [account, other].map((each) => ({
      account: each,
      projects: ['alpha'],
      control_panel_users: [
        { name: 'owner', owner: true, static_tokens: ['key'] },
        { name: 'admin', roles: ['iam.admin'], static_tokens: ['key'] },
        { name: 'member', static_tokens: ['key'] },
        { name: 'another member', static_tokens: ['key'] },
      ],
    })),
  })
  for (const secret of secrets) {
    const of = async (project?: string) => {
      const request = { account: secret.account, name: secret.user, project }
      const { value } = await run(administration, TESTER, 'reissueControlPanelUserToken', request)
      return value.reveal()
    }
    const name = secret.account === account ? secret.user : `${secret.user} of another account`
    tokens.set(name, { iam: await of(), project: await of('alpha'), static: secret.value.reveal() })
  }
  const of = (name: string) => {
    const found = tokens.get(name)
    if (found === undefined) throw new Error(`there is no ${name}`)
    return found
  }
  return { account, of }
}

const isRevoked = async (value: string) => {
  const header = value.startsWith('eyJ') ? 'X-Auth-Token' : 'X-Token'
  const { reason } = await running.client.check({ api: 'balance', credentials: [[header, value]] })
  return reason === 'CREDENTIAL_REVOKED'
}

const UNAUTHENTICATED = { code: 'UNAUTHENTICATED', reason: 'REQUESTER_NOT_AUTHENTICATED' }
const refused = (reason: string) => ({ code: 'PERMISSION_DENIED', reason })

type People = Awaited<ReturnType<typeof newPeople>>
type Credentials = { readonly iamToken?: string; readonly callerToken?: string }

/** The credentials of a requester, whose token they want to revoke, and the refusal; none: it is revoked. */
const ROWS: readonly [
  requester: string,
  credentials: (people: People) => Credentials,
  holder: 'member' | 'owner',
  refusal?: { readonly code: string; readonly reason: string },
][] = [
  ['an unknown requester', () => ({}), 'member', UNAUTHENTICATED],
  ['the holder', ({ of }) => ({ iamToken: of('member').iam }), 'member'],
  ['the holder with a project-scoped token', ({ of }) => ({ iamToken: of('member').project }), 'member'],
  ['the holder who is an owner', ({ of }) => ({ iamToken: of('owner').iam }), 'owner'],
  [
    'the holder with the static token alone',
    ({ of }) => ({ iamToken: of('member').static }),
    'member',
    UNAUTHENTICATED,
  ],
  [
    'another member',
    ({ of }) => ({ iamToken: of('another member').iam }),
    'member',
    refused('NOT_HOLDER_NOR_ADMINISTRATOR'),
  ],
  ['an iam.admin', ({ of }) => ({ iamToken: of('admin').iam }), 'member'],
  [
    'an iam.admin with a project-scoped token',
    ({ of }) => ({ iamToken: of('admin').project }),
    'member',
    refused('ACCOUNT_SCOPE_REQUIRED'),
  ],
  [
    'an iam.admin against an owner',
    ({ of }) => ({ iamToken: of('admin').iam }),
    'owner',
    refused('NOT_OWNER'),
  ],
  [
    'an iam.admin of another account',
    ({ of }) => ({ iamToken: of('admin of another account').iam }),
    'member',
    refused('NOT_HOLDER_NOR_ADMINISTRATOR'),
  ],
  ['an owner', ({ of }) => ({ iamToken: of('owner').iam }), 'member'],
  [
    'an owner of another account',
    ({ of }) => ({ iamToken: of('owner of another account').iam }),
    'owner',
    refused('NOT_HOLDER_NOR_ADMINISTRATOR'),
  ],
  [
    'a caller without the right',
    () => ({ callerToken: JOB_TOKEN }),
    'member',
    refused('CALLER_RIGHT_MISSING'),
  ],
  [
    'an unknown caller',
    () => ({ callerToken: `${JOB_TOKEN}0` }),
    'member',
    { code: 'UNAUTHENTICATED', reason: 'CALLER_TOKEN_INVALID' },
  ],
  ['an operator', () => ({ callerToken: operatorToken }), 'owner'],
]

test.each(ROWS)(
  'a static token is revoked by its value by %s as it should be',
  async (_requester, credentials, holder, refusal) => {
    const people = await newPeople()
    const { static: value } = people.of(holder)
    const revoking = running.connect(credentials(people)).revoke({ value })
    if (refusal === undefined) await revoking
    else await expect(revoking).rejects.toMatchObject(refusal)
    expect(await isRevoked(value)).toBe(refusal === undefined)
    const trail = await running.sidecar.administration.records.audit(people.account, {
      after: '0',
      size: 1000,
    })
    const revocations = trail.filter(
      ({ action, actor }) => action === 'token.revoke' && actor !== TESTER.name,
    )
    expect(revocations).toHaveLength(refusal === undefined ? 1 : 0)
  },
)

test('a finder of a static token does not learn from a revocation whether it is valid', async () => {
  const { of } = await newPeople()
  const { static: value } = of('member')
  const wrong = `${value.slice(0, -1)}${value.endsWith('0') ? '1' : '0'}`
  for (const each of [value, wrong])
    await expect(running.client.revoke({ value: each })).rejects.toMatchObject(UNAUTHENTICATED)
})

test('an IAM token is the credential of its own revocation', async () => {
  const { of } = await newPeople()
  const { iam } = of('member')
  await running.client.revoke({ value: iam })
  expect(await isRevoked(iam)).toBe(true)
})

test('a credential that was presented counts, even where the token would be its own', async () => {
  const { of } = await newPeople()
  const { iam } = of('member')
  for (const credentials of [{ iamToken: of('another member').iam }, { callerToken: JOB_TOKEN }])
    await expect(running.connect(credentials).revoke({ value: iam })).rejects.toMatchObject({
      code: 'PERMISSION_DENIED',
    })
  expect(await isRevoked(iam)).toBe(false)
})

describe('the right to revoke is looked at again inside the change', async () => {
  const opened = await openAuthority(join(newFolder(), 'data'))
  whenTheFileEnds(() => opened.close())
  const { administration } = opened
  const engine = compile(supportMatrix)

  /** Services whose directory lets something happen before the transaction of a revocation begins. */
  const services = (meanwhile: () => Promise<unknown>) => {
    const { authority } = opened
    const directory: DirectoryStore = Object.create(administration.directory, {
      change: {
        value: async (...given: Parameters<DirectoryStore['change']>) => {
          await meanwhile()
          return administration.directory.change(...given)
        },
      },
    })
    const upstreams = { revoke: () => Promise.reject(new Error('no upstream was to be asked')) }
    const callers = new Callers([])
    return {
      engine,
      administration: { ...administration, directory },
      authority,
      verifier: authority,
      upstreams,
      callers,
      now: Date.now,
      settings: SETTINGS,
    }
  }

  const SETTINGS: IdentitySettings = {
    roles: { account: [], projects: [], byRole: new Map() },
    unscopedLogin: false,
    tokenMethod: 'off',
    applicationCredentials: false,
  }

  const ASKED = {
    'over gRPC': (meanwhile: () => Promise<unknown>, iam: string, subject: string) =>
      revoke(
        services(meanwhile),
        { type: 'value', value: new Secret(subject) },
        {
          authorization: [],
          iamToken: [iam],
          certificateNames: [],
          clientAddress: '127.0.0.1',
          connection: {},
          from: { protocol: 'grpc', address: '127.0.0.1' },
        },
      ),
    'at the identity endpoint': (meanwhile: () => Promise<unknown>, iam: string, subject: string) =>
      revokeSubject(services(meanwhile), {
        headers: [['x-auth-token', [iam]]],
        clientAddress: '127.0.0.1',
        connection: {},
        subject,
        acceptExpired: false,
      }),
  }

  const LOSSES: readonly [
    claim: string,
    lose: (account: string) => Promise<unknown>,
    reason: string,
    /** Whether the token is active afterwards. Its holder's promotion ends it. */
    stays: boolean,
  ][] = [
    [
      'is deleted',
      (account) => run(administration, TESTER, 'deleteControlPanelUser', { account, name: 'admin' }),
      'REQUESTER_NOT_AUTHENTICATED',
      true,
    ],
    [
      'loses the role',
      (account) =>
        run(administration, TESTER, 'updateControlPanelUser', { account, name: 'admin', roles: [] }),
      'NOT_HOLDER_NOR_ADMINISTRATOR',
      true,
    ],
    [
      'sees the holder become an owner',
      (account) =>
        run(administration, TESTER, 'updateControlPanelUser', { account, name: 'member', owner: true }),
      'NOT_OWNER',
      false,
    ],
  ]

  describe.each(Object.keys(ASKED) as (keyof typeof ASKED)[])('%s', (where) => {
    test.each(LOSSES)(
      'an iam.admin who %s meanwhile revokes nothing',
      async (_claim, lose, reason, stays) => {
        const { account, of } = await newPeople(opened as never)
        const { iam } = of('member')
        const asking = ASKED[where](() => lose(account), of('admin').iam, iam)
        await expect(asking).rejects.toMatchObject({ reason })
        expect((await opened.authority.verify(iam, engine.tokenKinds)).ok).toBe(stays)
        const trail = await administration.records.audit(account, { after: '0', size: 1000 })
        expect(trail.filter(({ action }) => action === 'token.revoke')).toEqual([])
      },
    )

    test('an iam.admin who loses nothing revokes', async () => {
      const { of } = await newPeople(opened as never)
      const { iam } = of('member')
      await ASKED[where](async () => {}, of('admin').iam, iam)
      expect((await opened.authority.verify(iam, engine.tokenKinds)).ok).toBe(false)
    })

    test('an iam.admin does not revoke the token of an owner', async () => {
      const { of } = await newPeople(opened as never)
      const { iam } = of('owner')
      const asking = ASKED[where](async () => {}, of('admin').iam, iam)
      await expect(asking).rejects.toMatchObject({ reason: 'NOT_OWNER' })
      expect((await opened.authority.verify(iam, engine.tokenKinds)).ok).toBe(true)
    })
  })
})
