/**
 * No change is forgotten: the rows that every kind of change alters are compared with what its records say
 * that it touched. The statements of verification themselves say which columns count.
 */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { constants, DatabaseSync } from 'node:sqlite'
import { describe, expect, test } from 'vitest'
import { ApplicationCredentialChange } from '../../../sidecar/directory/application-credential-records.ts'
import { DirectoryChange } from '../../../sidecar/directory/change.ts'
import type { UserRecord } from '../../../sidecar/directory/directory.ts'
import { FactorChange } from '../../../sidecar/directory/factor-change.ts'
import { readTouched } from '../../../sidecar/directory/feed/touches.ts'
import { PanelChange } from '../../../sidecar/directory/panel-change.ts'
import { openSqlite, type SqliteDatabase } from '../../../sidecar/directory/sqlite.ts'
import { DirectoryStore } from '../../../sidecar/directory/store.ts'
import { DirectoryVerification } from '../../../sidecar/directory/verification.ts'
import { newFolder } from '../../support/suite/resources.ts'
import { methodOf, RECORDED_CHANGES } from '../contract/audit.ts'
import { PASSWORD_HASH } from '../contract/people.ts'

type Row = Readonly<Record<string, unknown>>
type Rows = Readonly<Record<string, readonly Row[]>>

/**
 * The columns that a remembered status depends on, and whose change must touch what. A column that
 * verification reads and that is not here fails the test below.
 */
const TOUCHED_WITH: Readonly<Record<string, (row: Row, accounts: ReadonlyMap<unknown, unknown>) => string>> =
  {
    users: ({ id }) => `user:${id}`,
    accounts: ({ account }) => `account:${account}`,
    address_rules: ({ account_id: id }, accounts) => `account:${accounts.get(id)}`,
    projects: ({ id }) => `project:${id}`,
    account_permissions: ({ user_id: id }) => `user:${id}`,
    project_permissions: ({ user_id: id }) => `user:${id}`,
    revocations: ({ token_id: id }) => `token:${id}`,
    static_tokens: ({ id }) => `token:${id}`,
    // Only a restoration writes it, and its record says nothing: everything counts as touched.
    restorations: () => 'everything',
    // A removal writes it, when every token that it ends has expired.
    revocation_marks: () => 'nothing',
  }

/**
 * Columns that verification reads and that no change alters, or whose change gives no token another status.
 */
const HARMLESS = new Set(['users.name', 'static_tokens.last_used_day', 'static_tokens.created_at_ms'])

const QUERY = {
  tokenId: 'token',
  ancestors: [],
  subjectId: 'user',
  generation: 1,
  changeNumber: 1,
  account: 'here',
  projectId: undefined,
  permissionScopes: ['account', 'projects'],
}

/** Every column that the statements of verification read, by table. */
async function columnsRead(): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const file = join(newFolder(), 'directory.sqlite')
  await openSqlite(file).close()
  const database = new DatabaseSync(file)
  const read = new Map<string, Set<string>>()
  database.setAuthorizer((action, table, column) => {
    if (action === constants.SQLITE_READ && table && column)
      read.set(table, (read.get(table) ?? new Set()).add(column))
    return constants.SQLITE_OK
  })
  const verification = new DirectoryVerification({
    all: (sql: string) => {
      database.prepare(sql.replaceAll(/:(\w+)/g, '?'))
      return []
    },
  } as never)
  verification.iamTokenStatus(QUERY)
  verification.iamTokenStatus({ ...QUERY, ancestors: ['parent'], projectId: 'project' })
  verification.staticToken(Buffer.alloc(32))
  database.close()
  return read
}

test('every table that verification reads has its row', async () => {
  expect([...(await columnsRead()).keys()].toSorted()).toEqual(Object.keys(TOUCHED_WITH).toSorted())
})

/** A directory with something of each kind, and what its changes are made with. */
async function populated() {
  const database = openSqlite(join(newFolder(), 'directory.sqlite'))
  const store = new DirectoryStore(database, () => 1_000)
  const change = <T>(work: (change: DirectoryChange) => Promise<T>) => store.change('a test', work)
  await change(async (made) => {
    await made.createAccount('here')
    await made.createAccount('there')
  })
  const account = (await store.records.account('here')) as NonNullable<
    Awaited<ReturnType<typeof store.records.account>>
  >
  const token = { kind: 'static_token', name: 'used', hash: randomBytes(32), pepper: 'pepper' }
  const made = await change(async (by) => {
    await by.createProject(account, 'alpha')
    await by.createProject(account, 'beta')
    const ids = {
      service: await by.createUser(account, {
        name: 'job',
        type: 'service_user',
        passwordHash: PASSWORD_HASH,
      }),
      person: await by.createUser(account, { name: 'person', type: 'control_panel_user' }),
    }
    const job = { id: ids.service, account: 'here', name: 'job' }
    await by.setPermissions(job, [{ scope: 'account' }, { scope: 'projects', projects: ['alpha'] }])
    const person = { id: ids.person, account: 'here', name: 'person' }
    return { ...ids, token: await by.addStaticToken(person, token) }
  })
  const user = async (id: string) => (await store.records.userById(id)) as UserRecord
  return {
    database,
    store,
    change,
    account,
    alpha: (await store.records.project('here', 'alpha')) as never as Parameters<
      DirectoryChange['deleteProject']
    >[0],
    job: await user(made.service),
    person: await user(made.person),
    staticToken: made.token,
  }
}

