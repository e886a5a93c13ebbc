/** `portcullis serve`: runs the sidecar until it is told to stop. */
import type { Command } from 'commander'
import type { Config } from '../config/config.ts'
import type { Serving } from '../sidecar.ts'
import type { Demo } from './demo.ts'
import { failWith, print, printJson } from './output.ts'

interface ServeOptions {
  readonly grpc?: string
  readonly http?: string
  readonly data?: string
  readonly matrix?: string
  readonly strict?: boolean
  readonly workers?: number
  readonly config?: string
  readonly dev?: boolean
  readonly json?: boolean
}

export function addServeCommand(program: Command): void {
  program
    .command('serve')
    .description('Run the sidecar.')
    .option('--grpc <addr>', 'gRPC address: HOST:PORT (port 0: a free one) or unix:PATH')
    .option('--http <addr>', 'HTTP address: HOST:PORT, or off')
    .option('--data <dir>', 'data folder of the embedded authority')
    .option('--matrix <file>', 'matrix file (default: the shipped matrix)')
    .option('--strict', 'deny every cell that a conflict of the source names')
    .option('--workers <n>', 'processes that serve the same addresses (default: 1)', workersOf)
    .option('--config <file>', 'configuration file, YAML or JSON')
    .option('--dev', 'a development sidecar: a fresh data folder with a demo account, gone at exit')
    .option('--json', 'when ready, print one line of JSON and nothing else')
    .addHelpText(
      'after',
      '\nEvery key of the configuration that takes one value can be set by a variable, PORTCULLIS_GRPC_ADDRESS for `grpc.address`.\nSIGHUP reads the matrix file again; SIGTERM and SIGINT let calls finish and stop. With workers, signal the process that was started.',
    )
    .action(serve)
}

async function serve(options: ServeOptions): Promise<void> {
  // A Unix socket is there before its mode can be set: in between, too, it is for the owner and the group alone.
  process.umask(process.umask() | 0o007)
  const { readConfig } = await import('../config/config.ts')
  const flags = {
    'grpc.address': options.grpc,
    'http.address': options.http,
    data: options.data,
    matrix: options.matrix,
    strict: options.strict,
    workers: options.workers,
  }
  const config = readConfig({ file: options.config, environment: process.env, flags })
  const dev = options.dev ? await (await import('./demo.ts')).prepareDemo(config, flags) : undefined
  let running: Serving | undefined
  const stop = async () => {
    // A second signal does not wait.
    for (const signal of STOP_SIGNALS) process.once(signal, () => process.exit(1))
    await running?.close()
    // At the very end: workers that were still starting are killed then, and would write into the folder.
    process.once('exit', () => dev?.remove())
    process.exit(0)
  }
  // Before the start, which takes a while: what was made by then is removed again.
  for (const signal of STOP_SIGNALS) process.once(signal, () => void stop())

  // Secrets of a demo account that nobody has read are of no use; a sidecar that goes on without its ready line is.
  process.stdout.once('error', ({ code }: NodeJS.ErrnoException) => {
    if (dev !== undefined || code !== 'EPIPE') void stop()
  })

  const start = await starter(config, (error) => {
    failWith(error)
    dev?.remove()
    process.exit()
  })
  const serving = await (dev?.start(start) ?? start(config))
  running = serving
  process.on('SIGHUP', () => serving.reload())
  const demo = await dev?.populate(serving)

  if (options.json)
    printJson({
      event: 'ready',
      grpc: serving.grpcAddress,
      http: serving.httpAddress ?? 'off',
      matrix_digest: serving.matrixDigest,
      ...(config.workers > 1 && { workers: config.workers }),
      ...(demo && { demo: demoJson(demo) }),
    })
  else if (dev && demo) print(dev.welcome(serving, demo))
  else print(readyLine(serving, config))
}

/** How the configuration is served: by this process, or by workers. @param onFailed called where workers end for good */
async function starter(
  config: Config,
  onFailed: (error: Error) => void,
): Promise<(config: Config) => Promise<Serving>> {
  if (config.workers === 1) return (await import('../sidecar.ts')).startSidecar
  const { startWorkers } = await import('../workers/primary.ts')
  return (config) => startWorkers(config, onFailed)
}

function readyLine({ grpcAddress, httpAddress, matrixDigest }: Serving, { strict, workers }: Config): string {
  return [
    `ready: gRPC on ${grpcAddress}`,
    `HTTP ${httpAddress === undefined ? 'off' : `on ${httpAddress}`}`,
    `matrix ${matrixDigest}`,
    ...(strict ? ['strict'] : []),
    ...(workers > 1 ? [`${workers} workers`] : []),
  ].join(', ')
}

/** What the text means; how many there can be is the configuration's business. */
function workersOf(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new Error('--workers: expected a whole number')
  return Number(text)
}

const STOP_SIGNALS = ['SIGTERM', 'SIGINT'] as const

function demoJson({ account, project, serviceUser, staticToken }: Demo): object {
  return { account, project, service_user: serviceUser, static_token: staticToken }
}
