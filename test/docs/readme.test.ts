/** Holds the README to the code: what it shows is what a reader gets. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { gates } from '../../bench/gates.ts'
import { docsChart, readDocs } from '../../bench/report/results.ts'
import { REASONS } from '../../engine/index.ts'
import { readConfig } from '../../sidecar/config/config.ts'
import { startDemo } from '../support/demo.ts'
import { benchmarksPart, blocksOf, chart, derivedParts, launcher, partOf, readme } from './readme.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../../', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'portcullis-readme-'))
const text = readme()
afterAll(() => rmSync(folder, { recursive: true }))

describe('what follows from the code is current (npx node test/docs/readme.ts writes it)', () => {
  test.each(Object.keys(derivedParts))('%s', (name) => {
    expect(partOf(text, name)).toBe(derivedParts[name]?.())
  })

  test('the reasons are those of the engine, in order', () => {
    const listed = Array.from(text.matchAll(/^`[A-Z][A-Z_` ]+`$/gm), ([line]) => line.split(' ')).flat()
    expect(listed).toEqual(REASONS.map((reason) => `\`${reason}\``))
  })

  test('the benchmarks are shown with their command, date, figures and bounds, and not at all where there are none', () => {
    const ratio = { median: 1.222, p10: 1, p90: 2, pairs: 3 }
    const made = {
      date: '2026-11-21T10:00:00.000Z',
      node: '24.21.0',
      cpu: '2 × a processor',
      answersChecked: 1,
      skipped: [],
    }
    const [claims, memory] = ['check-claims', 'memory'].map(
      (id) => gates.find(({ row }) => row === id)?.bound,
    )
    const part = benchmarksPart({
      command: 'npm run bench',
      suites: [
        {
          ...made,
          suite: 'sidecar',
          rows: [
            {
              id: 'check-claims',
              what: 'Check of claims',
              a: { name: 'Check', value: 34.9, unit: 'µs CPU' },
              b: { name: 'constant', value: 29, unit: 'µs CPU' },
              ratio,
              method: '',
            },
            {
              id: 'neither',
              what: 'neither compared nor bounded',
              a: { name: 'deny', value: 14, unit: 'ns' },
              method: '',
            },
          ],
        },
        {
          ...made,
          suite: 'growth',
          rows: [
            {
              id: 'memory',
              what: 'memory a token',
              a: { name: 'more', value: 101.7, unit: 'bytes' },
              method: '',
            },
          ],
        },
      ],
    })
    expect(part).toContain('](docs/bench.svg)')
    expect(part).toContain('`npm run bench`, 2026-11-21, Node 24.21.0 on 2 × a processor')
    expect(part).toContain(
      `|---|---|---|---|---|---|
| sidecar | Check of claims: 34.9 µs CPU | constant: 29 µs CPU | 1.22 × | 1 × – 2 × | ≤ ${claims} × |
| growth | memory a token: 102 bytes |  |  |  | ≤ ${memory} bytes |

`,
    )
    expect(benchmarksPart({ command: 'npm run bench', suites: [] })).toBe('')
  })

  test('the chart is drawn from the figures of today’s table and its bounds', () => {
    expect(readFileSync(chart, 'utf8')).toBe(docsChart(readDocs()))
  })

  test('docs/bench.json holds figures alone: no bound that could differ from bench/gates.ts', () => {
    const known = ['id', 'what', 'a', 'b', 'ratio', 'method']
    const others = readDocs().suites.flatMap(({ rows }) => rows.flatMap((row) => Object.keys(row)))
    expect(others.filter((key) => !known.includes(key))).toEqual([])
  })

  test('links lead somewhere', () => {
    const links = Array.from(text.matchAll(/\]\(([^)#]+)\)/g), ([, link]) => link ?? '')
    expect(links.length).toBeGreaterThan(3)
    for (const link of links) expect(existsSync(join(root, link)), link).toBe(true)
  })
})

describe('what is printed after a program is what it prints', () => {
  test('embedding in TypeScript', async () => {
    const [program = ''] = blocksOf(text, 'ts')
    const file = join(folder, 'embed.ts')
    writeFileSync(
      file,
      program
        .replace("'portcullis'", `'${join(root, 'engine/index.ts')}'`)
        .replace("'portcullis/matrix'", `'${join(root, 'matrix/index.ts')}'`),
    )
    const { stdout } = await run(process.execPath, [file])
    expect(blocksOf(text, 'text')).toContain(stdout)
  })
})

describe('the files shown are accepted', () => {
  const [directory = '', profiles = ''] = blocksOf(text, 'yaml')

  test('the directory file', async () => {
    const file = join(folder, 'directory.yaml')
    writeFileSync(file, directory)
    const { stdout } = await run(process.execPath, [
      launcher,
      'directory',
      'apply',
      file,
      '--data',
      join(folder, 'data'),
    ])
    expect(stdout).toContain('created 1 account, 2 projects, 3 users, 1 static token')
  })

  test('the configuration file', () => {
    const file = join(folder, 'config.yaml')
    writeFileSync(file, profiles)
    expect(readConfig({ file })).toMatchObject(parse(profiles))
  })
})

test('what “Run it” says works from top to bottom', { timeout: 120_000 }, async () => {
  const section = text.slice(text.indexOf('\n## Run it\n'))
  const [directory = ''] = blocksOf(section, 'yaml')
  const [starting = '', administering = ''] = blocksOf(section, 'sh')
  const cwd = join(folder, 'run-it')
  mkdirSync(cwd)
  writeFileSync(join(cwd, 'directory.yaml'), directory)
  // The port of HTTP may be another's on this machine.
  const env = { ...process.env, PORTCULLIS_HTTP_ADDRESS: 'off', NODE: process.execPath, LAUNCHER: launcher }
  const script = (block: string) => `set -e\n${block.replaceAll('npx portcullis', '"$NODE" "$LAUNCHER"')}`
  const [apply = '', serve = ''] = starting.trim().split('\n')
  const applied = await run('bash', ['-c', script(apply)], { cwd, env })
  expect(applied.stdout).toContain('created 1 account')
  const sidecar = spawn('bash', ['-c', script(`exec ${serve}`)], {
    cwd,
    env,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const ended = once(sidecar, 'exit')
  try {
    const [ready] = await Promise.race([once(sidecar.stdout, 'data'), ended])
    expect(String(ready)).toMatch(/^ready: gRPC on unix:/)
    const { stdout } = await run('bash', ['-c', script(administering)], { cwd, env })
    expect(stdout).toMatch(/ address_restriction\.set +234567 /)
  } finally {
    sidecar.kill('SIGTERM')
    await ended
  }
})

describe('the commands that a development sidecar suggests', () => {
  test('do what is said beside them', async () => {
    const demo = await startDemo(['--grpc', '127.0.0.1:0', '--http', 'off'])
    try {
      const commands = demo.output.split('Try it, in another terminal:')[1]?.trim().split('\n') ?? []
      const script = commands
        .map((line) => line.trim().replaceAll('npx portcullis', `'${process.execPath}' '${launcher}'`))
        .map((line) =>
          line.startsWith('export') || line.startsWith('TOKEN') ? line : `${line}\necho "exit $?"`,
        )
        .join('\n')
      const { stdout } = await run('bash', ['-c', script])
      const exits = Array.from(stdout.matchAll(/^exit (\d)$/gm), ([, code]) => code)
      expect(exits).toEqual(['0', '1', '0', '0', '0'])
      expect(stdout).toContain('denied    reports: TOKEN_KIND_NOT_ACCEPTED')
      expect(stdout).toMatch(/^name +another$/m)
    } finally {
      await demo.stop()
    }
  })
})
