/**
 * A sidecar with everything switched on, the secrets that it knows or is sent, and every output in which one
 * of them could come out.
 */
import { hash, randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { prettyLine } from '../../sidecar/signals/log/pretty-log.ts'
import { FakeUpstream } from '../support/identity/upstream.ts'
import { startTarget } from '../support/sidecar/egress.ts'
import { operatorOf } from '../support/sidecar/operator.ts'
import {
  ACCOUNT,
  issued,
  PEOPLE,
  populate,
  type RunningSidecar,
  runSidecar,
} from '../support/sidecar/sidecar.ts'
import { eventually, newFile, newFolder, whenTheFileEnds } from '../support/suite/resources.ts'
import type { Secrets } from './search.ts'

/** A text that no output may hold, and and no secret of the sidecar: rows put it where no secret belongs. */
export const CANARY = letters()

/**
 * A text in place of an API, a kind or an account. The decision log has the questions, and no other output
 * has it.
 */
export const ASKED = letters()

/** Without digits, so that no parser takes a part of it for a number by chance. */
function letters(): string {
  return Array.from(randomBytes(32), (byte) =>
    String.fromCharCode((byte & 1 ? 97 : 65) + ((byte >> 1) % 26)),
  ).join('')
}

/** Of a request that the sidecar takes over. */
export const REQUEST_ID = '3f2504e0-4f89-41d3-9a0c-0305e82c3301'

export interface Stage {
  readonly running: RunningSidecar
  /** Grows: an answer that rightly holds a new secret adds it. */
  readonly secrets: Record<string, string>
  /** A genuine token, whole. */
  readonly token: string
  readonly revoked: string
  readonly upstreamToken: string
  readonly http: string
  readonly egress: string
  readonly health: string
  /** Everything that came out so far besides answers. An exporter adds its bytes here. */
  readonly outputs: Readonly<Record<string, () => string | Promise<string>>>
  /** Secrets that an output rightly holds, by its name. */
  readonly rightly: Readonly<Record<string, readonly string[]>>
}

/** The secrets that tests choose; the sidecar makes the others. */
const CHOSEN = [
  ...['callerToken', 'proxySecret', 'upstreamPassword', 'validatorPassword', 'otlpAuthorization'],
  ...['passwordOfCommand', 'passwordOfVariable', 'wrongPassword', 'stalePassword', 'otlpKey'],
  'panelPassword',
] as const

export async function startStage(transport: 'sockets' | 'grpc-js'): Promise<Stage> {
  const folder = join(newFolder(), 'data')
  const chosen = Object.fromEntries(
    CHOSEN.map((name) => [name, randomBytes(24).toString('base64url')]),
  ) as Record<(typeof CHOSEN)[number], string>
  const first = await runSidecar({ folder })
  const people = await populate(first, PEOPLE)
  const token = (await issued(first, people)).value
  const revoked = (await issued(first, people)).value
  await operatorOf(first).revoke({ value: revoked })
  await first.sidecar.close()

  const upstream = await FakeUpstream.start([
    { account: ACCOUNT, name: 'job', password: chosen.upstreamPassword, roles: { '': ['member'] } },
    {
      ...{ account: ACCOUNT, name: 'validator', password: chosen.validatorPassword },
      ...{ roles: { '': ['member'] }, validator: true },
    },
  ])
  const collector = await startCollector()
  const log = join(newFolder(), 'decisions.jsonl')
  const variable = `PASSWORD_ON_${transport === 'sockets' ? 'SOCKETS' : 'GRPC_JS'}`
  process.env[variable] = chosen.passwordOfVariable
  whenTheFileEnds(() => delete process.env[variable])
  const config = configOf(chosen, people, {
    variable,
    upstream: upstream.url,
    target: (await startTarget()).url,
    // Each transport has another destination.
    decision_log:
      transport === 'sockets'
        ? { file: { path: log } }
        : {
            otlp: {
              url: `${collector.url}?api-key=${chosen.otlpKey}`,
              authorization_file: newFile(`Bearer ${chosen.otlpAuthorization}`),
            },
          },
  })
  const running = await runSidecar({
    ...{ folder, config: newFile(JSON.stringify(config), 'portcullis.json') },
    flags: { 'grpc.transport': transport, 'http.address': '127.0.0.1:0', 'health.address': '127.0.0.1:0' },
  })
  const { sidecar } = running
  const upstreamToken = upstream.issue('job')
  const secrets: Record<string, string> = {
    ...{ canary: CANARY, asked: ASKED, ...chosen, ...secretsIn(folder) },
    ...{ token: secretOf(token), revokedToken: secretOf(revoked), staticToken: people.staticToken },
    ...{ password: people.passwordOf('account'), alphaPassword: people.passwordOf('alpha') },
    ...{ upstreamToken: secretOf(upstreamToken) },
  }
  return {
    ...{
      running,
      secrets,
      token,
      revoked,
      upstreamToken,
      http: sidecar.httpAddress ?? '',
      egress: sidecar.egressAddress ?? '',
    },
    health: sidecar.healthAddress ?? '',
    outputs: {
      log: () => running.logLines.join(''),
      'log for people': () => running.logLines.map(prettyLine).join(''),
      'decision log': () =>
        allDecisions(running, () =>
          transport === 'sockets' ? readFileSync(log, 'latin1') : collector.received.join(''),
        ),
      metrics: async () => (await fetch(`http://${sidecar.healthAddress}/metrics`)).text(),
      'diagnostics of SIGUSR2': () => snapshotOf(running),
      'audit trail': async () =>
        JSON.stringify(await sidecar.administration.records.audit('', { after: '', size: 1_000 })),
      'directory file': () => bytesOf(folder, /^directory\.sqlite/),
    },
    rightly: { 'decision log': ['asked'] },
  }
}

/**
 * The log when it has the line of one more decision, because lines are written in their order, and a while
 * later.
 */
async function allDecisions({ client }: RunningSidecar, read: () => string): Promise<string> {
  const api = 'the-last-one'
  await client.check({ api, token: { kind: 'static_token', scope: { account: ACCOUNT } } })
  return eventually(() => {
    const text = read()
    return text.includes(api) && text
  })
}

/**
 * The secret part of a token: of one of ours its signature, because answers have its header and its claims,
 * too. Those of the upstream differ at their beginning.
 */
export function secretOf(token: string): string {
  if (token.startsWith('gAAAAA')) return token.slice(0, 13)
  return token.slice(token.lastIndexOf('.') + 1)
}

/** The secrets in the files of a data folder. */
export function secretsIn(folder: string): Secrets {
  const text = (name: string) => readFileSync(join(folder, name), 'utf8').trim()
  const { keys } = JSON.parse(text('signing-keys.json')) as { keys: { state: string; private_key: string }[] }
  // Of a key in PEM, the part that is not the same for every key.
  const bodies = keys.map(({ state, private_key }) => [
    `${state}Key`,
    (private_key.split('\n')[1] ?? '').slice(24),
  ])
  return {
    ...{ pepper: text('static-token-pepper'), administratorToken: text('administrator-token') },
    ...Object.fromEntries(bodies),
  }
}

interface Around {
  /** Where one password is. */
  readonly variable: string
  readonly upstream: string
  readonly target: string
  readonly decision_log: object
}

function configOf(
  chosen: Readonly<Record<(typeof CHOSEN)[number], string>>,
  { passwordOf, staticToken }: Awaited<ReturnType<typeof populate>>,
  { variable, upstream, target, decision_log }: Around,
): object {
  const profile = { account: ACCOUNT, user_name: 'account' }
  const route = { url: target, api: 'balance', profile: 'job', callers: 'anyone' }
  const ofUpstream = { ...profile, upstream: 'central' }
  return {
    http: {
      ...{ console: true, control_panel: {} },
      ...{ authorize: true, authzen: true, connect: true, jwks: true, trusted_proxies: ['127.0.0.1'] },
      proxy_secret_file: newFile(chosen.proxySecret),
      compatibility: { unscoped_login: true, token_method: 'any', list_scopes: true },
    },
    grpc: { max_message_bytes: 65_536 },
    decision_log,
    routes: [{ path: '/items/', api: 'balance' }],
    egress: {
      address: '127.0.0.1:0',
      routes: [
        { ...route, path: '/anyone/' },
        { ...route, path: '/known/', callers: ['job'] },
        { ...route, path: '/static/', profile: 'static', api: 'reports' },
        { ...route, path: '/stale/', profile: 'stale' },
        { ...route, path: '/upstream/', profile: 'upstream' },
        { ...route, path: '/down/', url: 'http://127.0.0.1:1/' },
      ],
    },
    upstreams: { central: { auth_url: upstream, verify: { profile: 'validator', accounts: [ACCOUNT] } } },
    profiles: {
      job: { ...profile, password_file: newFile(passwordOf('account')) },
      static: {
        ...profile,
        password_file: newFile(passwordOf('account')),
        static_token_file: newFile(staticToken),
      },
      stale: { ...profile, password_file: newFile(chosen.stalePassword) },
      variable: { ...profile, password_env: variable },
      command: { ...profile, password_command: ['/bin/echo', chosen.passwordOfCommand] },
      upstream: { ...ofUpstream, user_name: 'job', password_file: newFile(chosen.upstreamPassword) },
      validator: { ...ofUpstream, user_name: 'validator', password_file: newFile(chosen.validatorPassword) },
    },
    callers: [
      {
        ...{ name: 'job', token_file: newFile(chosen.callerToken) },
        profiles: ['job', 'static', 'stale', 'variable', 'command', 'upstream'],
      },
      { name: 'other', token_sha256: hash('sha256', CANARY) },
    ],
  }
}

async function startCollector(): Promise<{ readonly url: string; readonly received: string[] }> {
  const received: string[] = []
  const server = createServer(async (request, response) => {
    // Of the headers, Authorization rightly holds the secret of the collector.
    const { authorization: _, ...headers } = request.headers
    const body = Buffer.concat(await Array.fromAsync(request as AsyncIterable<Buffer>)).toString('latin1')
    received.push(JSON.stringify(headers), body)
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  whenTheFileEnds(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/logs`, received }
}

async function snapshotOf({ sidecar, folder, logLines }: RunningSidecar): Promise<string> {
  const before = logLines.length
  sidecar.diagnose()
  await eventually(() => logLines.slice(before).some((line) => line.includes('snapshot was written')))
  return bytesOf(folder, /^diagnostics-/)
}

export function bytesOf(folder: string, names: RegExp): string {
  const files = readdirSync(folder).filter((name) => names.test(name))
  if (files.length === 0) throw new Error(`expected a file ${names} in ${readdirSync(folder)}`)
  return files.map((name) => readFileSync(join(folder, name), 'latin1')).join('')
}
