/** Has a sidecar answer the calls that are to be repeated, and compares every answer. */
import { connectLoad } from '../harness/contender.ts'
import { startSidecar } from '../servers/start.ts'
import { BATCH_LENGTH, prepareWorkloads } from './checks.ts'
import { extAuthzWorkloads } from './ext-authz.ts'
import { dataFolderIn, writeRecorded } from './recorded.ts'

/** @throws Error if the sidecar gives a wrong answer */
export async function recordCalls(folder: string): Promise<void> {
  await using stack = new AsyncDisposableStack()
  const server = await startSidecar({ flags: ['--data', dataFolderIn(folder)] })
  stack.defer(() => server.stop())
  const load = await connectLoad(server.ready.grpc, { connections: 1, inFlight: 1 }, stack)
  const { claims, iamTokens, staticToken, batch } = await prepareWorkloads(server.ready, load)
  const { envoy } = await extAuthzWorkloads(server.ready, load)
  writeRecorded(folder, {
    ...{ claims, iamTokens, staticToken, batch, batchLength: BATCH_LENGTH },
    envoy: { path: envoy.path, questions: envoy.questions, answerBytes: envoy.answerBytes },
  })
}
