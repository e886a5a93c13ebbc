/** Servers that take turns under the same driver, and what a call costs them. */
import { type Measure, median, ratioOf } from './compare.ts'
import { BUSY, Load, type Shape, type Workload } from './load.ts'
import type { Cost, MeasuredProcess } from './server-process.ts'
import type { Figure, Row } from './suite.ts'

/** A server with a driver. */
export interface Contender<Server extends MeasuredProcess = MeasuredProcess> {
  readonly server: Server
  /** `HOST:PORT` */
  readonly address: string
  readonly load: Load
}

/** Connects the driver to a server. Both end with the stack. */
export async function contend<Server extends MeasuredProcess>(
  server: Server,
  address: string,
  stack: AsyncDisposableStack,
): Promise<Contender<Server>> {
  stack.defer(() => server.stop())
  return { server, address, load: await connect(address, BUSY, stack) }
}

/** The same server with a driver of another shape. */
export async function reshaped(
  contender: Contender,
  shape: Shape,
  stack: AsyncDisposableStack,
): Promise<Contender> {
  return { ...contender, load: await connect(contender.address, shape, stack) }
}

async function connect(address: string, shape: Shape, stack: AsyncDisposableStack): Promise<Load> {
  const load = await Load.connect(address, shape)
  stack.defer(() => load.close())
  return load
}

/** What a unary call costs, over so many of them. */
export function unary({ server, load }: Contender, workload: Workload, calls: number): Measure<Cost> {
  return () => server.costPerCall(calls, () => load.run(workload, calls))
}

/** Processor time of A in terms of B's; the figures also tell how many came in a second. */
export function costRow(
  id: string,
  what: string,
  a: readonly Cost[],
  nameOfB: string,
  b: readonly Cost[],
  method: string,
): Row {
  return { id, what, a: figure(what, a), b: figure(nameOfB, b), ratio: ratioOf(cpuOf(a), cpuOf(b)), method }
}

function figure(name: string, costs: readonly Cost[]): Figure {
  const microseconds = median(costs.map(({ time }) => time))
  return { name, value: median(cpuOf(costs)), unit: 'µs CPU', perSecond: 1e6 / microseconds }
}

function cpuOf(costs: readonly Cost[]): number[] {
  return costs.map(({ cpu }) => cpu)
}
