/**
 * Runs a circle of checks: `gate` has the steps that must pass before a change lands, and gives the same
 * verdict on any machine; `nightly` has the steps that are random, long or judged by a clock. `bash .ci/run`
 * and `npm run nightly` start it.
 *
 *     node scripts/circle.ts gate
 *     node scripts/circle.ts nightly [PART…]
 *
 * Its end says how long each step took, the skipped tests and why, and `N passed, N failed, N skipped`.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { GATE, NIGHTLY, type Step } from './circles.ts'
import { ROOT } from './packages.ts'
import { read, type Skip } from './tally.ts'

/** It only ends what hangs. */
const HANGS_MS: Readonly<Record<string, number>> = { gate: 3 * 3_600_000, nightly: 8 * 3_600_000 }

/** Compiled clients, databases and packages of a run need less. */
const BYTES_NEEDED = 3e9
/** With less than this left, a step that failed may have failed for it. */
const BYTES_LEFT = 1e8

interface Done {
  readonly name: string
  readonly seconds: number
  readonly passed: number
  readonly failed: number
  readonly skipped: readonly Skip[]
}

const [circle = '', ...parts] = process.argv.slice(2)
process.exitCode = await main()

async function main(): Promise<number> {
  const steps = stepsOf(circle, parts)
  if (typeof steps === 'string') return refuse(steps)
  const short = full(BYTES_NEEDED)
  if (short !== undefined) return refuse(short)
  const began = process.env.STARTED === undefined ? Date.now() : Number(process.env.STARTED) * 1_000
  const done: Done[] = []
  // The program that called this one; alone, this one runs nothing.
  if (process.env.STARTED !== undefined)
    done.push({ name: 'npm ci', seconds: (Date.now() - began) / 1_000, passed: 1, failed: 0, skipped: [] })
  for (const step of steps) done.push(await run(step))
  print(done, (Date.now() - began) / 1_000)
  return done.some(({ failed }) => failed > 0) ? 1 : 0
}

/** @returns the steps, or the faults of the names */
function stepsOf(circle: string, parts: readonly string[]): readonly Step[] | string {
  if (circle === 'gate') return GATE
  const unknown = parts.filter((part) => NIGHTLY[part] === undefined)
  if (circle !== 'nightly' || unknown.length > 0)
    return `unknown part ${unknown.join(', ')}; expected some of ${Object.keys(NIGHTLY).join(', ')}`
  return (parts.length > 0 ? parts : Object.keys(NIGHTLY)).flatMap((part) => NIGHTLY[part] ?? [])
}

function refuse(why: string): number {
  console.log(`${circle}: ${why}\n0 passed, 1 failed, 0 skipped`)
  return 1
}

/** A full disk makes tests fail in a hundred ways, so it is said once. */
function full(bytesNeeded: number): string | undefined {
  for (const folder of [ROOT, tmpdir()]) {
    const { bavail, bsize } = statfsSync(folder)
    const [left, needed] = [bavail * bsize, bytesNeeded].map((bytes) => `${(bytes / 1e9).toFixed(1)} GB`)
    if (bavail * bsize < bytesNeeded) return `the disk of ${folder} has ${left} left, expected ${needed}`
  }
  return undefined
}

/** A step that counts no tests counts as one. */
async function run({ name, command, env }: Step): Promise<Done> {
  console.log(`\n--- ${name}: ${command.join(' ')}`)
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-circle-'))
  const began = Date.now()
  try {
    const succeeded = await ends(command, { ...env, TALLY: join(folder, 'tally') })
    if (!succeeded)
      console.log(['--- failed', name, full(BYTES_LEFT)].filter((part) => part !== undefined).join(': '))
    const { passed, failed, skipped } = read(join(folder, 'tally'))
    const counts = passed + failed > 0
    return {
      name,
      seconds: (Date.now() - began) / 1_000,
      passed: counts ? passed : Number(succeeded),
      // A run that fails without a failed test counts as one.
      failed: succeeded ? failed : Math.max(1, failed),
      skipped,
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Runs a command in a separate group, so that a command that hangs ends with all its children. */
function ends(
  [command = '', ...args]: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<boolean> {
  const child = spawn(command, args, {
    cwd: ROOT,
    stdio: ['ignore', 'inherit', 'inherit'],
    detached: true,
    env: {
      ...process.env,
      ...env,
      PATH: `${join(ROOT, 'node_modules/.bin')}${delimiter}${process.env.PATH}`,
    },
  })
  const end = (signal: NodeJS.Signals) => child.pid !== undefined && process.kill(-child.pid, signal)
  const timer = setTimeout(() => {
    console.log(`--- ${command} hangs, and is ended`)
    end('SIGKILL')
  }, HANGS_MS[circle])
  const stop = () => {
    end('SIGTERM')
    process.exit(1)
  }
  process.once('SIGINT', stop).once('SIGTERM', stop)
  return new Promise((resolve) => {
    const settle = (succeeded: boolean) => {
      clearTimeout(timer)
      process.off('SIGINT', stop).off('SIGTERM', stop)
      resolve(succeeded)
    }
    child.once('error', ({ message }) => {
      console.log(`--- ${message}`)
      settle(false)
    })
    child.once('close', (code) => settle(code === 0))
  })
}

function textOf({ what, tests, why }: Skip): string {
  const count = tests === 1 ? '1 test' : `${tests} tests`
  return [what, tests === undefined ? undefined : count, why].filter((part) => part !== undefined).join(': ')
}

function print(done: readonly Done[], seconds: number): void {
  const skipped = done.flatMap(({ skipped }) => skipped.map(textOf))
  if (skipped.length > 0) console.log(['\n--- skipped', ...new Set(skipped)].join('\n'))
  const sum = (key: 'passed' | 'failed') => done.reduce((total, each) => total + each[key], 0)
  const skips = (each: Done) => each.skipped.reduce((total, { tests = 0 }) => total + tests, 0)
  console.log('\n--- steps')
  for (const each of done)
    console.log(
      `${each.seconds.toFixed(0).padStart(6)} s  ${each.name.padEnd(14)} ${each.passed} passed, ${each.failed} failed, ${skips(each)} skipped`,
    )
  console.log(`${seconds.toFixed(0).padStart(6)} s  in all`)
  console.log(
    `${sum('passed')} passed, ${sum('failed')} failed, ${done.reduce((total, each) => total + skips(each), 0)} skipped`,
  )
}
