/**
 * No secret comes out: every input of every protocol gets one, and every output is searched for all of them.
 */
import { afterAll, describe, expect, test } from 'vitest'
import { FORMS } from '../support/contract/contract.ts'
import { rowsOver } from './contract.ts'
import { ENVOY_ROWS, RAW_ROWS } from './grpc.ts'
import { HTTP_ROWS } from './http.ts'
import { BYTE_ROWS, EGRESS_ROWS, HEALTH_ROWS } from './listeners.ts'
import { PANEL_ROWS } from './panel.ts'
import { type Row, textOf } from './rows.ts'
import { shownIn } from './search.ts'
import { startStage } from './stage.ts'

const OVER_GRPC: readonly Row[] = [...rowsOver('gRPC'), ...RAW_ROWS, ...ENVOY_ROWS]
/** Rows that do not depend on the transport of gRPC are asked once. */
const OVER_HTTP: readonly Row[] = [
  ...FORMS.flatMap(rowsOver),
  ...[HTTP_ROWS, PANEL_ROWS, BYTE_ROWS, EGRESS_ROWS, HEALTH_ROWS].flat(),
]

describe.each<['sockets' | 'grpc-js', readonly Row[]]>([
  ['sockets', [...OVER_GRPC, ...OVER_HTTP]],
  ['grpc-js', OVER_GRPC],
])('with gRPC on %s', async (transport, rows) => {
  const stage = await startStage(transport)
  const { logLines } = stage.running

  test.each(rows)('$what', async ({ ask, rightly: stated }) => {
    const rightly = stated?.on === undefined || stated.on === transport ? stated : undefined
    const before = logLines.length
    const answer = textOf(await ask(stage))
    const shown = shownIn(answer, stage.secrets)
    // Where the answer is a new secret, the row proves that the search finds it.
    if (rightly === undefined) expect(shown).toEqual([])
    else expect(shown.filter((name) => !rightly.secrets.includes(name))).toEqual([])
    if (rightly !== undefined) expect(shown).toContain(rightly.secrets[0])
    expect(shownIn(logLines.slice(before).join(''), stage.secrets)).toEqual([])
  })

  test.each(Object.keys(stage.outputs))('the output of meanwhile has no secret: %s', async (name) => {
    const text = (await stage.outputs[name]?.()) ?? ''
    expect(text.length).toBeGreaterThan(100)
    const shown = shownIn(text, stage.secrets)
    expect(shown).toEqual(stage.rightly[name] ?? [])
  })

  afterAll(() => {
    // Every level was on, and the rows made lines of most of them.
    expect(new Set(logLines.map((line) => JSON.parse(line).level))).toEqual(new Set([20, 30, 40]))
  })
})
