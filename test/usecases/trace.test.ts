/** Every attempt leaves a trace: the first one a line, the others a count. Other events leave none. */
import { setImmediate } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { CALL_ERRORS, CallError, type CallErrorReason, callError } from '../../sidecar/base/call-error.ts'
import { Meters } from '../../sidecar/usecases/decision-meters.ts'
import { type Attempt, isFailure, WINDOW_MS } from '../../sidecar/usecases/trace.ts'
import { countedIn } from '../support/signals/metrics.ts'
import { newTrace as newTraceWith } from '../support/signals/traced-lines.ts'

const clock = { nowMs: 0 }

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
})
afterEach(() => {
  vi.useRealTimers()
})

/** The time that passes for the trace, and for its timer. */
function pass(ms: number): void {
  clock.nowMs += ms
  vi.advanceTimersByTime(ms)
}

function newTrace() {
  const meters = new Meters()
  const traced = newTraceWith(() => clock.nowMs, meters)
  return { ...traced, counted: (metric: string) => countedIn(meters, metric) }
}

const attempt = (by: Attempt['by'], more: Partial<Attempt> = {}): Attempt => ({
  level: 'warn',
  message: 'refused',
  by,
  ...more,
})
const line = (fields: object) => ({ level: 'warn', message: 'refused', ...fields })
const repeated = (fields: object) => ({ level: 'warn', message: 'refused (repeated)', ...fields })

