/**
 * The rooms of bench/ and what each may import of the others. Files of no room are the programs and the
 * bounds.
 */
import { expect, test } from 'vitest'
import { importsOf, sourcesIn } from '../support/checkout/sources.ts'

interface Room {
  readonly room: string
  readonly holds: string
  /** Rooms whose files it imports. */
  readonly imports: readonly string[]
}

const ROOMS: readonly Room[] = [
  { room: 'harness', holds: 'how anything is measured', imports: [] },
  { room: 'servers', holds: 'what is under load', imports: ['harness'] },
  { room: 'workloads', holds: 'what is asked', imports: ['harness', 'servers'] },
  { room: 'suites', holds: 'what is compared', imports: ['harness', 'servers', 'workloads'] },
  { room: 'peers', holds: 'foreign software', imports: ['harness', 'servers', 'workloads'] },
  { room: 'report', holds: 'how results are shown', imports: ['harness', 'gates.ts'] },
  { room: 'instructions', holds: 'what operations take', imports: ['harness', 'workloads'] },
  { room: 'profile', holds: 'where time goes', imports: ['harness', 'servers', 'workloads', 'report'] },
]

test.each(ROOMS)('$room holds $holds, and imports no other room than $imports', ({ room, imports }) => {
  const files = sourcesIn(`bench/${room}/`)
  expect(files).not.toHaveLength(0)
  const foreign = files
    .flatMap(importsOf)
    .filter((imported) => imported.startsWith('bench/'))
    .map((imported) => imported.split('/')[1])
  expect([...new Set(foreign)].filter((other) => other !== room).sort()).toEqual(imports.toSorted())
})

test('every folder of bench/ is a room', () => {
  const folders = sourcesIn('bench/')
    .map(({ path }) => path.split('/'))
    .filter((parts) => parts.length > 2)
    .map(([, folder]) => folder)
  expect([...new Set(folders)].sort()).toEqual(ROOMS.map(({ room }) => room).sort())
})

// The product changes: few files of the benchmarks know its insides.
test('only the questions, the numbers of HTTP/2, how text is aligned, routes, a directory of many and its changes come from inside the sidecar', () => {
  const users = sourcesIn('bench/').filter((source) =>
    importsOf(source).some((imported) => /^(?:sidecar|clients|proto)\//.test(imported)),
  )
  expect(users.map(({ path }) => path)).toEqual([
    'bench/harness/frames.ts',
    'bench/harness/grpc.ts',
    'bench/report/text.ts',
    'bench/sizing.ts',
    'bench/suites/changes.ts',
    'bench/suites/fleet.ts',
    'bench/suites/routes.ts',
    'bench/suites/size.ts',
    'bench/workloads/call-operations.ts',
    'bench/workloads/checks.ts',
    'bench/workloads/egress.ts',
    'bench/workloads/ext-authz.ts',
    'bench/workloads/followers.ts',
    'bench/workloads/herd.ts',
    'bench/workloads/in-process.ts',
    'bench/workloads/large-site.ts',
    'bench/workloads/login.ts',
    'bench/workloads/longest-turns.ts',
    'bench/workloads/routes.ts',
    'bench/workloads/sharing-host.ts',
    'bench/workloads/tokens.ts',
    'bench/workloads/upstream.ts',
  ])
})
