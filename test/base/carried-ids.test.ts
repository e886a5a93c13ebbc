/** The ids that a request brings along in its headers: its own, and those of its trace. */
import { expect, test } from 'vitest'
import { givenRequestId, newRequestId, requestIdOfFailure } from '../../sidecar/base/request-id.ts'
import { formatTraceParent, traceIdOf, traceParentOf } from '../../sidecar/base/trace-context.ts'

const UUID = '3f2504e0-4f89-41d3-9a0c-0305e82c3301'

test.each<[what: string, values: string[] | undefined, id: string | undefined]>([
  ['a UUID', [UUID], UUID],
  ["Keystone's form", [`req-${UUID}`], `req-${UUID}`],
  ['a trace id', ['4bf92f3577b34da6a3ce929d0e0e4736'], '4bf92f3577b34da6a3ce929d0e0e4736'],
  ['a UUID in capitals', [UUID.toUpperCase()], UUID.toUpperCase()],
  ['the id of a span', ['00f067aa0ba902b7'], '00f067aa0ba902b7'],
  ['fewer digits', ['00f067aa0ba902b'], undefined],
  ['one digit more than a trace id has', ['4bf92f3577b34da6a3ce929d0e0e47360'], undefined],
  ['something before a UUID', [`x-${UUID}`], undefined],
  ['something before digits', ['x00f067aa0ba902b7'], undefined],
  ['none', undefined, undefined],
  ['no value', [], undefined],
  ['an empty one', [''], undefined],
  ['two of them', [UUID, UUID], undefined],
  ['two in one header', [`${UUID}, ${UUID}`], undefined],
  ['a word', ['password'], undefined],
  ['more digits than a trace id has: a pepper, or a key', ['ab'.repeat(32)], undefined],
  ['a line break behind it', [`${UUID}\n`], undefined],
  ['a text that a terminal obeys', [`${UUID}\u001b[2J`], undefined],
  ['a static token', [`pct_${'A'.repeat(43)}`], undefined],
])('of %s the id is taken over, or not', (_what, values, id) => {
  expect(givenRequestId(values)).toBe(id)
})

test('an error has one id, and two have two', () => {
  const error = new Error('a defect')
  expect(requestIdOfFailure(error)).toBe(requestIdOfFailure(error))
  expect(requestIdOfFailure(new Error('another'))).not.toBe(requestIdOfFailure(error))
  expect(newRequestId()).toMatch(/^req-/)
  expect(givenRequestId([newRequestId()])).toBeDefined()
  for (const thrown of [null, undefined, 'a text', 7])
    expect(requestIdOfFailure(thrown)).not.toBe(requestIdOfFailure(thrown))
})

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c'
const SPAN_ID = '07ad6b7169203331'
const written = (version = '00', traceId = TRACE_ID, spanId = SPAN_ID, flags = '01') =>
  [version, traceId, spanId, flags].join('-')

test.each<[what: string, value: string, sampled: boolean]>([
  ['a trace that is recorded', written(), true],
  ['one that is not', written('00', TRACE_ID, SPAN_ID, '00'), false],
  ['one with flags that mean nothing yet', written('00', TRACE_ID, SPAN_ID, 'fe'), false],
  ['one with all flags', written('00', TRACE_ID, SPAN_ID, 'ff'), true],
  ['one in a later version', written('cc'), true],
  ['one in a version that says more', `${written('01')}-what-comes`, true],
])('%s is joined', (_what, value, sampled) => {
  const found = { traceId: TRACE_ID, spanId: SPAN_ID, sampled }
  expect(traceParentOf([value])).toEqual(found)
  expect(traceIdOf([value])).toBe(TRACE_ID)
  expect(traceParentOf([formatTraceParent(found)])).toEqual(found)
})

test.each<[what: string, values: string[]]>([
  ['none', []],
  ['an empty one', ['']],
  ['two', [written(), written()]],
  ['the version that is forbidden', [written('ff')]],
  ['a trace of zeros', [written('00', '0'.repeat(32))]],
  ['a span of zeros', [written('00', TRACE_ID, '0'.repeat(16))]],
  ['more in the version without more', [`${written()}-more`]],
  ['more without a hyphen', [`${written('01')}more`]],
  ['more over two lines', [`${written('01')}-more\n`]],
  ['capitals', [written().toUpperCase()]],
  ['a blank before it', [` ${written()}`]],
  ['a digit before it', [`0${written()}`]],
  ['a short trace', [written('00', TRACE_ID.slice(1))]],
  ['a long span', [written('00', TRACE_ID, `${SPAN_ID}0`)]],
  ['a letter beyond the digits', [written('00', TRACE_ID.replace('a', 'g'))]],
])('of %s no trace is joined', (_what, values) => {
  expect(traceParentOf(values)).toBeUndefined()
  expect(traceIdOf(values)).toBeUndefined()
})
