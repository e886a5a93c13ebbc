/**
 * Two sidecars of one directory, one of them strict, with every protocol switched on, and tokens of every
 * sort.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ACCOUNT_KIND, PROJECT_KIND, STATIC_KIND } from '../support/matrices/engines.ts'
import { printedApis } from '../support/matrices/oracle.ts'
import { httpBehindProxy } from '../support/proxies/proxied.ts'
import { TESTER } from '../support/sidecar/actor.ts'
import {
  ACCOUNT,
  issued,
  PEOPLE,
  populate,
  type RunningSidecar,
  runSidecar,
  type SidecarOptions,
} from '../support/sidecar/sidecar.ts'
import { newFile, newFolder } from '../support/suite/resources.ts'

export interface People {
  /** A token of each kind. */
  readonly genuine: Readonly<Record<string, string>>
  readonly expired: string
  readonly revoked: string
  readonly revokedProject: string
  /** A token of an account that lets in one range of addresses alone. */
  readonly restricted: string
  /** The IAM token of a control panel user. */
  readonly panel: string
}

export interface Sidecars {
  readonly people: People
  readonly lenient: RunningSidecar
  readonly strict: RunningSidecar
  /** Starts another one of this directory, which is not strict. */
  readonly beside: (flags: SidecarOptions['flags']) => Promise<RunningSidecar>
}

/** The account that restricts addresses. */
const RESTRICTED = 'restricted'

const TWO_DAYS_MS = 2 * 86_400_000

/** For protocols that name the resource by a path. */
const routesOf = (apis: readonly string[]) =>
  apis.flatMap((api) => [
    { path: `/any/${api}/`, api },
    { path: `/account/${api}/{account}/`, api, target: { account: { segment: 'account' } } },
    {
      path: `/project/${api}/{account}/{project}/`,
      api,
      target: { account: { segment: 'account' }, project: { segment: 'project' } },
    },
  ])

/** A configuration in which every protocol is switched on, with routes for these APIs. */
export function everyProtocol(apis: readonly string[] = printedApis()): {
  readonly flags: Record<string, string>
  readonly config: string
} {
  const http = httpBehindProxy({
    ...{ authorize: true, authzen: true, connect: true, jwks: true },
    ...{ console: true, control_panel: {} },
  })
  return {
    flags: { 'http.address': '127.0.0.1:0' },
    config: newFile(JSON.stringify({ http, routes: routesOf(apis) }), 'portcullis.json'),
  }
}

/** @param more flags of both */
export async function startSidecars(more: SidecarOptions['flags'] = {}): Promise<Sidecars> {
  let nowMs = Date.now() - TWO_DAYS_MS
  const folder = join(newFolder(), 'data')
  const start = (strict: boolean, besides: SidecarOptions['flags'] = {}) => {
    const { flags, config } = everyProtocol()
    return runSidecar({ folder, now: () => nowMs, flags: { ...flags, ...more, ...besides, strict }, config })
  }
  const lenient = await start(false)
  const secrets = await populate(lenient, {
    accounts: [
      ...PEOPLE.accounts,
      { account: RESTRICTED, service_users: [{ name: 'home', permissions: [{ scope: 'account' }] }] },
    ],
  })
  const expired = (await issued(lenient, secrets)).value
  nowMs += TWO_DAYS_MS

  const callerToken = readFileSync(join(folder, 'administrator-token'), 'utf8').trim()
  const operator = lenient.connect({ callerToken })
  const revokedOf = async (project?: string) => {
    const { value } = await issued(lenient, secrets, project === undefined ? {} : { project })
    await operator.revoke({ value })
    return value
  }
  const restricted = await lenient.client.issue({
    password: { userName: 'home', account: RESTRICTED, password: secrets.passwordOf('home') },
    scope: { account: RESTRICTED },
  })
  await lenient.sidecar.run(TESTER, 'setAddressRestriction', {
    account: RESTRICTED,
    ranges: ['203.0.113.0/24'],
  })
  const panel = await operator.directory.reissueControlPanelUserToken({ account: ACCOUNT, name: 'owner' })
  return {
    lenient,
    strict: await start(true),
    beside: (flags) => start(false, flags),
    people: {
      genuine: {
        [ACCOUNT_KIND]: (await issued(lenient, secrets)).value,
        [PROJECT_KIND]: (await issued(lenient, secrets, { project: 'alpha' })).value,
        [STATIC_KIND]: secrets.staticToken,
      },
      expired,
      revoked: await revokedOf(),
      revokedProject: await revokedOf('alpha'),
      restricted: restricted.value,
      panel: panel.token?.value ?? '',
    },
  }
}
