/** Logs in as a profile does, step by step, without a sidecar. */
import type { Scope, TokenKind } from '../../../engine/index.ts'
import type { IssuedToken, PasswordRequester } from '../../authority/authority.ts'
import {
  isCredential,
  nameOfHolder,
  type ProfileRequester,
  requesterOf,
} from '../../authority/upstream/profile-tokens.ts'
import { CallError } from '../../base/call-error.ts'
import type { Config } from '../../config/config.ts'
import { ConfigError } from '../../config/config.ts'
import {
  type ConfiguredProfile,
  type ConfiguredUpstream,
  readProfiles,
} from '../../config/profiles-config.ts'
import { readRules } from '../read-rules.ts'

/** A step that was tried, and its result in words. No secret. */
export interface Step {
  readonly step: 'configuration' | 'password' | 'secret' | 'login' | 'revocation'
  readonly ok: boolean
  readonly says: string
}

/**
 * @param project of the token; default: the account, or the first project that the profile is limited to
 * @param json whether warnings are JSON
 */
export async function tryProfile(
  config: Config,
  name: string,
  project: string | undefined,
  json: boolean,
): Promise<Step[]> {
  const steps: Step[] = []
  const { tokenKinds } = readRules(config).engine
  const configured = await attempt(steps, 'configuration', () => {
    const { profiles, upstreams } = readProfiles(onlyProfile(config, name))
    const profile = profiles.get(name) as ConfiguredProfile
    const upstream = profile.upstream === undefined ? undefined : upstreams.get(profile.upstream)
    const where =
      upstream === undefined ? 'the directory' : `upstream ${upstream.name}, ${upstream.tokensUrl}`
    const { holder } = profile
    const who = isCredential(holder) ? nameOfHolder(holder) : `user ${holder.userName}`
    return { says: `${who} of account ${profile.account}, ${where}`, profile, upstream }
  })
  if (configured === undefined) return steps
  const { profile, upstream } = configured
  const secret = await attempt(steps, isCredential(profile.holder) ? 'secret' : 'password', async () => {
    if (profile.password.type === 'value') return { says: 'read', value: profile.password.value }
    const { PasswordCommand } = await import('../../authority/upstream/password-source.ts')
    const { value } = await new PasswordCommand(name, profile.password.command).obtain()
    return { says: 'printed by the command', value }
  })
  if (secret === undefined) return steps
  const [only] = profile.projects ?? []
  const chosen = project ?? only
  const scope: Scope = { account: profile.account, ...(chosen !== undefined && { project: chosen }) }
  const requester = requesterOf(profile.account, profile.holder, secret.value)
  if (upstream !== undefined) await logInToUpstream(upstream, { name, requester, scope }, tokenKinds, steps)
  else if ('password' in requester)
    await logInToDirectory(config, { name, requester, scope }, tokenKinds, steps, json)
  return steps
}

interface ProfileLogin<Requester> {
  readonly name: string
  readonly requester: Requester
  readonly scope: Scope
}

async function logInToUpstream(
  { name, tokensUrl, ca, timeoutMs }: ConfiguredUpstream,
  { name: profile, requester, scope }: ProfileLogin<ProfileRequester>,
  kinds: ReadonlyMap<string, TokenKind>,
  steps: Step[],
): Promise<void> {
  const { IdentityClient } = await import('../../authority/upstream/identity-client.ts')
  const { UpstreamAuthority } = await import('../../authority/upstream/upstream-authority.ts')
  const client = new IdentityClient({ name, tokensUrl, ca, timeoutMs })
  const authority = new UpstreamAuthority(name, client, Date.now)
  try {
    const issued = await attempt(steps, 'login', async () =>
      described(await authority.issue(profile, requester, kindOf(scope, kinds), scope)),
    )
    if (issued === undefined) return
    await attempt(steps, 'revocation', async () => {
      await authority.revoke(issued.value, issued.value.reveal())
      return { says: 'the token of this test was revoked' }
    })
  } finally {
    await authority.close()
  }
}

async function logInToDirectory(
  config: Config,
  { name, requester, scope }: ProfileLogin<PasswordRequester>,
  kinds: ReadonlyMap<string, TokenKind>,
  steps: Step[],
  json: boolean,
): Promise<void> {
  const { withAuthority } = await import('../administration/administer-directory.ts')
  const { commandLine } = await import('../../authority/actor.ts')
  const { changeDirectory } = await import('../../authority/administration/change-directory.ts')
  await withAuthority(
    config,
    async ({ authority, administration }) => {
      const issued = await attempt(steps, 'login', async () =>
        described(await authority.issue(requester, kindOf(scope, kinds), scope)),
      )
      if (issued === undefined) return
      await attempt(steps, 'revocation', async () => {
        const { tokenId, subject } = issued.token
        await changeDirectory(administration.directory, commandLine(), (change) =>
          change.revoke(tokenId, scope.account, subject.id),
        )
        return { says: `the token of this test of ${name} was revoked` }
      })
    },
    json,
  )
}

function described({ value, token }: IssuedToken) {
  const { kind, scope, expiresAtMs, roles = [] } = token
  const where = scope.project === undefined ? '' : `, project ${scope.project}`
  const end = expiresAtMs === undefined ? '' : `, until ${new Date(expiresAtMs).toISOString()}`
  const held = roles.length > 0 ? `, with the roles ${roles.join(', ')}` : ''
  return { says: `${kind} for account ${scope.account}${where}${end}${held}`, value, token }
}

function kindOf({ project }: Scope, kinds: ReadonlyMap<string, TokenKind>): TokenKind {
  const level = project === undefined ? 'account' : 'project'
  for (const kind of kinds.values())
    if (kind.obtained.by === 'issue' && kind.scopeLevel === level) return kind
  throw new ConfigError(`matrix: expected a token kind that can be issued with ${level} scope`)
}

/** The profile and its upstream alone: faults of others do not count. */
function onlyProfile({ profiles, upstreams }: Config, name: string): Pick<Config, 'profiles' | 'upstreams'> {
  const profile = profiles?.[name] as NonNullable<Config['profiles']>[string]
  const { upstream: wanted } = profile
  const upstream = wanted === undefined ? undefined : upstreams?.[wanted]
  const { verify: _verify, ...issuing } = upstream ?? { auth_url: '' }
  return {
    profiles: { [name]: profile },
    ...(wanted !== undefined && upstream !== undefined && { upstreams: { [wanted]: issuing } }),
  }
}

/** Does a step and notes how it went. @returns `undefined` where it failed */
async function attempt<T extends { readonly says: string }>(
  steps: Step[],
  step: Step['step'],
  work: () => T | Promise<T>,
): Promise<T | undefined> {
  try {
    const result = await work()
    steps.push({ step, ok: true, says: result.says })
    return result
  } catch (error) {
    if (!(error instanceof CallError || error instanceof ConfigError)) throw error
    steps.push({ step, ok: false, says: error.message })
    return undefined
  }
}