describe('attempts of a kind', () => {
  test('a thousand are a line at once, and a count after a minute', async () => {
    const { trace, written } = newTrace()
    for (let index = 0; index < 1_000; index++) trace.record(attempt({ source: 'a' }))
    expect(await written()).toEqual([line({ source: 'a' })])
    pass(WINDOW_MS - 1)
    trace.record(attempt({ source: 'a' }))
    expect(await written()).toEqual([])
    pass(1)
    expect(await written()).toEqual([repeated({ source: 'a', more: 1_000, seconds: 60 })])
    trace.record(attempt({ source: 'a' }))
    expect(await written()).toEqual([line({ source: 'a' })])
    trace.close()
    expect(await written()).toEqual([])
  })

  test('are counted for their own minute, also where the timer is late', async () => {
    const { trace, written } = newTrace()
    const [early, late] = [attempt({ source: 'early' }), attempt({ source: 'late' })]
    for (const each of [early, early]) trace.record(each)
    clock.nowMs += WINDOW_MS / 2 - 1
    for (const each of [late, late]) trace.record(each)
    await written()
    clock.nowMs += WINDOW_MS / 2
    trace.record(early)
    expect(await written()).toEqual([])
    clock.nowMs += 1
    trace.record(early)
    expect(await written()).toEqual([
      repeated({ source: 'early', more: 2, seconds: 60 }),
      line({ source: 'early' }),
    ])
    trace.close()
    expect(await written()).toEqual([repeated({ source: 'late', more: 1, seconds: 31 })])
  })

  test('are counted by a timer that rests where there is nothing to count', async () => {
    const { trace, written } = newTrace()
    trace.record(attempt({ source: 'first' }))
    pass(WINDOW_MS / 2)
    for (let index = 0; index < 3; index++) trace.record(attempt({ source: 'second' }))
    expect(vi.getTimerCount()).toBe(1)
    await written()
    pass(WINDOW_MS / 2)
    expect([await written(), vi.getTimerCount()]).toEqual([[], 1])
    pass(WINDOW_MS)
    expect(await written()).toEqual([repeated({ source: 'second', more: 2, seconds: 90 })])
    expect(vi.getTimerCount()).toBe(0)
    trace.record(attempt({ source: 'first' }))
    expect(vi.getTimerCount()).toBe(1)
    trace.close()
    expect(vi.getTimerCount()).toBe(0)
  })

  test('are one by their message and by what is the same in them, and have their level', async () => {
    const { trace, written } = newTrace()
    trace.record(attempt({ source: 'a' }))
    trace.record(attempt({ source: 'a' }, { message: 'issued', level: 'info' }))
    trace.record(attempt({ source: 'b' }, { level: 'error' }))
    expect(await written()).toEqual([
      line({ source: 'a' }),
      line({ source: 'a', message: 'issued', level: 'info' }),
      line({ source: 'b', level: 'error' }),
    ])
    trace.record(attempt({ source: 'a' }, { message: 'issued', level: 'info' }))
    trace.close()
    expect(await written()).toEqual([
      { level: 'info', message: 'issued (repeated)', source: 'a', more: 1, seconds: 0 },
    ])
  })

  test('have as many lines as they are worth', async () => {
    const { trace, written } = newTrace()
    for (let index = 0; index < 20; index++) trace.record(attempt({ source: 'a' }, { lines: 10 }))
    expect(await written()).toHaveLength(10)
    trace.close()
    expect(await written()).toEqual([repeated({ source: 'a', more: 10, seconds: 0 })])
  })

  test('are of a bounded number of sources, beyond which there is one line for each message', async () => {
    const { trace, written } = newTrace()
    const from = (source: number, message = 'refused') =>
      trace.record(attempt({ reason: 'R', source: `${source}` }, { message }))
    for (let source = 0; source < 5_000; source++) from(source)
    expect(await written()).toHaveLength(1_001)
    from(999)
    from(5_000, 'failed')
    from(5_001, 'failed')
    expect(await written()).toEqual([line({ reason: 'R', source: '5000', message: 'failed' })])
    trace.close()
    expect(await written()).toEqual([
      repeated({ reason: 'R', source: '999', more: 1, seconds: 0 }),
      repeated({ reason: 'R', source: 'many', more: 3_999, seconds: 0 }),
      repeated({ reason: 'R', source: 'many', more: 1, seconds: 0, message: 'failed (repeated)' }),
    ])
  })

  test('have details, which only lines are asked for, and which may be missing', async () => {
    const { trace, written } = newTrace()
    const details = vi.fn(async () => ({ request_id: 'r-1' }))
    for (let index = 0; index < 3; index++) trace.record(attempt({ source: 'a' }, { details }))
    const away = async () => {
      throw new Error('the directory is away')
    }
    trace.record(attempt({ source: 'b' }, { details: away }))
    expect(await written()).toEqual(
      expect.arrayContaining([line({ source: 'a', request_id: 'r-1' }), line({ source: 'b' })]),
    )
    expect(details).toHaveBeenCalledTimes(1)
    trace.close()
  })

  test('are all in the metrics, by message and reason', () => {
    const { trace, counted } = newTrace()
    for (let index = 0; index < 3; index++) trace.record(attempt({ reason: 'R', source: `${index % 2}` }))
    trace.record(attempt({}, { message: 'issued' }))
    expect(counted('portcullis_attempts_total')).toEqual({ 'refused R': 3, 'issued ': 1 })
    trace.close()
  })

  test('are timed by a monotonic clock', async () => {
    const { trace, written } = newTraceWith()
    const now = vi.spyOn(performance, 'now').mockReturnValue(1_000)
    for (let index = 0; index < 2; index++) trace.record(attempt({ source: 'a' }))
    await written()
    now.mockReturnValue(3_000)
    trace.close()
    now.mockRestore()
    expect(await written()).toEqual([repeated({ source: 'a', more: 1, seconds: 2 })])
  })
})

