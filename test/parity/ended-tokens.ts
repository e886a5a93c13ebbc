/**
 * Tokens that were genuine, each ended in another way: by what happened to it, its user, project or
 * account.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Scope } from '../../engine/index.ts'
import { applyFile } from '../../sidecar/authority/administration/directory-file.ts'
import { ACCOUNT_KIND, PROJECT_KIND, STATIC_KIND } from '../support/matrices/engines.ts'
import { TESTER } from '../support/sidecar/actor.ts'
import type { RunningSidecar } from '../support/sidecar/sidecar.ts'

export interface EndedToken {
  /** The event that ended it. */
  readonly by: string
  readonly kind: string
  readonly value: string
  readonly scope: Scope
}

type Operator = ReturnType<RunningSidecar['connect']>
type Directory = Operator['directory']

/** The tokens that each account below has, and which of them end. */
const EVERY = [ACCOUNT_KIND, PROJECT_KIND, STATIC_KIND]
const OF_SERVICE_USER = [ACCOUNT_KIND, PROJECT_KIND]

const empty = { permissions: undefined, roles: undefined }

/** Each is in a separate account, so that nothing else has happened there. */
const WAYS: readonly {
  readonly by: string
  readonly ends: readonly string[]
  readonly end: (directory: Directory, account: string) => Promise<unknown>
}[] = [
  {
    by: 'its user was disabled',
    ends: OF_SERVICE_USER,
    end: (directory, account) =>
      directory.updateServiceUser({ ...empty, account, name: 'robot', enabled: false }),
  },
  {
    by: 'its user was disabled for a while',
    ends: OF_SERVICE_USER,
    end: async (directory, account) => {
      for (const enabled of [false, true])
        await directory.updateServiceUser({ ...empty, account, name: 'robot', enabled })
    },
  },
  {
    by: 'its user was deleted',
    ends: OF_SERVICE_USER,
    end: (directory, account) => directory.deleteServiceUser({ account, name: 'robot' }),
  },
  {
    by: 'its user got another password',
    ends: OF_SERVICE_USER,
    end: (directory, account) => directory.replaceServiceUserPassword({ account, name: 'robot' }),
  },
  {
    by: 'its user lost the permission',
    ends: OF_SERVICE_USER,
    end: (directory, account) =>
      directory.updateServiceUser({ ...empty, account, name: 'robot', permissions: { permissions: [] } }),
  },
  {
    by: 'its project was disabled',
    ends: [PROJECT_KIND],
    end: (directory, account) => directory.updateProject({ account, name: 'alpha', enabled: false }),
  },
  {
    by: 'its project was deleted',
    ends: [PROJECT_KIND],
    end: (directory, account) => directory.deleteProject({ account, name: 'alpha' }),
  },
  {
    by: 'its key was revoked',
    ends: [STATIC_KIND],
    end: (directory, account) => directory.revokeStaticToken({ account, userName: 'owner', name: 'key' }),
  },
  {
    by: 'the holder of its key was disabled',
    ends: [STATIC_KIND],
    end: (directory, account) =>
      directory.updateControlPanelUser({ roles: undefined, account, name: 'owner', enabled: false }),
  },
  {
    by: 'the holder of its key was deleted',
    ends: [STATIC_KIND],
    end: (directory, account) => directory.deleteControlPanelUser({ account, name: 'owner' }),
  },
  {
    by: 'its account was disabled',
    ends: EVERY,
    end: (directory, account) => directory.updateAccount({ account, enabled: false }),
  },
  {
    by: 'its account was deleted',
    ends: EVERY,
    end: (directory, account) => directory.deleteAccount({ account }),
  },
]

/** Makes the tokens, and ends them. */
export async function endedTokens(running: RunningSidecar): Promise<EndedToken[]> {
  const callerToken = readFileSync(join(running.folder, 'administrator-token'), 'utf8').trim()
  const { directory } = running.connect({ callerToken })
  const tokens: EndedToken[] = []
  for (const [index, { by, ends, end }] of WAYS.entries()) {
    const account = `ended-${index}`
    const made = await tokensIn(running, account)
    await end(directory, account)
    tokens.push(...made.filter(({ kind }) => ends.includes(kind)).map((token) => ({ ...token, by })))
  }
  return tokens
}

/** A token of each kind, of a new account. */
async function tokensIn({ sidecar, client }: RunningSidecar, account: string) {
  const { secrets } = await applyFile(sidecar.administration, TESTER, {
    accounts: [
      {
        account,
        projects: ['alpha'],
        service_users: [{ name: 'robot', permissions: [{ scope: 'account' }] }],
        control_panel_users: [{ name: 'owner', static_tokens: ['key'] }],
      },
    ],
  })
  const secret = (of: string) => secrets.find(({ type }) => type === of)?.value.reveal() ?? ''
  const password = { userName: 'robot', account, password: secret('password') }
  const issued = async (kind: string, scope: Scope) => {
    const { value } = await client.issue({ password, scope })
    return { kind, value, scope }
  }
  return [
    await issued(ACCOUNT_KIND, { account }),
    await issued(PROJECT_KIND, { account, project: 'alpha' }),
    { kind: STATIC_KIND, value: secret('static_token'), scope: { account } },
  ]
}
