/**
 * The development sidecar: a fresh data folder, a demo account with one record of each type, and commands to
 * try next.
 */
import { randomInt } from 'node:crypto'
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DEFAULT_ADDRESS } from '../../../clients/typescript/default-address.ts'
import type { Engine } from '../../../engine/index.ts'
import { commandLine } from '../../authority/actor.ts'
import type { Administration } from '../../authority/administration/administration.ts'
import { newPassword } from '../../authority/password.ts'
import { takenAddressOf } from '../../base/address.ts'
import { hasPage, packageVersion } from '../../base/package.ts'
import { Secret } from '../../base/secret.ts'
import { columns } from '../../base/text-table.ts'
import type { Config } from '../../config/config.ts'
import { KEEPS_DECISIONS, logsDecisions } from '../../config/decision-log-config.ts'
import { userIn } from '../../directory/found.ts'
import { PanelChange } from '../../directory/panel-change.ts'
import type { Serving, Sidecar } from '../../process/serving.ts'
import { readRules } from '../read-rules.ts'
import { usageError } from '../terminal/errors.ts'
import { paint } from '../terminal/terminal.ts'
import { type DemoPaths, demoCommands, staticKind } from './demo-commands.ts'
import { matrixTable } from './matrix/table.ts'

/** The content of the demo account. */
export interface Demo {
  readonly account: string
  readonly project: string
  readonly serviceUser: { readonly name: string; readonly password: string }
  /** `undefined`: the matrix has no kind for it. */
  readonly staticToken: string | undefined
  readonly owner: {
    readonly name: string
    readonly password: string
    /** Secret of a link that logs in once. */
    readonly linkSecret: string
  }
}

export interface DemoSidecar {
  /** Starts on the addresses of the configuration, or on free ports where the default ones are taken. */
  start(start: (config: Config) => Promise<Serving>): Promise<Serving>
  /**
   * Creates the demo account. With workers the directory is open in their processes alone, so it is opened
   * here too for a moment.
   */
  populate(serving: Serving | Sidecar): Promise<Demo>
  welcome(serving: Serving, demo: Demo): string
  /** Removes the data folder where it was made for this run. */
  remove(): void
}

const PROJECT = 'demo-project'
const SERVICE_USER = 'demo'
const CONTROL_PANEL_USER = 'demo-owner'

/** @throws Error where no folder can be created, as with a read-only `/tmp` */
function newFolder(): string {
  const within = tmpdir()
  try {
    return mkdtempSync(join(within, 'portcullis-'))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new Error(
      `--dev: the folder of the demo cannot be created in ${within} (${code}); expected TMPDIR to name a folder that can be written, or --data with an empty one`,
      { cause: error },
    )
  }
}

/**
 * @param flags keys of the configuration that were given on the command line: an address among them is not
 *   replaced
 */
