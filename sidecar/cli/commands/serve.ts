/** `portcullis serve`: runs the sidecar until it is stopped. */
import type { Command } from 'commander'
import { endLightStart, endLightStartForCalls } from '../../base/light-start.ts'
import { keepYoungGeneration, mayChooseYoungGeneration } from '../../base/young-generation.ts'
import type { Config } from '../../config/config.ts'
import { KEEPS_DECISIONS, logsDecisions } from '../../config/decision-log-config.ts'
import { endOf, isOver, observedProxiesOf } from '../../config/observation-config.ts'
import type { Serving } from '../../process/serving.ts'
import { failWith, usageError } from '../terminal/errors.ts'
import { addHelpParts } from '../terminal/help.ts'
import { configOption, print, printJson } from '../terminal/output.ts'
import { paint } from '../terminal/terminal.ts'
import type { Demo } from './demo.ts'
import { whenNpmEnds } from './npm.ts'

/** The options that say how a sidecar is configured. */
export interface SidecarOptions {
  readonly grpc?: string
  readonly http?: string
  readonly data?: string
  readonly matrix?: string
  readonly strict?: boolean
  readonly workers?: number
  readonly logLevel?: string
  readonly logFormat?: string
  readonly config?: string
}

interface ServeOptions extends SidecarOptions {
  readonly dev?: boolean
  readonly json?: boolean
}

/** Adds the options to a command that reads the configuration as `serve` does. */
export function addSidecarOptions(command: Command): Command {
  return command
    .option('--grpc <addr>', 'gRPC address: HOST:PORT (port 0: a free one) or unix:PATH')
    .option('--http <addr>', 'HTTP address: HOST:PORT, or off')
    .option('--data <dir>', 'data folder of the embedded authority')
    .option('--matrix <file>', 'matrix file (default: the shipped matrix)')
    .option('--strict', 'deny every cell that a conflict of the source names')
    .option('--workers <n>', 'number of processes that serve the same addresses (default: 1)', workersOf)
    .option('--log-level <level>', 'lowest level of the lines of the log (default: info)')
    .option('--log-format <format>', 'auto, json or pretty (default: auto)')
    .addOption(configOption('configuration file, YAML or JSON'))
}

/** Where the configuration comes from: the file, the environment, and these options. */
export function sourcesOf(options: SidecarOptions) {
  return {
    file: options.config,
    environment: process.env,
    flags: {
      'grpc.address': options.grpc,
      'http.address': options.http,
      data: options.data,
      matrix: options.matrix,
      strict: options.strict,
      workers: options.workers,
      'log.level': options.logLevel,
      'log.format': options.logFormat,
    },
  }
}

export function addServeCommand(program: Command): void {
  const command = addSidecarOptions(
    program.command('serve').description('Run the sidecar until it is stopped.'),
  )
    .option('--dev', 'run a development sidecar: a demo account in a new data folder, removed at the end')
    .option('--json', 'print one line of JSON when ready, and errors as JSON')
  addHelpParts(command, {
    examples: [
      'serve --dev',
      'serve --grpc unix:./portcullis-data/grpc.sock',
      'serve --config portcullis.yaml',
    ],
    exitCodes: '0 stopped by a signal, 2 it could not serve',
    notes: [
      'A variable can set every key of the configuration that takes one value: PORTCULLIS_GRPC_ADDRESS for `grpc.address`.',
      'SIGHUP reads the matrix files, the TLS certificates and the callers again. SIGTERM and SIGINT let calls finish, then stop. SIGUSR2 writes a diagnostic snapshot into the data folder. With workers, signal the first process.',
    ],
  }).action(serve)
}

