/** Runs the sidecar under V8's profiler, and asks it about claims, tokens and batches. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { contend } from '../harness/contender.ts'
import { ROOT } from '../harness/paths.ts'
import { temporaryFolder } from '../harness/temporary.ts'
import { startSidecar } from '../servers/start.ts'
import { BATCH_LENGTH, prepareWorkloads } from '../workloads/checks.ts'
import { type CpuProfile, callTree, type Frame } from './calls.ts'

const SAMPLE_MICROSECONDS = 200

export interface ProfileEffort {
  /** Unary calls with claims, and as many with tokens. */
  readonly calls: number
  readonly batches: number
}

export interface Profiled {
  /** The frames that ran while the warm sidecar was asked. Its start and its idle time are not in it. */
  readonly tree: Frame
  readonly decisions: number
}

/** Asks the sidecar everything twice: first to warm it up, then for the profile. */
export async function profileSidecar(
  { calls, batches }: ProfileEffort,
  transport: 'sockets' | 'grpc-js',
): Promise<Profiled> {
  await using stack = new AsyncDisposableStack()
  const folder = temporaryFolder(stack)
  const server = await startSidecar({
    transport,
    nodeFlags: ['--cpu-prof', '--cpu-prof-dir', folder, '--cpu-prof-interval', String(SAMPLE_MICROSECONDS)],
  })
  const { load } = await contend(server, server.ready.grpc, stack)
  const workloads = await prepareWorkloads(server.ready, load)
  const drive = async () => {
    await load.run(workloads.claims, calls)
    await load.run(workloads.iamTokens, calls)
    await load.run(workloads.batch, batches)
  }
  await drive()
  const start = monotonicMicroseconds()
  await drive()
  const period = { start, end: monotonicMicroseconds() }
  load.close()
  // Node writes the profile when the process ends.
  await server.stop()
  const [file] = globSync('*.cpuprofile', { cwd: folder })
  if (file === undefined) throw new Error('the sidecar has written no profile')
  const profile = JSON.parse(readFileSync(join(folder, file), 'utf8')) as CpuProfile
  return { tree: callTree(profile, period, ROOT), decisions: 2 * calls + batches * BATCH_LENGTH }
}

function monotonicMicroseconds(): number {
  return Number(process.hrtime.bigint() / 1000n)
}
