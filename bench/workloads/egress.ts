/** A sidecar with one route of egress, and requests for it. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { trusted } from '../../sidecar/authority/actor.ts'
import { applyFile } from '../../sidecar/authority/administration/directory-file.ts'
import { readConfig, startSidecar } from '../../sidecar/index.ts'
import { type Http1Workload, http1Request } from '../harness/http1.ts'
import { temporaryFolder } from '../harness/temporary.ts'
import { startSidecarOn } from '../servers/start.ts'

const ACCOUNT = '123456'
const CALLER_TOKEN = 'a-caller-token-of-the-benchmark-0123456789'

/** Starts a sidecar that forwards `/` to the target, for one caller, with the token of an account. */
export async function startEgress(target: string, stack: AsyncDisposableStack) {
  const folder = temporaryFolder(stack)
  const data = join(folder, 'data')
  const file = (name: string, text: string) => {
    writeFileSync(join(folder, name), text, { mode: 0o600 })
    return join(folder, name)
  }
  const profile = { account: ACCOUNT, user_name: 'job', password_file: file('password', await newUser(data)) }
  const route = { path: '/', url: `http://${target}/`, api: 'balance', profile: 'job', callers: ['job'] }
  const config = {
    egress: { address: '127.0.0.1:0', routes: [route] },
    profiles: { job: profile },
    callers: [{ name: 'job', token_file: file('caller-token', CALLER_TOKEN) }],
  }
  return startSidecarOn(data, { flags: ['--config', file('config.json', JSON.stringify(config))] })
}

/** Makes a data folder with a service user. Returns the password. */
async function newUser(data: string): Promise<string> {
  const flags = { data, 'grpc.address': '127.0.0.1:0', 'http.address': 'off', 'log.level': 'silent' }
  const sidecar = await startSidecar(readConfig({ flags }))
  try {
    const user = { name: 'job', permissions: [{ scope: 'account' as const }] }
    const { secrets } = await applyFile(sidecar.administration, trusted('the benchmarks'), {
      accounts: [{ account: ACCOUNT, service_users: [user] }],
    })
    const [secret] = secrets
    if (secret === undefined) throw new Error('expected the password of the new user')
    return secret.value.reveal()
  } finally {
    await sidecar.close()
  }
}

/** The requests of an application. @param answerBytes length of the target's answer */
export function requestsFor(
  address: string,
  { bodyBytes, answerBytes }: { readonly bodyBytes: number; readonly answerBytes: number },
): Http1Workload {
  const headers = {
    Host: address,
    'User-Agent': 'benchmark',
    Accept: 'application/json',
    'Accept-Encoding': 'identity',
    ...(bodyBytes > 0 && { 'Content-Type': 'application/json' }),
    'Proxy-Authorization': `Bearer ${CALLER_TOKEN}`,
  }
  const request = http1Request(
    bodyBytes > 0 ? 'POST' : 'GET',
    '/v1/items?limit=10',
    headers,
    'x'.repeat(bodyBytes),
  )
  return { requests: [request], bodyBytes: [answerBytes] }
}
