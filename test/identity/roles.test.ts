/** The roles of a token follow from the permissions and roles of its holder, by the configuration. */
import { describe, expect, test } from 'vitest'
import { applyFile } from '../../sidecar/authority/administration/directory-file.ts'
import { ACCOUNT, about, loginBody, startIdentity, TOKENS } from '../support/identity/identity.ts'
import { TESTER } from '../support/sidecar/actor.ts'
import { newFile } from '../support/suite/resources.ts'

const USERS = {
  account: { permissions: [{ scope: 'account' as const }] },
  projects: { permissions: [{ scope: 'projects' as const, projects: ['alpha'] }] },
  both: { permissions: [{ scope: 'account' as const }, { scope: 'projects' as const, projects: ['alpha'] }] },
  auditor: { permissions: [{ scope: 'account' as const }], roles: ['auditor', 'iam.admin'] },
}

/** Starts a sidecar with these users. @returns the names of the roles that a login gives */
async function rolesWith(settings: string) {
  const config = newFile(settings, 'config.yaml')
  const { ask, running } = await startIdentity({ config })
  const { administration } = running.sidecar
  const { secrets } = await applyFile(administration, TESTER, {
    accounts: [
      {
        account: ACCOUNT,
        service_users: Object.entries(USERS).map(([name, user]) => ({ name: `u-${name}`, ...user })),
      },
    ],
  })
  return async (user: keyof typeof USERS, project?: string) => {
    const name = `u-${user}`
    const password = secrets.find((secret) => secret.user === name)?.value.reveal() ?? ''
    const body = loginBody({ user: name, password, ...(project !== undefined && { project }) })
    const { json, headers } = await ask({ method: 'POST', path: TOKENS, body })
    // Every place shows the same.
    const shown = await ask({ path: TOKENS, headers: about(headers['x-subject-token'] ?? '') })
    expect(shown.json.token.roles).toEqual(json.token.roles)
    return json.token.roles as { id: string; name: string }[]
  }
}

const names = (roles: readonly { name: string }[]) => roles.map(({ name }) => name)

describe('by default', async () => {
  const rolesOf = await rolesWith('{}')
  test('a role has the same id wherever it is shown', async () => {
    const [one] = await rolesOf('account')
    expect(one).toEqual({ id: expect.stringMatching(/^[0-9a-f]{32}$/), name: 'member' })
    expect(await rolesOf('projects', 'alpha')).toEqual([one])
  })
})

describe('by a mapping of one’s own', async () => {
  const rolesOf = await rolesWith(
    'http: { roles: { account: [manager, reader], projects: [member, reader], by_role: { iam.admin: [admin], auditor: [] } } }',
  )
  test.each<[user: keyof typeof USERS, project: string | undefined, roles: string[]]>([
    ['both', 'alpha', ['manager', 'reader', 'member']],
    ['auditor', undefined, ['manager', 'reader', 'admin']],
  ])('%s in project %s has %j', async (user, project, roles) => {
    expect(names(await rolesOf(user, project))).toEqual(roles)
  })
})
