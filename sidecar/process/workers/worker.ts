/**
 * The program of a worker: a complete sidecar. It receives its configuration, its commands and its
 * connections from the primary, and ends when the primary ends.
 */
import { closeSync } from 'node:fs'
import { extname, join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { isExecutable, packageFile } from '../../base/package.ts'
import { statementCount } from '../../directory/statement-count.ts'
import { newLog } from '../../signals/log/log.ts'
import type { Sidecar } from '../serving.ts'
import { startSidecar } from '../sidecar.ts'
import { PrimaryThrottle } from './logins.ts'
import { OtherWorkers } from './worker-changes.ts'
import { PrimaryConnections } from './worker-connections.ts'
import { type FromPrimary, type FromWorker, receivedConfig, STATEMENT_CHANNEL } from './worker-messages.ts'

const failedLogins = new PrimaryThrottle(send)
const siblings = new OtherWorkers(send)
const connections = new PrimaryConnections(send)
let sidecar: Sidecar | undefined
let stopping = false

process.on('message', (message: FromPrimary, handle: unknown) => {
  if (message.type === 'connection') connections.receiveConnection(message.listener, handle)
  else if (message.type === 'listening') connections.receive(message)
  else if (message.type === 'login') failedLogins.receive(message)
  else if (message.type === 'hear_change') siblings.hear(message.id, message.change)
  else if (message.type === 'change_acknowledged') siblings.acknowledge(message.id)
  else if (message.type === 'collect')
    send({ type: 'metrics', id: message.id, metrics: sidecar?.metrics() ?? [] })
  else if (message.type === 'probe') send({ type: 'alive' })
  else if (message.type === 'reload') sidecar?.reload()
  else if (message.type === 'diagnose') sidecar?.diagnose()
  else if (message.type === 'stop') void stop()
  else if (message.type === 'start') void start(message)
})
process.once('disconnect', () => {
  connections.close()
  failedLogins.close()
  siblings.close()
  void stop()
})
// A terminal sends signals to every process of its group. An operator can also stop a single worker, which is
// then replaced.
for (const signal of ['SIGTERM', 'SIGINT'] as const)
  process.once(signal, () => {
    process.once(signal, () => process.exit(1))
    void stop()
  })
process.on('SIGHUP', () => sidecar?.reload())
process.on('SIGUSR2', () => sidecar?.diagnose())
send({ type: 'hello' })

async function start(command: Extract<FromPrimary, { type: 'start' }>): Promise<void> {
  const config = receivedConfig(command.config)
  const { url, hub } = config.directory
  if (url === undefined && hub === undefined) answerDuringStatements()
  else closeSync(STATEMENT_CHANNEL)
  const log = newLog(config.log, { pid: process.pid })
  try {
    sidecar = await startSidecar(config, {
      log,
      failedLogins,
      siblings,
      connections,
      onHealth: (state) => send({ type: 'health', state }),
      metrics: config.health.metrics,
      again: command.again,
    })
    const { grpcAddress, httpAddress, egressAddress, matrixDigest, rulesDigest, shadowDigest } = sidecar
    const digests = { matrixDigest, rulesDigest, shadowDigest }
    send({ type: 'ready', serving: { grpcAddress, httpAddress, egressAddress, ...digests } })
  } catch (error) {
    send({ type: 'start_failed', message: (error as Error).message })
  }
}

/** @see STATEMENT_CHANNEL */
function answerDuringStatements(): void {
  // Next to this file, in the sources as in the package. The executable has it as a text.
  const program = isExecutable
    ? packageFile('statement-thread.cjs').toString()
    : join(import.meta.dirname, `statement-thread${extname(import.meta.filename)}`)
  const workerData = { channel: STATEMENT_CHANNEL, statementCount }
  // It needs no option of this process, and above all no secret of its environment.
  const thread = new Worker(program, { eval: isExecutable, workerData, execArgv: [], env: {} })
  thread.unref()
  // Where there is no memory for it, a worker in a long statement looks like one that hangs.
  thread.on('error', () => {})
}

async function stop(): Promise<void> {
  if (stopping) return
  stopping = true
  await sidecar?.close()
  process.exit(0)
}

function send(message: FromWorker): void {
  // Errors are ignored: if the primary is gone, this worker is about to end anyway.
  process.send?.(message, undefined, undefined, () => {})
}