type Stage = Awaited<ReturnType<typeof populated>>

type Make = (by: DirectoryChange, stage: Stage) => Promise<unknown>

/** Changes as the test of the audit trail makes them, by their methods. */
const RECORDED = Object.fromEntries(
  Array.from(Map.groupBy(RECORDED_CHANGES, methodOf), ([method, rows]) => [
    method,
    rows.map(
      ([, , , change]): Make =>
        (by, { account, job, person }) =>
          change(by, { account, robot: job, person }),
    ),
  ]),
)

/**
 * Every change that there is, by the method that makes it. Some are made more than once, one after the other.
 */
const CHANGES: Readonly<Record<string, readonly Make[]>> = {
  ...RECORDED,
  setUserEnabled: [false, true].flatMap((on) => [
    (by: DirectoryChange, { job }: Stage) => by.setUserEnabled(job, on),
    (by: DirectoryChange, { person }: Stage) => by.setUserEnabled(person, on),
  ]),
  setOwner: [true, false].map(
    (on) =>
      (by, { person }) =>
        by.setOwner({ ...person, owner: !on }, on),
  ),
  setRoles: [['iam.admin'], []].map(
    (roles) =>
      (by, { job, person }) =>
        by.setRoles(job, roles).then(() => by.setRoles(person, roles)),
  ),
  setPermissions: [
    (by, { job }) => by.setPermissions(job, [{ scope: 'projects', projects: ['beta'] }]),
    (by, { job }) => by.setPermissions(job, []),
    (by, { job }) => by.setPermissions(job, [{ scope: 'account' }]),
  ],
  deleteUser: [(by, { job }) => by.deleteUser(job), (by, { person }) => by.deleteUser(person)],
  raiseLastUsedDays: [(by, { staticToken }) => by.raiseLastUsedDays(new Map([[staticToken, 20_000]]))],
  setAddressRules: [
    (by, { account }) => by.setAddressRules(account, ['10.0.0.0/8', '192.0.2.0/24']),
    (by, { account }) => by.setAddressRules(account, ['10.0.0.0/8']),
    (by, { account }) => by.setAddressRules(account, []),
  ],
  revoke: [(by) => by.revoke('some token', 'here'), (by, { staticToken }) => by.revoke(staticToken, 'here')],
  forgetAudit: [(by) => by.forgetAudit(2, 'a file')],

  addLink: [
    (by, { person }) =>
      new PanelChange(by).addLink(person, {
        hash: Buffer.from('link'),
        purpose: 'invitation',
        endsAtMs: 5_000,
      }),
  ],
  removeLink: [(by) => new PanelChange(by).removeLink(Buffer.from('link'))],
  acceptInvitation: [(by, { person }) => new PanelChange(by).acceptInvitation(person, 'hash')],
  replacePassword: [(by, { person }) => new PanelChange(by).replacePassword(person, 'hash', 'session')],
  rehashPanelPassword: [(by, { person }) => new PanelChange(by).rehashPassword(person, 'hash', 'again')],
  beginSession: [(by, { person }) => new PanelChange(by).beginSession({ ...SESSION, holder: person })],
  touchSession: [(by) => new PanelChange(by).touchSession(SESSION.hash)],
  confirmSession: [(by) => new PanelChange(by).confirmSession(SESSION.hash)],
  endLaterThan: [(by) => new PanelChange(by).endLaterThan(10)],
  logOut: [(by) => new PanelChange(by).logOut({ id: 'session', holder: 'caller' } as never, 'a caller')],
  replaceSession: [(by) => new PanelChange(by).replaceSession({ id: 'session' } as never)],
  endSession: [(by, { person }) => new PanelChange(by).endSession(person, 'session')],
  endSessionsOf: [(by, { person }) => new PanelChange(by).endSessionsOf(person.id, '')],

  setCode: [(by, { person }) => new FactorChange(by).setCode(person, CODE, 1)],
  deleteCode: [(by, { person }) => new FactorChange(by).deleteCode(person)],
  useStep: [(by, { person }) => new FactorChange(by).useStep(person.id, CODE, 2)],
  addPasskey: [
    (by, { person }) => new FactorChange(by).addPasskey(person, { ...PASSKEY, userId: person.id } as never),
  ],
  deletePasskey: [(by, { person }) => new FactorChange(by).deletePasskey(person, PASSKEY.id)],
  usePasskey: [(by) => new FactorChange(by).usePasskey(PASSKEY.id, 1)],
  'add credential': [
    (by, { job, alpha }) =>
      new ApplicationCredentialChange(by).add(job, {
        ...{ name: 'nightly', description: '', projectId: alpha.id, roles: [], secretHash: 'hash' },
        ...{ limited: false, unrestricted: false, expiresAt: undefined },
      }),
  ],
  'delete credential': [
    (by, { job }) =>
      new ApplicationCredentialChange(by).delete({
        ...{ id: '0'.repeat(32), account: 'here', name: 'nightly', userName: job.name },
      } as never),
  ],
  useChallenge: [
    (by) => new FactorChange(by).useChallenge({ hash: Buffer.from('challenge'), endsAtMs: 2_000 }),
  ],
}

