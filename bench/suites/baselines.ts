/** The cost of the constant server itself: the same constant answer from servers that do less for it. */
import { interleave } from '../harness/compare.ts'
import { type Contender, contend, unary } from '../harness/contender.ts'
import type { Workload } from '../harness/grpc.ts'
import { cpuRow } from '../harness/rows.ts'
import { Skips } from '../harness/skips.ts'
import type { Row, Skipped } from '../harness/suite.ts'
import { contendNghttpd, requireNghttpd } from '../servers/nghttpd.ts'
import { startBareHttp2 } from '../servers/start.ts'

export interface BaselineEffort {
  readonly warmUpCalls: number
  readonly pairs: number
  /** Calls a sample. */
  readonly calls: number
  /**
   * Calls a sample of nghttpd. Linux reports its processor time in ticks of 10 ms, so a tick must be a small
   * part.
   */
  readonly nghttpdCalls: number
}

const METHOD =
  'Measured in the same way: the same constant from other servers, each with the gRPC status in the trailers, and what grpc-js takes compared with that. node:http2: frames made by hand, no deadlines, metadata or cancellation. nghttpd: the HTTP/2 server of nghttp2, in C, with one thread, serving a file from the page cache; the driver limits its calls a second.'

/**
 * @param constant the server on grpc-js, warmed up
 * @param floor what it is asked, and how long its answers are
 */
export async function baselineRows(
  constant: Contender,
  floor: Workload,
  { warmUpCalls, pairs, calls, nghttpdCalls }: BaselineEffort,
): Promise<{ readonly rows: readonly Row[]; readonly skipped: readonly Skipped[] }> {
  await using stack = new AsyncDisposableStack()
  const [answerBytes = 0] = floor.answerBytes
  const against = async (id: string, name: string, contender: Contender, callsOfB: number): Promise<Row> => {
    await contender.load.run(floor, warmUpCalls)
    const { grpc, less } = await interleave(
      { grpc: unary(constant, floor, calls), less: unary(contender, floor, callsOfB) },
      pairs,
    )
    return cpuRow({ id, what: 'constant of grpc-js', method: METHOD }, grpc, name, less)
  }

  const bareServer = await startBareHttp2(answerBytes)
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
