/** A sidecar behind an Envoy: the clients that send requests, and the callers that the Envoy can be. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { TESTER } from '../sidecar/actor.ts'
import {
  ACCOUNT,
  issued,
  OTHER_ACCOUNT,
  PEOPLE,
  populate,
  type RunningSidecar,
  runSidecar,
  type SidecarOptions,
} from '../sidecar/sidecar.ts'
import { newFile, newFolder } from '../suite/resources.ts'
import { httpBehindProxy } from './proxied.ts'

/** Token of the caller who may use the profiles. */
export const ENVOY_TOKEN = 'envoy-caller-token-0123456789abcdef'
/** Token of a caller who may use none. */
export const OTHER_TOKEN = 'other-caller-token-0123456789abcdef'

/** An account that lets in addresses of 203.0.113.0/24 alone. */
const RESTRICTED = '777777'

export interface People {
  /** A token of `ACCOUNT`. */
  readonly account: string
  readonly tokenId: string
  /** A token of its project alpha. */
  readonly project: string
  readonly staticToken: string
  readonly revoked: string
  /** A token of an account that restricts addresses. */
  readonly restricted: string
  /** A token of its project beta. */
  readonly beta: string
  /**
   * Starts a sidecar for them, with more in its configuration. Its profile `gateway` is of `OTHER_ACCOUNT`;
   * `broken` cannot log in.
   */
  run(flags?: SidecarOptions['flags'], more?: object): Promise<RunningSidecar>
}

export const iam = (value: string) => ['x-auth-token', value] as const
export const ofPanel = (value: string) => ['x-token', value] as const

/** @param now wall clock, in milliseconds since the epoch */
export async function peopleBehindEnvoy(now: () => number = Date.now): Promise<People> {
  const folder = join(newFolder(), 'data')
  const first = await runSidecar({ folder, now })
  const secrets = await populate(first, {
    accounts: [
      ...PEOPLE.accounts,
      { account: RESTRICTED, service_users: [{ name: 'home', permissions: [{ scope: 'account' }] }] },
    ],
  })
  const account = await issued(first, secrets)
  const revoked = await issued(first, secrets)
  const callerToken = readFileSync(join(folder, 'administrator-token'), 'utf8').trim()
  await first.connect({ callerToken }).revoke({ value: revoked.value })
  const restricted = await first.client.issue({
    password: { userName: 'home', account: RESTRICTED, password: secrets.passwordOf('home') },
    scope: { account: RESTRICTED },
  })
  await first.sidecar.run(TESTER, 'setAddressRestriction', {
    account: RESTRICTED,
    ranges: ['203.0.113.0/24'],
  })
  const config = {
    http: httpBehindProxy({ authorize: true }),
    profiles: {
      gateway: {
        account: OTHER_ACCOUNT,
        user_name: 'stranger',
        password_file: newFile(secrets.passwordOf('stranger')),
      },
      broken: { account: ACCOUNT, user_name: 'account', password_file: newFile('an earlier password') },
    },
    callers: [
      { name: 'envoy', token_file: newFile(ENVOY_TOKEN), profiles: ['gateway', 'broken'] },
      { name: 'other', token_file: newFile(OTHER_TOKEN) },
    ],
  }
  return {
    account: account.value,
    tokenId: account.tokenId,
    project: (await issued(first, secrets, { project: 'alpha' })).value,
    beta: (await issued(first, secrets, { project: 'beta' })).value,
    staticToken: secrets.staticToken,
    revoked: revoked.value,
    restricted: restricted.value,
    run: (flags, more) =>
      runSidecar({
        ...{ folder, now, ...(flags && { flags }) },
        config: newFile(JSON.stringify({ ...config, ...more }), 'portcullis.json'),
      }),
  }
}
