/** The dependencies of use cases, in this process: a real directory and its authority, and no protocol. */
import { hash } from 'node:crypto'
import { join } from 'node:path'
import { compile, type Engine } from '../../../engine/index.ts'
import { supportMatrix } from '../../../matrix/index.ts'
import { applyFile } from '../../../sidecar/authority/administration/directory-file.ts'
import { openEmbeddedAuthority } from '../../../sidecar/authority/open-authority.ts'
import { FailedLogins } from '../../../sidecar/authority/throttle.ts'
import { CallError } from '../../../sidecar/base/call-error.ts'
import type { MaybePromise } from '../../../sidecar/base/maybe-promise.ts'
import { Secret } from '../../../sidecar/base/secret.ts'
import { userIn } from '../../../sidecar/directory/found.ts'
import type { Sidecar } from '../../../sidecar/process/serving.ts'
import { run } from '../../../sidecar/usecases/administration/run.ts'
import type { Caller, CallerRights } from '../../../sidecar/usecases/callers.ts'
import type { PresentedCredentials } from '../../../sidecar/usecases/requester.ts'
import { newFolder, whenTheFileEnds } from '../suite/resources.ts'
import { TESTER } from './actor.ts'

export const SHIPPED: Engine = compile(supportMatrix)

/**
 * Opens a data folder. It is closed when the test file ends.
 *
 * @param now wall clock, in milliseconds since the epoch
 */
export async function openServices(now: () => number = Date.now) {
  const folder = join(newFolder(), 'data')
  const ignored = () => {}
  const opened = await openEmbeddedAuthority({
    folder,
    engine: () => SHIPPED,
    passwordLimits: { concurrent: 2, waiting: 1_000, rememberMs: 0 },
    failedLogins: new FailedLogins({ failures: 1_000, pauseMs: 1 }, now),
    ...{ onKeysRefused: ignored, onKeysUnreadable: ignored, onUnknownKey: ignored },
    ...{ onDirectoryLost: ignored, onDirectoryReplaced: ignored, onForeignStaticTokens: ignored },
    now,
  })
  whenTheFileEnds(() => opened.close())
  const runHere: Sidecar['run'] = (...asked) => run(opened.administration, ...asked)
  return { ...opened, folder, engine: SHIPPED, now, run: runHere }
}

/** As `openServices`, with people in an account: a robot and an administrator, an owner and a tester. */
export async function openPeople(account: string, now?: () => number) {
  const services = await openServices(now)
  const { administration, authority, engine } = services
  const { secrets } = await applyFile(administration, TESTER, {
    accounts: [
      {
        account,
        projects: ['alpha'],
        service_users: [
          { name: 'robot', permissions: [{ scope: 'account' }] },
          { name: 'admin', permissions: [{ scope: 'account' }], roles: ['iam.admin'] },
        ],
        control_panel_users: [
          { name: 'owner', owner: true, static_tokens: ['key'] },
          { name: 'tester', static_tokens: ['key'] },
        ],
      },
    ],
  })
  const secretOf = (user: string) => secrets.find((each) => each.user === user)?.value ?? new Secret('')
  const kindFor = (project?: string) => {
    const level = project === undefined ? 'account' : 'project'
    const kind = [...engine.tokenKinds.values()].find((each) => each.scopeLevel === level)
    if (kind === undefined) throw new TypeError(`the shipped matrix has no kind for a ${level}`)
    return kind
  }
  return {
    ...services,
    kindFor,
    /** The static token of a control panel user. */
    staticToken: (userName: string) => secretOf(userName).reveal(),
    /** A new IAM token of a service user. @param kind by default the one for the scope */
    iamToken: async (userName: string, project?: string, kind = kindFor(project)) => {
      const login = { account, userName, password: secretOf(userName) }
      const { value, token } = await authority.issue(login, kind, { account, ...(project && { project }) })
      return { value: value.reveal(), token }
    },
    /** A new IAM token of a control panel user, in place of the one before. */
    panelToken: async (userName: string) => {
      const issued = await run(administration, TESTER, 'reissueControlPanelUserToken', {
        account,
        name: userName,
      })
      return { value: issued.value.reveal(), token: issued.token }
    },
    userNamed: (name: string) => {
      const type = ['owner', 'tester'].includes(name) ? 'control_panel_user' : 'service_user'
      return userIn(administration.records, account, name, type)
    },
  }
}

export const digestOf = (token: string): Buffer => hash('sha256', token, 'buffer')

/** A caller who is known by the token `NAME-token` and by the certificate of `NAME.example`. */
export function callerNamed(name: string, rights: Partial<CallerRights> = {}): Caller {
  const none = { everything: false, revoke: false, read: false, follow: false, administer: new Set<string>() }
  return {
    ...{ name, tokenSha256: digestOf(`${name}-token`).toString('hex') },
    ...{ certificateName: `dns:${name}.example`, profiles: new Set<string>() },
    ...{ rights: { ...none, ...rights }, expiresAtMs: undefined },
  }
}

export const CONNECTION = {}
/** The credentials of a call that presents none; `change` replaces some. */
export function presenting(change: Partial<PresentedCredentials> = {}): PresentedCredentials {
  return {
    ...{ authorization: [], iamToken: [], certificateNames: [], clientAddress: '192.0.2.7' },
    ...{ connection: CONNECTION, from: { protocol: 'grpc', address: '192.0.2.7' }, requestId: 'r-1' },
    ...change,
  }
}
export const byToken = (name: string) => presenting({ authorization: [`Bearer ${name}-token`] })
export const byCertificate = (name: string) => presenting({ certificateNames: [`dns:${name}.example`] })
export const byIamToken = (...iamToken: string[]) => presenting({ iamToken })

/** The outcome of the work; a refusal as its reason and its message. */
export async function outcomeOf<T>(work: () => MaybePromise<T>): Promise<T | string> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof CallError) return `${error.reason}: ${error.message}`
    throw error
  }
}
