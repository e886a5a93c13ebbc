/** The lines that a guard prints while no sidecar answers, and the pauses of a client that follows one. */

import { Outage } from '../../../clients/typescript/outage.ts'
import { Pauses } from '../../../clients/typescript/pauses.ts'
import { namesMeant } from '../../../engine/meant.ts'
import { generator } from './routes.ts'

/** An event; with its error, if it is a failure. */
export interface OutageStep {
  readonly at_ms: number
  readonly event: 'starts' | 'fails' | 'answers'
  readonly error?: string
  /** The line; `null`: none. */
  readonly expect: string | null
}

/** A stream has ended. */
export interface PauseStep {
  /** Whether a response of it counted. */
  readonly heard: boolean
  /** A code of gRPC; empty: what the sidecar said cannot be, or it said nothing. */
  readonly code: string
  readonly expect_ms: number
}

const starts = (atMs: number, error = 'none') => ({ at_ms: atMs, event: 'starts', error }) as const
const fails = (atMs: number, error = 'none') => ({ at_ms: atMs, event: 'fails', error }) as const
const answers = (atMs: number) => ({ at_ms: atMs, event: 'answers' }) as const

type Happens = Omit<OutageStep, 'expect'>

const OUTAGES: Readonly<Record<string, readonly Happens[]>> = {
  'the first failure is a line, and the others are counted': [
    ...[fails(0), fails(1, 'refused'), fails(1), fails(59_999), fails(60_000, 'reset')],
    ...[fails(60_001), fails(119_999), fails(120_000), fails(500_000), fails(500_001)],
  ],
  'an answer ends an outage': [
    answers(0),
    fails(5),
    fails(6),
    answers(10_006),
    answers(10_007),
    answers(90_000),
  ],
  'an outage of one request': [fails(7), answers(20_000), answers(20_001)],
  'an answer ends nothing where a request has failed within ten seconds': [
    ...[
      fails(0),
      answers(1),
      answers(9_999),
      fails(9_999),
      answers(10_000),
      answers(19_998),
      answers(19_999),
    ],
    answers(20_000),
  ],
  'where some requests are answered there is a line a minute': Array.from({ length: 40 }, (_, index) =>
    index % 2 === 0 ? fails(index * 4_000) : answers(index * 4_000),
  ),
  'a further outage counts anew': [
    ...[fails(0), fails(1), fails(2), answers(10_002), fails(10_003, 'refused'), fails(10_004)],
    ...[answers(20_003), answers(20_004), fails(80_000), fails(139_999), fails(140_000)],
  ],
  'at the start no sidecar answers': [
    ...[
      starts(0, 'no sidecar answers at 127.0.0.1:50051'),
      fails(1),
      fails(2),
      fails(60_000),
      answers(69_999),
    ],
    answers(70_000),
  ],
  'a sidecar that starts later ends it at once': [starts(0), answers(1), fails(2)],
  'a guard that starts in an outage prints nothing': [fails(0), starts(1), answers(10_000), starts(10_001)],
}

export function* outages(seed: number, count: number): Generator<object> {
  for (const [name, steps] of Object.entries(OUTAGES)) yield { name, steps: printing(steps) }
  for (let index = 0; index < count; index++)
    yield { name: `seed ${seed}, outage ${index}`, steps: printing(randomOutage(seed * 1_000_003 + index)) }
}

function* randomOutage(seed: number): Generator<Happens> {
  const random = generator(seed)
  let atMs = 0
  for (let step = 0; step < 40; step++) {
    atMs += random(random(4) === 0 ? 40_000 : 8_000)
    const event = random(3)
    yield event === 0
      ? fails(atMs, `error ${random(4)}`)
      : event === 1 || step > 5
        ? answers(atMs)
        : starts(atMs)
  }
}

function printing(steps: Iterable<Happens>): OutageStep[] {
  const outage = new Outage()
  return Array.from(steps, (step) => ({ ...step, expect: playOutage(outage, step) }))
}

/** Plays a step. */
export function playOutage(outage: Outage, { at_ms: nowMs, event, error = '' }: Happens): string | null {
  return (event === 'answers' ? outage.answers(nowMs) : outage[event](error, nowMs)) ?? null
}

const left = (code: string) => ({ heard: false, code })
const UNAVAILABLE = left('UNAVAILABLE')

const PAUSES: Readonly<Record<string, readonly Omit<PauseStep, 'expect_ms'>[]>> = {
  'a pause doubles, up to two seconds': Array.from({ length: 12 }, () => UNAVAILABLE),
  'a response ends that': [
    ...[UNAVAILABLE, UNAVAILABLE, UNAVAILABLE, { heard: true, code: 'UNAVAILABLE' }],
    ...[UNAVAILABLE, UNAVAILABLE, { heard: true, code: '' }, left('')],
  ],
  'after a refusal it is a minute, and then what it was': [
    ...[UNAVAILABLE, UNAVAILABLE, left('UNAUTHENTICATED'), UNAVAILABLE, left('PERMISSION_DENIED')],
    ...[
      left('UNIMPLEMENTED'),
      left('DEADLINE_EXCEEDED'),
      { heard: true, code: 'PERMISSION_DENIED' },
      UNAVAILABLE,
    ],
  ],
}

export function* pauses(): Generator<object> {
  for (const [name, steps] of Object.entries(PAUSES)) {
    const waiting = new Pauses()
    yield { name, steps: steps.map((step) => ({ ...step, expect_ms: playPause(waiting, step) })) }
  }
}

/** Plays a step. */
export function playPause(waiting: Pauses, { heard, code }: Omit<PauseStep, 'expect_ms'>): number {
  if (heard) waiting.heard()
  return waiting.after(code)
}

const NAMES = [
  'iam',
  'cdn',
  'dns',
  'email',
  'balance',
  'secrets',
  'dns-hosting',
  'dns-hosting-legacy',
  'Upper',
]

const ASKED = [
  ...[
    'iam',
    'IAM',
    'im',
    'aim',
    'iamm',
    'cd',
    'cnd',
    'dn',
    'ds',
    'dnss',
    'a',
    '',
    'ballance',
    'blance',
    'abl',
  ],
  ...['balanec', 'BALANCES', 'balancing', 'bal', 'secret', 'secerts', 'sekrets!', 'dns-hostng', 'dnshosting'],
  ...['dns_hosting', 'dnshostin', 'dns-hosting-legacies', 'upper', 'uper', 'mail', 'e-mails', 'nothing'],
]

export interface MeantLine {
  readonly name: string
  readonly known: readonly string[]
  readonly meant: readonly string[]
}

/** The known name that was probably meant by an unknown one. */
export function* meant(seed: number, count: number): Generator<MeantLine> {
  for (const name of ASKED) yield { name, known: NAMES, meant: namesMeant(name, NAMES) }
  const random = generator(seed)
  const letters = (count: number) => Array.from({ length: count }, () => 'abB-'[random(4)]).join('')
  for (let index = 0; index < count; index++) {
    const name = letters(1 + random(6))
    const known = [...new Set(Array.from({ length: 6 }, () => letters(1 + random(6))))]
    yield { name, known, meant: namesMeant(name, known) }
  }
}
