/**
 * The program of a worker: a whole sidecar, on addresses that it shares with the other workers. It takes its
 * configuration and its orders from the primary, and ends when the primary does.
 */
import cluster from 'node:cluster'
import { newLog } from '../log.ts'
import { type Sidecar, startSidecar } from '../sidecar.ts'
import { OtherWorkers } from './changes.ts'
import { PrimaryThrottle } from './logins.ts'
import { type FromPrimary, type FromWorker, receivedConfig } from './messages.ts'

const failedLogins = new PrimaryThrottle(send)
const siblings = new OtherWorkers(send)
let sidecar: Sidecar | undefined
let stopping = false

process.on('message', (message: FromPrimary) => {
  if (message.type === 'login') failedLogins.answered(message)
  else if (message.type === 'forget') siblings.forget(message.id)
  else if (message.type === 'change_heard') siblings.heard(message.id)
  else if (message.type === 'probe') send({ type: 'alive' })
  else if (message.type === 'reload') sidecar?.reload()
  else if (message.type === 'stop') void stop()
  else if (message.type === 'start') void start(message)
})
cluster.worker?.once('disconnect', () => {
  // Otherwise Node ends the process at once, and the calls in flight with it.
  if (cluster.worker) cluster.worker.exitedAfterDisconnect = true
  failedLogins.close()
  siblings.close()
  void stop()
})
// A terminal signals every process of its group; and one worker can be told to give way to another.
for (const signal of ['SIGTERM', 'SIGINT'] as const)
  process.once(signal, () => {
    process.once(signal, () => process.exit(1))
    void stop()
  })
process.on('SIGHUP', () => sidecar?.reload())
send({ type: 'hello' })

async function start(order: Extract<FromPrimary, { type: 'start' }>): Promise<void> {
  const config = receivedConfig(order.config)
  const log = newLog(config.log_level, { pid: process.pid })
  try {
    sidecar = await startSidecar(config, { log, failedLogins, siblings, addressesHeld: order.addressesHeld })
    const { grpcAddress, httpAddress, matrixDigest } = sidecar
    send({ type: 'ready', listening: { grpcAddress, httpAddress, matrixDigest } })
  } catch (error) {
    send({ type: 'refused', message: (error as Error).message })
  }
}

async function stop(): Promise<void> {
  if (stopping) return
  stopping = true
  await sidecar?.close()
  process.exit(0)
}

function send(message: FromWorker): void {
  // Where the primary is gone the worker is about to end, and nobody misses the message.
  process.send?.(message, undefined, undefined, () => {})
}
