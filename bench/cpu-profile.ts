/** Reads what `node --cpu-prof` writes: where the time of a process went, as a tree of calls and by whose code it was. */
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The part of a `.cpuprofile` that is read here; times are in microseconds. */
export interface CpuProfile {
  readonly nodes: readonly ProfileNode[]
  /** By the monotonic clock of the machine, as `process.hrtime` tells it. */
  readonly startTime: number
  /** Ids of the nodes that were running, sample by sample. */
  readonly samples: readonly number[]
  /** Before each sample, since the one before or the start. */
  readonly timeDeltas: readonly number[]
}

interface ProfileNode {
  readonly id: number
  readonly callFrame: { readonly functionName: string; readonly url: string }
  readonly children?: readonly number[]
}

/** From and until when, as `process.hrtime` tells it in microseconds. */
export interface Period {
  readonly start: number
  readonly end: number
}

/** Whose code it is. */
export type Origin = 'ours' | 'grpc-js' | 'node' | 'native' | 'gc' | 'other'

export const ORIGINS: readonly Origin[] = ['ours', 'grpc-js', 'node', 'native', 'gc', 'other']

/** A function, called in one way, with what it called. */
export interface Frame {
  readonly name: string
  /** From the root of the project, within its package, or as Node names its modules; empty where there is none. */
  readonly file: string
  readonly origin: Origin
  /** In the function itself. */
  readonly selfMicroseconds: number
  /** With everything that it called. */
  readonly totalMicroseconds: number
  /** In the order of their names: time has no order here. */
  readonly children: readonly Frame[]
}

const PACKAGE = /^.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\/(.*)$/
const OURS = /^(?:engine|matrix|sidecar)\//

/** What ran in a period, without the time in which nothing did. */
export function callTree(profile: CpuProfile, period: Period, root: string): Frame {
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]))
  const selves = selfTimes(profile, period)
  const isIdle = ({ callFrame }: ProfileNode) => callFrame.functionName === '(idle)'
  /** One frame of nodes that stand for the same function called in the same way: V8 also tells apart how it was compiled. */
  const frameOf = (same: readonly ProfileNode[]): Frame => {
    const below = same.flatMap(({ children = [] }) => children.map((id) => nodes.get(id) as ProfileNode))
    const groups = Map.groupBy(
      below.filter((node) => !isIdle(node)),
      ({ callFrame }) => `${callFrame.functionName} ${callFrame.url}`,
    )
    const children = Array.from(groups.values(), frameOf)
      .filter(({ totalMicroseconds }) => totalMicroseconds > 0)
      .sort((one, another) => (one.name < another.name ? -1 : 1))
    const selfMicroseconds = same.reduce((sum, { id }) => sum + (selves.get(id) ?? 0), 0)
    const totalMicroseconds = children.reduce((sum, child) => sum + child.totalMicroseconds, selfMicroseconds)
    const [{ callFrame }] = same as [ProfileNode]
    return { ...place(callFrame, root), selfMicroseconds, totalMicroseconds, children }
  }
  return frameOf(profile.nodes.slice(0, 1))
}

/** Time of the functions themselves, as parts of the whole. */
export function sharesByOrigin(tree: Frame): Record<Origin, number> {
  const shares: Record<Origin, number> = { ours: 0, 'grpc-js': 0, node: 0, native: 0, gc: 0, other: 0 }
  const add = ({ origin, selfMicroseconds, children }: Frame) => {
    shares[origin] += selfMicroseconds / tree.totalMicroseconds
    children.forEach(add)
  }
  add(tree)
  return shares
}

/** The tree with what is too small to be seen put together: at each function one frame for the least of what it called. */
export function withoutTrifles(tree: Frame, leastMicroseconds: number): Frame {
  const [seen, trifles] = [true, false].map((large) =>
    tree.children.filter(({ totalMicroseconds }) => totalMicroseconds >= leastMicroseconds === large),
  ) as [Frame[], Frame[]]
  const togetherMicroseconds = trifles.reduce((sum, { totalMicroseconds }) => sum + totalMicroseconds, 0)
  const together: Frame = {
    ...{ name: '…', file: '', origin: 'other', children: [] },
    selfMicroseconds: togetherMicroseconds,
    totalMicroseconds: togetherMicroseconds,
  }
  const children = seen.map((child) => withoutTrifles(child, leastMicroseconds))
  return {
    ...tree,
    children: togetherMicroseconds < leastMicroseconds ? children : [...children, together],
  }
}

/** Time for which each node ran itself: from one sample to the next. */
function selfTimes({ startTime, samples, timeDeltas }: CpuProfile, { start, end }: Period) {
  const selves = new Map<number, number>()
  let at = startTime
  samples.forEach((id, index) => {
    at += timeDeltas[index] as number
    if (at < start || at >= end) return
    selves.set(id, (selves.get(id) ?? 0) + (timeDeltas[index + 1] ?? 0))
  })
  return selves
}

function place(
  { functionName, url }: ProfileNode['callFrame'],
  root: string,
): Pick<Frame, 'name' | 'file' | 'origin'> {
  const name = functionName === '' ? '(anonymous)' : functionName
  if (name === '(garbage collector)') return { name, file: '', origin: 'gc' }
  // Code of V8 and Node that is not JavaScript, and the kernel's on their behalf.
  if (url === '') return { name, file: '', origin: 'native' }
  if (url.startsWith('node:')) return { name, file: url, origin: 'node' }
  const path = url.startsWith('file:') ? fileURLToPath(url) : url
  const [, packageName, file = ''] = PACKAGE.exec(path) ?? []
  if (packageName !== undefined)
    return {
      name,
      file: `${packageName}/${file}`,
      origin: packageName === '@grpc/grpc-js' ? 'grpc-js' : 'other',
    }
  const fromRoot = relative(root, path)
  return { name, file: fromRoot, origin: OURS.test(fromRoot) ? 'ours' : 'other' }
}
