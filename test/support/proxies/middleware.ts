/** The middleware of the client package, held to the same rows in front of every framework. */
import { once } from 'node:events'
import { createServer, type RequestListener, request as requestOf } from 'node:http'
import type { AddressInfo } from 'node:net'
import { beforeAll, describe, expect, test } from 'vitest'
import type { TokenOptions } from '../../../clients/typescript/gate.ts'
import type { Client } from '../../../clients/typescript/index.ts'
import { connect } from '../sidecar/client.ts'
import {
  ACCOUNT,
  OTHER_ACCOUNT,
  populate,
  type RunningSidecar,
  runSidecar,
  type Secrets,
} from '../sidecar/sidecar.ts'
import { whenTheFileEnds } from '../suite/resources.ts'

/**
 * Serves `/accounts/ID/balance` behind `requireToken('balance', options)`, and answers with the name of the
 * sender.
 *
 * @returns its origin
 */
export type Framework = (options: DoorOptions) => Promise<string>

/** The argument of `target` is the account of the path. */
export type DoorOptions = Omit<TokenOptions<never>, 'target' | 'clientAddress'> & {
  readonly target: (account: string) => ReturnType<NonNullable<TokenOptions<never>['target']>>
}

const own = (account: string) => ({ account })
const silent = () => {}

/** A server of the framework with the middleware before it, and the sidecar that it asks. */
interface Door {
  readonly serve: Framework
  readonly running: RunningSidecar
  readonly secrets: Secrets
  readonly origin: string
  ask(headers: [string, string][], account?: string, at?: string): Promise<unknown>
}

const REFUSED: readonly [
  claim: string,
  status: number,
  reason: string,
  headers: (secrets: Secrets) => [string, string][],
  account?: string,
][] = [
  ['no token', 401, 'CREDENTIAL_MISSING', () => []],
  [
    'the resource of another account',
    403,
    'ACCOUNT_MISMATCH',
    (secrets) => [['X-Token', secrets.staticToken]],
    OTHER_ACCOUNT,
  ],
]

const WITHOUT_OWNER: readonly [
  claim: string,
  target: DoorOptions['target'],
  status: number,
  reason: string,
][] = [
  ['names no owner', () => undefined, 403, 'TARGET_NOT_FOUND'],
  ['names no owner later', async () => undefined, 403, 'TARGET_NOT_FOUND'],
  [
    'fails',
    () => {
      throw new Error('a secret of the records')
    },
    500,
    'INTERNAL',
  ],
]

/** Declares the tests for a framework. */
export function guards(framework: string, serve: Framework): void {
  describe(`${framework}: requireToken`, () => {
    const door = opened(serve)
    refusesTokens(door)
    refusesTargets(door)
    outlastsFailures(door)
    test('lets a request pass, and says who sent it', async () => {
      expect(await door.ask([['X-Token', door.secrets.staticToken]])).toEqual({
        status: 200,
        challenge: null,
        body: { served: 'owner' },
      })
    })

    test('answers HEAD without a body', async () => {
      const response = await fetch(`${door.origin}/accounts/1/balance`, { method: 'HEAD' })
      expect({ status: response.status, body: await response.text() }).toEqual({ status: 401, body: '' })
    })

    test('hides the resources of others, if it is asked to', async () => {
      const hidden = await door.serve({ client: door.running.client, target: own, hideOthers: true })
      const answer = await door.ask([['X-Token', door.secrets.staticToken]], OTHER_ACCOUNT, hidden)
      expect(answer).toMatchObject({ status: 404, body: { error: { reason: 'NOT_FOUND' } } })
      expect(JSON.stringify(answer)).not.toContain('account')
    })
  })
}

/** Starts a sidecar and a server before the first test. */
function opened(serve: Framework): Door {
  let running: RunningSidecar
  let secrets: Secrets
  let origin: string
  beforeAll(async () => {
    running = await runSidecar()
    secrets = await populate(running)
    origin = await serve({ client: running.client, target: own })
  })
  return {
    serve,
    get running() {
      return running
    },
    get secrets() {
      return secrets
    },
    get origin() {
      return origin
    },
    async ask(headers, account = ACCOUNT, at = origin) {
      const response = await fetch(`${at}/accounts/${account}/balance`, { headers })
      const challenge = response.headers.get('www-authenticate')
      return { status: response.status, challenge, body: await response.json() }
    },
  }
}

function refusesTokens(door: Door): void {
  test.each(REFUSED)(
    'refuses %s, and says what would be accepted',
    async (_claim, status, reason, headers, account) => {
      const answer = await door.ask(headers(door.secrets), account)
      const { accepted, message } = await door.running.client.check({
        api: 'balance',
        credentials: headers(door.secrets),
        target: { account: account ?? ACCOUNT },
      })
      expect(answer).toEqual({
        status,
        challenge:
          status === 401 ? expect.stringMatching(/^Portcullis header="X-Auth-Token", reason="/) : null,
        body: { error: { reason, message, accepted } },
      })
      expect(accepted).toHaveLength(2)
    },
  )
}

function refusesTargets(door: Door): void {
  test.each(WITHOUT_OWNER)('refuses a request whose target %s', async (_claim, target, status, reason) => {
    const failures: unknown[] = []
    const at = await door.serve({
      client: door.running.client,
      target,
      onFailure: (error) => failures.push(error),
    })
    const answer = await door.ask([['X-Token', door.secrets.staticToken]], ACCOUNT, at)
    expect(answer).toMatchObject({ status, body: { error: { reason } } })
    expect(JSON.stringify(answer)).not.toContain('secret')
    expect(failures).toHaveLength(status === 500 ? 1 : 0)
  })
}

function outlastsFailures(door: Door): void {
  test('refuses every request while no sidecar answers, with or without a listener to failures', async () => {
    const nobody = connect('unix:/nobody/listens/here')
    whenTheFileEnds(() => nobody.close())
    const onFailure = () => {
      throw new Error('a listener that fails')
    }
    const at = await door.serve({ client: nobody, target: own, onFailure })
    expect(await door.ask([['X-Token', door.secrets.staticToken]], ACCOUNT, at)).toEqual({
      status: 503,
      challenge: null,
      body: {
        error: { reason: 'UNAVAILABLE', message: 'the request could not be authorized; try again later' },
      },
    })
  })

  test('cancels the question when the client leaves, and runs no handler', async () => {
    const { promise: asked, resolve: hear } = Promise.withResolvers<AbortSignal>()
    const check: Client['check'] = (_question, { signal } = {}) =>
      new Promise((_resolve, reject) => {
        signal?.addEventListener('abort', () => reject(new Error('cancelled')))
        hear(signal as AbortSignal)
      })
    const failures: unknown[] = []
    const at = await door.serve({
      client: { check },
      target: own,
      onFailure: (error) => failures.push(error),
    })
    const leaving = requestOf(`${at}/accounts/1/balance`)
    leaving.on('error', silent).end()
    const signal = await asked
    const aborted = once(signal, 'abort')
    leaving.destroy()
    await aborted
    expect(failures).toEqual([])
  })
}

/** Starts a server of `node:http` with this listener. @returns its origin */
export async function listening(listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  whenTheFileEnds(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** The account of `/accounts/ID/balance`. */
export function accountIn(url = ''): string {
  return /^\/accounts\/([^/]+)\/balance$/.exec(url)?.[1] ?? ''
}
