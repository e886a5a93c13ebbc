/** A sidecar before a real identity endpoint. */
import type { Client } from '../../../clients/typescript/index.ts'
import type { KeystoneUser } from '../identity/keystone.ts'
import { type RunningSidecar, runSidecar } from '../sidecar/sidecar.ts'
import { newFile } from '../suite/resources.ts'

const CALLER = 'interop-caller-token-0123456789abcdef'

/**
 * @param validation whose token validates, besides the profile `validator`
 * @param more further profiles of the upstream `cloud`
 */
export async function startCloudBefore(
  authUrl: string,
  users: { readonly robot: KeystoneUser; readonly validator: KeystoneUser },
  validation: { readonly project?: string; readonly ca?: string; readonly timeoutMs?: number } = {},
  more: Readonly<Record<string, object>> = {},
): Promise<{ readonly client: Client; readonly running: RunningSidecar }> {
  const profileOf = ({ account, user, password }: KeystoneUser) => ({
    ...{ upstream: 'cloud', account, user_name: user },
    password_file: newFile(password),
  })
  // A busy machine must not look like an upstream that does not answer.
  const { ca, project, timeoutMs = 60_000 } = validation
  const profiles = {
    robot: profileOf(users.robot),
    validator: profileOf(users.validator),
    wrong: profileOf({ ...users.robot, password: 'canary-wrong' }),
    ...more,
  }
  const verify = {
    ...{ profile: 'validator', cache_ms: 1_000, negative_cache_ms: 200 },
    ...(project !== undefined && { project }),
  }
  const config = newFile(
    JSON.stringify({
      upstreams: {
        cloud: { auth_url: authUrl, timeout_ms: timeoutMs, verify, ...(ca !== undefined && { ca }) },
      },
      profiles,
      callers: [
        { name: 'job', token_file: newFile(CALLER), profiles: Object.keys(profiles), rights: ['revoke'] },
      ],
    }),
    'portcullis.json',
  )
  const running = await runSidecar({ config })
  return { client: running.connect({ callerToken: CALLER }), running }
}
