/** Reading and finding many routes. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readRequestTarget } from '../../sidecar/base/request-target.ts'
import { readConfig } from '../../sidecar/config/config.ts'
import { openRoutes } from '../../sidecar/process/open/open-routes.ts'
import type { RouteRequest } from '../../sidecar/rules/routes/route.ts'
import type { Routes } from '../../sidecar/rules/routes/routes.ts'
import { interleave } from '../harness/compare.ts'
import { comparedRow } from '../harness/rows.ts'
import type { Row, Size, Suite, SuiteReport } from '../harness/suite.ts'
import { manyRoutes, requestsFor } from '../workloads/routes.ts'

export const routesSuite: Suite = { name: 'routes', run }

const SIZES = {
  full: { few: 1_000, many: 100_000, reads: 9, rounds: 21 },
  smoke: { few: 100, many: 1_000, reads: 3, rounds: 3 },
} as const

/** Requests that are read before they are timed, as a server has just read the one that it asks about. */
const AT_ONCE = 500

const READ_METHOD =
  'A reads a configuration of JSON, checks its schema and makes the routes ready, as the start of a sidecar does. B gives the same text to `JSON.parse`. A and B take turns, and the ratio is the median over the rounds.'
const FIND_METHOD =
  'One request for each of many routes, in an order of chance, and for each of few, as often in all. The targets of 500 requests are read before they are timed, because a server has just read its request. A and B take turns, and the ratio is the median over the rounds.'

async function run(size: Size): Promise<SuiteReport> {
  const { few, many, reads, rounds } = SIZES[size]
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-bench-'))
  try {
    const file = join(folder, 'portcullis.json')
    writeFileSync(file, JSON.stringify({ routes: manyRoutes(many) }))
    const read = await interleave(
      {
        routes: () => millisecondsOf(() => openRoutes(readConfig({ file }))),
        parse: () => millisecondsOf(() => JSON.parse(readFileSync(file, 'utf8'))),
      },
      reads,
    )
    const ofMany = tableOf(many)
    const ofFew = tableOf(few)
    const measures = {
      many: () => microsecondsToFind(ofMany, 1),
      few: () => microsecondsToFind(ofFew, many / few),
    }
    // Once as a warm-up.
    await interleave(measures, 1)
    const found = await interleave(measures, rounds)
    return { rows: rowsOf(many, few, read, found), answersChecked: many + few }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function rowsOf(
  many: number,
  few: number,
  read: Readonly<Record<'routes' | 'parse', number[]>>,
  found: Readonly<Record<'many' | 'few', number[]>>,
): Row[] {
  return [
    comparedRow(
      { id: 'read', what: `read ${text(many)} routes`, method: READ_METHOD },
      'ms CPU',
      { name: 'read', samples: read.routes },
      { name: 'JSON.parse', samples: read.parse },
    ),
    comparedRow(
      { id: 'find', what: `find one of ${text(many)} routes`, method: FIND_METHOD },
      'µs CPU',
      { name: 'find', samples: found.many },
      { name: `of ${text(few)}`, samples: found.few },
    ),
  ]
}

interface Table {
  readonly routes: Routes
  readonly requests: readonly RouteRequest[]
}

/** @throws Error if a request gets another route than its own */
function tableOf(count: number): Table {
  const settings = manyRoutes(count)
  const routes = openRoutes({ routes: settings })
  const requests = requestsFor(settings)
  const found = new Set(requests.map((request) => routes.match(request).route?.index))
  if (found.size !== count || found.has(undefined)) throw new Error('expected a request for each route')
  return { routes, requests }
}

function microsecondsToFind({ routes, requests }: Table, times: number): number {
  let milliseconds = 0
  let count = 0
  for (let time = 0; time < times; time++)
    for (let from = 0; from < requests.length; from += AT_ONCE) {
      const some = requests.slice(from, from + AT_ONCE)
      for (const { target } of some) if (!readRequestTarget(target).ok) throw new Error('expected a path')
      milliseconds += millisecondsOf(() => {
        for (const request of some) if (routes.match(request).refused === undefined) count++
      })
    }
  if (count !== requests.length * times) throw new Error('expected a route for each request')
  return (milliseconds * 1_000) / count
}

/** Of the processor. */
function millisecondsOf(work: () => unknown): number {
  const start = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(start)
  return (user + system) / 1_000
}

function text(count: number): string {
  return count.toLocaleString('en')
}
