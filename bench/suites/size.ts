/** The cost of operations of the directory with very many rows, against the same with few. */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { DIRECTORY_FILE } from '../../sidecar/base/data-folder.ts'
import type { AccountRecord, TokenStatus } from '../../sidecar/directory/directory.ts'
import { openSqlite } from '../../sidecar/directory/sqlite.ts'
import { DirectoryStore } from '../../sidecar/directory/store.ts'
import { interleave } from '../harness/compare.ts'
import { comparedRow } from '../harness/rows.ts'
import type { Row, Size, Suite, SuiteReport } from '../harness/suite.ts'
import { temporaryFolder } from '../harness/temporary.ts'

export const sizeSuite: Suite = { name: 'size', run }

interface Effort {
  readonly few: number
  readonly many: number
  readonly rounds: number
  /** Operations a sample. */
  readonly calls: number
}

const SIZES: Record<Size, Effort> = {
  full: { few: 1_000, many: 100_000, rounds: 15, calls: 100 },
  smoke: { few: 10, many: 30, rounds: 1, calls: 1 },
}

const METHOD =
  'Processor time of the process for an operation of the store on SQLite. The directories have one account with so many service users, each with a permission, a project, a revoked token and the records of the audit trail; one control panel user in ten has ten static tokens. Both take turns.'

/** In one change. */
const AT_ONCE = 1_000

const KEYS = 10
const PAGE = { after: '', size: 100 }

interface Directory {
  readonly store: DirectoryStore
  readonly account: AccountRecord
  /** A control panel user with static tokens, and a service user. */
  readonly holder: string
  readonly robot: string
}

type Operation = (directory: Directory, turn: number) => unknown

const CHECK: Operation = ({ store, account, robot }, turn) =>
  store.verification.iamTokenStatus({
    ...{ tokenId: `token-${turn}`, ancestors: [], subjectId: robot, generation: 1 },
    ...{ changeNumber: Number.MAX_SAFE_INTEGER, account: account.account, projectId: undefined },
    permissionScopes: ['account'],
  })

const LIST: Operation = ({ store, holder }) => store.records.staticTokens(holder, PAGE)

/** By the id of its row. */
const OPERATIONS: Readonly<Record<string, readonly [what: string, operation: Operation]>> = {
  check: ['check of a token that is not remembered', CHECK],
  login: [
    'login of a service user, without its password',
    async ({ store, account, robot }) => {
      await store.verification.serviceUser(account.account, 'robot-0')
      await store.verification.permits(robot, account.account, 'project-0', ['account'])
    },
  ],
  'static-tokens': [`a list of ${KEYS} static tokens of a user`, LIST],
  users: [
    'the first page of service users',
    ({ store, account }) => store.records.users(account.account, 'service_user', PAGE),
  ],
  audit: [
    'the newest page of the audit trail',
    ({ store, account }) =>
      store.records.auditPage({ account: account.account, newestFirst: true, size: 100 }),
  ],
  'create-user': [
    'a new user',
    ({ store, account }) =>
      store.change('a benchmark', (change) =>
        change.createUser(account, { name: randomBytes(8).toString('hex'), type: 'control_panel_user' }),
      ),
  ],
  revoke: [
    'a revocation by an unknown id',
    ({ store }) => store.change('a benchmark', (change) => change.revoke(randomBytes(8).toString('hex'), '')),
  ],
  'disable-account': [
    'an account with all users is disabled, and enabled again',
    ({ store, account }) =>
      store.change('a benchmark', async (change) => {
        for (const enabled of [false, true]) await change.setAccountEnabled(account, enabled)
      }),
  ],
  'delete-account': [
    'an account with all users is deleted; the change is taken back',
    ({ store, account }) =>
      store
        .change('a benchmark', async (change) => {
          await change.deleteAccount(account)
          throw new TakenBack()
        })
        .catch((error: unknown) => {
          if (!(error instanceof TakenBack)) throw error
        }),
  ],
}

class TakenBack extends Error {}

async function run(size: Size): Promise<SuiteReport> {
  await using stack = new AsyncDisposableStack()
  const { few, many, rounds, calls } = SIZES[size]
  const directories = { many: await filled(stack, many), few: await filled(stack, few) }
  const rows: Row[] = []
  for (const [id, [what, operation]] of Object.entries(OPERATIONS)) {
    const side = (directory: Directory) => async () => {
      const before = process.cpuUsage()
      for (let turn = 0; turn < calls; turn++) await operation(directory, turn)
      const { user, system } = process.cpuUsage(before)
      return (user + system) / calls
    }
    for (const directory of Object.values(directories)) await side(directory)()
    const samples = await interleave({ many: side(directories.many), few: side(directories.few) }, rounds)
    const named = (users: number) => `${users.toLocaleString('en')} users`
    rows.push(
      comparedRow(
        { id, what, method: METHOD },
        'µs CPU',
        { name: named(many), samples: samples.many },
        { name: named(few), samples: samples.few },
      ),
    )
  }
  return { rows, skipped: [], answersChecked: await checkAnswers(Object.values(directories)) }
}

/** @throws Error unless the token is active and the keys are there. @returns how many answers that were */
async function checkAnswers(directories: readonly Directory[]): Promise<number> {
  for (const directory of directories) {
    const { active } = (await CHECK(directory, 0)) as TokenStatus
    const keys = (await LIST(directory, 0)) as readonly unknown[]
    if (!active || keys.length !== KEYS)
      throw new Error(
        `expected an active token and ${KEYS} static tokens, found ${active} and ${keys.length}`,
      )
  }
  return 2 * directories.length
}

async function filled(stack: AsyncDisposableStack, users: number): Promise<Directory> {
  const file = join(temporaryFolder(stack), DIRECTORY_FILE)
  const store = new DirectoryStore(openSqlite(file), Date.now)
  stack.defer(() => store.close())
  await store.change('a benchmark', (change) => change.createAccount('bench'))
  const account = (await store.records.account('bench')) as AccountRecord
  const made = { holder: '', robot: '' }
  for (let begun = 0; begun < users; begun += AT_ONCE)
    await store.change('a benchmark', async (change) => {
      for (let n = begun; n < Math.min(begun + AT_ONCE, users); n++) {
        const name = `robot-${n}`
        const robot = { name, type: 'service_user', passwordHash: 'there are no logins' } as const
        const id = await change.createUser(account, robot)
        await change.setPermissions({ id, account: account.account, name }, [{ scope: 'account' }])
        await change.createProject(account, `project-${n}`)
        await change.revoke(`revoked-${n}`, account.account)
        if (n % 10 === 0) made.holder = await holderOf(n)
        made.robot ||= id
      }

      async function holderOf(n: number): Promise<string> {
        const user = { name: `person-${n}`, account: account.account }
        const id = await change.createUser(account, { name: user.name, type: 'control_panel_user' })
        for (let key = 0; key < KEYS; key++)
          await change.addStaticToken(
            { ...user, id },
            { kind: 'static_token', name: `key-${key}`, hash: randomBytes(32), pepper: 'aa' },
          )
        return id
      }
    })
  return { store, account, ...made }
}
