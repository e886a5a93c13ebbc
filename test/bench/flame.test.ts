/** The flame graph: the tree, the shares and the picture of a given profile. */
import { expect, test } from 'vitest'
import {
  type CpuProfile,
  callTree,
  type Frame,
  type Origin,
  sharesByOrigin,
  withoutTinyFrames,
} from '../../bench/profile/calls.ts'
import { flameGraph } from '../../bench/profile/flame.ts'

const ALWAYS = { start: 0, end: Number.POSITIVE_INFINITY }

test.each<{ name: string; url: string; origin: Origin; file: string }>([
  {
    name: 'check',
    url: 'file:///p/sidecar/usecases/check.ts',
    origin: 'ours',
    file: 'sidecar/usecases/check.ts',
  },
  { name: 'decide', url: 'file:///p/engine/decide.ts', origin: 'ours', file: 'engine/decide.ts' },
  {
    name: 'bind',
    url: 'file:///p/node_modules/@grpc/grpc-js/build/src/server.js',
    origin: 'grpc-js',
    file: '@grpc/grpc-js/build/src/server.js',
  },
  {
    name: 'get',
    url: 'file:///p/node_modules/lru-cache/index.js',
    origin: 'other',
    file: 'lru-cache/index.js',
  },
  {
    name: '',
    url: 'file:///p/bench/harness/report-usage.js',
    origin: 'other',
    file: 'bench/harness/report-usage.js',
  },
  { name: 'emit', url: 'node:events', origin: 'node', file: 'node:events' },
  { name: 'writev', url: '', origin: 'native', file: '' },
  { name: '(program)', url: '', origin: 'native', file: '' },
  { name: '(garbage collector)', url: '', origin: 'gc', file: '' },
])('$name of "$url" is $origin', ({ name, url, origin, file }) => {
  const tree = callTree(profile([node(1, '(root)', '', [2]), node(2, name, url)], [2, 2]), ALWAYS, '/p')
  expect(tree.children).toEqual([
    {
      name: name || '(anonymous)',
      file,
      origin,
      selfMicroseconds: 100,
      totalMicroseconds: 100,
      children: [],
    },
  ])
})

// V8 has one node for each way in which a function was compiled. Here `emit` has two, each with a callee.
const NODES = [
  node(1, '(root)', '', [2, 3, 6]),
  node(2, 'emit', 'node:events', [4]),
  node(3, 'emit', 'node:events', [5]),
  node(4, 'check', 'file:///p/sidecar/check.ts'),
  node(5, 'writev', ''),
  node(6, '(idle)', ''),
]

test('nodes of one function on one path are one frame, and idle time is left out', () => {
  const tree = callTree(profile(NODES, [2, 3, 4, 4, 6, 5, 6]), ALWAYS, '/p')
  expect(outline(tree)).toEqual(['(root) 0 500', ' emit 200 500', '  check 200 200', '  writev 100 100'])
  const shares = sharesByOrigin(tree)
  expect(shares).toEqual({ ours: 0.4, 'grpc-js': 0, node: 0.4, native: 0.2, gc: 0, other: 0 })
})

test('only samples within the period count', () => {
  const all = profile(NODES, [4, 5, 4, 5])
  const period = { start: all.startTime + 100, end: all.startTime + 200 }
  expect(outline(callTree(all, period, '/p'))).toEqual(['(root) 0 100', ' emit 0 100', '  writev 100 100'])
})

test('frames that are too small to be seen are merged, and no time is lost', () => {
  const callees = ['a', 'b', 'c'].map((name, index) => node(3 + index, name, 'node:fs'))
  const nodes = [node(1, '(root)', '', [2]), node(2, 'emit', 'node:events', [3, 4, 5]), ...callees]
  const tree = callTree(profile(nodes, [3, 4, 5, 5, 5, 5, 2]), ALWAYS, '/p')
  expect(outline(withoutTinyFrames(tree, 200))).toEqual([
    '(root) 0 600',
    ' emit 0 600',
    '  c 400 400',
    '  … 200 200',
  ])
  expect(outline(withoutTinyFrames(tree, 300))).toEqual(['(root) 0 600', ' emit 0 600', '  c 400 400'])
})

test('the picture names functions with their files, shows whose code takes the time, and is the same every time', () => {
  const tree = callTree(profile(NODES, [2, 3, 4, 4, 6, 5, 6]), ALWAYS, '/p')
  const svg = flameGraph(tree, 'A <title>', 'how it was made')
  for (const text of [
    'check  sidecar/check.ts',
    'emit  events',
    'Portcullis: 40.0 %',
    'A &lt;title>',
    'how it was made',
  ])
    expect(svg.replaceAll('&gt;', '>')).toContain(text)
  expect(svg).not.toMatch(/NaN|undefined|Infinity/)
  expect(flameGraph(tree, 'A <title>', 'how it was made')).toBe(svg)
})

/** A profile of samples every 100 µs. The last sample has no duration. */
function profile(nodes: CpuProfile['nodes'], samples: readonly number[]): CpuProfile {
  return {
    nodes,
    startTime: 1_000_000,
    samples,
    timeDeltas: samples.map((_, index) => (index === 0 ? 0 : 100)),
  }
}

function node(id: number, functionName: string, url: string, children: number[] = []) {
  return { id, callFrame: { functionName, url }, children }
}

/** One line for each frame, with its callees below: name, own time, time with callees. */
function outline({ name, selfMicroseconds, totalMicroseconds, children }: Frame, indent = ''): string[] {
  const below = children.flatMap((child) => outline(child, `${indent} `))
  return [`${indent}${name} ${selfMicroseconds} ${totalMicroseconds}`, ...below]
}
