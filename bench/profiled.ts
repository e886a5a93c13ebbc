/** The sidecar under V8's profiler, driven with claims, tokens and batches. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { compile } from '../engine/index.ts'
import { supportMatrix } from '../matrix/index.ts'
import { contend } from './contender.ts'
import { type CpuProfile, callTree, type Frame } from './cpu-profile.ts'
import { startSidecarProcess } from './server-process.ts'
import { temporaryFolder } from './temporary.ts'
import { BATCH_LENGTH, prepareWorkloads } from './workloads.ts'

const ROOT = join(import.meta.dirname, '..')

const SAMPLE_MICROSECONDS = 200

export interface ProfileEffort {
  /** Unary calls of claims, and as many of tokens. */
  readonly calls: number
  readonly batches: number
}

export interface Profiled {
  /** What ran while the sidecar was driven, warm; neither its start nor its waiting. */
  readonly tree: Frame
  readonly decisions: number
}

/** Drives a sidecar twice: to warm it up, and for the profile. */
export async function profileSidecar({ calls, batches }: ProfileEffort): Promise<Profiled> {
  await using stack = new AsyncDisposableStack()
  const folder = temporaryFolder(stack)
  const server = await startSidecarProcess([], undefined, [
    ...['--cpu-prof', '--cpu-prof-dir', folder, '--cpu-prof-interval', String(SAMPLE_MICROSECONDS)],
  ])
  const { load } = await contend(server, server.ready.grpc, stack)
  const works = await prepareWorkloads(compile(supportMatrix), server.ready, load)
  const drive = async () => {
    await load.run(works.claims, calls)
    await load.run(works.iamTokens, calls)
    await load.run(works.batch, batches)
  }
  await drive()
  const start = monotonicMicroseconds()
  await drive()
  const period = { start, end: monotonicMicroseconds() }
  load.close()
  // It writes the profile when it ends.
  await server.stop()
  const [file] = globSync('*.cpuprofile', { cwd: folder })
  if (file === undefined) throw new Error('the sidecar has written no profile')
  const profile = JSON.parse(readFileSync(join(folder, file), 'utf8')) as CpuProfile
  return { tree: callTree(profile, period, ROOT), decisions: 2 * calls + batches * BATCH_LENGTH }
}

function monotonicMicroseconds(): number {
  return Number(process.hrtime.bigint() / 1000n)
}
