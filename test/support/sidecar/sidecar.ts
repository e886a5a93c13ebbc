/**
 * A real sidecar in this process, on a separate data folder, with people of every sort in its directory.
 */
import { join } from 'node:path'
import { pino } from 'pino'
import type { Client, ClientOptions } from '../../../clients/typescript/index.ts'
import { applyFile } from '../../../sidecar/authority/administration/directory-file.ts'
import {
  type DirectoryFile,
  readConfig,
  type Sidecar,
  type StartOptions,
  startSidecar,
} from '../../../sidecar/index.ts'
import { newFolder, whenTheFileEnds } from '../suite/resources.ts'
import { TESTER } from './actor.ts'
import { connect } from './client.ts'

export const ACCOUNT = '123456'
export const OTHER_ACCOUNT = '654321'

type ServiceUser = NonNullable<DirectoryFile['accounts'][number]['service_users']>[number]

/**
 * The users in the directory. The names say what a person may do: `account` holds a permission with scope
 * Account, `alpha` one with scope Projects that selects the project alpha (§5.1), and so on.
 */
export const SERVICE_USERS: readonly ServiceUser[] = [
  { name: 'account', permissions: [{ scope: 'account' }] },
  { name: 'alpha', permissions: [{ scope: 'projects', projects: ['alpha'] }] },
  { name: 'nothing', permissions: [] },
  { name: 'disabled', enabled: false, permissions: [{ scope: 'account' }] },
]

export const PEOPLE: DirectoryFile = {
  accounts: [
    {
      account: ACCOUNT,
      projects: ['alpha', 'beta'],
      service_users: SERVICE_USERS,
      control_panel_users: [{ name: 'owner', static_tokens: ['key'] }],
    },
    {
      account: OTHER_ACCOUNT,
      projects: ['alpha'],
      service_users: [{ name: 'stranger', permissions: [{ scope: 'account' }] }],
    },
  ],
}

/** Those people, and a service user of the first account who administers it. */
export function peopleWithAdministrator(name: string): DirectoryFile {
  const administrator: ServiceUser = { name, permissions: [{ scope: 'account' }], roles: ['iam.admin'] }
  return {
    accounts: PEOPLE.accounts.map((each) =>
      each.account === ACCOUNT ? { ...each, service_users: [...SERVICE_USERS, administrator] } : each,
    ),
  }
}

export interface SidecarOptions {
  /** As the command line has them: `grpc.address`, `strict`, … */
  readonly flags?: Readonly<Record<string, string | number | boolean | undefined>>
  /** Configuration file. */
  readonly config?: string
  /** Wall clock, in milliseconds since the epoch. */
  readonly now?: () => number
  /** Data folder that is there already. */
  readonly folder?: string
  /** Times that the test would otherwise wait for. */
  readonly times?: StartOptions['times']
}

export interface RunningSidecar {
  readonly sidecar: Sidecar
  /** Where gRPC listens. */
  readonly address: string
  /** The data folder. */
  readonly folder: string
  readonly client: Client
  /** Every log line so far, of every level. */
  readonly logLines: readonly string[]
  connect(options?: ClientOptions): Client
}

/**
 * Starts a sidecar on a free port, with HTTP off; what is given changes that. It stops when the test file
 * ends.
 */
export async function runSidecar({
  flags,
  config,
  now,
  folder,
  times,
}: SidecarOptions = {}): Promise<RunningSidecar> {
  const data = folder ?? join(newFolder(), 'data')
  const logLines: string[] = []
  const log = pino({ level: 'trace' }, { write: (line: string) => void logLines.push(line) })
  const sidecar = await startSidecar(
    readConfig({
      file: config,
      flags: {
        'grpc.address': '127.0.0.1:0',
        'http.address': 'off',
        // Tests fail many logins on purpose; those of throttling set their own bound.
        'login_throttle.failures': 1000,
        'login_throttle.source_failures': 100_000,
        data,
        ...flags,
      },
    }),
    { log, ...(now && { now }), ...(times && { times }) },
  )
  whenTheFileEnds(() => sidecar.close())
  const open = (options?: ClientOptions) => {
    // A busy machine must not look like a sidecar that does not answer.
    const client = connect(sidecar.grpcAddress, options)
    whenTheFileEnds(() => client.close())
    return client
  }
  return { sidecar, address: sidecar.grpcAddress, folder: data, client: open(), logLines, connect: open }
}

/** The secrets of the people that were just put into the directory. */
export interface Secrets {
  /** @param account by default the first one in which there is such a user */
  passwordOf(userName: string, account?: string): string
  readonly staticToken: string
}

/** Puts people into the directory. */
export async function populate({ sidecar }: RunningSidecar, people = PEOPLE): Promise<Secrets> {
  const { secrets } = await applyFile(sidecar.administration, TESTER, people)
  const found = (type: string, user?: string, account?: string) => {
    const secret = secrets.find(
      (each) =>
        each.type === type &&
        (user === undefined || each.user === user) &&
        (account === undefined || each.account === account),
    )
    if (secret === undefined) throw new Error(`no ${type} was made for ${user ?? 'anybody'}`)
    return secret.value.reveal()
  }
  return {
    passwordOf: (userName, account) => found('password', userName, account),
    staticToken: found('static_token'),
  }
}

/** The project that a token is asked for, and the requester, by default the one who may. */
export interface TokenWish {
  readonly project?: string
  readonly user?: string
}

/** A token of a service user of `ACCOUNT`, for the account or for a project. */
export async function issued(
  { client }: Pick<RunningSidecar, 'client'>,
  secrets: Secrets,
  { project, user = 'account' }: TokenWish = {},
): Promise<{ value: string; tokenId: string }> {
  return client.issue({
    password: { userName: user, account: ACCOUNT, password: secrets.passwordOf(user) },
    scope: { account: ACCOUNT, ...(project !== undefined && { project }) },
  })
}
