/**
 * Every case of Connect's conformance suite for a server, against gRPC on sockets, and Connect and gRPC-Web
 * over HTTP. The remaining complaints of the runner are named here, with their reasons. A complaint that no
 * longer has a case fails too, so the list stays true.
 */
import { describe, expect, test } from 'vitest'
import {
  type ConformanceOutcome,
  type Conforming,
  runConformance,
} from '../../support/interop/conformance.ts'
import { obtainTransportTools } from '../../support/interop/transport-tools.ts'

/** How many cases there are at least. Fewer would mean that the runner left some out. */
const CASES: Readonly<Record<Conforming, number>> = { sockets: 376, http: 1800 }

interface Left {
  readonly complaint: RegExp
  /** The cases that may have it; absent: any. */
  readonly cases?: RegExp
  readonly why: string
}

const LEFT: Readonly<Record<Conforming, readonly Left[]>> = {
  sockets: [
    {
      complaint: /^actual response (headers|trailers) missing "x-custom-(header|trailer)"$/,
      why: 'the handlers of the sidecar have no header fields of their own',
    },
  ],
  http: [
    {
      complaint: /^actual response (headers|trailers) missing "x-custom-(header|trailer)"$/,
      why: 'the handlers of the sidecar have no header fields of their own',
    },
    {
      complaint: /^server did not echo back a timeout but one was expected/,
      why: 'the handlers of the sidecar are not told of a deadline, which the transport keeps',
    },
  ],
}

const tools = await obtainTransportTools()

describe.skipIf(!tools.ok).each<Conforming>(['sockets', 'http'])('%s', async (transport) => {
  const outcomes: ConformanceOutcome[] = tools.ok ? await runConformance(tools.value, transport) : []
  const left = LEFT[transport]
  const isLeft = (name: string, complaint: string) =>
    left.filter((each) => each.complaint.test(complaint) && (each.cases?.test(name) ?? true))

  test('the runner has run all of its cases', () => {
    expect(outcomes.length).toBeGreaterThanOrEqual(CASES[transport])
  })

  test.each(left)('a complaint remains: $why', (each) => {
    const complaints = outcomes.flatMap(({ name, complaints }) =>
      complaints.flatMap((complaint) => isLeft(name, complaint)),
    )
    expect(complaints).toContain(each)
  })

  for (const { name, complaints } of outcomes)
    test(name, () => {
      expect(complaints.filter((complaint) => isLeft(name, complaint).length === 0)).toEqual([])
    })
})
