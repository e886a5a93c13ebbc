/** Where the floor itself active: the constant answer from grpc-js, in terms of servers that do less for it. */
import { interleave, type Measure } from './compare.ts'
import { type Contender, contend, costRow, unary } from './contender.ts'
import type { Workload } from './load.ts'
import { contendNghttpd, requireNghttpd } from './nghttpd.ts'
import { type Cost, startBareHttp2Server } from './server-process.ts'
import { Skips } from './skips.ts'
import type { Row, Skipped } from './suite.ts'

export interface BaselineEffort {
  readonly warmUpCalls: number
  readonly pairs: number
  /** Calls a sample. */
  readonly calls: number
  /** Of nghttpd, whose processor time Linux tells in ticks of 10 ms: so many that a tick is a small part of it. */
  readonly nghttpdCalls: number
}

const METHOD =
  'As above: the same constant from other servers, each with the status of gRPC in the trailers, and what grpc-js takes in terms of that. node:http2: frames by hand, no deadlines, metadata or cancellation. nghttpd: the HTTP/2 server of nghttp2, in C, with one thread; a file that is in the page cache; its calls a second are those of the driver.'

/** @param constant the server on grpc-js, warm @param floor what it is asked, and how long its answers are */
export async function baselineRows(
  constant: Contender,
  floor: Workload,
  { warmUpCalls, pairs, calls, nghttpdCalls }: BaselineEffort,
): Promise<{ readonly rows: readonly Row[]; readonly skipped: readonly Skipped[] }> {
  await using stack = new AsyncDisposableStack()
  const [answerBytes = 0] = floor.answerBytes
  const against = async (id: string, name: string, contender: Contender, callsOfB: number): Promise<Row> => {
    await contender.load.run(floor, warmUpCalls)
    const measures: Record<'grpc' | 'less', Measure<Cost>> = {
      grpc: unary(constant, floor, calls),
      less: unary(contender, floor, callsOfB),
    }
    const { grpc, less } = await interleave(measures, pairs)
    return costRow(id, 'constant of grpc-js', grpc, name, less, METHOD)
  }

  const bareServer = await startBareHttp2Server(answerBytes)
  const bare = await contend(bareServer, bareServer.ready.grpc, stack)
  const rows = [await against('constant-bare-http2', 'bare node:http2', bare, calls)]
  const skips = new Skips()
  const nghttpd = await skips.obtain(['constant-nghttpd'], requireNghttpd)
  if (nghttpd !== undefined) {
    const contender = await contendNghttpd(nghttpd, answerBytes, stack)
    rows.push(await against('constant-nghttpd', 'nghttpd', contender, nghttpdCalls))
  }
  return { rows, skipped: skips.list }
}
