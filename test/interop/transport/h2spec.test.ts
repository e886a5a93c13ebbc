/** Every case of h2spec, against gRPC on sockets and against our HTTP/2 alone. */
import { describe, expect, test } from 'vitest'
import { constant, serve as serveConstant } from '../../support/http2/constant.ts'
import { serveAdministeredDemo } from '../../support/interop/administered-demo.ts'
import { runH2spec, type SpecOutcome } from '../../support/interop/h2spec.ts'
import { obtainTransportTools } from '../../support/interop/transport-tools.ts'

/** How many cases there are. Fewer would mean that h2spec gave up. */
const CASES = 146

/** The path of h2spec's requests. They are not calls, so any path gets the same answer. */
const PATH = '/portcullis.v1.AuthorizationService/Check'

/** The servers that h2spec tests. */
const SUBJECTS = ['sockets', 'HTTP/2 alone'] as const
type Subject = (typeof SUBJECTS)[number]

const tools = await obtainTransportTools()

describe.skipIf(!tools.ok).each(SUBJECTS)('%s', async (subject) => {
  const outcomes = tools.ok ? await outcomesOf(subject, tools.value.h2spec) : []

  test('h2spec has run all of its cases', () => {
    expect(new Set(outcomes.map(({ name }) => name)).size).toBe(CASES)
  })

  for (const { name, outcome, saw } of outcomes)
    test(name, () => expect({ outcome, saw }).toEqual({ outcome: 'passed', saw }))
})

/** How often the parts that have not passed run again. */
const ROUNDS_MAX = 5

/**
 * A request that is not a call is answered at its header fields. On a busy machine that answer is complete
 * before the case has sent its frame. Then the frame is of a closed stream, which is not an error. So a case
 * that has not passed runs again.
 */
async function outcomesOf(subject: Subject, program: string): Promise<SpecOutcome[]> {
  const { address, stop } = await serve(subject)
  const run = (parts?: readonly string[]) => runH2spec(program, address, PATH, parts)
  const hasFailed = ({ outcome }: SpecOutcome) => outcome !== 'passed'
  try {
    let outcomes = await run()
    for (let round = 0; round < ROUNDS_MAX && outcomes.some(hasFailed); round++) {
      const parts = new Set(outcomes.filter(hasFailed).map(({ name }) => name.split(' ')[0] ?? ''))
      const again = await run([...parts])
      outcomes = outcomes.map(
        (first) => (hasFailed(first) && again.find(({ name }) => name === first.name)) || first,
      )
    }
    return outcomes
  } finally {
    await stop()
  }
}

async function serve(subject: Subject): Promise<{ address: string; stop(): Promise<void> }> {
  if (subject === 'HTTP/2 alone') {
    const { port, close } = await serveConstant(constant(Buffer.from('hello, world')))
    return { address: `127.0.0.1:${port}`, stop: close }
  }
  const { ready, stop } = await serveAdministeredDemo()
  return { address: ready.grpc, stop: async () => void (await stop()) }
}
