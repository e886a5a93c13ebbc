/** A server with a driver. Contenders take turns, and the driver measures what a call costs each of them. */
import type { Measure } from './compare.ts'
import type { Cost } from './cost.ts'
import { BUSY, GrpcLoad, type Shape, type Workload } from './grpc.ts'
import type { MeasuredProcess } from './process.ts'

export interface Contender<Server extends MeasuredProcess = MeasuredProcess> {
  readonly server: Server
  /** `HOST:PORT` */
  readonly address: string
  readonly load: GrpcLoad
}

/** Connects the driver to a server. Both are stopped when the stack is disposed. */
export async function contend<Server extends MeasuredProcess>(
  server: Server,
  address: string,
  stack: AsyncDisposableStack,
): Promise<Contender<Server>> {
  stack.defer(() => server.stop())
  return { server, address, load: await connectLoad(address, BUSY, stack) }
}

/** The same server with a driver of another shape. */
export async function reshaped(
  contender: Contender,
  shape: Shape,
  stack: AsyncDisposableStack,
): Promise<Contender> {
  return { ...contender, load: await connectLoad(contender.address, shape, stack) }
}

/** Connects a driver. It is closed when the stack is disposed. */
export async function connectLoad(
  address: string,
  shape: Shape,
  stack: AsyncDisposableStack,
): Promise<GrpcLoad> {
  const load = await GrpcLoad.connect(address, shape)
  stack.defer(() => load.close())
  return load
}

/** The cost of each of a number of unary calls. */
export function callCost({ server, load }: Contender, workload: Workload, calls: number): Promise<Cost> {
  return server.costPerCall(calls, () => load.run(workload, calls))
}

/** A measure that makes a given number of unary calls a sample. */
export function unary(contender: Contender, workload: Workload, calls: number): Measure<Cost> {
  return () => callCost(contender, workload, calls)
}
