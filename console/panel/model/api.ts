/**
 * Every call of the control panel: the directory by the messages of the contract, and the routes of the page
 * itself.
 */
import { DirectoryServiceDefinition, type MessageFns } from '../../gen/portcullis/v1/directory.ts'
import type { Ask } from './calls.ts'
import { jsonOf } from './panel.ts'
import type { FoundPart } from './past.ts'
import type {
  Caller,
  Confirmation,
  Factors,
  Invitation,
  Keys,
  LogIn,
  NewCode,
  Passkey,
  Removal,
  Session,
} from './wire.ts'

/** Calls that change nothing, by the beginnings of their names. */
const READS = /^(Get|List|Preview)[A-Z]/

const { fullName, methods } = DirectoryServiceDefinition

interface CallOptions {
  readonly signal?: AbortSignal
}

type MessageOf<Functions> = Functions extends MessageFns<infer Message> ? Message : never

/** Fields that a request leaves out are empty. */
type Directory = {
  readonly [Call in keyof typeof methods]: (
    request: Partial<MessageOf<(typeof methods)[Call]['requestType']>>,
    options?: CallOptions,
  ) => Promise<MessageOf<(typeof methods)[Call]['responseType']>>
}

/** The options of WebAuthn, as JSON: for the browser, not for us. */
export interface Challenge {
  readonly options: unknown
}

/** Calls whose every error goes to their caller: the user is not asked to log in. */
const PLAIN = { reads: false, plain: true } as const
const READ = { reads: true } as const
const WRITE = { reads: false } as const

export type Api = ReturnType<typeof apiOver>

export function apiOver(ask: Ask) {
  const json = async <T>(
    path: string,
    body: object | undefined,
    how: Parameters<Ask>[2],
    signal?: AbortSignal,
  ): Promise<T> => {
    const init = { ...(body !== undefined && jsonOf(body)), ...(signal && { signal }) }
    const response = await ask(`/console/${path}`, init, how)
    return (response.status === 204 ? undefined : await response.json()) as T
  }
  const post = <T>(path: string, body: object = {}) => json<T>(path, body, WRITE)
  const plain = <T>(path: string, body: object = {}) => json<T>(path, body, PLAIN)
  return {
    directory: directoryOver(ask),
    session: {
      logIn: (logIn: LogIn) => plain<Session>('session/login', logIn),
      useLink: (secret: string) => plain<Session>('session/link', { secret }),
      invitation: (secret: string) => plain<Invitation>('session/invitation', { secret }),
      acceptInvitation: (secret: string, password: string) =>
        plain<Session>('session/invitation/accept', { secret, password }),
      operator: (token: string) => plain<Session>('session/operator', { token }),
      passkeyChallenge: () => plain<Challenge>('session/passkey/challenge'),
      passkey: (response: unknown) => plain<Session>('session/passkey', { response }),
      confirm: (confirmation: Confirmation) => plain<Session>('session/confirm', confirmation),
    },
    factors: {
      get: () => json<Factors>('factors', undefined, READ),
      /** @param current `undefined`: there is none yet */
      setPassword: (current: string | undefined, password: string) =>
        post<void>('factors/password', { current, password }),
      beginCode: () => post<NewCode>('factors/code/begin'),
      addCode: (sealed: string, code: string) => post<void>('factors/code', { sealed, code }),
      removeCode: () => post<void>('factors/code/delete'),
      passkeyChallenge: () => post<Challenge>('factors/passkeys/challenge'),
      addPasskey: (name: string, response: unknown) => post<Passkey>('factors/passkeys', { name, response }),
      removePasskey: (id: string) => post<void>('factors/passkeys/delete', { id }),
    },
    operator: {
      callers: () => json<{ readonly callers: readonly Caller[] }>('operator/callers', undefined, READ),
      keys: () => json<Keys>('operator/keys', undefined, READ),
      removal: () => json<Removal>('operator/removal', undefined, READ),
      /** Lines of JSON for as long as there is a listener. */
      decisions: (signal: AbortSignal) => ask('/console/operator/decisions', { signal }, READ),
      pastDecisions: (question: object, signal: AbortSignal) =>
        json<FoundPart>('operator/decisions/search', question, READ, signal),
    },
  }
}

/**
 * A client of the directory by Connect's protocol: each call is a request. JSON, so that a person can read
 * the requests of the page.
 */
function directoryOver(ask: Ask): Directory {
  const calls = Object.entries(methods).map(([call, { name, requestType, responseType }]) => {
    const path = `/${fullName}/${name}`
    const make = async (request: object, { signal }: CallOptions = {}) => {
      const { headers, ...rest } = jsonOf(
        requestType.toJSON({ ...requestType.fromJSON({}), ...request } as never) as object,
      )
      const init = {
        ...rest,
        headers: { ...headers, 'Connect-Protocol-Version': '1' },
        ...(signal && { signal }),
      }
      return responseType.fromJSON(await (await ask(path, init, { reads: READS.test(name) })).json())
    }
    return [call, make]
  })
  return Object.fromEntries(calls)
}
