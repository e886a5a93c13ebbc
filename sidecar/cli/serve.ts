/** `portcullis serve`: runs the sidecar until it is told to stop. */
import type { Command } from 'commander'
import type { Sidecar } from '../sidecar.ts'
import type { Demo } from './demo.ts'
import { print, printJson } from './output.ts'

interface ServeOptions {
  readonly grpc?: string
  readonly http?: string
  readonly data?: string
  readonly matrix?: string
  readonly strict?: boolean
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
    .option('--config <file>', 'configuration file, YAML or JSON')
    .option('--dev', 'a development sidecar: a fresh data folder with a demo account, gone at exit')
    .option('--json', 'when ready, print one line of JSON and nothing else')
    .addHelpText(
      'after',
      '\nEvery key of the configuration can be set by a variable, PORTCULLIS_GRPC_ADDRESS for `grpc.address`.\nSIGHUP reads the matrix file again; SIGTERM and SIGINT let calls finish and stop.',
    )
    .action(serve)
}

async function serve(options: ServeOptions): Promise<void> {
  const { readConfig } = await import('../config/config.ts')
  const { startSidecar } = await import('../sidecar.ts')
  const flags = {
    'grpc.address': options.grpc,
    'http.address': options.http,
    data: options.data,
    matrix: options.matrix,
    strict: options.strict,
  }
  const config = readConfig({ file: options.config, environment: process.env, flags })
  const dev = options.dev ? await (await import('./demo.ts')).prepareDemo(config, flags) : undefined
  let running: Sidecar | undefined
  const stop = async () => {
    // A second signal does not wait.
    for (const signal of STOP_SIGNALS) process.once(signal, () => process.exit(1))
    await running?.close()
    dev?.remove()
    process.exit(0)
  }
  // Before the start, which takes a while: what was made by then is removed again.
  for (const signal of STOP_SIGNALS) process.once(signal, () => void stop())

  const sidecar = await (dev?.start(startSidecar) ?? startSidecar(config))
  running = sidecar
  process.on('SIGHUP', () => sidecar.reload())
  const demo = await dev?.populate(sidecar)

  if (options.json)
    printJson({
      event: 'ready',
      grpc: sidecar.grpcAddress,
      http: sidecar.httpAddress ?? 'off',
      matrix_digest: sidecar.matrixDigest,
      ...(demo && { demo: demoJson(demo) }),
    })
  else if (dev && demo) print(dev.welcome(sidecar, demo))
  else
    print(
      `ready: gRPC on ${sidecar.grpcAddress}, HTTP ${sidecar.httpAddress === undefined ? 'off' : `on ${sidecar.httpAddress}`}, matrix ${sidecar.matrixDigest}${sidecar.rules.engine.strict ? ', strict' : ''}`,
    )
}

const STOP_SIGNALS = ['SIGTERM', 'SIGINT'] as const

function demoJson({ account, project, serviceUser, staticToken }: Demo): object {
  return { account, project, service_user: serviceUser, static_token: staticToken }
}
