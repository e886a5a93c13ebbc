/**
 * Reads a profile of `node --cpu-prof`: the time of a process as a tree of calls, and by whose code it is.
 */
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The part of a `.cpuprofile` file that is read here. Times are in microseconds. */
export interface CpuProfile {
  readonly nodes: readonly ProfileNode[]
  /** By the monotonic clock of the machine, the clock of `process.hrtime`. */
  readonly startTime: number
  /** The id of the running node, sample by sample. */
  readonly samples: readonly number[]
  /** Time before each sample, since the previous one or the start. */
  readonly timeDeltas: readonly number[]
}

interface ProfileNode {
  readonly id: number
  readonly callFrame: { readonly functionName: string; readonly url: string }
  readonly children?: readonly number[]
}

/** A period by the clock of `process.hrtime`, in microseconds. */
export interface Period {
  readonly start: number
  readonly end: number
}

/** The origin of the code. */
export type Origin = 'ours' | 'grpc-js' | 'node' | 'native' | 'gc' | 'other'

export const ORIGINS: readonly Origin[] = ['ours', 'grpc-js', 'node', 'native', 'gc', 'other']

/** A function that was called along one path, with what it called. */
export interface Frame {
  readonly name: string
  /**
   * Path from the root of the project or within its package, or Node's name of its module. Empty for native
   * code.
   */
  readonly file: string
  readonly origin: Origin
  /** Time in the function itself. */
  readonly selfMicroseconds: number
  /** Time in the function and in everything that it called. */
  readonly totalMicroseconds: number
  /** Ordered by name, because a profile does not keep the order of calls. */
  readonly children: readonly Frame[]
}

const PACKAGE = /^.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\/(.*)$/
const OURS = /^(?:engine|matrix|proto|sidecar)\//

/** The frames that ran in a period, without idle time. */
export function callTree(profile: CpuProfile, period: Period, root: string): Frame {
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]))
  const selves = selfTimes(profile, period)
  const isIdle = ({ callFrame }: ProfileNode) => callFrame.functionName === '(idle)'
  /**
   * Merges nodes of the same function on the same path. V8 has one node for each way in which it was
   * compiled.
   */
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

/** The share of the time that is spent in functions of each origin. */
export function sharesByOrigin(tree: Frame): Record<Origin, number> {
  const shares: Record<Origin, number> = { ours: 0, 'grpc-js': 0, node: 0, native: 0, gc: 0, other: 0 }
  const add = ({ origin, selfMicroseconds, children }: Frame) => {
    shares[origin] += selfMicroseconds / tree.totalMicroseconds
    children.forEach(add)
  }
  add(tree)
  return shares
}

/** Merges frames that are too small to be seen: in each function, its smallest callees become one frame. */
export function withoutTinyFrames(tree: Frame, leastMicroseconds: number): Frame {
  const isTiny = ({ totalMicroseconds }: Frame) => totalMicroseconds < leastMicroseconds
  const children = tree.children
    .filter((child) => !isTiny(child))
    .map((child) => withoutTinyFrames(child, leastMicroseconds))
  const tinyMicroseconds = tree.children
    .filter(isTiny)
    .reduce((sum, { totalMicroseconds }) => sum + totalMicroseconds, 0)
  const merged: Frame = {
    ...{ name: '…', file: '', origin: 'other', children: [] },
    selfMicroseconds: tinyMicroseconds,
    totalMicroseconds: tinyMicroseconds,
  }
  return { ...tree, children: isTiny(merged) ? children : [...children, merged] }
}

/** The time of each node itself: from each of its samples to the next sample. */
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
  // Native code of V8 and Node, and the kernel's work for them.
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
