/** A directory with very many rows, made by the changes of the product. */
import { randomBytes } from 'node:crypto'
import type { AccountRecord } from '../../../sidecar/directory/directory.ts'
import type { DirectoryStore } from '../../../sidecar/directory/store.ts'

/** Users that one change creates. */
const AT_ONCE = 10_000

/** Static tokens of a control panel user. */
export const KEYS = 10

/** Rows of all tables for each service user, with what comes with it. */
export const ROWS_OF_A_USER = 10

/** Names the content of such a directory, for a method. */
export const FILLED_WITH = `one account with the service users, each with a permission, a project, a revoked token and its records of the audit trail; one control panel user for ten of them, who has ${KEYS} static tokens`

export interface LargeAccount {
  readonly account: AccountRecord
  /** A control panel user with static tokens. */
  readonly holder: string
  /** A service user. */
  readonly robot: string
}

export interface LargeDirectory extends LargeAccount {
  readonly store: DirectoryStore
}

/** As long as a genuine one. */
const PASSWORD_HASH = `$argon2id$v=19$m=19456,t=2,p=1$${'A'.repeat(22)}$${'A'.repeat(43)}`

/**
 * Makes an account with this number of service users.
 *
 * @param pepper fingerprint of the one that the static tokens were hashed with
 */
export async function fillDirectory(
  store: DirectoryStore,
  users: number,
  pepper = 'aa',
): Promise<LargeAccount> {
  const name = 'bench'
  await store.change('a benchmark', (change) => change.createAccount(name))
  const account = (await store.records.account(name)) as AccountRecord
  const made = { holder: '', robot: '' }
  for (let begun = 0; begun < users; begun += AT_ONCE)
    await store.change('a benchmark', async (change) => {
      for (let n = begun; n < Math.min(begun + AT_ONCE, users); n++) {
        const robot = { name: `robot-${n}`, type: 'service_user', passwordHash: PASSWORD_HASH } as const
        const id = await change.createUser(account, robot)
        await change.setPermissions({ id, account: name, name: robot.name }, [{ scope: 'account' }])
        await change.createProject(account, `project-${n}`)
        await change.revoke(`revoked-${n}`, name)
        if (n % 10 === 0) made.holder = await holderOf(n)
        made.robot ||= id
      }

      async function holderOf(n: number): Promise<string> {
        const user = { name: `person-${n}`, account: name }
        const id = await change.createUser(account, { name: user.name, type: 'control_panel_user' })
        for (let key = 0; key < KEYS; key++)
          await change.addStaticToken(
            { ...user, id },
            { kind: 'static_token', name: `key-${key}`, hash: randomBytes(32), pepper },
          )
        return id
      }
    })
  return { account, ...made }
}