export async function prepareDemo(
  config: Config,
  flags: Readonly<Record<string, string | number | boolean | undefined>>,
  json: boolean,
): Promise<DemoSidecar> {
  if (config.directory.url !== undefined)
    throw usageError(
      '--dev: expected no shared directory, but `directory.url` names one; serve it without --dev',
    )
  const given = flags.data as string | undefined
  if (
    given !== undefined &&
    statSync(given, { throwIfNoEntry: false })?.isDirectory() &&
    readdirSync(given).length > 0
  )
    throw usageError(
      `--dev: expected an empty data folder or none, but ${given} is not empty; serve it without --dev`,
    )
  const data = given ?? newFolder()
  const remove = () => {
    if (given === undefined) rmSync(data, { recursive: true, force: true, maxRetries: 5 })
  }
  const quiet: Config = {
    ...config,
    http: {
      ...config.http,
      connect: true,
      console: hasPage(),
      ...(hasPage() && { control_panel: config.http.control_panel ?? {} }),
    },
    data,
    log: { ...config.log, level: 'warn' },
  }
  return {
    start: async (start) => {
      try {
        return await start(quiet).catch((error: unknown) => {
          const chosen = flags['grpc.address'] ?? flags['http.address']
          if (takenAddressOf(error) === undefined || chosen !== undefined) throw error
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
      const populate = (administration: Administration) =>
        populateWith(administration, readRules(config).engine)
      if ('administration' in serving) return populate(serving.administration)
      const { administerDirectory } = await import('../administration/administer-directory.ts')
      return administerDirectory(quiet, populate, json)
    },
    welcome: (serving, demo) =>
      welcome(
        serving,
        readRules(config).engine,
        demo,
        { data, matrix: config.matrix, isRemoved: given === undefined },
        logsDecisions(config.decision_log),
      ),
    remove,
  }
}

async function populateWith(administration: Administration, engine: Engine): Promise<Demo> {
  const kind = staticKind(engine)?.id
  const account = String(randomInt(100_000, 1_000_000))
  const { applyFile } = await import('../../authority/administration/directory-file.ts')
  const { secrets } = await applyFile(administration, commandLine(), {
    accounts: [
      {
        account,
        projects: [PROJECT],
        service_users: [{ name: SERVICE_USER, permissions: [{ scope: 'account' }] }],
        control_panel_users: [
          { name: CONTROL_PANEL_USER, owner: true, ...(kind && { static_tokens: [{ name: 'demo', kind }] }) },
        ],
      },
    ],
  })
  const secretOf = (type: 'password' | 'static_token') =>
    secrets.find((secret) => secret.type === type)?.value.reveal()
  return {
    account,
    project: PROJECT,
    serviceUser: { name: SERVICE_USER, password: secretOf('password') ?? '' },
    staticToken: secretOf('static_token'),
    owner: { name: CONTROL_PANEL_USER, ...(await loginOf(administration, account)) },
  }
}

/** A password for the owner of the demo account, and a link that logs in as them. */
async function loginOf(
  administration: Administration,
  account: string,
): Promise<{ password: string; linkSecret: string }> {
  const panel = await administration.controlPanel()
  const [author, password] = [commandLine(), newPassword()]
  const user = await userIn(panel.records, account, CONTROL_PANEL_USER, 'control_panel_user')
  const hash = await panel.passwords.hash(new Secret(password), user.id)
  await panel.change(author, (change) => new PanelChange(change).acceptInvitation(user, hash))
  const { secret } = await panel.links.create(author, account, CONTROL_PANEL_USER, 'login')
  return { password, linkSecret: secret.reveal() }
}

function welcome(
  serving: Serving,
  engine: Engine,
  { account, project, serviceUser, staticToken, owner }: Demo,
  paths: DemoPaths & { readonly isRemoved: boolean },
  isLogged: boolean,
): string {
  const elsewhere =
    serving.grpcAddress === DEFAULT_ADDRESS ? [] : [`export PORTCULLIS_GRPC_ADDRESS=${serving.grpcAddress}`]
  return `${paint('bold', `Portcullis ${packageVersion}`)}, a development sidecar. ${paths.isRemoved ? 'Its data is deleted when it stops (Ctrl-C).' : 'Ctrl-C stops it.'}

${columns([
  ['  gRPC', serving.grpcAddress],
  [
    '  HTTP',
    serving.httpAddress === undefined
      ? 'off'
      : `http://${serving.httpAddress} (/identity/v3, /openapi.json, /healthz, /readyz)`,
  ],
  ...(serving.httpAddress !== undefined && hasPage()
    ? [['  page', `http://${serving.httpAddress}/console/ (the matrix, to look at and to try)`]]
    : []),
  ['  data', paths.data],
  ['  matrix', serving.matrixDigest],
  ...(isLogged ? [] : [['  decisions', `not kept (${KEEPS_DECISIONS} keeps them)`]]),
])}

${paint('bold', `Demo account ${account} with project ${project}.`)} Its secrets are shown this once:

${columns([
  ['  service user', serviceUser.name, 'password', serviceUser.password],
  ...(staticToken === undefined
    ? [['  control panel user', owner.name, 'password', owner.password]]
    : [
        ['  control panel user', owner.name, 'static token', staticToken],
        ['', '', 'password', owner.password],
      ]),
])}

${matrixTable(engine)}

${paint('bold', 'Try it, in another terminal:')}

${[...elsewhere, ...demoCommands(engine, { account, serviceUser, staticToken }, paths)]
  .map((line) => `  ${line}`)
  .join('\n')}
${inBrowser(serving, owner)}`
}

/** The last of all, so that it is in sight. Passkeys belong to the name of a host, so the link has one. */
function inBrowser({ httpAddress }: Serving, { name, linkSecret }: Demo['owner']): string {
  if (httpAddress === undefined || !hasPage()) return ''
  const port = httpAddress.slice(httpAddress.lastIndexOf(':') + 1)
  return `
${paint('bold', `Or in a browser, as ${name}. The link works once:`)}

  http://localhost:${port}/console/#/link?secret=${linkSecret}
`
}