async function serve(options: ServeOptions): Promise<void> {
  // A Unix socket exists before its mode can be set. Until then, too, only the owner and the group may
  // connect.
  process.umask(process.umask() | 0o007)
  const { readConfig } = await import('../../config/config.ts')
  const sources = sourcesOf(options)
  const { flags } = sources
  const config = readConfig(sources)
  const { expectDescriptorsToStart } = await import('../../base/net/descriptors.ts')
  expectDescriptorsToStart()
  // Before the sidecar is loaded, because then it would grow.
  if (mayChooseYoungGeneration(config)) keepYoungGeneration()
  else endLightStart()
  const json = options.json === true
  const dev = options.dev ? await (await import('./demo.ts')).prepareDemo(config, flags, json) : undefined
  let running: Serving | undefined
  const stop = async () => {
    unfollow()
    // A second signal does not wait.
    for (const signal of STOP_SIGNALS) process.once(signal, () => process.exit(1))
    await running?.close()
    // At the very end, because workers that are still starting write into the folder until they are killed.
    process.once('exit', () => dev?.remove())
    process.exit(0)
  }
  // Before the start, which takes a while: a signal during it removes the new data folder too.
  for (const signal of STOP_SIGNALS) process.once(signal, () => void stop())
  // By default the signal would end the process, also while it starts.
  process.on('SIGUSR2', () => running?.diagnose())
  const unfollow = whenNpmEnds(() => void stop())

  // A demo account is useless if its secrets cannot be read. Any other sidecar is useful without its ready
  // line.
  process.stdout.once('error', ({ code }: NodeJS.ErrnoException) => {
    if (dev !== undefined || code !== 'EPIPE') void stop()
  })

  const start = await starter(config, (error) => {
    failWith(error, { json })
    dev?.remove()
    process.exit()
  })
  const serving = await (dev?.start(start) ?? start(config)).catch(async (error: unknown) => {
    throw (await import('./taken-address.ts')).withRemedy(error, options, process.env)
  })
  running = serving
  process.on('SIGHUP', () => serving.reload())
  const demo = await dev?.populate(serving)
  endLightStartForCalls()

  if (options.json) printJson(readyJson(serving, config, demo))
  else if (dev && demo) print([dev.welcome(serving, demo), ...observedTexts(config)].join('\n'))
  else print(readyLine(serving, config))
  if (process.env.NOTIFY_SOCKET !== undefined) (await import('./systemd.ts')).tellReady()
}

/**
 * Starts the sidecar in this process, or in workers.
 *
 * @param onFailed called where workers end again and again
 */
async function starter(
  config: Config,
  onFailed: (error: Error) => void,
): Promise<(config: Config) => Promise<Serving>> {
  if (config.workers === 1) return (await import('../../process/sidecar.ts')).startSidecar
  const { startWorkers } = await import('../../process/workers/primary.ts')
  return (config) => startWorkers(config, onFailed)
}

function readyJson(serving: Serving, config: Config, demo: Demo | undefined): object {
  return {
    event: 'ready',
    grpc: serving.grpcAddress,
    http: serving.httpAddress ?? 'off',
    ...(serving.egressAddress !== undefined && { egress: serving.egressAddress }),
    ...(serving.healthAddress !== undefined && { health: serving.healthAddress }),
    matrix_digest: serving.matrixDigest,
    strict: config.strict,
    rules_digest: serving.rulesDigest,
    ...(serving.shadowDigest !== undefined && { shadow_digest: serving.shadowDigest }),
    ...(config.workers > 1 && { workers: config.workers }),
    ...(observedNow(config) && {
      proxies: { mode: 'observe', until: config.proxies.observe_until ?? null },
    }),
    decisions: logsDecisions(config.decision_log)
      ? { kept: true }
      : { kept: false, kept_by: KEEPS_DECISIONS },
    ...(demo && { demo: demoJson(demo) }),
  }
}

function readyLine(
  { grpcAddress, httpAddress, egressAddress, healthAddress, matrixDigest, shadowDigest }: Serving,
  config: Config,
): string {
  const { strict, workers, decision_log } = config
  return [
    `ready: gRPC on ${grpcAddress}`,
    `HTTP ${httpAddress === undefined ? 'off' : `on ${httpAddress}`}`,
    ...(egressAddress === undefined ? [] : [`egress on ${egressAddress}`]),
    ...(healthAddress === undefined ? [] : [`health on ${healthAddress}`]),
    `matrix ${matrixDigest}`,
    ...(strict ? ['strict'] : []),
    ...(shadowDigest === undefined ? [] : [`compared with ${shadowDigest}, which decides nothing`]),
    ...(workers > 1 ? [`${workers} workers`] : []),
    ...observedTexts(config),
    ...(logsDecisions(decision_log) ? [] : [`decisions are not kept (${KEEPS_DECISIONS} keeps them)`]),
  ].join(', ')
}

function observedNow(config: Config) {
  const observed = observedProxiesOf(config)
  return observed === undefined || isOver(observed, Date.now()) ? undefined : observed
}

/** Says that every request passes, where that is so. */
function observedTexts(config: Config): string[] {
  const observed = observedNow(config)
  if (observed === undefined) return []
  return [paint('yellow', `PROXIES ARE ONLY OBSERVED ${endOf(observed)} (every request passes)`)]
}

/** The schema of the configuration says how many workers there may be. */
function workersOf(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw usageError('--workers: expected a whole number')
  return Number(text)
}

const STOP_SIGNALS = ['SIGTERM', 'SIGINT'] as const

function demoJson({ account, project, serviceUser, staticToken, owner }: Demo): object {
  const { name, password, linkSecret } = owner
  return {
    ...{ account, project, service_user: serviceUser, static_token: staticToken },
    control_panel_user: { name, password, link_secret: linkSecret },
  }
}