describe('a refusal', () => {
  const refused = async (error: unknown, details?: Attempt['details']) => {
    const { trace, written } = newTrace()
    trace.refused('refused', error, { source: 'a' }, details)
    const lines = await written()
    trace.close()
    return lines
  }
  const errorOf = (reason: CallErrorReason, cause?: unknown) => new CallError(reason, 'a problem', { cause })

  test('has a line if the requester or their rate is the cause, and others have none', async () => {
    const reasons = Object.keys(CALL_ERRORS) as CallErrorReason[]
    const traced = await Promise.all(
      reasons.map(async (reason) => (await refused(errorOf(reason))).length === 1),
    )
    const codes = ['UNAUTHENTICATED', 'PERMISSION_DENIED', 'RESOURCE_EXHAUSTED']
    const expected = reasons.filter((reason) => codes.includes(errorOf(reason).code))
    expect(reasons.filter((_, index) => traced[index])).toEqual(expected)
    // Every login that failed is among them.
    expect(expected).toEqual(
      expect.arrayContaining(reasons.filter((reason) => errorOf(reason).row.login !== undefined)),
    )
  })

  test('says the reason that the client does not see', async () => {
    expect(await refused(errorOf('LOGIN_REFUSED', errorOf('LOGIN_FAILED')))).toEqual([
      line({ reason: 'LOGIN_FAILED', source: 'a' }),
    ])
    expect(await refused(errorOf('LOGIN_REFUSED', errorOf('DIRECTORY_UNAVAILABLE')))).toEqual([])
  })

  test('has details', async () => {
    const details = () => ({ request_id: 'r-1' })
    expect(await refused(errorOf('LOGIN_FAILED'), details)).toEqual([
      line({ reason: 'LOGIN_FAILED', source: 'a', request_id: 'r-1' }),
    ])
  })

  test('has no line for a full disk or a defect, whatever that comes from', async () => {
    const full = new Error('disk is full')
    expect(await refused(callError('DIRECTORY_FULL', {}, { cause: full }))).toEqual([])
    expect(await refused(errorOf('LOGIN_FAILED', full))).toHaveLength(1)
    expect(await refused(new Error('a defect', { cause: errorOf('LOGIN_FAILED') }))).toEqual([])
    expect(await refused(undefined)).toEqual([])
  })
})

describe('a call that failed', () => {
  const failed = async (error: unknown, times: number, details?: object) => {
    const { trace, written, counted } = newTrace()
    for (let time = 0; time < times; time++) trace.failed(error, details)
    await setImmediate()
    trace.close()
    return { lines: await written(), errors: counted('portcullis_call_errors_total') }
  }

  test('because of something that the sidecar depends on is a line with what and why, and a count', async () => {
    const cause = new Error('database or disk is full')
    const of = { level: 'warn', reason: 'DIRECTORY_FULL' }
    const { lines, errors } = await failed(callError('DIRECTORY_FULL', {}, { cause }), 1_000, { route: 'r' })
    expect(lines).toEqual([
      {
        ...{ ...of, problem: 'the directory has no space left', err: cause, route: 'r' },
        message: 'a call got no answer',
      },
      { ...of, more: 999, seconds: 0, message: 'a call got no answer (repeated)' },
    ])
    expect(errors).toEqual({ DIRECTORY_FULL: 1_000 })
    expect(isFailure(callError('DIRECTORY_FULL', {}, { cause }))).toBe(true)
  })

  test('because of a defect has ten lines a minute with the stack', async () => {
    const defect = new Error('a defect')
    const { lines, errors } = await failed(defect, 1_000, { request_id: 'r-1' })
    const message = 'a call failed with an unexpected error'
    expect(lines).toEqual([
      ...Array(10).fill({ level: 'error', message, err: defect, request_id: 'r-1' }),
      { level: 'error', message: `${message} (repeated)`, more: 990, seconds: 0 },
    ])
    expect(errors).toEqual({ INTERNAL: 1_000 })
    expect((await failed(defect, 1)).lines).toEqual([{ level: 'error', message, err: defect }])
    expect(isFailure(defect)).toBe(true)
  })

  test.each([
    ['invalid', callError('INVALID_ARGUMENT', { violations: 'x' }, { cause: new Error('bytes') })],
    ['without a cause', callError('STOPPING', {})],
    ['refused, which is traced where it is known who asked', refusedLogin()],
  ])('and was %s is not a failure, and only counts', async (_what, error) => {
    expect(await failed(error, 10)).toEqual({ lines: [], errors: { [error.reason]: 10 } })
    expect(isFailure(error)).toBe(false)
  })

  function refusedLogin() {
    return callError('LOGIN_REFUSED', {}, { cause: callError('LOGIN_FAILED', {}) })
  }

  test('without metrics leaves the same trace', async () => {
    const { trace, written } = newTraceWith()
    const defect = new Error('a defect')
    trace.failed(defect)
    const message = 'a call failed with an unexpected error'
    expect(await written()).toEqual([{ level: 'error', message, err: defect }])
    trace.close()
  })
})