const SESSION = {
  ...{
    hash: Buffer.from('session'),
    way: 'password',
    endsAtMs: 9_000,
    address: '127.0.0.1',
    client: 'a browser',
  },
}
const CODE = { userId: '', secret: Buffer.from('secret'), sealedWith: 'pepper', lastStep: 0 }
const PASSKEY = { id: 'passkey', name: 'key', publicKey: Buffer.from('key'), counter: 0, transports: [] }

/** The methods of a class of changes. */
const methodsOf = ({ prototype }: { readonly prototype: object }) =>
  Object.getOwnPropertyNames(prototype).filter((name) => name !== 'constructor')

test('every change that there is has its row', () => {
  const panel = methodsOf(PanelChange).map((name) =>
    name === 'rehashPassword' ? 'rehashPanelPassword' : name,
  )
  const credentials = methodsOf(ApplicationCredentialChange).map((name) => `${name} credential`)
  const methods = [...methodsOf(DirectoryChange), ...panel, ...methodsOf(FactorChange), ...credentials]
  expect(Object.keys(CHANGES).toSorted()).toEqual(methods.toSorted())
})

describe('a change names every row that it alters', () => {
  test.each(Object.entries(CHANGES))('%s', async (_method, each) => {
    const stage = await populated()
    const { database, change } = stage
    const columns = await columnsRead()
    for (const make of each) {
      const before = rowsOf(database, columns)
      const last = Number(database.all('SELECT MAX(sequence) AS last FROM audit')[0]?.last)
      await change((by) => make(by, stage))
      const records = database.all('SELECT touches FROM audit WHERE sequence > :last', { last })
      for (const { touches } of records) expect(readTouched(touches)).toBeDefined()
      const touched = new Set(records.map(({ touches }) => touches))
      const missing = alteredBetween(before, rowsOf(database, columns)).filter(
        // A token of a user or a project is one of its account, too.
        ({ touch, account }) => !touched.has(touch) && !touched.has(`account:${account}`),
      )
      expect(missing).toEqual([])
    }
    await stage.store.close()
  })
})

function rowsOf(database: SqliteDatabase, columns: ReadonlyMap<string, ReadonlySet<string>>): Rows {
  return Object.fromEntries(
    [...columns].map(([table, read]) => {
      const names = [...read].filter((column) => !HARMLESS.has(`${table}.${column}`))
      const all = [...new Set([...(KEYS[table] ?? []), ...names])]
      return [table, database.all(`SELECT ${all.join(', ')} FROM ${table}`)]
    }),
  )
}

/** Columns that say whose row it is, whether verification reads them or not. */
const KEYS: Readonly<Record<string, readonly string[]>> = {
  ...{ users: ['id', 'account_id'], projects: ['id', 'account_id'], accounts: ['id'], static_tokens: ['id'] },
}

/**
 * The rows that a change must name: those that have other values than before. No client has asked about a new
 * record.
 */
function alteredBetween(before: Rows, after: Rows): { touch: string; account: unknown }[] {
  const accounts = new Map(before.accounts?.map(({ id, account }) => [id, account]))
  const altered: { touch: string; account: unknown }[] = []
  for (const [table, rows] of Object.entries(after)) {
    const touch = TOUCHED_WITH[table]
    const was = new Map((before[table] ?? []).map((row) => [JSON.stringify(row), row]))
    const is = new Map(rows.map((row) => [JSON.stringify(row), row]))
    const different = [
      ...[...was].filter(([text]) => !is.has(text)),
      ...[...is].filter(([text]) => !was.has(text)),
    ].map(([, row]) => row)
    const isNew = ({ id }: Row) => id !== undefined && before[table]?.every((row) => row.id !== id)
    for (const row of different)
      if (touch !== undefined && !isNew(row))
        altered.push({ touch: touch(row, accounts), account: accounts.get(row.account_id) })
  }
  return altered
}
