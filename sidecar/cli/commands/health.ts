/**
 * `portcullis health`: whether a sidecar lives or is ready, for the probes of Kubernetes, systemd and
 * containers.
 */
import type { Command } from 'commander'
import { EXIT, usageError } from '../terminal/errors.ts'
import { addHelpParts } from '../terminal/help.ts'
import { addConnectionOptions, type ConnectionOptions, print, printJson } from '../terminal/output.ts'

interface HealthOptions extends ConnectionOptions {
  readonly health?: string
  readonly ready?: boolean
}

export function addHealthCommand(program: Command): void {
  const command = program
    .command('health')
    .description('Ask a sidecar whether it is alive, or whether it is ready.')
    .option('--ready', 'ask whether it should get traffic (default: whether it is alive)')
    .option(
      '--health <addr>',
      'address of the health listener: HOST:PORT or unix:PATH (default: PORTCULLIS_HEALTH_ADDRESS; otherwise gRPC is asked)',
    )
  addHelpParts(addConnectionOptions(command), {
    examples: [
      'health',
      'health --ready --health 127.0.0.1:9180',
      'health --ready --address unix:/run/portcullis/grpc.sock',
    ],
    exitCodes: '0 it is alive or ready, 1 it is not ready, 2 no answer',
  }).action(async ({ ready, health, address, deadline, json, ...tls }: HealthOptions) => {
    if (health !== undefined && address !== undefined)
      throw usageError('--health: expected no --address with it')
    if (health !== undefined && [tls.tls, tls.ca, tls.cert].some((each) => each !== undefined))
      throw usageError('--health: expected no TLS with it; the health listener has none')
    const { askHealthListener, askGrpc } = await import('./ask-health.ts')
    const configured = process.env.PORTCULLIS_HEALTH_ADDRESS
    const listener = health ?? (address !== undefined || configured === 'off' ? undefined : configured)
    const found =
      listener === undefined
        ? await askGrpc(address, deadline, tls)
        : await askHealthListener(listener, deadline)
    const { status, problems = [] } = ready === true ? found : { status: 'alive' }
    if (json) printJson({ status, ...(problems.length > 0 && { problems }) })
    else print(problems.length > 0 ? `${status}: ${problems.join(', ')}` : status)
    process.exitCode = ready === true && status !== 'ready' ? EXIT.denied : EXIT.done
  })
}
