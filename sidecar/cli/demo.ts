/** The development sidecar: a fresh data folder, a demo account with one of everything, and what to try next. */
import { randomInt } from 'node:crypto'
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Engine } from '../../engine/index.ts'
import { commandLine } from '../authority/actor.ts'
import type { Administration } from '../authority/administration/administration.ts'
import { packageVersion } from '../base/package.ts'
import { columns } from '../base/text-table.ts'
import { DEFAULT_ADDRESS } from '../client/index.ts'
import type { Config } from '../config/config.ts'
import type { Serving, Sidecar } from '../sidecar.ts'
import { matrixTable } from './matrix-table.ts'
import { readRules } from './rules.ts'

/** What the demo account holds. */
export interface Demo {
  readonly account: string
  readonly project: string
  readonly serviceUser: { readonly name: string; readonly password: string }
  readonly staticToken: string
}

export interface DemoSidecar {
  /** Starts on the addresses of the configuration, or on free ports where the default ones are taken. */
  start(start: (config: Config) => Promise<Serving>): Promise<Serving>
  /** Workers have no administration here: the directory is opened for a moment beside theirs. */
  populate(serving: Serving | Sidecar): Promise<Demo>
  welcome(serving: Serving, demo: Demo): string
  /** Removes the data folder, if it was made for this run. */
  remove(): void
}

const PROJECT = 'demo-project'
const SERVICE_USER = 'demo'
const CONTROL_PANEL_USER = 'demo-owner'

/** @param flags what was given on the command line: what was chosen is not changed */
export async function prepareDemo(
  config: Config,
  flags: Readonly<Record<string, string | number | boolean | undefined>>,
): Promise<DemoSidecar> {
  if (config.directory.url !== undefined)
    throw new Error('--dev: expected no shared directory, `directory.url` names one; serve it without --dev')
  const given = flags.data as string | undefined
  if (
    given !== undefined &&
    statSync(given, { throwIfNoEntry: false })?.isDirectory() &&
    readdirSync(given).length > 0
  )
    throw new Error(
      `--dev: expected an empty data folder or none, ${given} holds something; serve it without --dev`,
    )
  const data = given ?? mkdtempSync(join(tmpdir(), 'portcullis-'))
  const remove = () => {
    if (given === undefined) rmSync(data, { recursive: true, force: true, maxRetries: 5 })
  }
  const quiet: Config = { ...config, data, log_level: 'warn' }
  return {
    start: async (start) => {
      try {
        return await start(quiet).catch((error: Error) => {
          if (
            !error.message.endsWith('is in use') ||
            'grpc.address' in definedOf(flags) ||
            'http.address' in definedOf(flags)
          )
            throw error
          return start({
            ...quiet,
            grpc: { ...quiet.grpc, address: '127.0.0.1:0' },
            http: { ...quiet.http, address: '127.0.0.1:0' },
          })
        })
      } catch (error) {
        remove()
        throw error
      }
    },
    populate: async (serving) => {
      if ('administration' in serving) return populate(serving.administration)
      const { administerDirectory } = await import('./administer-directory.ts')
      return administerDirectory(quiet, populate)
    },
    welcome: (serving, demo) => welcome(serving, readRules(config).engine, demo, data),
    remove,
  }
}

function definedOf(flags: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(flags).filter(([, value]) => value !== undefined))
}

async function populate(administration: Administration): Promise<Demo> {
  const account = String(randomInt(100_000, 1_000_000))
  const { secrets } = await administration.apply(commandLine(), {
    accounts: [
      {
        account,
        projects: [PROJECT],
        service_users: [{ name: SERVICE_USER, permissions: [{ scope: 'account' }] }],
        control_panel_users: [{ name: CONTROL_PANEL_USER, static_tokens: ['demo'] }],
      },
    ],
  })
  const secretOf = (type: 'password' | 'static_token') =>
    secrets.find((secret) => secret.type === type)?.value.reveal() ?? ''
  return {
    account,
    project: PROJECT,
    serviceUser: { name: SERVICE_USER, password: secretOf('password') },
    staticToken: secretOf('static_token'),
  }
}

function welcome(
  serving: Serving,
  engine: Engine,
  { account, project, serviceUser, staticToken }: Demo,
  data: string,
): string {
  const elsewhere =
    serving.grpcAddress === DEFAULT_ADDRESS ? [] : [`export PORTCULLIS_GRPC_ADDRESS=${serving.grpcAddress}`]
  return `Portcullis ${packageVersion}, a development sidecar. Its data are gone when it stops (Ctrl-C).

${columns([
  ['  gRPC', serving.grpcAddress],
  [
    '  HTTP',
    serving.httpAddress === undefined
      ? 'off'
      : `http://${serving.httpAddress} (/identity/v3, /healthz, /readyz)`,
  ],
  ['  data', data],
  ['  matrix', serving.matrixDigest],
])}

Demo account ${account} with project ${project}. Its secrets are shown this once:

${columns([
  ['  service user', serviceUser.name, 'password', serviceUser.password],
  ['  control panel user', CONTROL_PANEL_USER, 'static token', staticToken],
])}

${matrixTable(engine)}

Try it, in another terminal:

${[
  ...elsewhere,
  `export PORTCULLIS_PASSWORD=${serviceUser.password}`,
  `TOKEN=$(npx portcullis issue --account ${account} --user ${serviceUser.name})`,
  'npx portcullis check balance -H "$TOKEN"        # allowed: balance takes an account-scoped IAM token',
  'npx portcullis check reports -H "$TOKEN"        # denied: reports takes a static token only',
  `npx portcullis check reports -H 'X-Token: ${staticToken}'`,
  `npx portcullis project create ${account} another --data '${data}'    # administration takes the data folder`,
  'npx portcullis explain audit-logs               # what the source says, and where it contradicts itself',
]
  .map((line) => `  ${line}`)
  .join('\n')}
`
}
